"""List the tables of a database."""

from datahub_hyperjoin.catalog.connector_names import database_name
from datahub_hyperjoin.catalog.errors import NoTablesError
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.spark.databases.engines import open_engine
from datahub_hyperjoin.spark.databases.listing import list_relations, without_parts
from datahub_hyperjoin.tables import Table


def scan_database(connection: str, database: Database, selection: TableSelection) -> list[Table]:
    """List the tables and views of a database."""
    engine = open_engine(connection, database)
    try:
        relations = list_relations(
            engine, connection, wanted=selection.schemas.allowed, views=selection.views
        )
    finally:
        engine.dispose()
    chosen = (each for each in relations if selection.tables.allowed(each.path))
    tables = [
        selection.table(
            database=database_name(engine.url),
            schema=relation.schema,
            table=relation.name,
            title=relation.name,
            location=Relation(
                database=database,
                connection=connection,
                schema=relation.schema,
                name=relation.name,
                is_view=relation.is_view,
            ),
            size=relation.size,
            state=relation.state,
        )
        for relation in without_parts(chosen)
    ]
    if not tables:
        raise NoTablesError.in_database(connection, seen=len(relations))
    return tables
