"""In each hash partition, count the shared values and matching rows of pairs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.normal_form import Synonyms
from datahub_hyperjoin.spark.counting.sketch import DistinctValues, merge_values
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.verification.hash_partition import (
    RequestedColumns,
    read_values,
)
from datahub_hyperjoin.spark.verification.pair_counts import PairCounts, count_pair

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


def count_in_process(
    requests: Sequence[RequestedColumns],
    to_count: Iterable[tuple[int, int]],
    *,
    synonyms: Mapping[str, Synonyms],
) -> dict[tuple[int, int], PairCounts]:
    """Count the shared values and matching rows of pairs in this process, without Spark.

    Unreadable tables are left out.

    Args:
        requests: The columns of each table, with their numbers.
        to_count: The pairs, each as the numbers of its left and its right column.
        synonyms: Synonyms by entity kind.

    Returns:
        Counts by pair of numbers, without columns that cannot be read.
    """
    with Databases() as databases:
        columns = {
            number: (values.hashes, values.counts)
            for request in requests
            for number, values in read_values(request, synonyms, databases)
        }
    return {
        (left, right): count_pair(columns[left], columns[right])
        for left, right in to_count
        if left in columns and right in columns
    }


def count_pairs_of_partition(rows: pa.Table, to_count: Sequence[tuple[int, int]]) -> pa.Table:
    """In one hash partition, count the shared values and matching rows of pairs.

    Args:
        rows: Rows of `PARTITION_ROW`; a column may have several.
        to_count: Numbers of the left and right columns.

    Returns:
        The counts of each pair whose columns both have a row.
    """
    parts: dict[int, list[DistinctValues]] = defaultdict(list)
    for row in rows.to_pylist():
        parts[row["column"]].append(_unpack(row["hashes"], row["counts"]))
    columns = {
        number: (whole.hashes, whole.counts)
        for number, values in parts.items()
        for whole in [values[0] if len(values) == 1 else merge_values(values)]
    }
    counts = [
        {"left": left, "right": right, **asdict(count_pair(columns[left], columns[right]))}
        for left, right in to_count
        if left in columns and right in columns
    ]
    return pa.Table.from_pylist(counts, schema=COUNTS_ROW)


def _unpack(hashes: bytes, counts: bytes) -> DistinctValues:
    unpacked = np.frombuffer(hashes, "<u8")
    no_texts = pa.nulls(len(unpacked), pa.string())
    return DistinctValues(unpacked, np.frombuffer(counts, "<i8"), no_texts)
