"""Count the shared values and matching rows of pairs, in Spark jobs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.arrow_bytes import (
    Indices,
    bounds_of,
    chunks_of,
    index_within,
    reduce_each,
)
from datahub_hyperjoin.normal_form import Hashes
from datahub_hyperjoin.spark.counting.sketch import Counts
from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS, collect_arrow
from datahub_hyperjoin.spark.verification.pair_counts import PairCounts
from datahub_hyperjoin.spark.verification.values import RequestedColumns

_VALUES_AT_ONCE = 1 << 20
"""Number of values that are searched for at once, which bounds memory."""

COUNTS_ROW = pa.schema(
    {
        "left": pa.int32(),
        "right": pa.int32(),
        "shared": pa.int64(),
        "rows": pa.int64(),
        "joined": pa.int64(),
    }
)
"""Schema of the counts of one pair; `left` and `right` identify the columns."""


def count_pairs_of_partition(rows: pa.Table, to_count: npt.NDArray[np.integer[Any]]) -> pa.Table:
    """In one hash partition, count the shared values and matching rows of pairs.

    Args:
        rows: Rows of `PARTITION_ROW`; a column may be in several of them.
        to_count: Numbers of the left and right columns; shape (pairs, 2).

    Returns:
        The counts of each pair that shares a value here, and of each pair of a column with itself,
        if all its columns have a row.
    """
    columns = _PartitionColumns.of(rows)
    at = np.minimum(np.searchsorted(columns.numbers, to_count), len(columns.numbers) - 1)
    is_here = (columns.numbers[at] == to_count).all(axis=1)
    counted = columns.count(at[is_here])
    is_found = (counted[0] > 0) | (at[is_here, 0] == at[is_here, 1])
    ends = to_count[is_here][is_found].astype(np.int32).T
    return pa.Table.from_arrays(
        [*map(pa.array, (*ends, *(each[is_found] for each in counted)))], schema=COUNTS_ROW
    )


@dataclass(frozen=True, slots=True, eq=False)
class _PartitionColumns:
    """The distinct values of many columns in one hash partition, column after column."""

    numbers: Indices
    """The numbers of the columns, ascending."""

    bounds: Indices
    """Start of each column among the values, and the end of the last one."""

    hashes: Hashes
    """Hashes of the values, ascending within each column."""

    counts: Counts
    """Number of rows that hold each value."""

    @classmethod
    def of(cls, rows: pa.Table) -> "_PartitionColumns":
        """Combine rows of `PARTITION_ROW`, and merge the parts of each column.

        Args:
            rows: All rows of a hash partition, at least one.
        """
        numbers, sizes = _join(rows["columns"], "<i4"), _join(rows["sizes"], "<i8")
        hashes, counts = _join(rows["hashes"], "<u8"), _join(rows["counts"], "<i8")
        of_value = np.repeat(numbers, sizes)
        distinct = np.unique(numbers)
        if len(distinct) == len(numbers):
            # Whole columns need no sort of their values.
            order = np.argsort(of_value, kind="stable")
            return cls(
                distinct, bounds_of(sizes[np.argsort(numbers)]), hashes[order], counts[order]
            )
        order = np.lexsort((hashes, of_value))
        of_value, hashes, counts = of_value[order], hashes[order], counts[order]
        is_first = np.ones(len(hashes), np.bool_)
        is_first[1:] = (np.diff(of_value) != 0) | (np.diff(hashes) != 0)
        starts = np.flatnonzero(is_first)
        bounds = np.searchsorted(of_value[starts], distinct)
        summed = np.add.reduceat(counts, starts) if len(starts) else counts
        return cls(distinct, np.append(bounds, len(starts)), hashes[starts], summed)

    def count(self, pairs: Indices) -> tuple[Indices, Indices, Indices]:
        """Count the shared values and matching rows of pairs, as `count_pair` does for one.

        Args:
            pairs: Positions of the left and right columns; shape (pairs, 2).

        Returns:
            For each pair, the shared values, the rows on the left that match, and the rows that the
            join returns.
        """
        sizes = np.diff(self.bounds)
        # Numbers instead of hashes leave room for the column in one number of 64 bits.
        distinct, value = np.unique(self.hashes, return_inverse=True)
        keys = np.repeat(np.arange(len(sizes)) * len(distinct), sizes) + value
        is_longer = sizes[pairs[:, 0]] > sizes[pairs[:, 1]]
        # The shorter column of each pair is searched in the longer.
        short, long = np.where(is_longer, pairs.T[::-1], pairs.T)
        shared, rows, joined = np.zeros((3, len(pairs)), np.int64)
        for chunk in chunks_of(sizes[short].tolist(), _VALUES_AT_ONCE):
            starts, bounds = self.bounds[short[chunk]], bounds_of(sizes[short[chunk]])
            at_short = index_within(bounds) + np.repeat(starts, np.diff(bounds))
            wanted = np.repeat(long[chunk] * len(distinct), np.diff(bounds)) + value[at_short]
            at_long = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
            is_found = keys[at_long] == wanted
            found = bounds_of(reduce_each(np.add, is_found, bounds))
            counts = self.counts[at_short[is_found]], self.counts[at_long[is_found]]
            of_left = np.where(np.repeat(is_longer[chunk], np.diff(found)), counts[1], counts[0])
            shared[chunk] = np.diff(found)
            rows[chunk] = reduce_each(np.add, of_left, found)
            joined[chunk] = reduce_each(np.add, counts[0] * counts[1], found)
        return shared, rows, joined


def _join(column: pa.ChunkedArray, dtype: str) -> npt.NDArray[Any]:
    return np.frombuffer(b"".join(column.to_pylist()), dtype)


def count_requests(
    partition: Callable[[list[RequestedColumns]], DataFrame],
    requests: list[RequestedColumns],
    to_count: Iterable[tuple[int, int]],
) -> dict[tuple[int, int], PairCounts]:
    """Count the shared values and matching rows of the pairs of columns in `to_count`.

    Unreadable tables are left out.

    Args:
        requests: The columns of each table, with their numbers.

    Returns:
        Counts by pair of numbers, without columns that cannot be read and pairs that share nothing.
    """
    pairs = np.array([*set(to_count)])
    try:
        return _count_pairs(partition(requests), pairs)
    except SPARK_ERRORS:
        # One table fails the job if many tasks read it or if it crashes its worker.
        return _count_pairs(partition(_readable(partition, requests)), pairs)


def _readable(
    partition: Callable[[list[RequestedColumns]], DataFrame], requests: list[RequestedColumns]
) -> list[RequestedColumns]:
    """After a job with all requests has failed, find the requests whose tables Spark can read.

    Halving them costs about two jobs for each level, while one job for each would take hours.
    """
    half = len(requests) // 2
    return [
        request
        for part in (requests[:half], requests[half:])
        if half
        for request in (part if can_count(partition(part)) else _readable(partition, part))
    ]


def can_count(values: DataFrame) -> bool:
    """Try to count the rows of a data frame in Spark, and return whether this succeeds."""
    try:
        values.count()
    except SPARK_ERRORS:
        return False
    return True


def _count_pairs(
    values: DataFrame, to_count: npt.NDArray[np.int64]
) -> dict[tuple[int, int], PairCounts]:
    def worker(rows: pa.Table) -> pa.Table:
        return count_pairs_of_partition(rows, to_count)

    # Partitions hold disjoint values, so their counts add up.
    sums = (
        values.groupBy("partition")
        .applyInArrow(worker, from_arrow_schema(COUNTS_ROW))
        .groupBy("left", "right")
        .agg(*(F.sum(name).alias(name) for name in ("shared", "rows", "joined")))
    )
    return {
        (row["left"], row["right"]): PairCounts(row["shared"], row["rows"], row["joined"])
        for row in collect_arrow(sums).to_pylist()
    }
