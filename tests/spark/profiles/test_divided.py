"""Test that a table which many tasks read in parts has the profile of the whole."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyarrow import orc
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.folders import scan_folder, scan_stored_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import DeltaFolder, File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.files import table_parts
from datahub_hyperjoin.spark.files.table_parts import TableItems, TablePart
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.profiles.partial import divide_to_profile, profile_divided
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.tables import Table, TableId, TableProfile
from services.stores import ENVIRONMENT, refuse_warning, running_s3

MakeTable = Callable[[str, bytes | str | pa.Table], Table]

ROWS = 4_000
IN_PARTS = ProfileConfig(split_bytes=1)
SELECTION = TableSelection(platform="file", env="PROD")


def content() -> pa.Table:
    random = np.random.default_rng(0)
    codes = np.array(["DE", "NA", "fr", "it", None])[random.integers(5, size=ROWS)]
    return pa.table(
        {
            "id": range(ROWS),
            "code": pa.array(codes.tolist(), pa.string()),
            "many": [f"value {at}" for at in random.integers(9_000, size=ROWS)],
            "tags": pa.array([["a"]] * ROWS),
        }
    )


def whole_profile(table: Table, config: ProfileConfig = IN_PARTS) -> TableProfile:
    return profile_table(table, config, Databases())


def write_local(lake: Path) -> None:
    """Write a Delta table with partitions, and an Iceberg table with deleted rows."""
    rows = content().drop_columns(["tags"])
    for at, size in enumerate((2_000, 100, 1_900)):
        part = rows.slice((0, 2_000, 2_100)[at], size).append_column("at", pa.array([at] * size))
        write_deltalake(lake / "delta", part, mode="append", partition_by=["at"])
    catalog = SqlCatalog("test", uri=f"sqlite:///{lake}/c.sql", warehouse=f"file://{lake}")
    catalog.create_namespace("a")
    table = catalog.create_table("a.ice", schema=rows.schema)
    for begin in range(0, ROWS, 1_000):
        table.append(rows.slice(begin, 1_000))
    table.delete("id < 5")
    catalog.engine.dispose()


def scanned(folder: Path) -> list[Table]:
    return scan_folder(folder, SELECTION, warn=lambda *_: None)


def write_delta(folder: Path, parts: Iterable[pa.Table]) -> Table:
    """Write a Delta table with one file for each part of its rows."""
    for part in parts:
        write_deltalake(folder, part, mode="append")
    [table] = scanned(folder.parent)
    return table


def test_divided_delta_and_iceberg_tables_have_the_profiles_of_the_whole(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_parts, "_PART_BYTES", 1 << 14)
    write_local(tmp_path)
    tables = scanned(tmp_path)
    assert len(divide_to_profile(tables, IN_PARTS)) == len(tables) == 2
    found = profile_lake(spark, tables, IN_PARTS)
    assert found == [*map(whole_profile, tables)]
    assert sorted(profile.rows for profile in found) == [ROWS - 5, ROWS]


def test_divided_files_of_object_stores_have_the_profiles_of_the_whole(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_parts, "_PART_BYTES", 1 << 14)
    pq.write_table(content(), tmp_path / "many.parquet", row_group_size=500)
    orc.write_table(content().drop_columns(["tags"]), tmp_path / "many.orc", stripe_size=1 << 12)
    (tmp_path / "text.csv").write_text("id\n1\n2\n")
    (tmp_path / "days.parquet/day=1").mkdir(parents=True)
    for at in range(3):
        file = tmp_path / f"days.parquet/day=1/{at}.parquet"
        pq.write_table(content().slice(at * 1_000, 1_000), file)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    with running_s3(monkeypatch) as server:
        uri = server.upload(tmp_path)
        tables = scan_stored_folder("key", uri, server.store, SELECTION, warn=refuse_warning)
        divided = {table.name for table in divide_to_profile(tables, IN_PARTS)}
        assert {table.id.name for table in tables} - divided == {"text.csv"}
        assert profile_lake(spark, tables, IN_PARTS) == [*map(whole_profile, tables)]


def test_notes_of_all_parts_are_added_up(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table({"note": ["x" * (2 << 20), "short"]})
    table = write_delta(tmp_path / "delta", [rows] * 3)
    assert isinstance(table.location, DeltaFolder)
    parts = [TableItems(table.location, range(at, at + 1), "2") for at in range(3)]
    [found] = profile_divided(spark, [table], {table.id: parts}, IN_PARTS)
    assert found == whole_profile(table)
    assert found.notes == ("values longer than 1048576 characters, which were cut: 3",)


def test_a_sample_has_rows_of_all_parts_and_is_the_same_in_every_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_parts, "_PART_BYTES", 1 << 10)
    parts = (content().slice(at, 1_000).select(["id"]) for at in range(0, ROWS, 1_000))
    table, config = write_delta(tmp_path / "delta", parts), replace(IN_PARTS, max_rows=400)
    [found] = profile_lake(spark, [table], config)
    assert np.histogram(samples(found), bins=4, range=(0, ROWS))[0].min() > 0
    assert found.notes == (f"read a sample of 10.00% of {ROWS} rows",)
    assert found.rows == 400
    assert profile_lake(spark, [table], config) == [found]


def samples(profile: TableProfile) -> list[int]:
    return [int(value) for value in profile.columns[0].sample]


def test_few_bytes_of_a_large_table_come_from_all_parts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_parts, "_PART_BYTES", 1 << 12)
    parts = (content().slice(at, 500).select(["id"]) for at in range(0, ROWS, 500))
    table = write_delta(tmp_path / "delta", parts)
    [found] = profile_lake(spark, [table], replace(IN_PARTS, max_bytes=3 << 12))
    assert found.notes == (f"read {found.rows} rows of 3 parts; there are more",)
    assert 0.9 * (3 << 12) < 8 * found.rows <= 3 << 12
    assert np.histogram(samples(found), bins=3, range=(0, ROWS))[0].min() > 0


def test_an_unreadable_part_is_the_fault_of_its_table(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_parts, "_PART_BYTES", 1 << 14)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    halves = [content().slice(0, 2_000), content().slice(2_000)]
    tables = [write_delta(tmp_path / name / "delta", halves) for name in ("a", "b")]
    tables[0] = replace(tables[0], id=replace(tables[0].id, name="gone"))
    parts = divide_to_profile(tables, IN_PARTS)
    [*files] = (tmp_path / "a/delta").glob("*.parquet")
    files[0].unlink()
    gone, kept = profile_divided(spark, tables, parts, IN_PARTS)
    assert gone.fault.startswith("cannot be read: ")
    assert kept == whole_profile(tables[1])


def test_a_part_without_rows_is_no_fault(spark: SparkSession, tmp_path: Path) -> None:
    table = write_delta(tmp_path / "delta", [content()])
    assert isinstance(table.location, DeltaFolder)
    parts = [TableItems(table.location, range(at, 1), "0") for at in range(2)]
    assert profile_divided(spark, [table], {table.id: parts}, IN_PARTS) == [whole_profile(table)]


def test_a_table_that_ends_its_worker_does_not_affect_the_others(
    spark: SparkSession,
    make_table: MakeTable,
    deadly: Callable[[Table], Table],
    tmp_path: Path,
) -> None:
    folder = tmp_path / "lake/delta"
    folder.parent.mkdir()
    bad, good = make_table("bad.parquet", content()), write_delta(folder, [content()])
    location = deadly(bad).location
    assert isinstance(location, File)
    assert isinstance(good.location, DeltaFolder)
    parts: dict[TableId, list[TablePart]] = {
        bad.id: [TableItems(location, range(1))],
        good.id: [TableItems(good.location, range(1), "0")],
    }
    lost, kept = profile_divided(spark, [bad, good], parts, IN_PARTS)
    assert lost.fault.startswith("cannot be read: it ends the process that reads it")
    assert kept == whole_profile(good)


def test_parts_have_similar_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_parts, "_PART_BYTES", 1 << 10)
    sizes = {"long": 3_000, "short": 10, "other": 3_000}
    table = write_delta(tmp_path / "delta", (content().slice(0, size) for size in sizes.values()))
    parts = table_parts.divide_table(table.location, 2 << 10)
    assert sorted(
        len(part.items) for part in parts if isinstance(part, TableItems) and part.items
    ) == [1, 2]


def test_tables_are_divided_from_a_size_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_parts, "_PART_BYTES", 1_000)
    halves = [content().slice(0, 2_000), content().slice(2_000)]
    table = replace(write_delta(tmp_path / "delta", halves), size=4_000)
    assert [*divide_to_profile([table], ProfileConfig(split_bytes=1_000))] == [table.id]
    assert divide_to_profile([table], ProfileConfig(split_bytes=1_001)) == {}
