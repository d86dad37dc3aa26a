"""Test SQL on tables of Spark catalogs."""

from collections.abc import Callable

from pyspark.sql import SparkSession

from datahub_hyperjoin.joins import Join, Statement
from datahub_hyperjoin.locations import CatalogTable
from datahub_hyperjoin.tables import Table, TableId

MakeJoin = Callable[..., Join]
Run = Callable[..., list[Statement]]


def test_spark_runs_the_sql_of_its_catalogs(
    spark: SparkSession, make_join: MakeJoin, run: Run
) -> None:
    names = ["sql_orders", "sql_cities"]
    tables = [
        Table(
            id=TableId("hive", f"default.{name}"),
            title=name,
            location=CatalogTable(catalog="spark_catalog", schema="default", name=name),
            size=1,
        )
        for name in names
    ]
    try:
        spark.sql(
            "CREATE TABLE sql_orders USING parquet AS SELECT named_struct('city', 'Oslo') AS to"
        )
        spark.sql(
            """CREATE TABLE sql_cities USING parquet AS
            SELECT 'Oslo' AS name, CAST('Oslo' AS BINARY) AS text"""
        )
        for name in ("name", "text"):
            [found] = run(
                make_join(((tables[1], name), (tables[0], "to.city")), rows=1),
                tables=tables,
                session=lambda: spark,
            )
            assert (found.dialect, found.rows, found.reason) == ("spark", 1, "")
            assert "`spark_catalog`.`default`.`sql_orders`" in found.sql
            assert spark.sql(found.sql).count() == 1
    finally:
        for name in names:
            spark.sql(f"DROP TABLE IF EXISTS {name}")
