"""Test that reading a Spark catalog's files directly gives the same profiles as Spark's readers."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.catalog.spark_tables import scan_spark_catalog
from datahub_hyperjoin.locations import CatalogTable, SparkCatalog
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.verification.verify import verify_joins
from datahub_hyperjoin.tables import ColumnId, Table, TableProfile

SCHEMA = "stored"
CONFIG = ProfileConfig()
_VALUES = """SELECT id, CAST(id AS INT) AS small, id / 8 AS share, CAST(id / 4 AS DECIMAL(9, 2)) AS
    price, concat('0', id % 7) AS code, date_add(DATE'2024-01-31', CAST(id AS INT)) AS day,
    timestamp_seconds(id * 7919) AS moment, TIMESTAMP_NTZ'2024-05-06 07:08:09' AS local,
    id % 2 = 0 AS paid, named_struct('town', concat('t', id), 'deep', named_struct('at', id)) AS
    at, array(id) AS tags, CAST('x' AS BINARY) AS photo, CAST(NULL AS STRING) AS nothing"""


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    spark.sql(f"CREATE DATABASE {SCHEMA}")
    yield SCHEMA
    spark.sql(f"DROP DATABASE {SCHEMA} CASCADE")


def scan(spark: SparkSession) -> dict[str, Table]:
    config = {"spark_catalog": "spark_catalog", "schemas": {"allow": [f"^{SCHEMA}$"]}}
    connection = ConnectionConfig.model_validate(config)
    assert isinstance(connection.source, SparkCatalog)
    tables = scan_spark_catalog(spark, "connections[0]", connection.source, connection.selection)
    return {table.title: table for table in tables}


def is_located(table: Table) -> bool:
    assert isinstance(table.location, CatalogTable)
    assert bool(table.state) == bool(table.size) == bool(table.location.files)
    return table.location.files is not None


def by_spark(table: Table) -> Table:
    assert isinstance(table.location, CatalogTable)
    return replace(table, location=replace(table.location, files=None), state="")


def profiles_of(spark: SparkSession, table: Table) -> tuple[TableProfile, TableProfile]:
    """Return two profiles of a table: as a run reads it, and as Spark's own readers read it."""
    [found], [expected] = (profile_lake(spark, [one], CONFIG) for one in (table, by_spark(table)))
    return found, replace(expected, table=found.table)


def check(spark: SparkSession, name: str) -> TableProfile:
    """Check that reading a table's files directly gives the same results as Spark's readers."""
    table = scan(spark)[name]
    assert is_located(table)
    found, expected = profiles_of(spark, table)
    assert found == expected
    assert found.table == table
    columns = [column.id for column in found.columns]
    pairs = [(column, column) for column in columns]
    assert verify_joins(spark, [table], pairs) == verify_joins(spark, [by_spark(table)], pairs)
    return found


@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize("format_", ["parquet", "orc"])
def test_files_of_every_type_are_read_as_spark_reads_them(
    spark: SparkSession, format_: str
) -> None:
    values = (
        _VALUES
        if format_ == "parquet"
        else _VALUES.partition("timestamp_seconds")[0] + "id AS last"
    )
    spark.sql(f"CREATE TABLE {SCHEMA}.every USING {format_} AS {values} FROM range(90)")
    found = check(spark, "every")
    assert (found.rows, found.fault) == (90, "")
    assert len(found.columns) == (14 if format_ == "parquet" else 7)


@pytest.mark.usefixtures("schema")
def test_partitions_are_columns_with_the_values_of_the_catalog(spark: SparkSession) -> None:
    spark.sql(
        f"""CREATE TABLE {SCHEMA}.parted USING parquet PARTITIONED BY (land, year, day) AS
        SELECT id, IF(id % 3 = 0, NULL, concat('0', id % 3, ' ö/')) AS land, 2020 + id % 2 AS year,
        DATE'2024-01-01' AS day FROM range(40)"""
    )
    found = check(spark, "parted")
    assert [column.id.path for column in found.columns] == ["id", "land", "year", "day"]
    land, year = found.columns[1:3]
    assert ({*land.sample}, {*year.sample}) == ({"01 ö/", "02 ö/"}, {"2020", "2021"})


@pytest.mark.usefixtures("schema")
def test_columns_added_later_are_null_in_older_files(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE {SCHEMA}.grown USING parquet AS SELECT id FROM range(5)")
    spark.sql(f"ALTER TABLE {SCHEMA}.grown ADD COLUMN name STRING")
    spark.sql(f"INSERT INTO {SCHEMA}.grown SELECT id, concat('n', id) FROM range(9)")
    found = check(spark, "grown")
    assert [(column.rows, column.nulls) for column in found.columns] == [(14, 0), (14, 5)]


def stored(spark: SparkSession, folder: Path, name: str, columns: str, rows: pa.Table) -> None:
    """Make a table of the catalog from a file that Spark did not write."""
    at = folder / name
    at.mkdir(parents=True)
    pq.write_table(rows, at / "0.parquet")
    spark.sql(f"CREATE TABLE {SCHEMA}.{name} ({columns}) USING parquet LOCATION '{at}'")


@pytest.mark.usefixtures("schema")
def test_narrower_numbers_are_read_as_the_catalogs(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table(
        {
            "id": pa.array([1, -2, None], pa.int16()),
            "share": pa.array([0.1, 2.5, 3], pa.float32()),
            "name": pa.array(["a", "b", "a"]).dictionary_encode(),
        }
    )
    stored(spark, tmp_path, "narrow", "name STRING, id BIGINT, share DOUBLE", rows)
    found = check(spark, "narrow")
    assert [column.id.path for column in found.columns] == ["name", "id", "share"]


@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize(
    ("format_", "keys"), [("parquet", {"K1", "K2", "K3"}), ("orc", {"4b31", "4b32", "4b33"})]
)
def test_bytes_of_parquet_are_text_where_they_hold_text(
    spark: SparkSession, format_: str, keys: set[str]
) -> None:
    spark.sql(
        f"""CREATE TABLE {SCHEMA}.bytes USING {format_} AS SELECT
        CAST(concat('K', id) AS BINARY) AS key, unhex(concat('0', id)) AS hash
        FROM range(1, 4)"""
    )
    key, hash_ = check(spark, "bytes").columns
    assert ({*key.sample}, {*hash_.sample}) == (keys, {"01", "02", "03"})


@pytest.mark.usefixtures("schema")
def test_bytes_of_a_view_are_text_as_those_of_its_table(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE {SCHEMA}.codes USING parquet AS SELECT CAST('K1' AS BINARY) AS key")
    spark.sql(f"CREATE VIEW {SCHEMA}.shown AS SELECT key FROM {SCHEMA}.codes")
    tables = scan(spark)
    [view] = profile_lake(spark, [tables["shown"]], CONFIG)
    assert view.columns[0].sample == check(spark, "codes").columns[0].sample == ("K1",)


@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize("values", [("K1", ""), ("", "K1")])
def test_files_of_which_one_holds_text_as_bytes_are_left_to_spark(
    spark: SparkSession, values: tuple[str, str]
) -> None:
    spark.sql(f"CREATE TABLE {SCHEMA}.mixed (key BINARY) USING parquet")
    for value in values:
        spark.sql(f"INSERT INTO {SCHEMA}.mixed SELECT CAST(nullif('{value}', '') AS BINARY)")
    found, expected = profiles_of(spark, scan(spark)["mixed"])
    assert found == expected
    assert found.table.location == by_spark(found.table).location
    assert found.columns[0].sample == ("K1",)


@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("id INT", {"id": pa.array([1, 2], pa.int64())}),
        ("id BIGINT, name STRING", {"ID": [1, 2], "name": ["a", "b"]}),
        ("id BIGINT, name STRING", {"id": [1, 2], "old_name": ["a", "b"]}),
        ("id DECIMAL(9, 3)", {"id": pa.array(["1", "2"]).cast(pa.decimal128(9, 1))}),
        ("id STRING", {"id": [[1], [2]]}),
        ("at STRUCT<x: INT, y: INT>", {"at": [{"x": 1}, {"x": 2}]}),
        ("id DATE", {"id": pa.array([-200_000, 7], pa.int32()).cast(pa.date32())}),
        ("id TIMESTAMP_NTZ", {"id": pa.array([1, 2], pa.timestamp("us", "UTC"))}),
    ],
    ids=["type", "case", "name", "scale", "list", "member", "calendar", "zone"],
)
def test_files_unlike_the_catalog_are_left_to_spark(
    spark: SparkSession, tmp_path: Path, columns: str, rows: dict[str, pa.Array]
) -> None:
    stored(spark, tmp_path, "unlike", columns, pa.table(rows))
    table = scan(spark)["unlike"]
    assert is_located(table)
    alone = profile_table(table, CONFIG, Databases())
    assert "Spark's own readers read the table" in alone.fault
    found, expected = profiles_of(spark, table)
    assert found == expected
    assert found.table == by_spark(table)


@pytest.mark.usefixtures("schema")
def test_a_damaged_file_has_the_fault_that_spark_reports(
    spark: SparkSession, tmp_path: Path
) -> None:
    stored(spark, tmp_path, "damaged", "id BIGINT", pa.table({"id": [1]}))
    (tmp_path / "damaged" / "1.parquet").write_bytes(b"PAR1 no")
    found, expected = profiles_of(spark, scan(spark)["damaged"])
    assert found.fault == expected.fault != ""
    assert "Read it as the connection's user, to see what is wrong" in found.fault


@pytest.mark.usefixtures("schema")
def test_tables_that_are_more_than_their_files_are_left_to_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    def sql(statement: str) -> None:
        spark.sql(statement.replace("{}", SCHEMA))

    sql("CREATE TABLE {}.base USING parquet AS SELECT id FROM range(3)")
    sql("CREATE VIEW {}.seen AS SELECT id FROM {}.base")
    sql("CREATE TABLE {}.text USING csv AS SELECT id FROM range(3)")
    sql("CREATE TABLE {}.padded (id CHAR(4)) USING parquet")
    sql("INSERT INTO {}.padded VALUES ('a')")
    sql("CREATE TABLE {}.filled (id INT) USING parquet")
    sql("INSERT INTO {}.filled VALUES (1)")
    sql("ALTER TABLE {}.filled ADD COLUMN land STRING DEFAULT 'DE'")
    sql("CREATE TABLE {}.clocked USING orc AS SELECT timestamp_seconds(1) AS at")
    sql("CREATE TABLE {}.spans USING parquet AS SELECT INTERVAL '1' DAY AS span")
    sql("CREATE TABLE {}.loose USING parquet OPTIONS (mergeSchema true) AS SELECT 1 AS id")
    sql("CREATE TABLE {}.void (id INT) USING parquet")
    stored(spark, tmp_path, "nested", "id BIGINT", pa.table({"id": [1]}))
    (tmp_path / "nested" / "old").mkdir()
    sql("CREATE TABLE {}.shared (id BIGINT, year INT) USING parquet PARTITIONED BY (year)")
    sql("INSERT INTO {}.shared VALUES (1, 2024)")
    sql(f"ALTER TABLE {SCHEMA}.shared ADD PARTITION (year = 2025) LOCATION '{tmp_path / 'nested'}'")
    tables = scan(spark)
    assert {name for name, table in tables.items() if is_located(table)} == {"base"}
    profiles = profile_lake(spark, [*tables.values()], CONFIG)
    assert {one.table.title for one in profiles if one.fault} == {"void"}
    found = {one.table.title: one for one in profiles}
    assert found["shared"].rows == 2
    assert found["filled"].columns[1].sample == ("DE",)


@pytest.mark.usefixtures("schema")
def test_only_the_partitions_of_the_catalog_are_read(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(
        f"""CREATE TABLE {SCHEMA}.years USING parquet PARTITIONED BY (year)
        LOCATION '{tmp_path / "years"}' AS SELECT id, 2020 + id % 4 AS year FROM range(8)"""
    )
    spark.sql(f"ALTER TABLE {SCHEMA}.years DROP PARTITION (year = 2021)")
    (tmp_path / "years" / "year=2021" / "x").mkdir(parents=True, exist_ok=True)
    assert check(spark, "years").rows == 6


@pytest.mark.usefixtures("schema")
def test_a_comment_cannot_name_other_files(spark: SparkSession, tmp_path: Path) -> None:
    stored(spark, tmp_path, "secret", "id BIGINT", pa.table({"id": [1]}))
    comment = f"fine\\nLocation: file:{tmp_path / 'secret'}\\nType: MANAGED"
    spark.sql(f"CREATE TABLE {SCHEMA}.posed USING parquet COMMENT '{comment}' AS SELECT 2L AS id")
    assert not is_located(scan(spark)["posed"])


@pytest.mark.usefixtures("schema")
def test_nothing_is_read_from_files_where_spark_may_filter_rows(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE {SCHEMA}.masked USING parquet AS SELECT id FROM range(3)")
    assert is_located(scan(spark)["masked"])
    before = spark.conf.get
    with pytest.MonkeyPatch.context() as patch:
        # This setting cannot change in a running session.
        patch.setattr(
            type(spark.conf),
            "get",
            lambda _, name, default=None: (
                "org.example.MaskingExtension"
                if name == "spark.sql.extensions"
                else before(name, default)
            ),
        )
        assert not is_located(scan(spark)["masked"])


@pytest.mark.usefixtures("schema")
def test_a_change_of_the_table_changes_its_state(spark: SparkSession) -> None:
    states = []
    for statement in (
        "CREATE TABLE {}.changing USING parquet AS SELECT 1 AS id",
        "INSERT INTO {}.changing VALUES (2)",
        "ALTER TABLE {}.changing ADD COLUMN name STRING",
    ):
        spark.sql(statement.format(SCHEMA))
        states.append(scan(spark)["changing"].state)
        assert scan(spark)["changing"].state == states[-1]
    assert len({*states}) == 3


def test_the_rows_of_requested_columns_are_counted(spark: SparkSession, schema: str) -> None:
    """Read only one column, which an older file of the table lacks."""
    spark.sql(f"CREATE TABLE {schema}.late USING parquet AS SELECT id FROM range(5)")
    spark.sql(f"ALTER TABLE {schema}.late ADD COLUMN name STRING")
    spark.sql(f"INSERT INTO {schema}.late SELECT id, 'n' FROM range(2)")
    table = scan(spark)["late"]
    name = ColumnId(table.id, "name")
    [evidence] = verify_joins(spark, [table], [(name, name)]).values()
    assert (evidence.shared, evidence.rows) == (1, 4)
