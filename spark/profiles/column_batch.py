"""Profile the columns of many tables together."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from datahub_hyperjoin.spark.columns import Column, naming_columns
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.aggregate import aggregate_columns
from datahub_hyperjoin.spark.counting.aggregate_buffer import AggregateBuffer
from datahub_hyperjoin.spark.counting.column_profiles import (
    CountedColumn,
    opaque_profile,
    profile_columns,
)
from datahub_hyperjoin.spark.counting.personal import hide_personal_values
from datahub_hyperjoin.spark.counting.text_counts import count_texts
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.value_hash import counts_itself
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Table, TableProfile

_Key = tuple[int, str]
"""A table's index in the batch, and a column's path."""


@dataclass(frozen=True, slots=True)
class _ReadTable:
    """A table that was read, with its columns, its row count and its notes for users."""

    table: Table
    columns: tuple[Column, ...]
    rows: int
    notes: tuple[str, ...]


class _ReadRows(NamedTuple):
    """The columns, the row count and the notes of a table whose values were read."""

    columns: tuple[Column, ...]
    rows: int
    notes: list[str]


class ColumnBatch:
    """A batch of tables whose columns are profiled together.

    Args:
        databases: Open databases, to which those of the tables are added.
    """

    def __init__(self, config: ProfileConfig, databases: Databases) -> None:
        self._config = config
        self._databases = databases
        # One value more than the sketch keeps distinguishes a full sketch from an overflowing one.
        size = config.sketch_size + 1
        aggregate = partial(aggregate_columns, size=size, value_hash=config.value_hash)
        self._tables: list[_ReadTable] = []
        self._columns = AggregateBuffer[_Key](aggregate, size)
        self.is_full = False
        """Whether further tables should be added to another batch."""

    def add(self, table: Table) -> None:
        """Read a table, and add its values to the batch."""
        counted = None
        if counts_itself(table, self._config):
            # SQLAlchemy takes a quarter of a second to import; lakes of files need none.
            from datahub_hyperjoin.spark.profiles.in_database import (  # noqa: PLC0415
                count_in_database,
            )

            counted = count_in_database(table, self._databases, self._config)
        if counted is None:
            columns, rows, notes = self._read(table, None)
        else:
            columns, rows, notes = counted.columns, counted.rows, [*counted.notes]
            if counted.unread:
                with naming_columns(columns):
                    notes += self._read(table, counted.unread).notes
            index = len(self._tables)
            for path, aggregate in counted.aggregates.items():
                self._columns.aggregates[index, path] = aggregate
        self._tables.append(_ReadTable(table, columns, rows, tuple(dict.fromkeys(notes))))

    def _read(self, table: Table, paths: Collection[str] | None) -> "_ReadRows":
        """Read all columns of a table, or those in `paths`."""
        stream = read_table(
            table,
            self._databases,
            max_rows=self._config.max_rows,
            max_bytes=self._config.max_bytes,
            paths=paths,
        )
        rows = 0
        try:
            for batch in stream.batches:
                rows += len(batch)
                self._collect(batch)
        except Exception:
            # Earlier batches of the table may be in the buffer already.
            failed = len(self._tables)
            self._columns.remove(lambda column: column[0] == failed)
            raise
        return _ReadRows(stream.columns, rows, stream.notes)

    def profiles(self) -> list[TableProfile]:
        """Compute the profiles of all tables in the batch.

        Returns:
            One profile per table, in the order in which they were added.
        """
        self._columns.flush()
        columns = [
            CountedColumn(
                ColumnId(read.table.id, column.path),
                column.position,
                self._columns.aggregates[index, column.path],
            )
            for index, read in enumerate(self._tables)
            for column in read.columns
            if not column.opaque
        ]
        profiles = iter(profile_columns(columns, self._config))
        return [
            TableProfile(
                table=read.table,
                columns=tuple(
                    hide_personal_values(column, read.table, self._config)
                    for column in _with_opaque(read, profiles)
                ),
                rows=read.rows,
                notes=read.notes,
            )
            for read in self._tables
        ]

    def _collect(self, batch: pa.RecordBatch) -> None:
        index = len(self._tables)
        for path, column in zip(batch.schema.names, batch.columns, strict=True):
            self._columns.add((index, path), count_texts(column))
        if self._columns.is_full:
            self.is_full = True
            self._columns.flush()


def _with_opaque(read: _ReadTable, profiles: Iterator[ColumnProfile]) -> Iterator[ColumnProfile]:
    for column in read.columns:
        id_ = ColumnId(read.table.id, column.path)
        yield opaque_profile(id_, column, rows=read.rows) if column.opaque else next(profiles)
