"""Inspect database tables and views with SQLAlchemy, and read their rows."""

import math
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

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
from sqlalchemy.sql.elements import quoted_name
from sqlalchemy.types import ARRAY, JSON, LargeBinary, TypeEngine, _Binary

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.columns import Column
from datahub_hyperjoin.spark.databases.clickhouse_types import ClickHouseType
from datahub_hyperjoin.spark.databases.engines import unreadable, without_type_warnings
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
    """Create a SQLAlchemy inspector for a database.

    Args:
        engine: The database.

    Returns:
        The inspector, which caches what the database answers.

    Raises:
        UnreadableRelationError: The database does not answer.
    """
    try:
        return inspect(engine)
    except SQLAlchemyError as error:
        raise unreadable(error) from None


def columns_of(relation: Relation, inspector: Inspector) -> list[Column]:
    """List the columns of a table or view.

    Args:
        relation: The table or view.
        inspector: The inspector of its database.

    Returns:
        All columns, in the order of the table.

    Raises:
        UnreadableRelationError: The table does not exist or cannot be inspected.
    """
    try:
        columns = reflect_columns(relation, inspector)
    except NoSuchTableError:
        raise UnreadableRelationError.removed() from None
    except SQLAlchemyError as error:
        raise unreadable(error) from None
    return [
        Column(column_.name, position, _opaque_type(column_.type))
        for position, column_ in enumerate(columns)
    ]


def reflect_columns(relation: Relation, inspector: Inspector) -> list[ReflectedColumn]:
    """Ask the database for the columns of a table or view, once for each inspector.

    Args:
        relation: The table or view.
        inspector: The inspector of its database.

    Returns:
        All columns that can be read, in the order of the table.

    Raises:
        NoSuchTableError: The table does not exist.
        SQLAlchemyError: The database does not describe it.
    """
    # Not every dialect keeps what it is told.
    key = ("reflect_columns", relation.schema, relation.name)
    if key not in inspector.info_cache:
        with without_type_warnings():
            columns = inspector.get_columns(relation.name, relation.schema or None)
        inspector.info_cache[key] = columns
    columns = inspector.info_cache[key]
    return [ReflectedColumn(name_of(each["name"], inspector), each["type"]) for each in columns]


def name_of(reported: str, inspector: Inspector) -> str:
    """Remove escape characters that SQLAlchemy leaves in a column's name.

    Args:
        reported: The name as SQLAlchemy reports it. For MySQL it is parsed from the statement that
            creates the table, where quotes in names are doubled.
        inspector: The inspector of the database.

    Returns:
        The name.
    """
    is_mysql = inspector.dialect.name in {"mysql", "mariadb"}
    return reported.replace("``", "`") if is_mysql else name_in_key(reported, inspector)


def name_in_key(reported: str, inspector: Inspector) -> str:
    """Remove the quotes that SQLAlchemy leaves around a name in a key of Redshift.

    Args:
        reported: The name as SQLAlchemy reports it.
        inspector: The inspector of the database.

    Returns:
        The name.
    """
    is_quoted = inspector.dialect.name == "redshift" and reported.startswith('"')
    return reported[1:-1].replace('""', '"') if is_quoted else reported


def _opaque_type(type_: TypeEngine[object]) -> DataType | None:
    if isinstance(type_, ClickHouseType):
        return type_.opaque
    if isinstance(type_, (_Binary, LargeBinary)):
        return DataType.BINARY
    nested = isinstance(type_, (ARRAY, JSON)) or type(type_).__name__.upper() in _NESTED_TYPES
    return DataType.NESTED if nested else None


def select_values(
    relation: Relation, names: Sequence[str], inspector: Inspector
) -> Select[tuple[object, ...]]:
    """Build a `SELECT` statement for the values of some columns, in a form that drivers read.

    Args:
        relation: The table or view.
        names: Names of the columns; without any, a constant is selected for each row.
        inspector: The inspector of its database.

    Returns:
        The statement.

    Raises:
        UnreadableRelationError: The table does not exist or cannot be inspected.
    """
    statement = select_from(relation, names, inspector.dialect)
    if inspector.dialect.name != "clickhouse" or not names:
        return statement
    try:
        types = {each.name: each.type for each in reflect_columns(relation, inspector)}
    except SQLAlchemyError as error:
        raise unreadable(error) from None
    read: Iterator[ColumnElement[object]] = (
        literal_column(type_.read.format('"' + name.replace('"', '""') + '"'))
        if isinstance(type_ := types[name], ClickHouseType) and type_.read
        else column(quoted_name(name, quote=True))
        for name in names
    )
    return statement.with_only_columns(*read)


def select_from(
    relation: Relation, names: Sequence[str], dialect: Dialect
) -> Select[tuple[object, ...]]:
    """Build a `SELECT` statement for some columns of a table or view.

    All names are quoted, so that reserved words and capitals are taken literally.

    Args:
        relation: The table or view.
        names: Names of the columns; without any, a constant is selected for each row.
        dialect: SQLAlchemy's dialect of the database.

    Returns:
        The statement.
    """
    schema = stored_name(relation.schema, dialect) if relation.schema else None
    source = table(stored_name(relation.name, dialect), schema=schema)
    columns: list[ColumnElement[object]] = [column(stored_name(name, dialect)) for name in names]
    # Even without columns, a row counts.
    return select(*(columns or [literal_column("1")])).select_from(source)


def read_rows(
    engine: Engine, statement: Select[tuple[object, ...]], names: Sequence[str]
) -> Generator[pa.RecordBatch, None, None]:
    """Execute a SQL statement, and yield the result in batches.

    Args:
        engine: The database.
        statement: The statement that selects the rows.
        names: Names of the columns in the result.

    Yields:
        Batches of some thousand rows.

    Raises:
        UnreadableRelationError: The rows cannot be read, or not in time.
    """
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
