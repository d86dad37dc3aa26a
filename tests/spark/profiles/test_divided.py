"""Test that a table which many tasks read in parts has the profile of the whole."""

from collections.abc import Callable
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
from stores import ENVIRONMENT, S3Server, refuse_warning, running_s3

from datahub_hyperjoin.catalog.folder import scan_folder
from datahub_hyperjoin.catalog.stored import scan_stored_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.files import table_parts
from datahub_hyperjoin.spark.files.byte_ranges import ByteRange
from datahub_hyperjoin.spark.files.table_parts import DeltaPart
from datahub_hyperjoin.spark.native.parts import PartToRead, divide_tables
from datahub_hyperjoin.spark.native.text_ranges import FileRange
from datahub_hyperjoin.spark.profiles.divided import profile_divided
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.tables import Table, TableProfile

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


def text() -> str:
    """Return CSV text with an unnamed first column, line ends in quotes, and short rows."""
    lines = [",city,note,more"]
    for at in range(ROWS):
        city = "NA" if at % 7 else "oslo" if at % 2 else "Oslo"
        lines.append(f'k{7 * at},{city},"two\nlines {at % 50}",')
        lines += ["short"] * (at % 1000 == 0)
    return "\n".join(lines)


def whole_profile(table: Table, config: ProfileConfig = IN_PARTS) -> TableProfile:
    return profile_table(table, config, Databases())


def test_a_divided_text_file_has_the_profile_of_the_whole(
    spark: SparkSession, make_table: MakeTable, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    table = make_table("visits.csv", text())
    [found] = profile_lake(spark, [table], IN_PARTS)
    assert "Profiling 1 large tables in 4 tasks" in caplog.text
    assert found == whole_profile(table)
    assert [column.id.path for column in found.columns] == ["row_name", "city", "note", "more"]
    # Rows that several tasks skip are counted together.
    assert found.notes[-1] == "skipped rows with more or fewer fields than the header: 4"
    assert found.rows == ROWS


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


def test_divided_delta_and_iceberg_tables_have_the_profiles_of_the_whole(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_parts, "_PART_BYTES", 1 << 14)
    write_local(tmp_path)
    tables = scan_folder(tmp_path, SELECTION, warn=lambda *_: None)
    assert len(divide_tables(spark, tables, IN_PARTS)) == len(tables) == 2
    found = profile_lake(spark, tables, IN_PARTS)
    assert found == [*map(whole_profile, tables)]
    assert sorted(profile.rows for profile in found) == [ROWS - 5, ROWS]


def test_divided_files_of_object_stores_have_the_profiles_of_the_whole(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_parts, "_PART_BYTES", 1 << 14)
    pq.write_table(content(), tmp_path / "many.parquet", row_group_size=500)
    orc.write_table(content().drop_columns(["tags"]), tmp_path / "many.orc", stripe_size=1 << 12)
    (tmp_path / "visits.csv").write_text(text())
    (tmp_path / "days.parquet/day=1").mkdir(parents=True)
    for at in range(3):
        file = tmp_path / f"days.parquet/day=1/{at}.parquet"
        pq.write_table(content().slice(at * 1_000, 1_000), file)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    with running_s3(monkeypatch) as server:
        tables = stored_tables(server, tmp_path)
        assert len(divide_tables(spark, tables, IN_PARTS)) == len(tables) == 4
        assert profile_lake(spark, tables, IN_PARTS) == [*map(whole_profile, tables)]


def stored_tables(server: S3Server, folder: Path) -> list[Table]:
    uri = server.upload(folder)
    return scan_stored_folder("key", uri, server.store, SELECTION, warn=refuse_warning)


def test_a_sample_has_rows_of_all_parts_and_is_the_same_in_every_run(
    spark: SparkSession, make_table: MakeTable
) -> None:
    table = make_table("numbers.csv", "id\n" + "\n".join(f"{at:07}" for at in range(ROWS)))
    config = replace(IN_PARTS, max_rows=400)
    [found] = profile_lake(spark, [table], config)
    ids = np.array([int(value) for value in found.columns[0].sample])
    assert np.histogram(ids, bins=4, range=(0, ROWS))[0].min() > 0
    assert 300 < found.rows <= 400
    assert found.notes == (f"read a sample of {found.rows / ROWS:.2%} of {ROWS} rows",)
    assert profile_lake(spark, [table], config) == [found]


def test_few_bytes_of_a_large_table_come_from_all_parts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_parts, "_PART_BYTES", 1 << 12)
    for at in range(8):
        rows = pa.table({"id": range(at * 1_000, (at + 1) * 1_000)})
        write_deltalake(tmp_path / "delta", rows, mode="append")
    [table] = scan_folder(tmp_path, SELECTION, warn=lambda *_: None)
    [found] = profile_lake(spark, [table], replace(IN_PARTS, max_bytes=4 << 12))
    assert found.notes == (f"read {found.rows} rows of 4 parts; there are more",)
    assert 0.9 * (4 << 12) < 8 * found.rows <= 4 << 12
    assert len({int(value) // 2_000 for value in found.columns[0].sample}) == 4


def test_one_task_profiles_a_text_that_is_short_or_not_read_to_its_end(
    spark: SparkSession, make_table: MakeTable, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    table = make_table("visits.csv", text())
    for config in (
        replace(IN_PARTS, max_bytes=table.size - 1),
        replace(IN_PARTS, split_bytes=table.size // 4 + 1),
    ):
        caplog.clear()
        assert profile_lake(spark, [table], config) == [whole_profile(table, config)]
        assert "Profiling 1 tables in 1 tasks" in caplog.text


def test_an_unreadable_part_is_the_fault_of_its_table(
    spark: SparkSession, make_table: MakeTable
) -> None:
    tables = [make_table(f"{name}.csv", text()) for name in ("gone", "kept")]
    parts = divide_tables(spark, tables, IN_PARTS)
    assert isinstance(tables[0].location, File)
    Path(tables[0].location.uri).unlink()
    gone, kept = profile_divided(spark, tables, parts, IN_PARTS)
    assert gone.fault.startswith("cannot be read: FileNotFoundError")
    assert kept == whole_profile(tables[1])


def test_a_part_without_rows_is_no_fault(spark: SparkSession, make_table: MakeTable) -> None:
    table = make_table("rows.csv", text())
    parts = dict(divide_tables(spark, [table], IN_PARTS))
    last = parts[table.id][-1]
    assert isinstance(last, FileRange)
    void = replace(last, part=ByteRange(last.part.end, last.part.end))
    parts[table.id] = [*parts[table.id], void]
    assert profile_divided(spark, [table], parts, IN_PARTS) == [whole_profile(table)]


def test_a_table_that_ends_its_worker_does_not_affect_the_others(
    spark: SparkSession, make_table: MakeTable, deadly: Callable[[Table], Table]
) -> None:
    tables = [make_table(f"{name}.csv", text()) for name in ("bad", "good")]
    parts = dict(divide_tables(spark, tables, IN_PARTS))
    broken = deadly(tables[0]).location
    assert isinstance(broken, File)
    found: list[PartToRead] = []
    for part in parts[tables[0].id]:
        assert isinstance(part, FileRange)
        found.append(replace(part, file=broken))
    parts[tables[0].id] = found
    bad, good = profile_divided(spark, tables, parts, IN_PARTS)
    assert bad.fault.startswith("cannot be read: it ends the process that reads it")
    assert good == whole_profile(tables[1])


def test_parts_have_similar_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write files of 50, 2 and 48 % of a table's bytes, in this order."""
    monkeypatch.setattr(table_parts, "_PART_BYTES", 1 << 14)
    write_local(tmp_path)
    [delta] = [
        t for t in scan_folder(tmp_path, SELECTION, warn=lambda *_: None) if t.id.name == "delta"
    ]
    parts = table_parts.divide_table(delta.location, 2 << 14)
    assert [len(part.files) for part in parts if isinstance(part, DeltaPart)] in ([1, 2], [2, 1])


def test_tables_are_divided_from_a_size_on(spark: SparkSession, make_table: MakeTable) -> None:
    table = make_table("rows.csv", text())
    assert [*divide_tables(spark, [table], replace(IN_PARTS, split_bytes=table.size))] == [table.id]
    assert divide_tables(spark, [table], replace(IN_PARTS, split_bytes=table.size + 1)) == {}
