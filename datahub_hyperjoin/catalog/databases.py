"""The tables that a database has."""

from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.errors import NoTablesError
from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.spark.databases.engines import open_engine
from datahub_hyperjoin.spark.databases.listing import list_relations
from datahub_hyperjoin.tables import Table


def scan_database(connection: str, database: Database, chosen: TableSelection) -> list[Table]:
    """Lists the tables of a database.

    Args:
        connection: Its key in the recipe.
        database: Where it is.
        chosen: Which tables are wanted, and what they are called.

    Returns:
        Tables by schema and name.

    Raises:
        UnreachableDatabaseError: The database does not answer.
        NoTablesError: It has no table that is wanted.
    """
    engine = open_engine(connection, database)
    try:
        listed = list_relations(
            engine, connection, wanted=chosen.schemas.allowed, views=chosen.views
        )
    finally:
        engine.dispose()
    tables = [
        chosen.table(
            database=engine.url.database or "",
            schema=one.schema,
            table=one.name,
            title=one.name,
            place=Relation(
                database=database, connection=connection, schema=one.schema, name=one.name
            ),
            size=one.size,
            state=one.state,
        )
        for one in listed
        if chosen.tables.allowed(f"{one.schema}.{one.name}")
    ]
    if not tables:
        raise NoTablesError.in_database(connection, seen=len(listed))
    return tables
