"""Profile the columns of many tables together.

Most tables are short, and then the number of calls costs more time than the work in each. The texts
of columns are therefore collected until there are enough to be aggregated in one call; a long table
fills this buffer several times.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from datahub_hyperjoin.spark.columns import Column
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.aggregate import (
    ColumnAggregate,
    aggregate_columns,
    merge_aggregates,
)
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

_BUFFER_BYTES = 1 << 20
"""Size at which the buffer is aggregated; a larger buffer is not faster."""
_COLUMN_BYTES = 1 << 8
"""Bytes that each column adds to the estimated size of the buffer, besides its texts."""

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
        config: Limits on what is read and kept.
        databases: Open databases, to which those of the tables are added.
    """

    def __init__(self, config: ProfileConfig, databases: Databases) -> None:
        self._config = config
        self._databases = databases
        # One value more than the sketch keeps distinguishes a full sketch from an overflowing one.
        self._size = config.sketch_size + 1
        self._tables: list[_ReadTable] = []
        self._aggregates: dict[_Key, ColumnAggregate] = {}
        self._buffer: list[tuple[_Key, pa.Array]] = []
        self._buffer_bytes = 0
        self.is_full = False
        """Whether further tables should be added to another batch."""

    def add(self, table: Table) -> None:
        """Read a table, and add its values to the batch.

        Args:
            table: The table.

        Raises:
            TableError: The table cannot be used. The batch is then as it was before.
        """
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
                notes += self._read(table, counted.unread).notes
            index = len(self._tables)
            for path, aggregate in counted.aggregates.items():
                self._aggregates[index, path] = aggregate
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
            self._remove(len(self._tables))
            raise
        return _ReadRows(stream.columns, rows, stream.notes)

    def profiles(self) -> list[TableProfile]:
        """Compute the profiles of all tables in the batch.

        Returns:
            One profile per table, in the order in which they were added.
        """
        self._aggregate()
        columns = [
            CountedColumn(
                ColumnId(read.table.id, column.path),
                column.position,
                self._aggregates[index, column.path],
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
        self._buffer += (
            ((index, path), column)
            for path, column in zip(batch.schema.names, batch.columns, strict=True)
        )
        self._buffer_bytes += batch.get_total_buffer_size() + _COLUMN_BYTES * batch.num_columns
        if self._buffer_bytes > _BUFFER_BYTES:
            self.is_full = True
            self._aggregate()

    def _aggregate(self) -> None:
        texts = [count_texts(rows) for _, rows in self._buffer]
        counted = aggregate_columns(texts, self._size, value_hash=self._config.value_hash)
        for (key, _), aggregate in zip(self._buffer, counted, strict=True):
            before = self._aggregates.get(key)
            self._aggregates[key] = (
                merge_aggregates(before, aggregate, size=self._size) if before else aggregate
            )
        self._buffer, self._buffer_bytes = [], 0

    def _remove(self, index: int) -> None:
        self._buffer = [(key, rows) for key, rows in self._buffer if key[0] != index]
        self._aggregates = {
            key: aggregate for key, aggregate in self._aggregates.items() if key[0] != index
        }


def _with_opaque(read: _ReadTable, profiles: Iterator[ColumnProfile]) -> Iterator[ColumnProfile]:
    for column in read.columns:
        id_ = ColumnId(read.table.id, column.path)
        yield opaque_profile(id_, column, rows=read.rows) if column.opaque else next(profiles)
