"""Test the counts of hash partitions against counts of whole columns."""

from collections.abc import Sequence
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.spark.counting.sketch import DistinctValues, merge_values
from datahub_hyperjoin.spark.verification import counting
from datahub_hyperjoin.spark.verification.counting import (
    PARTITION_ROW,
    PairCounts,
    count_pair,
    count_pairs_of_partition,
    partition_values,
)

VALUES = st.dictionaries(
    st.one_of(st.integers(0, 20), st.integers(0, (1 << 64) - 1)), st.integers(1, 5), max_size=8
)
COLUMNS = st.lists(st.tuples(st.integers(0, 5), VALUES), max_size=12)
"""Columns or parts of columns, each with its number and the rows of each hash."""
EACH = [(left, right) for left in range(7) for right in range(7)]


def values_of(rows: dict[int, int]) -> DistinctValues:
    ordered = sorted(rows.items())
    return DistinctValues(
        np.array([hash_ for hash_, _ in ordered], np.uint64),
        np.array([count for _, count in ordered], np.int64),
        pa.nulls(len(ordered), pa.string()),
    )


def partitioned(columns: Sequence[tuple[int, DistinctValues]], count: int) -> list[pa.Table]:
    # Each part of a column comes from a task of its own.
    batches = [batch for each in columns for batch in partition_values([each], count=count)]
    batches = batches or [*partition_values(columns, count=count)]
    rows = pa.Table.from_batches(batches, PARTITION_ROW)
    numbers = rows["partition"].to_numpy()
    return [rows.filter(pa.array(numbers == at)) for at in range(count) if (numbers == at).any()]


def total(parts: Sequence[pa.Table]) -> dict[tuple[int, int], PairCounts]:
    found: dict[tuple[int, int], list[int]] = {}
    for part in parts:
        for row in count_pairs_of_partition(part, np.array(EACH)).to_pylist():
            left, right, *counts = row.values()
            so_far = found.get((left, right), [0, 0, 0])
            found[left, right] = [sum(both) for both in zip(so_far, counts, strict=True)]
    return {pair: PairCounts(*counts) for pair, counts in found.items()}


@given(COLUMNS, st.sampled_from([1, 3, 8]), st.sampled_from([1, 5, 1 << 20]))
def test_counts_of_partitions_add_up_to_those_of_whole_columns(
    drawn: list[tuple[int, dict[int, int]]], count: int, at_once: int
) -> None:
    columns = [(number, values_of(rows)) for number, rows in drawn]
    whole = {
        number: merge_values([values for of, values in columns if of == number])
        for number, _ in columns
    }
    arrays = {number: (values.hashes, values.counts) for number, values in whole.items()}
    exact = {
        (left, right): count_pair(arrays[left], arrays[right])
        for left, right in EACH
        if left in arrays and right in arrays
    }
    with mock.patch.object(counting, "_VALUES_AT_ONCE", at_once):
        found = total(partitioned(columns, count))
    # Of columns without a common value, only the counts of a column with itself are listed.
    assert found == {
        (left, right): counts
        for (left, right), counts in exact.items()
        if counts.shared or left == right
    }


@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_values_of_many_columns_share_rows(at_once: int) -> None:
    columns = [(number, values_of({number: 1, 1 << 63: 2})) for number in range(20)]
    columns.append((20, values_of({})))
    with mock.patch.object(counting, "_VALUES_AT_ONCE", at_once):
        rows = [batch.num_rows for batch in partition_values(columns, count=2)]
    # A column without values has a row, too.
    assert rows == {1: [2] * 20 + [1], 7: [2] * 5 + [1], 1 << 20: [3]}[at_once]
