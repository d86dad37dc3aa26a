"""Draw a random sample of a table's rows while reading the table.

The same table gives the same sample.
"""

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from math import floor

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.spark.columns import TableStream
from datahub_hyperjoin.spark.counting.text_counts import countable
from datahub_hyperjoin.spark.errors import EmptyTableError

SEED = 0
"""Seed of all random choices, so that every run draws the same rows."""


@dataclass(slots=True)
class SampleCount:
    """The numbers of rows that were read and drawn, of a table or of several parts of it."""

    read: int = 0
    """Number of rows that were read."""

    drawn: int = 0
    """Number of rows in the sample."""

    is_cut: bool = False
    """Whether there are more rows, which were not read."""

    def __add__(self, other: "SampleCount") -> "SampleCount":
        return SampleCount(
            self.read + other.read, self.drawn + other.drawn, self.is_cut or other.is_cut
        )

    def notes(self, parts: int = 1) -> list[str]:
        """Return notes for users on the rows that were not read or not drawn.

        Args:
            parts: Number of parts of the table, of which each was read from its beginning.
        """
        where = f"up to row {self.read}" if parts == 1 else f"{self.read} rows of {parts} parts"
        notes = [f"read {where}; there are more"] if self.is_cut else []
        if self.drawn < self.read:
            notes.append(f"read a sample of {self.drawn / self.read:.2%} of {self.read} rows")
        return notes


def draw(
    stream: TableStream, *, max_rows: int, max_bytes: int
) -> Generator[pa.RecordBatch, None, None]:
    """Draw random rows of a table; add notes if not all rows are read or drawn.

    Args:
        max_bytes: Approximate number of bytes to read. At least one row is read.

    Yields:
        The rows drawn of each batch, in the order of the table.
    """
    count = SampleCount()
    yield from draw_part(stream, count, max_rows=max_rows, max_bytes=max_bytes)
    if not count.read:
        header = [column.path for column in stream.columns if not column.opaque]
        raise EmptyTableError.without_rows().with_header(header)
    stream.notes.extend(count.notes())


def draw_part(
    stream: TableStream, count: SampleCount, *, max_rows: int, max_bytes: int
) -> Generator[pa.RecordBatch, None, None]:
    """Draw random rows from each batch, in proportion to the batch's size.

    If n rows are still wanted, and N rows remain including this batch of b rows, then n b / N rows
    of the batch are drawn at random: proportional allocation to strata (Cochran, Sampling
    Techniques, 1977, 5.5). Where N is an estimate, later batches compensate for its error. If a
    reader cannot estimate N, the first rows are taken.

    Args:
        stream: The table, or a part of it, which may have no rows.
        max_bytes: Approximate number of bytes to read. At least one row is read.

    Yields:
        The rows drawn of each batch, in the order of the table.
    """
    bytes_left = max_bytes
    with closing(stream.batches) as batches:
        for batch in batches:
            wanted, total, size = max_rows - count.drawn, stream.extent.rows, batch.nbytes
            affordable = max(len(batch) * bytes_left // max(size, 1), int(not count.read))
            limit = affordable if total else min(affordable, wanted)
            read = batch.slice(0, min(len(batch), limit))
            remaining = max(min(total - count.read, affordable), len(read))
            seed = (SEED, count.read)
            rows = read if remaining <= wanted else _draw(read, wanted / remaining, seed)
            yield rows
            count.read, count.drawn = count.read + len(read), count.drawn + len(rows)
            bytes_left -= size
            count.is_cut = len(read) < len(batch)
            if count.is_cut:
                break


def _draw(batch: pa.RecordBatch, share: float, seed: tuple[int, int]) -> pa.RecordBatch:
    random = np.random.default_rng(seed)
    # Rounded up or down by chance: always rounded down, short batches would never have a row.
    rows = floor(len(batch) * share + random.random())
    indices = random.choice(len(batch), rows, replace=False, shuffle=False)
    taken = pa.array(np.sort(indices))
    columns = [countable(column).take(taken) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
