"""Inspect database tables and views with SQLAlchemy, and read their rows."""

import math
import time
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import pyarrow as pa
from sqlalchemy import (
    ColumnElement,
    Dialect,
    Engine,
    Inspector,
    Select,
    column,
    inspect,
    literal_column,
    select,
    table,
)
from sqlalchemy.dialects.mysql import BIT
from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError
from sqlalchemy.types import ARRAY, JSON, TypeEngine

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.columns import Column, choose_columns
from datahub_hyperjoin.spark.databases.binary_values import HEX_DIGITS, has_digits, is_binary
from datahub_hyperjoin.spark.databases.clickhouse_types import ClickHouseType
from datahub_hyperjoin.spark.databases.engines import unreadable, without_type_warnings
from datahub_hyperjoin.spark.databases.granted_columns import (
    describe_granted,
    lacks_privilege,
    withheld_columns,
)
from datahub_hyperjoin.spark.databases.redshift_connections import MOST_FETCHED
from datahub_hyperjoin.spark.databases.stored_names import stored_name
from datahub_hyperjoin.spark.databases.transactions import seconds_in_all, statement_limit
from datahub_hyperjoin.spark.errors import UnreadableRelationError
from datahub_hyperjoin.spark.objects import batch_of
from datahub_hyperjoin.tables import DataType

_BATCH_CELLS = 1 << 17
_NESTED_TYPES = {
    *(
        "ARRAY",
        "GEOGRAPHY",
        "GEOMETRY",
        "HLLSKETCH",
        "HSTORE",
        "JSON",
        "MAP",
        "OBJECT",
        "ROW",
        "STRUCT",
    ),
    *("SUPER", "TSVECTOR", "VARIANT", "VECTOR"),
}


class ReflectedColumn(NamedTuple):
    """A column as the database describes it."""

    name: str
    """Name of the column."""

    type: TypeEngine[object]
    """Type of the column."""


def inspect_database(engine: Engine) -> Inspector:
    """Create a SQLAlchemy inspector for a database."""
    try:
        return inspect(engine)
    except SQLAlchemyError as error:
        raise unreadable(error) from None


def choose_relation_columns(
    relation: Relation, inspector: Inspector, paths: Collection[str] | None = None
) -> tuple[tuple[Column, ...], list[str]]:
    """Return the columns to read from a table or view, and notes about the others."""
    return choose_columns(columns_of(relation, inspector), paths)


def columns_of(relation: Relation, inspector: Inspector) -> list[Column]:
    """List the columns of a table or view.

    Returns:
        All columns that the user may know of, in the order of the table.
    """
    try:
        columns = reflect_columns(relation, inspector)
        withheld = withheld_columns(relation, inspector)
    except NoSuchTableError:
        raise UnreadableRelationError.removed() from None
    except SQLAlchemyError as error:
        raise unreadable(error) from None
    # Without any column to select, the database says why.
    withheld = withheld if len(withheld) < len(columns) else set()
    system = inspector.dialect.name
    return [
        Column(each.name, position, DataType.TEXT, is_withheld=True)
        if each.name in withheld
        else Column(
            each.name,
            position,
            _opaque_type(each.type, system),
            is_binary=has_digits(each.type, system),
        )
        for position, each in enumerate(columns)
    ]


def reflect_columns(relation: Relation, inspector: Inspector) -> list[ReflectedColumn]:
    """Ask the database for the columns of a table or view, once for each inspector.

    Returns:
        All columns that can be read, in the order of the table.
    """
    # Not every dialect keeps what it is told.
    key = ("reflect_columns", relation.schema, relation.name)
    if key not in inspector.info_cache:
        with without_type_warnings():
            inspector.info_cache[key] = _reflect(relation, inspector)
    columns = inspector.info_cache[key]
    return [ReflectedColumn(name_of(each["name"], inspector), each["type"]) for each in columns]


def _reflect(relation: Relation, inspector: Inspector) -> Sequence[Mapping[str, Any]]:
    try:
        return inspector.get_columns(relation.name, relation.schema or None)
    except SQLAlchemyError as error:
        granted = lacks_privilege(error) and describe_granted(relation, inspector)
        if not granted:
            raise
    return granted


def name_of(reported: str, inspector: Inspector) -> str:
    """Remove escape characters that SQLAlchemy leaves in a column's name.

    Args:
        reported: The name as SQLAlchemy reports it. For MySQL it is parsed from the statement that
            creates the table, where quotes in names are doubled.
    """
    is_mysql = inspector.dialect.name in {"mysql", "mariadb"}
    return reported.replace("``", "`") if is_mysql else name_in_key(reported, inspector)


def name_in_key(reported: str, inspector: Inspector) -> str:
    """Remove the quotes that SQLAlchemy leaves around a name in a key of Redshift."""
    is_quoted = inspector.dialect.name == "redshift" and reported.startswith('"')
    return reported[1:-1].replace('""', '"') if is_quoted else reported


def _opaque_type(type_: TypeEngine[object], system: str) -> DataType | None:
    if isinstance(type_, ClickHouseType):
        return type_.opaque
    if is_binary(type_):
        return None if has_digits(type_, system) else DataType.BINARY
    nested = isinstance(type_, (ARRAY, JSON)) or type(type_).__name__.upper() in _NESTED_TYPES
    return DataType.NESTED if nested else None


def select_values(
    relation: Relation, names: Sequence[str], inspector: Inspector
) -> Select[tuple[object, ...]]:
    """Build a `SELECT` statement for the values of some columns, in a form that drivers read.

    Args:
        names: Names of the columns; without any, a constant is selected for each row.
    """
    dialect = inspector.dialect
    statement = select_from(relation, names, dialect)
    try:
        columns = reflect_columns(relation, inspector) if names else []
    except SQLAlchemyError as error:
        raise unreadable(error) from None
    readings = {
        stored_name(each.name, dialect): reading
        for each in columns
        if (reading := _reading(each.type, dialect.name))
    }
    if not readings:
        return statement
    stored = [stored_name(name, dialect) for name in names]
    mark = dialect.identifier_preparer.initial_quote
    read: list[ColumnElement[object]] = [
        literal_column(readings[name].format(f"{mark}{name.replace(mark, mark * 2)}{mark}"))
        if name in readings
        else column(name)
        for name in stored
    ]
    return statement.with_only_columns(*read)


def _reading(type_: TypeEngine[object], system: str) -> str | None:
    """Return the expression that reads the column `{0}`; None if drivers read it as it is."""
    if isinstance(type_, ClickHouseType):
        return type_.read
    if isinstance(type_, BIT):
        return "CAST({0} AS UNSIGNED)"  # the driver returns bytes
    return HEX_DIGITS[system] if has_digits(type_, system) else None


def select_from(
    relation: Relation, names: Sequence[str], dialect: Dialect
) -> Select[tuple[object, ...]]:
    """Build a `SELECT` statement for some columns of a table or view.

    All names are quoted, so that reserved words and capitals are taken literally.

    Args:
        names: Names of the columns; without any, a constant is selected for each row.
    """
    schema = stored_name(relation.schema, dialect) if relation.schema else None
    source = table(stored_name(relation.name, dialect), schema=schema)
    columns: list[ColumnElement[object]] = [column(stored_name(name, dialect)) for name in names]
    # Even without columns, a row counts.
    return select(*(columns or [literal_column("1")])).select_from(source)


def read_rows(
    engine: Engine, statement: Select[tuple[object, ...]], names: Sequence[str]
) -> Generator[pa.RecordBatch, None, None]:
    """Execute a SQL statement, and yield the result in batches."""
    rows = max(1, _BATCH_CELLS // max(1, len(names)))
    if engine.dialect.name == "redshift":
        rows = min(rows, MOST_FETCHED)
    options = {"stream_results": True, "max_row_buffer": rows}
    limit = math.inf
    try:
        with engine.connect() as connection:
            connection.begin()
            limit, end = statement_limit(connection), time.monotonic() + seconds_in_all(connection)
            # PyMySQL cannot end a transaction while a result is open.
            with closing(connection.execution_options(**options).execute(statement)) as result:
                for batch in result.partitions(rows):
                    columns = [list(values) for values in zip(*batch, strict=True)]
                    yield batch_of(names, columns, rows=len(batch))
                    if time.monotonic() > end:
                        raise UnreadableRelationError.too_slow(limit)
    except SQLAlchemyError as error:
        raise unreadable(error, limit) from None
