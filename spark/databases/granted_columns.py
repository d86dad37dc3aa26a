"""Find the columns of a table that the user may select, where a database grants single columns."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, cast

from sqlalchemy import Connection, Inspector, Row, text
from sqlalchemy.dialects.mysql import ENUM, SET
from sqlalchemy.dialects.mysql.types import _NumericType
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import NullType, Numeric, String, TypeEngine, _Binary

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.databases.engines import database_error_code, database_error_text
from datahub_hyperjoin.spark.databases.stored_names import relation_in_quotes
from datahub_hyperjoin.spark.errors import Cause, cause_of

_WITHHELD_IN_MYSQL = """
    SELECT column_name FROM information_schema.columns
    WHERE table_schema = :schema AND table_name = :name AND NOT FIND_IN_SET('select', privileges)
"""
_WITHHELD = {
    "mariadb": _WITHHELD_IN_MYSQL,
    "mysql": _WITHHELD_IN_MYSQL,
    "postgresql": """
        SELECT a.attname FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE n.nspname = :schema AND c.relname = :name
            AND NOT has_column_privilege(c.oid, a.attnum, 'SELECT')
    """,
}
"""For each system that grants columns, the query for those that the user may not select."""
_GRANTED_IN_MYSQL = """
    SELECT column_name, data_type, column_type, character_maximum_length, numeric_precision,
        numeric_scale
    FROM information_schema.columns WHERE table_schema = :schema AND table_name = :name
    ORDER BY ordinal_position
"""


def lacks_privilege(error: SQLAlchemyError) -> bool:
    """Return whether a database refused a statement because the user lacks a privilege."""
    return cause_of(database_error_text(error), database_error_code(error)) is Cause.PRIVILEGE


def withheld_columns(relation: Relation, inspector: Inspector) -> set[str]:
    """Return the columns of a table or view that the user may not select.

    Returns:
        Their names; none in a system that does not grant single columns.
    """
    query = _WITHHELD.get(inspector.dialect.name)
    return {name for (name,) in _ask(query, relation, inspector)} if query else set()


def describe_granted(relation: Relation, inspector: Inspector) -> Sequence[Mapping[str, Any]]:
    """Describe the columns of a table of MariaDB or MySQL on which the user has a privilege.

    Who may select some columns only, or may not see the query of a view, may not see the statement
    that creates the table either, from which SQLAlchemy reads the columns.

    Returns:
        The columns as SQLAlchemy describes them; none in another system.
    """
    types = getattr(inspector.dialect, "ischema_names", {})
    if inspector.dialect.name not in {"mariadb", "mysql"}:
        return []
    rows = _ask(_GRANTED_IN_MYSQL, relation, inspector)
    if not rows:
        # A view of what no longer exists has no columns, and only a query tells why.
        table = relation_in_quotes(relation, inspector.dialect)
        _ask(f"SELECT 1 FROM {table} LIMIT 0", relation, inspector)  # noqa: S608 (a quoted name)
    return [
        {
            # As in the statement that creates the table.
            "name": row.column_name.replace("`", "``"),
            "type": _type_of(row, types.get(row.data_type, NullType)),
        }
        for row in rows
    ]


def _ask(query: str, relation: Relation, inspector: Inspector) -> Sequence[Row[Any]]:
    """Run a query about one table."""
    names = {"schema": relation.schema, "name": relation.name}
    bind = inspector.bind
    # A second connection would wait for the first.
    with nullcontext(bind) if isinstance(bind, Connection) else bind.connect() as connection:
        return connection.execute(text(query), names).all()


def _type_of(row: Row[Any], kind: type[TypeEngine[Any]]) -> TypeEngine[Any]:
    """Build the type of a column of MariaDB or MySQL."""
    if issubclass(kind, (ENUM, SET)):
        return String(row.character_maximum_length)
    if issubclass(kind, (String, _Binary)):
        return kind(row.character_maximum_length)
    sizes = (row.numeric_precision, row.numeric_scale) if issubclass(kind, Numeric) else ()
    if not issubclass(kind, _NumericType):
        return kind()
    build = cast("Callable[..., TypeEngine[Any]]", kind)
    return build(*sizes, zerofill="zerofill" in row.column_type)
