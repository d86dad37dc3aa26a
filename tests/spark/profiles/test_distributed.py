"""Test that tables read by many tasks give the same results as if one task read them."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)

from datahub_hyperjoin.locations import CatalogTable, DeltaFolder, File, Folder, TableLocation
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.profiles.partial import profile_distributed
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, verify_joins
from datahub_hyperjoin.tables import ColumnId, DataType, Table, TableId

ROWS = 6_000
IN_PARTS = ProfileConfig(split_bytes=1)
WHOLE = ProfileConfig(split_bytes=1 << 40)


def content(rows: int = ROWS, seed: int = 0) -> pa.Table:
    random = np.random.default_rng(seed)
    codes = np.array(["DE", "NA", "fr", "FR ", None])[random.integers(5, size=rows)]
    return pa.table(
        {
            "id": np.arange(rows),
            "code": pa.array(codes.tolist(), pa.string()),
            "many": [f"value {at}" for at in random.integers(9_000, size=rows)],
            "price": pa.array([Decimal(int(at)) / 100 for at in random.integers(999, size=rows)]),
            "share": random.random(rows).round(3),
            "day": random.integers(19_000, 19_100, rows).astype("datetime64[D]"),
            "moment": pa.array(
                [dt.datetime(2024, 1, 1) + dt.timedelta(seconds=int(at)) for at in range(rows)],  # noqa: DTZ001 (what a file holds)
                pa.timestamp("us"),
            ),
            "seen": pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)] * rows),
            "paid": random.random(rows) < 0.5,
            "at": pa.array([{"a.b": at % 7, "town": f"t{at % 5}"} for at in range(rows)]),
            "odd `name`": np.arange(rows) % 3,
            "tags": pa.array([["a"]] * rows),
            "photo": pa.array([b"x"] * rows),
            "empty": pa.nulls(rows, pa.string()),
        }
    )


def table(name: str, location: TableLocation, size: int = 1) -> Table:
    return Table(id=TableId("file", name), title=name, location=location, size=size)


@pytest.fixture
def parquet(tmp_path: Path) -> Table:
    path = tmp_path / "orders [1].parquet"
    pq.write_table(content(), path, row_group_size=500)
    return table("orders", File(uri=str(path), format="parquet"), 10**6)


@pytest.fixture
def small_parts(spark: SparkSession) -> Iterator[None]:
    """Make Spark split files into small parts, so that small files have many parts."""
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "16k")
    yield
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(before))


@pytest.mark.usefixtures("small_parts")
def test_a_file_read_in_parts_has_the_profile_of_the_whole(
    spark: SparkSession, parquet: Table
) -> None:
    location = str(getattr(parquet.location, "uri", "")).replace("[", "\\[")
    parts = spark.read.parquet(location).select(F.spark_partition_id())
    assert parts.distinct().count() > 5
    [found] = profile_distributed(spark, [parquet], ProfileConfig())
    assert found == profile_table(parquet, ProfileConfig(), Databases())
    assert len(found.columns) == 15


@pytest.mark.usefixtures("small_parts")
def test_an_orc_file_read_in_parts_has_the_profile_of_the_whole(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "orders.orc"
    some = content().drop_columns(["seen", "moment", "tags", "odd `name`"])
    orc.write_table(some, path, stripe_size=1 << 12)
    one = table("orders", File(uri=str(path), format="orc"))
    assert profile_distributed(spark, [one], WHOLE) == [profile_table(one, WHOLE, Databases())]


def test_null_words_are_resolved_by_the_whole_column(spark: SparkSession, tmp_path: Path) -> None:
    """Write a column of codes and a column of numbers, both with the same words for null."""
    for at, cells in enumerate([["DE", "NA"], ["NA", "7"], ["none", "3"]]):
        part = tmp_path / "codes" / f"part-{at}.parquet"
        part.parent.mkdir(exist_ok=True)
        numbers = [cell if cell in {"NA", "none"} else str(at) for cell in cells]
        pq.write_table(pa.table({"code": cells, "number": numbers}), part)
    parts = tuple(f"part-{at}.parquet" for at in range(3))
    location = Folder(uri=str(tmp_path / "codes"), format="parquet", parts=parts)
    one = table("codes", location)
    [found] = profile_distributed(spark, [one], ProfileConfig())
    code, number = found.columns
    assert (code.type, code.nulls, sorted(code.sample)) == (
        DataType.TEXT,
        0,
        ["3", "7", "DE", "NA", "none"],
    )
    assert (number.type, number.nulls, sorted(number.sample)) == (
        DataType.INTEGER,
        3,
        ["0", "1", "2"],
    )
    pairs = [(c.id, c.id) for c in found.columns]
    known = ColumnKinds(texts=frozenset({code.id}))
    in_parts = verify_joins(spark, [one], pairs, kinds=known, config=IN_PARTS)
    assert [in_parts[pair].shared for pair in pairs] == [5, 3]
    assert in_parts == verify_joins(spark, [one], pairs, config=WHOLE)


def test_of_a_series_only_its_files_are_read_with_the_columns_of_the_newest(
    spark: SparkSession, tmp_path: Path
) -> None:
    columns = {"id": [1, 2], "item": ["a", "b"]}
    for name, more in (("2023/x [1]", {}), ("2024/x [1]", {"price": [5, 6]}), ("2024/other", {})):
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({**columns, **more}), path)
    parts = ("2023/x [1].parquet", "2024/x [1].parquet")
    location = Folder(
        uri=str(tmp_path), format="parquet", parts=parts, has_others=True, newest=parts[1]
    )
    one = table("2024/x [1].parquet", location)
    [found] = profile_distributed(spark, [one], WHOLE)
    assert found == profile_table(one, WHOLE, Databases())
    assert ([column.id.path for column in found.columns], found.rows) == (
        ["id", "item", "price"],
        4,
    )


def test_partition_keys_are_columns_as_written(spark: SparkSession, tmp_path: Path) -> None:
    ways = [
        "month=01/city=S%C3%A3o Paulo",
        "month=02/city=a%2Fb",
        "month=__HIVE_DEFAULT_PARTITION__/city=x",
    ]
    parts = []
    for at, way in enumerate(ways):
        part = tmp_path / "sales" / way / "x.parquet"
        part.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": [at, at + 10]}), part)
        parts.append(f"{way}/x.parquet")
    location = Folder(uri=str(tmp_path / "sales"), format="parquet", parts=tuple(parts))
    one = table("sales", location)
    assert profile_distributed(spark, [one], WHOLE) == [profile_table(one, WHOLE, Databases())]


def test_only_large_files_are_read_by_many_tasks(
    spark: SparkSession, parquet: Table, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    lines = tmp_path / "t.jsonl"
    lines.write_text('{"id": 1}\n{"id": 2}\n')
    others = [
        replace(parquet, id=TableId("file", "small"), size=10),
        table("text", File(uri=str(lines), format="jsonl"), 10**6),
    ]
    config = ProfileConfig(split_bytes=1000)
    found = profile_lake(spark, [others[0], parquet, others[1]], config)
    assert [profile.table.id.name for profile in found] == ["small", "orders", "text"]
    assert "Reading 2 tables in 2 tasks" in caplog.text
    assert "Profiling 1 tables through Spark's own readers" in caplog.text


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    "config",
    [ProfileConfig(max_rows=600), ProfileConfig(max_bytes=100_000)],
    ids=["rows", "bytes"],
)
def test_the_sample_of_a_long_table_is_the_same_in_every_run(
    spark: SparkSession, parquet: Table, config: ProfileConfig
) -> None:
    [found] = profile_distributed(spark, [parquet], config)
    ids = np.array([int(value) for value in found.columns[0].sample])
    assert found.notes[-1] == f"read a sample of 10.00% of {ROWS} rows"
    assert 450 < found.rows < 750
    assert ids.max() > ROWS * 0.8  # from the whole table, not only from its beginning
    assert profile_distributed(spark, [parquet], config) == [found]


@pytest.mark.usefixtures("small_parts")
def test_evidence_does_not_depend_on_the_route(spark: SparkSession, tmp_path: Path) -> None:
    tables = []
    for at in range(3):
        path = tmp_path / f"t{at}.parquet"
        pq.write_table(
            content(2_000, seed=at).select(["id", "code", "many"]), path, row_group_size=300
        )
        tables.append(table(f"t{at}", File(uri=str(path), format="parquet"), 10 + at))
    columns = [ColumnId(one.id, path) for one in tables for path in ("id", "code", "many")]
    pairs = list(product(columns, columns))
    known = ColumnKinds(texts=frozenset(c for c in columns if c.path != "id"))
    whole = verify_joins(spark, tables, pairs, config=WHOLE)
    assert verify_joins(spark, tables, pairs, kinds=known, config=IN_PARTS) == whole
    some = ProfileConfig(split_bytes=11)  # one of the three is read by one task
    assert verify_joins(spark, tables, pairs, kinds=known, config=some) == whole


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    name = "shop_1"
    spark.sql("CREATE DATABASE shop_1")
    yield name
    spark.sql("DROP DATABASE shop_1 CASCADE")


def in_catalog(schema: str, name: str) -> Table:
    return table(name, CatalogTable(catalog="spark_catalog", schema=schema, name=name))


def test_tables_and_views_of_a_spark_catalog_are_read_by_name(
    spark: SparkSession, schema: str, parquet: Table
) -> None:
    frame = spark.createDataFrame(content().drop_columns(["at", "odd `name`"]))
    at = "shop_1"
    frame.write.saveAsTable(f"{at}.orders")
    spark.sql(f"CREATE VIEW {at}.paid AS SELECT id, code FROM {at}.orders WHERE paid")
    orders, paid = profile_lake(
        spark, [in_catalog(schema, "orders"), in_catalog(schema, "paid")], WHOLE
    )
    expected = {c.id.path: c for c in profile_table(parquet, WHOLE, Databases()).columns}
    assert [c.id.path for c in orders.columns] == [
        path for path in expected if not path.startswith(("at.", "odd"))
    ]
    assert [c.sketch for c in orders.columns] == [
        expected[c.id.path].sketch for c in orders.columns
    ]
    assert 0.4 * ROWS < paid.rows < 0.6 * ROWS


def test_an_error_of_spark_is_the_fault_of_one_table(
    spark: SparkSession, schema: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    spark.sql("CREATE TABLE shop_1.void (id INT) USING parquet")
    bad = File(uri=str(tmp_path / "bad.parquet"), format="parquet")
    tables = [
        in_catalog(schema, "gone"),
        table("bad", bad),
        in_catalog(schema, "void"),
        table("delta", DeltaFolder(uri="s3a://lake/delta")),
    ]
    faults = [profile.fault for profile in profile_lake(spark, tables, IN_PARTS)]
    assert faults[0].startswith("cannot be read: [TABLE_OR_VIEW_NOT_FOUND]")
    assert faults[0].endswith(". Correct its definition, which needs what no longer exists")
    assert faults[1].startswith("cannot be read: ")
    assert faults[2] == "has no rows. Add rows"
    assert "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta" in faults[3]


def test_a_table_of_nothing_comparable_counts_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"photo": [b"x", b"y"], "tags": [["a"], ["b"]]}), path)
    one = table("p", File(uri=str(path), format="parquet"))
    assert profile_distributed(spark, [one], WHOLE) == [profile_table(one, WHOLE, Databases())]


def test_a_table_removed_after_profiling_does_not_affect_others(
    spark: SparkSession, parquet: Table, schema: str
) -> None:
    gone = in_catalog(schema, "gone")
    id_, lost = ColumnId(parquet.id, "id"), ColumnId(gone.id, "id")
    found = verify_joins(spark, [parquet, gone], [(id_, id_), (lost, id_)], config=IN_PARTS)
    assert {pair: said.shared for pair, said in found.items()} == {(id_, id_): ROWS}
    assert verify_joins(spark, [gone], [(lost, lost)], config=IN_PARTS) == {}


def test_a_table_that_fails_in_verification_does_not_affect_others(
    spark: SparkSession, parquet: Table, tmp_path: Path
) -> None:
    pq.write_table(content(2_000), tmp_path / "bad.parquet", row_group_size=500)
    written = bytearray((tmp_path / "bad.parquet").read_bytes())
    written[100:3_000] = bytes(2_900)  # the footer of the file remains intact
    (tmp_path / "bad.parquet").write_bytes(written)
    bad = table("bad", File(uri=str(tmp_path / "bad.parquet"), format="parquet"))
    assert profile_distributed(spark, [bad], WHOLE)[0].fault.startswith("cannot be read: ")
    id_, lost = ColumnId(parquet.id, "id"), ColumnId(bad.id, "id")
    found = verify_joins(spark, [parquet, bad], [(id_, id_), (lost, id_)], config=IN_PARTS)
    assert {pair: said.shared for pair, said in found.items()} == {(id_, id_): ROWS}
