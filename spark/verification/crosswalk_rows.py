"""Read the rows of crosswalks, with hashes in place of values.

Other columns are compared by the set of their values. A crosswalk is needed row by row, because its
rows say which code belongs to which name.
"""

import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.spark.verification.values import HashedColumn, hash_rows
from datahub_hyperjoin.tables import Table

ENTRY_ROW = pa.schema(
    {"crosswalk": pa.int32(), "x": pa.int64(), "y": pa.int64(), "entries": pa.int64()}
)
"""The hashes of the values in two columns, and the number of rows that hold both; the rows of one
crosswalk may repeat. Spark has no unsigned numbers, so hashes are signed here."""

Sides = tuple[str, str]
"""The paths of two columns of a crosswalk."""


@dataclass(frozen=True, slots=True)
class RequestedCrosswalks:
    """The crosswalks to read from one table."""

    table: Table
    """The table that contains the crosswalks."""

    sides: Mapping[Sides, int]
    """Maps the two columns of each crosswalk to the number that identifies the crosswalk."""

    texts: Collection[str] = ()
    """Paths of those columns of the crosswalks that contain text."""

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the columns to read."""
        return frozenset(path for sides in self.sides for path in sides)


def entries_of_table(
    request: RequestedCrosswalks, databases: Databases
) -> Iterator[pa.RecordBatch]:
    """Read the crosswalks of one table, with hashes in place of values.

    Args:
        databases: Open databases, to which those of the table are added.

    Yields:
        Rows of `ENTRY_ROW`, for each batch of rows on its own. An unreadable table yields nothing.
    """
    try:
        stream = read_table(request.table, databases, max_rows=sys.maxsize, paths=request.paths)
        # A part of a crosswalk would refute what the rest of its rows confirm.
        entries = [rows for batch in stream.batches for rows in entries_of_batch(batch, request)]
    except Exception:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        return
    yield from entries


def entries_of_batch(
    batch: pa.RecordBatch, request: RequestedCrosswalks
) -> Iterator[pa.RecordBatch]:
    """Replace the values in some rows of crosswalks by hashes."""
    hashed = {
        path: hash_rows(batch.column(path), is_text=path in request.texts)
        for path in batch.schema.names
        if path in request.paths
    }
    for (x, y), number in request.sides.items():
        if x in hashed and y in hashed:
            yield _entries(hashed[x], hashed[y], number)


def _entries(x: HashedColumn, y: HashedColumn, number: int) -> pa.RecordBatch:
    """Count the rows of a crosswalk for each distinct pair of values in its columns `x` and `y`.

    The values are hashes. Rows in which either is missing are left out. `number` identifies the
    crosswalk in each row of the result.
    """
    is_filled = x.is_filled & y.is_filled
    pairs = np.stack([side.hashes[is_filled].view(np.int64) for side in (x, y)])
    distinct, counts = np.unique(pairs, axis=1, return_counts=True)
    columns = [np.full(len(counts), number), distinct[0], distinct[1], counts]
    return pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, ENTRY_ROW, strict=True)],
        schema=ENTRY_ROW,
    )
