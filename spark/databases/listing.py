"""Which tables and views a database has, how large they are, and in which state."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine, Inspector, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.spark.databases.engines import database_error_text
from datahub_hyperjoin.spark.databases.states import states_of
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError

_OF_THE_SYSTEM = {"information_schema", "mysql", "performance_schema", "sys", "pg_catalog"}
_SIZES = {
    "postgresql": "SELECT n.nspname, c.relname, pg_relation_size(c.oid) FROM pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'm')",
    "mysql": "SELECT table_schema, table_name, data_length FROM information_schema.tables",
}
_SIZES["mariadb"] = _SIZES["mysql"]


@dataclass(frozen=True, slots=True, order=True)
class Listed:
    """A table or a view that a database has."""

    schema: str
    """Its schema."""

    name: str
    """Its name in the schema."""

    size: int
    """Bytes on disk; 0 if the database does not tell."""

    state: str = ""
    """Another one whenever its rows may be others; empty if the database does not tell for sure."""


def list_relations(
    engine: Engine, connection: str, *, wanted: Callable[[str], bool], views: bool
) -> list[Listed]:
    """Lists what a database has, without what it has for itself.

    A MySQL server has its databases for schemas: only the one that the URL names is listed, if it
    names one.

    Args:
        engine: The database.
        connection: Its key in the recipe, for messages.
        wanted: Whether a schema is to be listed.
        views: Whether views are listed, too.

    Returns:
        Tables and views by schema and name.

    Raises:
        UnreachableDatabaseError: The database does not answer.
    """
    try:
        sizes = _sizes(engine)
        known = inspect(engine)
        found = [
            (schema, name)
            for schema in _schemas(engine, known)
            if wanted(schema)
            for name in _names(known, schema, views=views)
        ]
    except SQLAlchemyError as error:
        raise UnreachableDatabaseError.because(connection, database_error_text(error)) from None
    states = states_of(engine)
    return sorted(Listed(*one, sizes.get(one, 0), states.get(one, "")) for one in found)


def _schemas(engine: Engine, known: Inspector) -> list[str]:
    if engine.dialect.name in {"mysql", "mariadb"} and engine.url.database:
        return [engine.url.database]
    return [
        schema
        for schema in known.get_schema_names()
        if schema.lower() not in _OF_THE_SYSTEM and not schema.startswith("pg_")
    ]


def _names(known: Inspector, schema: str, *, views: bool) -> set[str]:
    found = {*known.get_table_names(schema)}
    if views:
        found.update(known.get_view_names(schema))
        if known.dialect.name == "postgresql":
            found.update(known.get_materialized_view_names(schema))
    return found


def _sizes(engine: Engine) -> dict[tuple[str, str], int]:
    """How large tables are, where the database can be asked for all at once."""
    statement = _SIZES.get(engine.dialect.name)
    if statement is None:
        return {}
    with engine.connect() as connection:
        rows = connection.execute(text(statement)).all()
    return {(schema, name): int(size or 0) for schema, name, size in rows}
