"""List the tables of a Spark catalog."""

from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.errors import NoTablesError
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import CatalogTable, SparkCatalog
from datahub_hyperjoin.spark.native.catalogs import list_catalog
from datahub_hyperjoin.tables import Table


def scan_spark_catalog(
    session: SparkSession, connection: str, catalog: SparkCatalog, selection: TableSelection
) -> list[Table]:
    """List the tables and views of a Spark catalog.

    Args:
        session: Lists the catalog.
        connection: The catalog's recipe key, for messages.
        catalog: The catalog.
        selection: The tables to keep, and the pattern of their names.

    Returns:
        Tables, ordered by schema and name.

    Raises:
        UnreachableSourceError: The catalog does not exist, or the system behind it does not answer.
        NoTablesError: It has no table that the selection keeps.
    """
    relations = list_catalog(
        session,
        catalog.name,
        connection,
        wanted=selection.schemas.allowed,
        views=selection.views,
    )
    tables = [
        selection.table(
            database=catalog.name,
            schema=relation.schema,
            table=relation.name,
            title=relation.name,
            location=CatalogTable(catalog=catalog.name, schema=relation.schema, name=relation.name),
        )
        for relation in relations
        if selection.tables.allowed(f"{relation.schema}.{relation.name}")
    ]
    if not tables:
        raise NoTablesError.in_database(connection, seen=len(relations))
    return tables
