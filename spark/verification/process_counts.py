"""Count the shared values and matching rows of pairs without Spark.

The processes of this program read the tables. This one loads the values that earlier runs kept, and
compares all values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.arrow_bytes import bounds_of
from datahub_hyperjoin.normal_form import Hashes, Synonyms
from datahub_hyperjoin.spark.counting.sketch import Counts
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.packing import pack
from datahub_hyperjoin.spark.processes import run_in_processes
from datahub_hyperjoin.spark.verification.hash_partition import PARTITION_ROW
from datahub_hyperjoin.spark.verification.pair_counts import PairCounts, count_pair
from datahub_hyperjoin.spark.verification.partition_tables import partition_tables
from datahub_hyperjoin.spark.verification.values import RequestedColumns, read_values

_FEW_BYTES = 1 << 24
"""Number of bytes that this process reads in about the time that others take to start."""

_Columns = Iterator[tuple[int, tuple[Hashes, Counts]]]
"""The number of each column, with its distinct values and the number of rows of each."""


def count_without_spark(
    requests: Sequence[RequestedColumns],
    to_count: Iterable[tuple[int, int]],
    *,
    synonyms: Mapping[str, Synonyms],
) -> dict[tuple[int, int], PairCounts]:
    """Count the shared values and matching rows of pairs, without Spark.

    Unreadable tables are left out.

    Args:
        requests: The columns of each table, with their numbers.
        to_count: The pairs, each as the numbers of its left and its right column.

    Returns:
        Counts by pair of numbers, without columns that cannot be read.
    """
    kept: list[RequestedColumns] = []
    unread: list[RequestedColumns] = []
    for request in requests:
        # Kept values load faster than a process returns them, and cannot crash this one.
        (kept if request.is_kept else unread).append(request)
    is_small = sum(request.table.size for request in unread) <= _FEW_BYTES
    read = _read_here if is_small else _read_in_processes
    columns = dict(chain(_read_here(kept, synonyms), read(unread, synonyms)))
    return {
        (left, right): count_pair(columns[left], columns[right])
        for left, right in to_count
        if left in columns and right in columns
    }


def _read_here(requests: Sequence[RequestedColumns], synonyms: Mapping[str, Synonyms]) -> _Columns:
    with Databases() as databases:
        for number, values in read_values(requests, synonyms, databases):
            yield number, (values.hashes, values.counts)


def _read_in_processes(
    requests: Sequence[RequestedColumns], synonyms: Mapping[str, Synonyms]
) -> _Columns:
    tasks = pack(requests, lambda request: request.table)
    work = partial(partition_tables, synonyms=synonyms, count=1)
    sizes = [request.table.size for request in requests]
    try:
        rows = run_in_processes(tasks, work, PARTITION_ROW, sizes=sizes)
    except BrokenProcessPool:
        # A table ended the process that read it. Halves find it, without which all others are read.
        half = len(requests) // 2
        for part in (requests[:half], requests[half:]) if half else ():
            yield from _read_in_processes(part, synonyms)
        return
    for row in range(len(rows)):
        yield from _columns_of(rows, row)


def _columns_of(rows: pa.Table, row: int) -> _Columns:
    """Yield the columns in one row of `PARTITION_ROW`, without a copy of their values."""
    content = (rows[name][row].as_buffer() for name in ("columns", "sizes", "hashes", "counts"))
    numbers, sizes, hashes, counts = map(np.frombuffer, content, ("<i4", "<i8", "<u8", "<i8"))
    bounds = bounds_of(sizes).tolist()
    for at, number in enumerate(numbers.tolist()):
        values = slice(bounds[at], bounds[at + 1])
        yield number, (hashes[values], counts[values])
