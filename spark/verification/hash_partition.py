"""Divide the distinct values of columns into partitions by hash.

Equal values of all columns are in the same hash partition, so each partition is verified alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datahub_hyperjoin.spark.counting.sketch import DistinctValues, to_bytes

PARTITION_ROW = pa.schema(
    {
        "partition": pa.int32(),
        "columns": pa.binary(),
        "sizes": pa.binary(),
        "hashes": pa.binary(),
        "counts": pa.binary(),
    }
)
"""Distinct values of one or more columns, or of parts of them, in one hash partition: the numbers
of the columns as `<i4`, the number of values of each as `<i8`, and the hashes and the row counts of
the values, column after column, as `<u8` and `<i8`. A column without any value is in one row, to
show that it was read."""

_VALUES_AT_ONCE = 1 << 20
"""Approximate number of values that share the rows of their partitions: one row for each column
and partition would be millions of rows in a lake of many small tables."""


def partition_values(
    columns: Iterable[tuple[int, DistinctValues]], *, count: int
) -> Iterator[pa.RecordBatch]:
    """Distribute the distinct values of columns to `count` partitions by hash.

    Args:
        columns: The number and the values of each column.
        count: Number of hash partitions, each of which has a range of hashes of equal width.
    """
    waiting: list[tuple[int, DistinctValues]] = []
    filled = 0
    for column in columns:
        waiting.append(column)
        filled += len(column[1])
        if filled >= _VALUES_AT_ONCE:
            yield _partition(waiting, count=count)
            waiting, filled = [], 0
    if waiting:
        yield _partition(waiting, count=count)


def _partition(columns: Sequence[tuple[int, DistinctValues]], *, count: int) -> pa.RecordBatch:
    numbers = np.array([number for number, _ in columns], "<i4")
    sizes = np.array([len(values) for _, values in columns])
    hashes = np.concatenate([values.hashes for _, values in columns])
    counts = np.concatenate([values.counts for _, values in columns])
    edges = np.array([(index << 64) // count for index in range(1, count)], np.uint64)
    partition = np.searchsorted(edges, hashes, side="right")
    # The sort is stable, so that the values of a partition stay in the order of their columns.
    order = np.argsort(partition, kind="stable")
    # Columns without values have a row of their own.
    empty = numbers[sizes == 0]
    rows = [(0, empty, np.zeros(len(empty), np.int64), order[:0])] if len(empty) else []
    of_value = np.repeat(numbers, sizes)
    for start, end in _runs(partition[order]):
        at = order[start:end]
        own = _runs(of_value[at])
        rows.append((int(partition[at[0]]), of_value[at[own[:, 0]]], own[:, 1] - own[:, 0], at))
    return pa.RecordBatch.from_pydict(
        {
            "partition": [number for number, *_ in rows],
            "columns": [of.tobytes() for _, of, _, _ in rows],
            "sizes": [size.astype("<i8", copy=False).tobytes() for _, _, size, _ in rows],
            "hashes": [to_bytes(hashes[at]) for *_, at in rows],
            "counts": [counts[at].astype("<i8", copy=False).tobytes() for *_, at in rows],
        },
        schema=PARTITION_ROW,
    )


def _runs(items: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Return the start and the end of each run of equal items."""
    bounds = np.flatnonzero(np.diff(items, prepend=items[:1] - 1, append=items[-1:] + 1))
    return np.stack([bounds[:-1], bounds[1:]], axis=1)
