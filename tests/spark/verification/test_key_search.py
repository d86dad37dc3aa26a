"""Test the search for keys against a search through all sets of columns."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from datahub_hyperjoin.joins import KeySearch
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.verification.key_search import (
    minimal_keys,
    search_keys,
)
from datahub_hyperjoin.spark.verification.values import hash_rows
from datahub_hyperjoin.tables import Table

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
CONFIG = ProfileConfig()
NAMES = ("a", "b", "c", "d")
ROWS = st.lists(st.tuples(*[st.integers(0, 3)] * len(NAMES)), min_size=4, max_size=20)


def every_minimal_key(rows: list[tuple[int, ...]]) -> list[tuple[str, ...]]:
    """Find all minimal keys by trying all sets of columns."""
    unique = [
        paths
        for size in range(1, len(NAMES) + 1)
        for paths in combinations(NAMES, size)
        if len({tuple(row[NAMES.index(path)] for path in paths) for row in rows}) == len(rows)
    ]
    return [
        paths
        for paths in unique
        if len(paths) > 1 and not any({*other} < {*paths} for other in unique)
    ]


@given(ROWS)
def test_all_minimal_keys_are_found(rows: list[tuple[int, ...]]) -> None:
    columns = {
        name: hash_rows(pa.array([row[position] for row in rows]), is_text=False)
        for position, name in enumerate(NAMES)
    }
    found = minimal_keys(columns)
    assert sorted(found) == sorted(every_minimal_key(rows))
    assert [*map(len, found)] == sorted(map(len, found))
    assert minimal_keys(dict(reversed(columns.items()))) == [key[::-1] for key in found]


def test_keys_of_few_combinations_come_first() -> None:
    rows = {"amount": [1, 2, 3, 4, 5, 6, 7, 1], "line": [1, 2, 3, 4] * 2, "year": [0] * 4 + [1] * 4}
    columns = {name: hash_rows(pa.array(cells), is_text=False) for name, cells in rows.items()}
    assert minimal_keys(columns) == [("line", "year"), ("amount", "year"), ("amount", "line")]


def test_a_key_has_at_most_four_columns() -> None:
    rows = [tuple((number >> bit) & 1 for bit in range(5)) for number in range(32)]
    columns = {
        f"c{bit}": hash_rows(pa.array([row[bit] for row in rows]), is_text=False)
        for bit in range(5)
    }
    assert minimal_keys(columns) == []
    assert minimal_keys(columns, most=5) == [("c0", "c1", "c2", "c3", "c4")]


def test_a_few_rows_prove_no_key() -> None:
    columns = {
        name: hash_rows(pa.array(values), is_text=False)
        for name, values in {"a": [1, 1, 2], "b": [1, 2, 1]}.items()
    }
    assert minimal_keys(columns) == []


@pytest.mark.parametrize("in_process", [False, True])
def test_keys_are_found_on_every_route(
    spark: SparkSession, make_table: MakeTable, *, in_process: bool
) -> None:
    rows = pa.table(
        {
            "order": [at // 3 for at in range(60)],
            "line": [at % 3 for at in range(60)],
            "product": [f"P{at % 7}" for at in range(60)],
            "same": ["x"] * 60,
        }
    )
    lines = make_table("lines.parquet", rows)
    large = make_table("large.parquet", rows)
    lost, single = make_table("lost.csv", b"\0\1"), make_table("single.csv", "order,line\n1,2\n")
    columns = ("order", "line", "same", "absent")
    found = search_keys(
        None if in_process else spark,
        [lines, lost, single],
        [KeySearch(table=table.id, columns=columns) for table in (lines, lost, single)],
        CONFIG,
    )
    assert found == {lines.id: (("order", "line"),), single.id: ()}
    by_spark = search_keys(
        spark, [large], [KeySearch(table=large.id, columns=columns)], ProfileConfig(split_bytes=1)
    )
    assert by_spark == {large.id: (("order", "line"),)}


@pytest.mark.parametrize("remote", [False, True])
def test_a_table_that_ends_its_worker_costs_no_other(
    spark: SparkSession,
    make_table: MakeTable,
    deadly: Callable[[Table], Table],
    *,
    remote: bool,
) -> None:
    rows = "".join(f"{at // 2},{at % 2}\n" for at in range(8))
    tables = [make_table(f"t{at}.csv", "a,b\n" + rows) for at in range(3)]
    tables[1] = deadly(tables[1])
    if remote:
        tables = [
            replace(table, location=replace(table.location, uri=f"file:{table.location.uri}"))
            for table in tables
            if isinstance(table.location, File)
        ]
    searches = [KeySearch(table=table.id, columns=("a", "b")) for table in tables]
    found = search_keys(spark, tables, searches, CONFIG)
    assert found == {table.id: (("a", "b"),) for table in tables if table is not tables[1]}


def test_only_the_first_rows_are_searched(spark: SparkSession, make_table: MakeTable) -> None:
    count = (1 << 20) + 1000
    rows = "".join(f"{at // 2},{at % 2}\n" for at in range(count)) + "0,0\n"
    table = make_table("lines.csv", "a,b\n" + rows)
    search = KeySearch(table=table.id, columns=("a", "b"))
    assert search_keys(spark, [table], [search], CONFIG) == {table.id: (("a", "b"),)}
