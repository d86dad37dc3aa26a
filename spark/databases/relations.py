"""Reads tables and views of databases, as SQLAlchemy knows them."""

from collections.abc import Generator, Sequence

import pyarrow as pa
from sqlalchemy import (
    ColumnElement,
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
from datahub_hyperjoin.spark.databases.engines import database_error_text, quietly
from datahub_hyperjoin.spark.errors import UnreadableRelationError
from datahub_hyperjoin.spark.objects import batch_of
from datahub_hyperjoin.tables import DataType

_CELLS = 1 << 17
_NESTED = ("HSTORE", "TSVECTOR", "STRUCT", "MAP", "SUPER", "VARIANT", "OBJECT")


def look_at(engine: Engine) -> Inspector:
    """What a database tells of its tables.

    Args:
        engine: The database.

    Returns:
        What remembers the answers, so that nothing is asked twice.

    Raises:
        UnreadableRelationError: The database does not answer.
    """
    try:
        return inspect(engine)
    except SQLAlchemyError as error:
        raise UnreadableRelationError.because(database_error_text(error)) from None


def columns_of(relation: Relation, known: Inspector) -> list[Column]:
    """The columns of a table or a view.

    Args:
        relation: Which one.
        known: What its database tells.

    Returns:
        All of them, in its order.

    Raises:
        UnreadableRelationError: The database does not tell.
    """
    try:
        with quietly():
            listed = known.get_columns(relation.name, relation.schema or None)
    except NoSuchTableError:
        raise UnreadableRelationError.gone() from None
    except SQLAlchemyError as error:
        raise UnreadableRelationError.because(database_error_text(error)) from None
    return [
        Column(name_of(one["name"], known), at, _opaque(one["type"]))
        for at, one in enumerate(listed)
    ]


def name_of(listed: str, known: Inspector) -> str:
    """The name of a column.

    Args:
        listed: What SQLAlchemy gives: of MySQL, what stands between the quotes of the statement
            that creates the table.
        known: What the database tells.

    Returns:
        The name as it is.
    """
    return listed.replace("``", "`") if known.dialect.name in {"mysql", "mariadb"} else listed


def _opaque(type_: TypeEngine[object]) -> DataType | None:
    if isinstance(type_, (_Binary, LargeBinary)):
        return DataType.BINARY
    nested = isinstance(type_, (ARRAY, JSON)) or type(type_).__name__.upper() in _NESTED
    return DataType.NESTED if nested else None


def select_from(relation: Relation, names: Sequence[str]) -> Select[tuple[object, ...]]:
    """Every name in quotes, so that reserved words and capitals stay what they are.

    Args:
        relation: A table or a view.
        names: Its columns; without any, each row gives a number.

    Returns:
        What selects them.
    """
    schema = quoted_name(relation.schema, quote=True) if relation.schema else None
    source = table(quoted_name(relation.name, quote=True), schema=schema)
    columns: list[ColumnElement[object]] = [column(quoted_name(one, quote=True)) for one in names]
    return select(*(columns or [literal_column("1")])).select_from(source)


def read_rows(
    engine: Engine, statement: Select[tuple[object, ...]], names: Sequence[str]
) -> Generator[pa.RecordBatch, None, None]:
    """Rows as they stream from the database.

    Args:
        engine: The database.
        statement: What to select.
        names: What to call it.

    Yields:
        Some thousands at a time.

    Raises:
        UnreadableRelationError: The database does not give them.
    """
    rows = max(1, _CELLS // max(1, len(names)))
    options = {"stream_results": True, "max_row_buffer": rows}
    try:
        with engine.connect() as connection:
            found = connection.execution_options(**options).execute(statement)
            for part in found.partitions(rows):
                columns = [list(one) for one in zip(*part, strict=True)]
                yield batch_of(names, columns, rows=len(part))
    except SQLAlchemyError as error:
        raise UnreadableRelationError.because(database_error_text(error)) from None
