"""Draw a random sample of a table's rows while reading the table.

The same table gives the same sample.
"""

from collections.abc import Generator
from contextlib import closing
from math import floor

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.spark.columns import TableStream
from datahub_hyperjoin.spark.counting.text_counts import countable
from datahub_hyperjoin.spark.errors import EmptyTableError

SEED = 0
"""Seed of all random choices, so that every run draws the same rows."""


def draw(
    stream: TableStream, *, max_rows: int, max_bytes: int
) -> Generator[pa.RecordBatch, None, None]:
    """Draw random rows from each batch, in proportion to the batch's size.

    If n rows are still wanted, and N rows remain including this batch of b rows, then n b / N rows
    of the batch are drawn at random: proportional allocation to strata (Cochran, Sampling
    Techniques, 1977, 5.5). Where N is an estimate, later batches compensate for its error. If a
    reader cannot estimate N, the first rows are taken.

    Args:
        stream: The table. It receives notes if not all rows are read or drawn.
        max_rows: Maximum number of rows to draw.
        max_bytes: Approximate number of bytes to read. At least one row is read.

    Yields:
        The rows drawn of each batch, in the order of the table.

    Raises:
        EmptyTableError: The table has no rows.
    """
    seen, drawn, bytes_left = 0, 0, max_bytes
    with closing(stream.batches) as batches:
        for batch in batches:
            wanted, total, size = max_rows - drawn, stream.extent.rows, batch.nbytes
            affordable = max(len(batch) * bytes_left // max(size, 1), int(not seen))
            limit = affordable if total else min(affordable, wanted)
            read = batch.slice(0, min(len(batch), limit))
            remaining = max(min(total - seen, affordable), len(read))
            rows = read if remaining <= wanted else _draw(read, wanted / remaining, (SEED, seen))
            yield rows
            seen, drawn, bytes_left = seen + len(read), drawn + len(rows), bytes_left - size
            if len(read) < len(batch):
                stream.notes.append(f"read up to row {seen}; there are more")
                break
    if not seen:
        header = [column.path for column in stream.columns if not column.opaque]
        raise EmptyTableError.without_rows().with_header(header)
    if drawn < seen:
        stream.notes.append(f"read a sample of {drawn / seen:.2%} of {seen} rows")


def _draw(batch: pa.RecordBatch, share: float, seed: tuple[int, int]) -> pa.RecordBatch:
    random = np.random.default_rng(seed)
    # Rounded up or down by chance: always rounded down, short batches would never have a row.
    rows = floor(len(batch) * share + random.random())
    indices = random.choice(len(batch), rows, replace=False, shuffle=False)
    taken = pa.array(np.sort(indices))
    columns = [countable(column).take(taken) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
