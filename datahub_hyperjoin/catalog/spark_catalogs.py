"""List the tables of a Spark catalog."""

from hashlib import sha256

from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.errors import NoTablesError
from datahub_hyperjoin.catalog.files import state_of
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import CatalogTable, SparkCatalog
from datahub_hyperjoin.spark.databases.listing import ListedRelation
from datahub_hyperjoin.spark.native.catalog_files import LocatedTable, locate_files
from datahub_hyperjoin.spark.native.catalogs import list_catalog
from datahub_hyperjoin.tables import Table


def scan_spark_catalog(
    session: SparkSession, connection: str, catalog: SparkCatalog, selection: TableSelection
) -> list[Table]:
    """List the tables and views of a Spark catalog.

    Returns:
        Tables, ordered by schema and name. Those that consist of plain files have these in their
        locations, too.
    """
    relations = list_catalog(
        session,
        catalog.name,
        connection,
        wanted=selection.schemas.allowed,
        views=selection.views,
    )
    chosen = [
        relation
        for relation in relations
        if selection.tables.allowed(f"{relation.schema}.{relation.name}")
    ]
    if not chosen:
        raise NoTablesError.in_database(connection, seen=len(relations))
    located = locate_files(session, catalog.name, chosen)
    return [_table(relation, located.get(relation), catalog, selection) for relation in chosen]


def _table(
    relation: ListedRelation,
    located: LocatedTable | None,
    catalog: SparkCatalog,
    selection: TableSelection,
) -> Table:
    files = located.files if located else None
    listed = located.listed if located else ()
    return selection.table(
        database=catalog.name,
        schema=relation.schema,
        table=relation.name,
        title=relation.name,
        location=CatalogTable(
            catalog=catalog.name, schema=relation.schema, name=relation.name, files=files
        ),
        size=sum(file.size for file in listed),
        # A column may be added in the catalog alone.
        state=f"{state_of(listed)} {sha256(files.schema).hexdigest()}" if files else "",
    )
