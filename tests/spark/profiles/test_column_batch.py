"""Test that tables profiled together have the same profiles as each table alone."""

import gzip
from collections.abc import Callable

import pyarrow as pa
import pytest

from datahub_hyperjoin.spark import read
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting import aggregate
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_each, profile_table
from datahub_hyperjoin.tables import Table, TableProfile

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
CONFIG = ProfileConfig(sketch_size=8, sample_size=4)
NOWHERE = Databases()
NOT_UTF_8 = pa.array([b"K\xf6ln", b"Rom"]).view(pa.string())


@pytest.fixture
def tables(make_table: MakeTable) -> list[Table]:
    """Write tables of many kinds: short, long, empty, unreadable, and with nulls or lists."""
    lists = pa.table(
        {"id": range(10), "tags": [["a"]] * 10, "note": [f"n{at}" for at in range(10)]}
    )
    return [
        make_table("cities.csv", "id,city,code\n1,Köln,DE\n2,Windhoek,NA\n3,,FR\n"),
        make_table("empty.csv", ""),
        make_table("lists.parquet", lists),
        make_table("late.csv", gzip.compress(b"id\n" + b"1\n" * 600_000)[:-20]),
        make_table("days.csv", "at\n2024-01-31T09:30\n2024-02-01 00:00:00\nn/a\n"),
        make_table("texts.csv", "text\n" + "\n".join("x" * at for at in range(990, 1010)) + "\n"),
    ]


def together(tables: list[Table]) -> list[list[TableProfile]]:
    return list(profile_each(tables, CONFIG, NOWHERE))


def test_tables_of_one_batch_are_profiled_as_each_alone(tables: list[Table]) -> None:
    [found] = together(tables)
    assert found == [profile_table(table, CONFIG, NOWHERE) for table in tables]
    assert [bool(profile.fault) for profile in found] == [False, True, False, True, False, False]


@pytest.mark.parametrize("size", [0, 1000])
def test_a_full_batch_is_followed_by_another(
    monkeypatch: pytest.MonkeyPatch, tables: list[Table], size: int
) -> None:
    [whole] = together(tables)
    monkeypatch.setattr(aggregate, "_BUFFER_BYTES", size)
    batches = together(tables)
    assert len(batches) > 1
    assert [profile for batch in batches for profile in batch] == whole


def test_only_the_table_that_cannot_be_profiled_has_a_fault(
    monkeypatch: pytest.MonkeyPatch, make_table: MakeTable, tables: list[Table]
) -> None:
    monkeypatch.setattr(read, "with_usable_values", lambda stream: stream)
    broken = make_table("broken.parquet", pa.table({"city": NOT_UTF_8}))
    [found] = together([tables[0], broken, tables[2]])
    assert [bool(profile.fault) for profile in found] == [False, True, False]
    assert found[1].fault.startswith("cannot be read: UnicodeDecodeError: ")
    assert [found[0], found[2]] == [profile_table(tables[at], CONFIG, NOWHERE) for at in (0, 2)]


def test_a_header_without_rows_names_the_columns(make_table: MakeTable) -> None:
    profile = profile_table(make_table("empty.csv", "id,name\n"), CONFIG, NOWHERE)
    assert "has a header but no rows" in profile.fault
    assert [(column.id.path, column.rows) for column in profile.columns] == [("id", 0), ("name", 0)]
