"""Test how data frames and DuckDB tables become Parquet files."""

from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.discovery.copies import copy_duckdb, copy_frames
from datahub_hyperjoin.discovery.errors import UnusableSourceError
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.tables import Table


def content(table: Table) -> dict[str, list[object]]:
    assert isinstance(table.location, File)
    return pq.read_table(table.location.uri).to_pydict()


def refuse(title: str, message: str, context: str) -> None:
    raise AssertionError(title, message, context)


def test_frames_of_every_library_are_copied(
    frames: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    regions = frames["regions"]
    every = {
        "pandas": regions,
        "arrow": pa.Table.from_pandas(regions),
        "polars": pl.from_pandas(regions),
        "lazy": pl.from_pandas(regions).lazy(),
        "duckdb": duckdb.from_df(regions),
    }
    tables = copy_frames(every, tmp_path, prefix="", warn=refuse)
    assert [str(table.id) for table in tables] == [*every]
    assert [content(table) for table in tables] == [regions.to_dict("list")] * 5
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600] * 5


def test_frames_of_spark_are_copied(
    spark: SparkSession, frames: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    frame = spark.createDataFrame(frames["regions"])
    [table] = copy_frames({"regions": frame}, tmp_path, prefix="shop", warn=refuse)
    assert (str(table.id), table.title) == ("shop.regions", "regions")
    assert content(table) == frames["regions"].to_dict("list")


def test_odd_frames_of_pandas_are_copied(tmp_path: Path) -> None:
    mixed = pd.DataFrame([[1, "a"], ["x", "b"], [None, "c"]], columns=["v", "v"])
    named = pd.DataFrame({1: [3]}, index=pd.Index(["k"], name="key"))
    unnamed = pd.DataFrame({"a": [3]}, index=["k"])
    tables = copy_frames(
        {"mixed": mixed, "named": named, "unnamed": unnamed}, tmp_path, prefix="", warn=refuse
    )
    assert [content(table) for table in tables] == [
        {"v": ["1", "x", None], "v_1": ["a", "b", "c"]},
        {"key": ["k"], "1": [3]},
        {"row_name": ["k"], "a": [3]},
    ]


def test_a_value_that_is_no_frame_is_named(tmp_path: Path) -> None:
    message = "'orders' is a list, which is no data frame. Pass frames of pandas, Polars, Arrow or"
    with pytest.raises(UnusableSourceError, match=message):
        copy_frames({"orders": [1]}, tmp_path, prefix="", warn=refuse)


def test_tables_and_views_of_duckdb_are_copied(tmp_path: Path) -> None:
    file, copies = tmp_path / "shop.duckdb", tmp_path / "copies"
    copies.mkdir()
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            """
            CREATE TABLE orders AS SELECT 1::HUGEINT AS id, INTERVAL 1 DAY AS wait;
            CREATE SCHEMA "my.sales";
            CREATE VIEW "my.sales"."a""b" AS SELECT id FROM orders;
            CREATE TABLE gone AS SELECT 1 AS a;
            CREATE VIEW broken AS SELECT a FROM gone;
            DROP TABLE gone;
            """
        )
    warnings: list[tuple[str, str]] = []
    tables = copy_duckdb(
        file, copies, prefix="", warn=lambda title, _, context: warnings.append((title, context))
    )
    assert {str(table.id): content(table) for table in tables} == {
        "orders": {"id": [1]},
        'my.sales.a"b': {"id": [1]},
    }
    assert [table.location.copy_of for table in tables if isinstance(table.location, File)] == [
        ("orders",),
        ("my.sales", 'a"b'),
    ]
    assert sorted(warnings) == [
        ("Columns skipped", "orders: Parquet has no type for wait"),
        ("Table skipped", "broken: CatalogException"),
    ]


def test_a_damaged_file_of_duckdb_is_named(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    file.write_bytes(bytes(8) + b"DUCK" + bytes(5000))
    with pytest.raises(
        UnusableSourceError, match=r"shop\.duckdb' cannot be opened: .* Close the pro"
    ):
        copy_duckdb(file, tmp_path, prefix="", warn=refuse)
