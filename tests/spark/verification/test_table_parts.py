"""Test that evidence does not depend on how many tasks read a table of many files or row groups."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyarrow import orc
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.folders import scan_folder, scan_stored_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import TableLocation
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files import table_parts
from datahub_hyperjoin.spark.files.table_parts import (
    TableItems,
    TablePart,
    divide_table,
    read_part,
)
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, verify_joins
from datahub_hyperjoin.tables import ColumnId, Table, TableId
from services.stores import ENVIRONMENT, S3Server, refuse_warning, running_s3

IN_PARTS = ProfileConfig(split_bytes=1)
WHOLE = ProfileConfig(split_bytes=1 << 40)
COLUMNS = ("id", "code")
ROWS = pa.table(
    {"id": range(100), "code": [f"c{at % 30}" if at % 9 else "NA" for at in range(100)]}
)
LONG = pa.table({"id": range(4_000), "code": [f"c{at % 3_000}" for at in range(4_000)]})
SELECTION = TableSelection(platform="file", env="PROD")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    with running_s3(monkeypatch) as server:
        yield server


def write_stored(lake: Path) -> None:
    """Write Parquet and ORC tables of many parts, and tables that one task reads."""
    for name in ("many.parquet", "days.parquet/day=1/a.parquet", "days.parquet/day=1/b.parquet"):
        (lake / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(ROWS, lake / name, row_group_size=20)
    pq.write_table(ROWS.slice(0, 0), lake / "days.parquet/day=1/empty.parquet")
    # One file has a column more than the others, and one has a column less.
    pq.write_table(ROWS.append_column("x", ROWS["id"]), lake / "days.parquet/day=1/c.parquet")
    pq.write_table(ROWS.select(["id"]), lake / "days.parquet/day=1/d.parquet")
    (lake / "shelves.orc").mkdir()
    for at in range(3):
        orc.write_table(ROWS.slice(at * 25, 40), lake / f"shelves.orc/{at}.orc")
    pq.write_table(ROWS, lake / "one.parquet")
    orc.write_table(LONG, lake / "long.orc", stripe_size=1 << 14)
    (lake / "text.csv").write_text("id,code\n" + "\n".join(f"{at},c{at}" for at in range(90)))


def write_local(lake: Path) -> None:
    """Write a Delta table with partitions, and an Iceberg table with deleted rows."""
    for at in range(4):
        part = ROWS.slice(at * 20, 30).append_column("half", pa.array([at % 2] * 30))
        write_deltalake(lake / "delta", part, mode="append", partition_by=["half"])
    catalog = SqlCatalog("test", uri=f"sqlite:///{lake}/c.sql", warehouse=f"file://{lake}")
    catalog.create_namespace("a")
    table = catalog.create_table("a.ice", schema=ROWS.schema)
    for at in range(3):
        table.append(ROWS.slice(at * 30, 40))
    table.delete("id < 5")
    catalog.engine.dispose()


@pytest.fixture
def tables(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Table]:
    monkeypatch.setattr(table_parts, "_PART_BYTES", 512)
    stored, local = tmp_path / "stored", tmp_path / "local"
    write_stored(stored)
    local.mkdir()
    write_local(local)
    uri = server.upload(stored)
    far = scan_stored_folder("key", uri, server.store, SELECTION, warn=refuse_warning)
    near = scan_folder(local, SELECTION, warn=lambda *_: None)
    return sorted([*far, *near], key=lambda table: table.id.name)


def rows_of(batches: Iterator[pa.RecordBatch]) -> list[tuple[object, ...]]:
    return sorted((tuple(row.values()) for batch in batches for row in batch.to_pylist()), key=repr)


def test_parts_have_the_rows_of_the_whole(tables: Sequence[Table]) -> None:
    divided = {}
    for table in tables:
        parts = divide_table(table.location, table.size)
        assert all(isinstance(part, TableItems) for part in parts)
        divided[table.id.name] = [part.location for part in parts if isinstance(part, TableItems)]
        for paths in (None, ["code"], ["id"]):
            whole = read_table(table, Databases(), max_rows=1 << 60, paths=paths)
            streams = [read_part(part, paths) for part in parts]
            assert {stream.columns for stream in streams} <= {whole.columns}
            if parts:
                rows = [row for stream in streams for row in rows_of(stream.batches)]
                assert sorted(rows, key=repr) == rows_of(whole.batches)
    places = {table.id.name: table.location for table in tables}
    numbers = {name: len(parts) for name, parts in divided.items()}
    assert divided == {name: [places[name]] * number for name, number in numbers.items()}
    assert numbers == {
        "a/ice": 3,
        "delta": 4,
        "days.parquet": 5,
        "long.orc": 4,
        "many.parquet": 5,
        "one.parquet": 0,
        "shelves.orc": 3,
        "text.csv": 0,
    }


def test_evidence_of_parts_is_that_of_the_whole(
    tables: Sequence[Table], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    columns = [ColumnId(table.id, path) for table in tables for path in COLUMNS]
    pairs = [*product(columns, columns)]
    texts = frozenset(column for column in columns if column.path == "code")
    whole = verify_joins(spark, tables, pairs, config=WHOLE)
    assert len(whole) == len(pairs)
    kinds = ColumnKinds(texts=texts)
    assert verify_joins(spark, tables, pairs, kinds=kinds, config=IN_PARTS) == whole


def test_an_unreadable_part_costs_the_table_only(
    tables: Sequence[Table],
    server: S3Server,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    [many] = [table for table in tables if table.id.name == "many.parquet"]
    read = [table for table in tables if table.id.name in {"many.parquet", "text.csv"}]
    ids = [ColumnId(table.id, "id") for table in read]

    def divide_and_lose(location: TableLocation, size: int) -> Sequence[TablePart]:
        parts = divide_table(location, size)
        assert server.files
        if parts:
            server.files.delete_file("lake/shop/many.parquet")
        return parts

    monkeypatch.setattr("datahub_hyperjoin.spark.files.table_parts.divide_table", divide_and_lose)
    unread: list[TableId] = []
    found = verify_joins(
        spark, read, [(ids[1], other) for other in ids], config=IN_PARTS, note_unread=unread.append
    )
    assert [*found] == [(ids[1], ids[1])]
    assert unread == [many.id]


def test_a_file_that_is_no_parquet_file_cannot_be_divided(
    server: S3Server, tmp_path: Path, tables: Sequence[Table]
) -> None:
    [many] = [table for table in tables if table.id.name == "many.parquet"]
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/many.parquet").write_text("no Parquet")
    server.upload(tmp_path / "bad")
    with pytest.raises(UnreadableTableError, match="cannot be read"):
        divide_table(many.location, many.size)
