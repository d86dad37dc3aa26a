"""Whether tasks are of equal size and hold every table once."""

from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.spark.packing import pack
from datahub_hyperjoin.tables import FileFormat, Table, TableId

MEGABYTE = 1 << 20


def tables(sizes: list[int]) -> list[Table]:
    return [
        Table(
            id=TableId("file", f"t{at}"),
            title=f"t{at}",
            location=f"t{at}.csv",
            format=FileFormat.CSV,
            size=size,
        )
        for at, size in enumerate(sizes)
    ]


@given(st.lists(st.integers(0, 1 << 30), max_size=60))
def test_every_table_is_in_one_task(sizes: list[int]) -> None:
    groups = pack(tables(sizes))
    assert sorted(place for group in groups for place in group) == list(range(len(sizes)))
    assert all(groups)


@given(st.lists(st.integers(0, 1 << 30), min_size=1, max_size=60))
def test_no_task_is_much_heavier_than_it_must_be(sizes: list[int]) -> None:
    groups = pack(tables(sizes))
    loads = [sum(sizes[place] + (1 << 16) for place in group) for group in groups]
    mean = sum(loads) / len(loads)
    assert max(loads) <= mean + max(sizes) + (1 << 16)
    assert loads == sorted(loads, reverse=True)


def test_many_small_tables_share_few_tasks() -> None:
    assert len(pack(tables([1000] * 10_000))) < 50


def test_a_large_lake_has_many_tasks() -> None:
    assert len(pack(tables([MEGABYTE] * 1000))) > 50
