"""Test which files of a remote folder are tables, and which names they have in DataHub."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.catalog.errors import NoRemoteTablesError
from datahub_hyperjoin.catalog.spark_tables import scan_remote_folder
from datahub_hyperjoin.locations import (
    DeltaFolder,
    Dialect,
    File,
    Folder,
    IcebergFolder,
    RemoteFolder,
)
from datahub_hyperjoin.spark.errors import UnreachableSourceError
from datahub_hyperjoin.tables import Table, TableId

KEY = "connections[0]"
FILES = (
    "a/planes.CSV",
    "a/codes.csv.gz",
    "b [1]/orders/year=2023/part-0.parquet",
    "b [1]/orders/year=2024/part-0.parquet",
    "b [1]/sales/part-0.parquet",
    "b [1]/sales/_delta_log/0.json",
    "b [1]/_draft.csv",
    "c/trips/data/0.parquet",
    "c/trips/metadata/v1.metadata.json",
    "c/trips/metadata/snap-1.avro",
    "notes.txt",
)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """Create a local folder of files, and return a URI that makes it look remote."""
    host = tmp_path.name.replace("_", "-")  # Hadoop caches each file system that it opens.
    key = f"fs.viewfs.mounttable.{host}.link./data"
    spark.conf.set(key, tmp_path.as_uri())
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("12345678")
    yield f"viewfs://{host}/data"
    spark.conf.unset(key)


def scan(
    spark: SparkSession,
    folder: str,
    warnings: list[str] | None = None,
    **config: Any,  # noqa: ANN401
) -> list[Table]:
    connection = ConnectionConfig.model_validate({"folder": folder, **config})
    assert isinstance(connection.source, RemoteFolder)
    told = [] if warnings is None else warnings
    return scan_remote_folder(
        spark,
        KEY,
        connection.source,
        connection.selection,
        warn=lambda *warning: told.append(warning[2]),
    )


def test_tables_are_recognised_as_in_a_local_folder(spark: SparkSession, lake: str) -> None:
    warnings: list[str] = []
    tables = scan(spark, f"{lake}/", warnings)
    assert warnings == [".txt: 1 file, for example notes.txt"]
    name = lake.removeprefix("viewfs://")
    assert [(table.id, table.title, table.size) for table in tables] == [
        (TableId("viewfs", f"{name}/a/codes.csv.gz"), "codes", 8),
        (TableId("viewfs", f"{name}/a/planes.CSV"), "planes", 8),
        (TableId("viewfs", f"{name}/b [1]/orders"), "orders", 16),
        (TableId("viewfs", f"{name}/b [1]/sales"), "sales", 16),
        (TableId("viewfs", f"{name}/c/trips"), "trips", 24),
    ]
    assert [table.location for table in tables] == [
        File(uri=f"{lake}/a/codes.csv.gz", format="csv"),
        File(uri=f"{lake}/a/planes.CSV", format="csv"),
        Folder(
            uri=f"{lake}/b [1]/orders",
            format="parquet",
            parts=("year=2023/part-0.parquet", "year=2024/part-0.parquet"),
        ),
        DeltaFolder(uri=f"{lake}/b [1]/sales"),
        IcebergFolder(uri=f"{lake}/c/trips"),
    ]


@pytest.mark.parametrize(
    ("scheme", "platform"),
    [("s3a", "s3"), ("gs", "gcs"), ("abfss", "abs"), ("hdfs", "hdfs")],
)
def test_file_systems_have_the_platforms_of_datahub(scheme: str, platform: str) -> None:
    connection = ConnectionConfig.model_validate({"folder": f"{scheme}://lake/sales"})
    assert (connection.selection.platform, connection.selection.names) == (
        platform,
        "{folder}/{table}",
    )


def test_the_recipe_sets_names_and_patterns(spark: SparkSession, lake: str) -> None:
    config: dict[str, Any] = {"platform": "s3", "platform_instance": "eu", "names": "lake/{table}"}
    tables = scan(spark, lake, **config, tables={"allow": ["a/.*"]})
    assert [table.id.name for table in tables] == [
        "eu.lake/a/codes.csv.gz",
        "eu.lake/a/planes.CSV",
    ]


def test_tables_have_the_dialect_of_the_connection(spark: SparkSession, lake: str) -> None:
    tables = scan(spark, lake, dialect={"delimiter": "^", "quote": ""})
    dialects = [
        table.location.dialect for table in tables if isinstance(table.location, (File, Folder))
    ]
    assert dialects == [Dialect(delimiter="^", quote="")] * 3


def test_a_changed_table_has_another_state(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    before = {table.title: table.state for table in scan(spark, lake)}
    assert {table.title: table.state for table in scan(spark, lake)} == before
    (tmp_path / "a" / "planes.CSV").write_text("123456789")
    (tmp_path / "b [1]" / "sales" / "_delta_log" / "1.json").write_text("{}")
    after = {table.title: table.state for table in scan(spark, lake)}
    assert {title for title in after if after[title] != before[title]} == {"planes", "sales"}


def test_a_folder_without_tables_is_named(spark: SparkSession, lake: str) -> None:
    message = r"the folder of `connections\[0\]` has 9 files, and none holds a table that its"
    with pytest.raises(NoRemoteTablesError, match=message):
        scan(spark, lake, tables={"deny": [".*"]})


@pytest.mark.parametrize("folder", ["viewfs://nowhere/data", "lost://lake/data"])
def test_an_unreachable_folder_is_named(spark: SparkSession, folder: str) -> None:
    message = (
        r"the folder of `connections\[0\]` cannot be listed: .*(nowhere|lost).* Check its `folder`"
        r", and that `spark.settings` let Spark reach it"
    )
    with pytest.raises(UnreachableSourceError, match=message):
        scan(spark, folder)
