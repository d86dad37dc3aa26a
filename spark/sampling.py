"""Draws rows of a table while it is read: of all its parts, and the same ones in every run."""

from collections.abc import Generator
from contextlib import closing
from math import floor

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.spark.columns import TableStream
from datahub_hyperjoin.spark.counting.text_counts import countable
from datahub_hyperjoin.spark.errors import EmptyTableError

SEED = 0
"""Another run draws the same rows."""


def draw(
    reading: TableStream, *, max_rows: int, max_bytes: int
) -> Generator[pa.RecordBatch, None, None]:
    """Draws as many rows of each batch as are its share of those wanted.

    With n rows wanted still, and N rows to be read from a batch of b on, n b / N of the batch are
    drawn at random: proportional allocation to strata (Cochran, Sampling Techniques, 1977, 5.5).
    Where N is an estimate, later batches make up for it. Of a table whose reader cannot tell how
    long it is, the first rows are taken.

    Args:
        reading: The table; notes are added if not all of it is read, and if not all is drawn.
        max_rows: Rows drawn at most.
        max_bytes: Bytes read at most, about; one row is read at least.

    Yields:
        What was drawn of each batch, in the order of the table.

    Raises:
        EmptyTableError: The table has no rows.
    """
    seen, drawn, room = 0, 0, max_bytes
    with closing(reading.batches) as batches:
        for batch in batches:
            wanted, told, size = max_rows - drawn, reading.extent.rows, batch.nbytes
            holds = max(len(batch) * room // max(size, 1), int(not seen))
            read = batch.slice(0, min(len(batch), holds if told else min(holds, wanted)))
            beyond = max(min(told - seen, holds), len(read))
            some = read if beyond <= wanted else _some(read, wanted / beyond, (SEED, seen))
            yield some
            seen, drawn, room = seen + len(read), drawn + len(some), room - size
            if len(read) < len(batch):
                reading.notes.append(f"read up to row {seen}; there are more")
                break
    if not seen:
        raise EmptyTableError.without_rows()
    if drawn < seen:
        reading.notes.append(f"read a sample of {drawn / seen:.2%} of {seen} rows")


def _some(batch: pa.RecordBatch, share: float, seed: tuple[int, int]) -> pa.RecordBatch:
    """Rounds up or down by chance: else short batches might never have a row drawn."""
    random = np.random.default_rng(seed)
    rows = floor(len(batch) * share + random.random())
    places = random.choice(len(batch), rows, replace=False, shuffle=False)
    taken = pa.array(np.sort(places))
    columns = [countable(column).take(taken) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
