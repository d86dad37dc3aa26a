"""Test the evidence of joins through crosswalks against SQL in DuckDB."""

import logging
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.joins import Bridge, Cardinality, Evidence
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.verification import bridges
from datahub_hyperjoin.spark.verification.bridges import verify_bridges
from datahub_hyperjoin.tables import ColumnId, Table, TableId

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
Tables = dict[str, pa.Table]

ITEMS = pa.table({"code": ["K1", "K2", "K3", None], "name": ["Ale", "Bock", "Cider", "Dry"]})
ORDERS = pa.table({"item": ["k1", "k1", "k2", "k9", None]})
PRICES = pa.table({"article": ["ALE", "bock ", "Water"]})
LAKE: Tables = {"orders": ORDERS, "items": ITEMS, "prices": PRICES}


def bridge(left: Table, crosswalk: Table, right: Table) -> Bridge:
    return Bridge(
        ColumnId(left.id, path_of(left)),
        ColumnId(crosswalk.id, "code"),
        ColumnId(crosswalk.id, "name"),
        ColumnId(right.id, path_of(right)),
    )


def path_of(table: Table) -> str:
    return {"orders": "item", "prices": "article"}.get(table.id.name, "value")


def measure_with_duckdb(left: pa.Table, crosswalk: pa.Table, right: pa.Table) -> Evidence:
    """Join three tables in DuckDB, and compute the evidence from the result."""
    database = duckdb.connect()
    for name, table in (("l", left), ("c", crosswalk), ("r", right)):
        database.register("arrow", table)
        database.execute(f"CREATE TABLE {name} AS FROM arrow")
        database.unregister("arrow")
    steps = "FROM l JOIN c ON l.value = c.code JOIN r ON c.name = r.value"

    def number(query: str) -> int:
        row = database.execute(query).fetchone()
        return int(row[0] or 0) if row else 0

    def most(side: str) -> int:
        return number(f"SELECT max(n) FROM (SELECT count(*) AS n {steps} GROUP BY {side}.rowid)")

    rows = number(f"SELECT count(*) {steps}")
    sides = ["ONE" if most(side) <= 1 else "N" for side in "rl"]
    return Evidence(
        shared=number(f"SELECT count(*) FROM (SELECT DISTINCT c.code, c.name {steps})"),
        left_containment=number(f"SELECT count(DISTINCT l.value) {steps}")
        / number("SELECT count(DISTINCT value) FROM l"),
        right_containment=number(f"SELECT count(DISTINCT r.value) {steps}")
        / number("SELECT count(DISTINCT value) FROM r"),
        cardinality=Cardinality("_".join(sides)),
        left_fan_out=rows / number("SELECT count(value) FROM l"),
        right_fan_out=rows / number("SELECT count(value) FROM r"),
        rows=rows,
    )


def test_codes_reach_names_through_the_rows_of_a_crosswalk(
    spark: SparkSession, make_table: MakeTable
) -> None:
    tables = [
        make_table(f"{name}.parquet", table)
        for name, table in (("orders", ORDERS), ("items", ITEMS), ("prices", PRICES))
    ]
    wanted = bridge(*tables)
    assert verify_bridges(spark, tables, [wanted, wanted]) == {
        wanted: Evidence(
            shared=2,
            left_containment=2 / 3,
            right_containment=2 / 3,
            cardinality=Cardinality.MANY_ONE,
            left_fan_out=3 / 4,
            right_fan_out=1.0,
            rows=3,
        )
    }


def test_evidence_equals_that_of_a_join_of_three_tables(
    spark: SparkSession, make_table: MakeTable
) -> None:
    random = np.random.default_rng(5)

    def draw(prefix: str, kinds: int, rows: int) -> list[str | None]:
        return [f"{prefix}{n}" if n else None for n in random.integers(0, kinds, rows)]

    left = {f"l{at}": pa.table({"value": draw("c", 6 + at, 40)}) for at in range(3)}
    right = {f"r{at}": pa.table({"value": draw("n", 5 + at, 30)}) for at in range(3)}
    maps = {
        f"m{at}": pa.table({"code": draw("c", 9, 5 + 9 * at), "name": draw("n", 9, 5 + 9 * at)})
        for at in range(3)
    }
    tables = {
        name: make_table(f"{name}.parquet", table) for name, table in (left | right | maps).items()
    }
    expected = {
        bridge(tables[one], tables[two], tables[three]): measure_with_duckdb(
            left[one], maps[two], right[three]
        )
        for one in left
        for two in maps
        for three in right
    }
    assert verify_bridges(spark, [*tables.values()], [*expected]) == expected


def test_a_bridge_can_be_crossed_in_both_directions(
    spark: SparkSession, make_table: MakeTable
) -> None:
    tables = {name: make_table(f"{name}.parquet", table) for name, table in LAKE.items()}
    forth = bridge(tables["orders"], tables["items"], tables["prices"])
    back = Bridge(forth.right, forth.right_via, forth.left_via, forth.left)
    found = verify_bridges(spark, [*tables.values()], [forth, back])
    assert found[back] == found[forth].reversed


def test_words_for_null_are_values_only_in_text(spark: SparkSession, make_table: MakeTable) -> None:
    orders = make_table("l.csv", "value,n\n1,1\nNA,2\n")
    items = make_table("m.csv", "code,name\n1,one\nNA,NA\n")
    prices = make_table("r.csv", "value,n\none,1\nNA,2\n")
    wanted = bridge(orders, items, prices)
    texts = frozenset({wanted.right, wanted.right_via})
    found = verify_bridges(spark, [orders, items, prices], [wanted], texts=texts)
    assert found[wanted].rows == 1
    assert (found[wanted].left_containment, found[wanted].right_containment) == (1.0, 0.5)


@pytest.mark.parametrize("missing", ["orders", "items", "prices"])
def test_a_bridge_with_an_unreadable_table_has_no_evidence(
    spark: SparkSession, make_table: MakeTable, missing: str
) -> None:
    tables = {name: make_table(f"{name}.parquet", table) for name, table in LAKE.items()}
    location = tables[missing].location
    assert isinstance(location, File)
    Path(location.uri).write_bytes(b"no Parquet")
    wanted = bridge(tables["orders"], tables["items"], tables["prices"])
    unread: set[TableId] = set()
    found = verify_bridges(spark, [*tables.values()], [wanted], note_unread=unread.add)
    assert (found, unread) == ({}, {tables[missing].id})


def test_large_crosswalks_are_read_by_many_tasks(
    spark: SparkSession, make_table: MakeTable
) -> None:
    codes, names = ([f"{prefix}{at}" for at in range(3000)] for prefix in ("c", "name "))
    orders = make_table("l.parquet", pa.table({"value": codes[:2000]}))
    items = make_table("m.parquet", pa.table({"code": codes, "name": names}))
    prices = make_table("r.parquet", pa.table({"value": names[1000:]}))
    config = ProfileConfig(split_bytes=1)
    wanted = bridge(orders, items, prices)
    found = verify_bridges(spark, [orders, items, prices], [wanted], config=config)
    assert (found[wanted].shared, found[wanted].rows) == (1000, 1000)
    assert found[wanted].cardinality is Cardinality.ONE_ONE


def test_a_failed_job_leaves_no_evidence_and_a_warning(
    spark: SparkSession,
    make_table: MakeTable,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    tables = {name: make_table(f"{name}.parquet", table) for name, table in LAKE.items()}
    monkeypatch.setattr(bridges, "_ENTRIES", "SELECT missing FROM {entry_rows}")
    wanted = bridge(tables["orders"], tables["items"], tables["prices"])
    with caplog.at_level(logging.WARNING):
        assert verify_bridges(spark, [*tables.values()], [wanted]) == {}
    assert caplog.messages[0].startswith("Not verified: joins through crosswalks. ")
