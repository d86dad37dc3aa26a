"""Test that one job profiles a whole lake, and that no table affects another."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_local_batch, profile_table
from datahub_hyperjoin.tables import DataType, Table

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
PlainProfile = Callable[[Sequence[str | None], DataType], dict[str, Any]]
NOWHERE = Databases()
CONFIG = ProfileConfig()
CITIES = "id,city,code\n1,Köln,DE\n2,Windhoek,NA\n3,Windhoek,NA\n4,,FR\n"
WIDE = ",".join(f"c{at}" for at in range(3000)) + "\n" + ",".join(map(str, range(3000))) + "\n"


def test_a_profile_equals_one_in_plain_python(
    spark: SparkSession, make_table: MakeTable, plain_profile: PlainProfile
) -> None:
    [found] = profile_local_batch(spark, [make_table("cities.csv", CITIES)], CONFIG)
    cells: dict[str, tuple[Sequence[str | None], DataType]] = {
        "id": (["1", "2", "3", "4"], DataType.INTEGER),
        "city": (["Köln", "Windhoek", "Windhoek", None], DataType.TEXT),
        "code": (["DE", "NA", "NA", "FR"], DataType.TEXT),
    }
    assert (found.rows, found.fault, [c.id.path for c in found.columns]) == (4, "", list(cells))
    for place, column in enumerate(found.columns):
        expected = plain_profile(*cells[column.id.path])
        assert {name: getattr(column, name) for name in expected} == expected
        assert (column.position, column.type) == (place, cells[column.id.path][1])


def test_profiles_are_in_the_order_of_tables(spark: SparkSession, make_table: MakeTable) -> None:
    tables = [make_table(f"t{at}.csv", "id\n" + f"{at}\n" * (at + 1)) for at in range(20)]
    assert profile_local_batch(spark, tables, CONFIG) == [
        profile_table(t, CONFIG, NOWHERE) for t in tables
    ]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("empty.csv", "", "is an empty file. Add rows"),
        ("header.csv", "id,city\n", "has a header but no rows. Add rows"),
        ("junk.csv", bytes(range(256)) * 8, "cannot be read: its bytes are not text. Fix"),
        ("gone.parquet", b"PAR1", "cannot be read: Parquet file size is 4 bytes"),
    ],
)
def test_a_table_that_cannot_be_used_does_not_affect_the_others(
    spark: SparkSession, make_table: MakeTable, name: str, content: bytes, fault: str
) -> None:
    tables = [make_table(name, content), make_table("cities.csv", CITIES)]
    bad, good = profile_local_batch(spark, tables, CONFIG)
    assert bad.fault.startswith(fault)
    # A header without rows still names the columns, and names can suggest joins.
    assert [column.id.path for column in bad.columns] == (
        ["id", "city"] if name == "header.csv" else []
    )
    assert bad.rows == 0
    assert (good.fault, good.rows) == ("", 4)


@pytest.mark.parametrize(
    ("name", "content", "columns", "note"),
    [
        ("ragged.csv", "a,b\n1,2\n3\n", 2, "rows with fewer fields than the header"),
        ("latin.csv", "city\nKöln\n".encode("latin-1"), 1, "not UTF-8: read as Windows-1252"),
        ("wide16.csv", "city\nKöln\n".encode("utf-16"), 1, "not UTF-8: read as UTF-16"),
        ("twice.csv", "a,b,b\n1,2,3\n", 3, "columns of one name are numbered: 'b_2'"),
        ("nested.parquet", pa.table({"id": [1], "spot": [[0.5]]}), 2, "columns not compared"),
    ],
)
def test_a_partly_readable_table_has_a_note(
    spark: SparkSession, make_table: MakeTable, name: str, content: bytes, columns: int, note: str
) -> None:
    tables = [make_table("cities.csv", CITIES), make_table(name, content)]
    good, found = profile_local_batch(spark, tables, CONFIG)
    assert (good.notes, found.fault, len(found.columns)) == ((), "", columns)
    assert found.notes[0].startswith(note)


def test_a_table_of_three_thousand_columns_is_one_of_many(
    spark: SparkSession, make_table: MakeTable
) -> None:
    wide, cities = profile_local_batch(
        spark, [make_table("wide.csv", WIDE), make_table("cities.csv", CITIES)], CONFIG
    )
    assert [column.sample for column in wide.columns] == [(str(at),) for at in range(3000)]
    assert len(cities.columns) == 3


def test_a_column_of_lists_has_rows_and_no_values(make_table: MakeTable) -> None:
    table = make_table("tags.parquet", pa.table({"tags": [[0.5], [1.5]]}))
    [column] = profile_table(table, CONFIG, NOWHERE).columns
    assert (column.type, column.rows, column.distinct) == (DataType.NESTED, 2, 0)
    assert (column.sketch, column.sample, column.patterns) == (b"", (), ())


def test_an_unexpected_error_is_the_fault_of_one_table(make_table: MakeTable) -> None:
    table = replace(
        make_table("cities.csv", CITIES),
        location=File(uri="cities\0.csv", format="csv"),
    )
    fault = profile_table(table, CONFIG, NOWHERE).fault
    # Python 3.13 words it differently: "stat: embedded null character in path".
    assert fault.startswith("cannot be read: ValueError: ")
    assert "embedded null" in fault


def test_many_tables_are_one_job(spark: SparkSession, make_table: MakeTable) -> None:
    if is_remote():
        pytest.skip("a client of Spark Connect is told nothing of jobs")
    tables = [make_table(f"t{at}.csv", CITIES) for at in range(12)]
    context = spark.sparkContext
    context.setJobGroup("profile", "counts its jobs")
    profile_local_batch(spark, tables, CONFIG)
    context.setJobGroup("other", "counts no more")
    assert len(context.statusTracker().getJobIdsForGroup("profile")) == 1


def test_without_tables_there_is_no_job(spark: SparkSession) -> None:
    assert profile_local_batch(spark, [], CONFIG) == []
