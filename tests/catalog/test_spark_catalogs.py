"""Test which tables of Spark catalogs are listed, and which names they have in DataHub."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.catalog.errors import NoTablesError
from datahub_hyperjoin.catalog.spark_tables import scan_spark_catalog
from datahub_hyperjoin.locations import CatalogTable, SparkCatalog
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.errors import UnreachableSourceError
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.verification.verify import verify_joins
from datahub_hyperjoin.tables import ColumnId, Table, TableId

KEY = "connections[0]"


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    name = "airline"
    spark.sql(f"CREATE DATABASE {name}")
    spark.sql(f"CREATE TABLE {name}.flights AS SELECT id AS number, id % 3 AS plane FROM range(9)")
    spark.sql(f"CREATE TABLE {name}.planes AS SELECT id AS plane FROM range(4)")
    spark.sql(f"CREATE VIEW {name}.late AS SELECT number FROM {name}.flights")
    yield name
    spark.sql(f"DROP DATABASE {name} CASCADE")


def scan(spark: SparkSession, **config: Any) -> list[Table]:  # noqa: ANN401
    connection = ConnectionConfig.model_validate({"spark_catalog": "spark_catalog", **config})
    assert isinstance(connection.source, SparkCatalog)
    return scan_spark_catalog(spark, KEY, connection.source, connection.selection)


def test_tables_have_the_names_of_datahubs_hive_connector(spark: SparkSession, schema: str) -> None:
    spark.range(3).createOrReplaceTempView("passing")
    tables = scan(spark, schemas={"allow": [f"^{schema}$"]})
    assert [table.id for table in tables] == [
        TableId("hive", f"{schema}.{name}") for name in ("flights", "late", "planes")
    ]
    location = CatalogTable(catalog="spark_catalog", schema=schema, name="late")
    assert (tables[1].location, tables[1].title, tables[1].state) == (location, "late", "")
    assert [isinstance(table.location, CatalogTable) for table in tables] == [True] * 3


def test_the_recipe_sets_names_and_patterns(spark: SparkSession, schema: str) -> None:
    tables = scan(
        spark,
        platform="iceberg",
        platform_instance="eu",
        env="dev",
        names="{database}.{schema}.{table}",
        views=False,
        schemas={"allow": [schema]},
        tables={"deny": [rf"{schema}\.planes"]},
    )
    assert [table.id for table in tables] == [
        TableId("iceberg", f"eu.spark_catalog.{schema}.flights", "DEV")
    ]


def test_a_catalog_without_tables_is_named(spark: SparkSession, schema: str) -> None:
    wanted = {"schemas": {"allow": [schema]}, "tables": {"deny": [".*"]}}
    message = r"`connections\[0\]` has 3 tables, and none that its `tables` and `schemas` allow"
    with pytest.raises(NoTablesError, match=message):
        scan(spark, **wanted)


def test_an_unknown_catalog_is_named(spark: SparkSession) -> None:
    message = (
        r"the catalog of `connections\[0\]` cannot be listed: .*nowhere.* Check its "
        r"`spark_catalog`, and the catalog's entries in `spark.settings`"
    )
    with pytest.raises(UnreachableSourceError, match=message):
        scan(spark, spark_catalog="nowhere", platform="hive")


@pytest.fixture
def jdbc(spark: SparkSession) -> Iterator[str]:
    """Configure an in-memory Derby database as a Spark catalog, and return its name."""
    if str(spark.conf.get("spark.master", "")).startswith("spark://"):
        pytest.skip("this database lives within one process, and the cluster has several")
    name, url = "warehouse", "jdbc:derby:memory:warehouse"
    settings = {
        "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        ".url": f"{url};create=true",
        ".driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    }
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.{name}{key}", value)
    spark.sql(f"CREATE NAMESPACE {name}.ODD")
    spark.sql(f"CREATE TABLE {name}.ODD.`Select Me` (`Order` INT, `na me` STRING)")
    spark.sql(f"INSERT INTO {name}.ODD.`Select Me` VALUES (1, 'Köln'), (2, NULL), (3, 'Oslo')")
    yield name
    for key in settings:
        spark.conf.unset(f"spark.sql.catalog.{name}{key}")


def test_databases_are_read_over_jdbc_as_spark_catalogs(spark: SparkSession, jdbc: str) -> None:
    config = {"spark_catalog": jdbc, "platform": "derby", "schemas": {"allow": ["ODD"]}}
    [table] = scan(spark, **config)
    assert table.id == TableId("derby", "ODD.Select Me")
    [profile] = profile_lake(spark, [table], ProfileConfig())
    assert (profile.fault, profile.rows) == ("", 3)
    found = {column.id.path: sorted(column.sample) for column in profile.columns}
    assert found == {"Order": ["1", "2", "3"], "na me": ["Köln", "Oslo"]}
    order = ColumnId(table.id, "Order")
    assert verify_joins(spark, [table], [(order, order)])[order, order].shared == 3
