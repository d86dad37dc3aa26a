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
from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError
from sqlalchemy.types import TypeEngine

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.columns import Column, choose_columns
from datahub_hyperjoin.spark.databases.connections import seconds_in_all, statement_limit
from datahub_hyperjoin.spark.databases.engines import (
    database_error_code,
    database_error_text,
    unreadable,
    without_type_warnings,
)
from datahub_hyperjoin.spark.databases.system import query, stored_name, system_of
from datahub_hyperjoin.spark.errors import Cause, UnreadableRelationError, cause_of
from datahub_hyperjoin.spark.objects import batch_of
from datahub_hyperjoin.tables import DataType

_BATCH_CELLS = 1 << 17


class ReflectedColumn(NamedTuple):
    """A column as the database describes it."""

    name: str
    type: TypeEngine[Any]


def inspect_database(engine: Engine) -> Inspector:
    """Create a SQLAlchemy inspector for a database."""
    try:
        return inspect(engine)
    except SQLAlchemyError as error:
        raise unreadable(error) from None


def lacks_privilege(error: SQLAlchemyError) -> bool:
    """Return whether a database refused a statement because the user lacks a privilege."""
    return cause_of(database_error_text(error), database_error_code(error)) is Cause.PRIVILEGE


def choose_relation_columns(
    relation: Relation, inspector: Inspector, paths: Collection[str] | None = None
) -> tuple[tuple[Column, ...], list[str]]:
    """Return the columns to read from a table or view, and notes about the others."""
    return choose_columns(columns_of(relation, inspector), paths)


def columns_of(relation: Relation, inspector: Inspector) -> list[Column]:
    """List all columns of a table or view that the user may know of, in the table's order."""
    system = system_of(inspector.dialect)
    asked = {"schema": relation.schema, "name": relation.name}
    try:
        columns = reflect_columns(relation, inspector)
        withheld = {name for (name,) in query(inspector.bind, system.withheld_columns, **asked)}
    except NoSuchTableError:
        raise UnreadableRelationError.removed() from None
    except SQLAlchemyError as error:
        raise unreadable(error) from None
    # Without any column to select, the database says why.
    withheld = withheld if len(withheld) < len(columns) else set()
    return [
        Column(each.name, position, DataType.TEXT, is_withheld=True)
        if each.name in withheld
        else Column(
            each.name,
            position,
            system.opaque_type(each.type),
            is_binary=system.has_digits(each.type),
        )
        for position, each in enumerate(columns)
    ]


def reflect_columns(relation: Relation, inspector: Inspector) -> list[ReflectedColumn]:
    """Ask once for the columns of a table or view that can be read, in the table's order."""
    # Not every dialect keeps what it is told.
    key = ("reflect_columns", relation.schema, relation.name)
    if key not in inspector.info_cache:
        with without_type_warnings():
            inspector.info_cache[key] = _reflect(relation, inspector)
    name_of = system_of(inspector.dialect).column_name
    return [
        ReflectedColumn(name_of(each["name"]), each["type"]) for each in inspector.info_cache[key]
    ]


def _reflect(relation: Relation, inspector: Inspector) -> Sequence[Mapping[str, Any]]:
    try:
        return inspector.get_columns(relation.name, relation.schema or None)
    except SQLAlchemyError as error:
        system = system_of(inspector.dialect)
        granted = lacks_privilege(error) and system.granted_columns(relation, inspector)
        if not granted:
            raise
    return granted


def select_values(
    relation: Relation, names: Sequence[str], inspector: Inspector
) -> Select[tuple[object, ...]]:
    """Build a `SELECT` statement for the values of some columns, in a form that drivers read.

    Without names, a constant is selected for each row.
    """
    dialect, system = inspector.dialect, system_of(inspector.dialect)
    statement = select_from(relation, names, dialect)
    try:
        columns = reflect_columns(relation, inspector) if names else []
    except SQLAlchemyError as error:
        raise unreadable(error) from None
    readings = {
        stored_name(each.name, dialect): reading
        for each in columns
        if (reading := system.reading(each.type))
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


def select_from(
    relation: Relation, names: Sequence[str], dialect: Dialect
) -> Select[tuple[object, ...]]:
    """Build a `SELECT` statement for some columns of a table or view.

    All names are quoted, so that reserved words and capitals are taken literally. Without names, a
    constant is selected for each row.
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
    rows = min(rows, system_of(engine.dialect).most_fetched or rows)
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
