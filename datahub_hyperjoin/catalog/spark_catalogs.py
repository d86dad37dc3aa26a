"""The tables that a catalog of Spark's has."""

from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.errors import NoTablesError
from datahub_hyperjoin.locations import CatalogTable, SparkCatalog
from datahub_hyperjoin.spark.native.catalogs import list_catalog
from datahub_hyperjoin.tables import Table


def scan_spark_catalog(
    session: SparkSession, connection: str, catalog: SparkCatalog, chosen: TableSelection
) -> list[Table]:
    """Lists the tables of a catalog.

    Args:
        session: Where to run.
        connection: Its key in the recipe.
        catalog: Which one.
        chosen: Which tables are wanted, and what they are called.

    Returns:
        Tables by schema and name.

    Raises:
        UnreachableSourceError: There is no such catalog, or what is behind it does not answer.
        NoTablesError: It has no table that is wanted.
    """
    listed = list_catalog(
        session, catalog.name, connection, wanted=chosen.schemas.allowed, views=chosen.views
    )
    tables = [
        chosen.table(
            database=catalog.name,
            schema=one.schema,
            table=one.name,
            title=one.name,
            place=CatalogTable(catalog=catalog.name, schema=one.schema, name=one.name),
        )
        for one in listed
        if chosen.tables.allowed(f"{one.schema}.{one.name}")
    ]
    if not tables:
        raise NoTablesError.in_database(connection, seen=len(listed))
    return tables
