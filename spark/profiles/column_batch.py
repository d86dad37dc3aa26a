"""Tables read one after the other and profiled together, as many as fill an array.

Most tables are short, and what takes time is then the number of calls and not what they do. So
the texts of columns wait on a shelf until there are enough of them to be looked at in one go; a
long table fills the shelf several times.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from datahub_hyperjoin.spark.columns import Column
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.facts import Whole, opaque_profile, profile_columns
from datahub_hyperjoin.spark.counting.tally import Tally, add, tally
from datahub_hyperjoin.spark.counting.written import count_written
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    Table,
    TableProfile,
)

_ENOUGH = 1 << 20
"""Bytes on a shelf: more columns gain nothing by being looked at together."""
_COLUMN = 1 << 8
"""Bytes that a column weighs without a text."""

_Key = tuple[int, str]
"""The place of a table among those read, and a column's path."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A table all rows of which have been on the shelf."""

    table: Table
    columns: tuple[Column, ...]
    rows: int
    notes: tuple[str, ...]


class ColumnBatch:
    """Tables that are profiled together.

    Args:
        config: How much to read, and to keep.
        databases: Where tables of databases are read.
    """

    def __init__(self, config: ProfileConfig, databases: Databases) -> None:
        self._config = config
        self._databases = databases
        self._size = config.sketch_size + 1  # One more tells a full sketch from an overflowing one.
        self._read: list[_Read] = []
        self._tallies: dict[_Key, Tally] = {}
        self._waiting: list[tuple[_Key, pa.Array]] = []
        self._waits = 0
        self.is_full = False
        """Whether more tables should go to another shelf."""

    def put(self, table: Table) -> None:
        """Reads a table.

        Args:
            table: Which one.

        Raises:
            TableError: It cannot be used. Nothing of it is left here then.
        """
        reading = read_table(
            table,
            self._databases,
            max_rows=self._config.max_rows,
            max_bytes=self._config.max_bytes,
        )
        rows = 0
        try:
            for batch in reading.batches:
                rows += len(batch)
                self._wait(batch)
        except Exception:
            self._clear(len(self._read))
            raise
        self._read.append(_Read(table, reading.columns, rows, tuple(reading.notes)))

    def profiles(self) -> list[TableProfile]:
        """What the tables hold.

        Returns:
            A profile for each table, in the order they came.
        """
        self._tally()
        wholes = [
            Whole(
                ColumnId(read.table.id, column.path),
                column.position,
                self._tallies[place, column.path],
            )
            for place, read in enumerate(self._read)
            for column in read.columns
            if not column.opaque
        ]
        profiles = iter(profile_columns(wholes, self._config))
        return [
            TableProfile(
                table=read.table,
                columns=tuple(_profiles(read, profiles)),
                rows=read.rows,
                notes=read.notes,
            )
            for read in self._read
        ]

    def _wait(self, batch: pa.RecordBatch) -> None:
        place = len(self._read)
        self._waiting += (
            ((place, path), column)
            for path, column in zip(batch.schema.names, batch.columns, strict=True)
        )
        self._waits += batch.get_total_buffer_size() + _COLUMN * batch.num_columns
        if self._waits > _ENOUGH:
            self.is_full = True
            self._tally()

    def _tally(self) -> None:
        seen = tally([count_written(rows) for _, rows in self._waiting], self._size)
        for (key, _), one in zip(self._waiting, seen, strict=True):
            known = self._tallies.get(key)
            self._tallies[key] = add(known, one, size=self._size) if known else one
        self._waiting, self._waits = [], 0

    def _clear(self, place: int) -> None:
        self._waiting = [(key, rows) for key, rows in self._waiting if key[0] != place]
        self._tallies = {key: one for key, one in self._tallies.items() if key[0] != place}


def _profiles(read: _Read, profiles: Iterator[ColumnProfile]) -> Iterator[ColumnProfile]:
    for column in read.columns:
        id_ = ColumnId(read.table.id, column.path)
        yield opaque_profile(id_, column, rows=read.rows) if column.opaque else next(profiles)
