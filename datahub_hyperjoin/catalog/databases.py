"""The tables that a database has."""

from dataclasses import dataclass

from datahub.configuration.common import AllowDenyPattern
from sqlalchemy import make_url

from datahub_hyperjoin.errors import NoTablesError
from datahub_hyperjoin.places import Database, Relation
from datahub_hyperjoin.spark.engines import open_engine
from datahub_hyperjoin.spark.listing import list_relations
from datahub_hyperjoin.tables import Table, TableId

_PLATFORMS = {"postgresql": "postgres"}
"""DataHub's platforms, where their names are not SQLAlchemy's."""

_IN_DATABASES = {"postgresql", "redshift", "cockroachdb", "mssql", "snowflake", "trino"}
"""Where DataHub's connectors write the database before the schema."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which tables of a database are read, and what the catalog calls them."""

    platform: str
    """DataHub platform of the tables."""

    env: str
    """DataHub environment of the tables."""

    instance: str | None
    """DataHub platform instance of the tables."""

    names: str
    """Pattern of their names in the catalog, of `{database}`, `{schema}` and `{table}`."""

    schemas: AllowDenyPattern
    """Schemas that are wanted."""

    tables: AllowDenyPattern
    """Tables that are wanted, as `schema.table`."""

    views: bool
    """Whether views are, too."""


def platform_of(database: Database) -> str:
    """The DataHub platform that a database is most likely on.

    Args:
        database: Where it is.

    Returns:
        The platform's name.
    """
    backend = make_url(database.url.get_secret_value()).get_backend_name()
    return _PLATFORMS.get(backend, backend)


def names_of(database: Database) -> str:
    """How DataHub's own connectors name a database's tables.

    Args:
        database: Where it is.

    Returns:
        A pattern.
    """
    backend = make_url(database.url.get_secret_value()).get_backend_name()
    return "{database}.{schema}.{table}" if backend in _IN_DATABASES else "{schema}.{table}"


def scan_database(connection: str, database: Database, chosen: Selection) -> list[Table]:
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
    tables = []
    for one in listed:
        if not chosen.tables.allowed(f"{one.schema}.{one.name}"):
            continue
        name = chosen.names.format(
            database=engine.url.database or "", schema=one.schema, table=one.name
        )
        full_name = f"{chosen.instance}.{name}" if chosen.instance else name
        tables.append(
            Table(
                id=TableId(chosen.platform, full_name, chosen.env),
                title=one.name,
                place=Relation(
                    database=database, connection=connection, schema=one.schema, name=one.name
                ),
                size=one.size,
                instance=chosen.instance or "",
            )
        )
    if not tables:
        raise NoTablesError.in_database(connection, seen=len(listed))
    return tables
