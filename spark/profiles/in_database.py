"""Aggregate the columns of a database table from the values that the database selects.

The aggregates are those of all rows: the database counts them, and selects the values with the
smallest hashes. What a few values do not tell (types, lengths) it computes for all of them.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlalchemy import Connection, inspect
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.batches import with_usable_values
from datahub_hyperjoin.spark.columns import Column, TableStream, choose_columns
from datahub_hyperjoin.spark.counting.aggregate import ColumnAggregate, aggregate_columns
from datahub_hyperjoin.spark.counting.text_counts import TextCounts, texts_of
from datahub_hyperjoin.spark.databases.distinct_values import (
    SelectedValues,
    select_values,
    types_of_all,
)
from datahub_hyperjoin.spark.databases.engines import Databases, database_error_text
from datahub_hyperjoin.spark.databases.relations import columns_of
from datahub_hyperjoin.spark.databases.sql_forms import (
    SqlColumn,
    can_compute,
    may_compute,
    sql_columns,
)
from datahub_hyperjoin.tables import DataType, Table

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AggregatedTable:
    """A table whose rows its database has counted."""

    columns: tuple[Column, ...]
    """Its columns."""

    aggregates: Mapping[str, ColumnAggregate]
    """The aggregate of each column that can be compared, by its path."""

    rows: int
    """Number of its rows."""

    notes: tuple[str, ...]
    """Notes for users."""


def aggregate_in_database(table: Table, databases: Databases, size: int) -> AggregatedTable | None:
    """Aggregate the columns of a table in its database.

    Args:
        table: The table.
        databases: Open databases, to which that of the table is added.
        size: Number of distinct values to keep per column.

    Returns:
        The aggregates of all its rows; None if its rows must be read, because it is in no database
        that can select values, because it has no rows, or because a statement failed.
    """
    location = table.location
    if not isinstance(location, Relation) or not may_compute(location.database):
        return None
    try:
        with databases.engine(location).connect() as connection:
            if not can_compute(connection):
                return None
            return _aggregate_table(location, connection, size)
    except SQLAlchemyError as error:
        reason = database_error_text(error)
    except TableError as error:
        reason = str(error)
    logger.info("Reading %s, because the database could not count it: %s", table.id, reason)
    return None


def _aggregate_table(
    relation: Relation, connection: Connection, size: int
) -> AggregatedTable | None:
    inspector = inspect(connection)
    columns, notes = choose_columns(columns_of(relation, inspector), None)
    described = sql_columns(relation, inspector, connection)
    aggregates = {
        column.path: _aggregate(connection, described[column.path], size, notes)
        for column in columns
        if not column.opaque
    }
    rows = max((one.rows for one in aggregates.values()), default=0)
    # Without rows or columns to compare, the reader knows what to say.
    return AggregatedTable(columns, aggregates, rows, tuple(notes)) if rows else None


def _aggregate(
    connection: Connection, column: SqlColumn, size: int, notes: list[str]
) -> ColumnAggregate:
    """Aggregate a column from its values with the smallest hashes, or else from all."""
    selected = select_values(connection, column, size)
    aggregate = _count(selected, size, notes)
    if column.form is None or selected.is_whole:
        return aggregate
    values = aggregate.values
    is_complete = len(values) == size and int(values.hashes[-1]) < selected.below
    # Few columns have a notation; the hashes of its form have another order.
    if aggregate.forms or not is_complete:
        return _count(select_values(connection, replace(column, form=None), size), size, notes)
    types = aggregate.types
    if column.form.settled and aggregate.type is not column.form.settled:
        types |= types_of_all(connection, column, column.form)
    if DataType.TEXT in types:
        types = frozenset({DataType.TEXT})
    ends = (*(selected.lengths or ()), *aggregate.lengths)
    return replace(aggregate, rows=selected.rows, types=types, lengths=(min(ends), max(ends)))


def _count(selected: SelectedValues, size: int, notes: list[str]) -> ColumnAggregate:
    """Aggregate the selected values, each with its number of rows."""
    batch = pa.RecordBatch.from_arrays([selected.values], names=["value"])
    stream = with_usable_values(TableStream((), (batch for _ in "1"), []))
    [usable] = stream.batches
    notes += stream.notes
    counts = selected.counts.to_numpy()
    texts = TextCounts(int(counts.sum()), texts_of(usable.column(0)), counts)
    [aggregate] = aggregate_columns([texts], size)
    return aggregate
