"""Count the shared values and matching rows of pairs, in Spark jobs."""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS, collect_arrow
from datahub_hyperjoin.spark.verification.pair_counts import PairCounts
from datahub_hyperjoin.spark.verification.partition_counts import (
    COUNTS_ROW,
    count_pairs_of_partition,
)
from datahub_hyperjoin.spark.verification.requested_columns import RequestedColumns


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
