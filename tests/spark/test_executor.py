"""Test that tasks have similar sizes, and that each table is in one task."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from datahub_hyperjoin.locations import Database, File, Relation
from datahub_hyperjoin.spark.executor import NumberedTable
from datahub_hyperjoin.spark.executor import pack as pack_requests
from datahub_hyperjoin.tables import Table, TableId

MEGABYTE = 1 << 20


def tables(sizes: list[int]) -> list[Table]:
    return [
        Table(
            id=TableId("file", f"t{at}"),
            title=f"t{at}",
            location=File(uri=f"t{at}.csv", format="csv"),
            size=size,
        )
        for at, size in enumerate(sizes)
    ]


def pack(lake: list[Table]) -> list[list[int]]:
    groups = pack_requests([NumberedTable(table, index) for index, table in enumerate(lake)])
    return [[request.index for request in group] for group in groups]


@given(st.lists(st.integers(0, 1 << 30), max_size=60))
def test_every_table_is_in_one_task(sizes: list[int]) -> None:
    groups = pack(tables(sizes))
    assert sorted(index for group in groups for index in group) == list(range(len(sizes)))
    assert all(groups)


@given(st.lists(st.integers(0, 1 << 30), min_size=1, max_size=60))
def test_no_task_is_much_heavier_than_it_must_be(sizes: list[int]) -> None:
    groups = pack(tables(sizes))
    loads = [sum(sizes[index] + (1 << 13) for index in group) for group in groups]
    mean = sum(loads) / len(loads)
    assert max(loads) <= mean + max(sizes) + (1 << 13)
    assert loads == sorted(loads, reverse=True)


def test_many_small_tables_share_few_tasks() -> None:
    assert len(pack(tables([1000] * 10_000))) < 50


def test_a_database_is_read_by_as_many_tasks_as_it_may_have_connections() -> None:
    shop = [
        replace(
            table,
            location=Relation(
                database=Database(url=SecretStr(f"sqlite:///{name}.db"), max_connections=most),
                connection=name,
                schema="main",
                name=str(at),
            ),
        )
        for name, most in (("shop", 3), ("blog", 1))
        for at, table in enumerate(tables([MEGABYTE] * 200))
    ]
    lake = [*tables([MEGABYTE] * 100), *shop]
    groups = pack(lake)
    used = [{getattr(lake[at].location, "connection", "") for at in group} for group in groups]
    assert sorted(map(len, used)) == [1] * len(groups)
    tasks = {name: sum(name in names for names in used) for name in ("shop", "blog", "")}
    assert tasks == {"shop": 3, "blog": 1, "": 8}
    assert sorted(at for group in groups for at in group) == list(range(500))


def test_a_large_lake_has_many_tasks() -> None:
    assert len(pack(tables([MEGABYTE] * 1000))) > 50
