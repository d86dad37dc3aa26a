"""Test what is stored of pairs of columns."""

from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.signals import pairs as pairs_module
from datahub_hyperjoin.model.signals.pairs import (
    MeasuredPairs,
    SparsePairs,
    add_pairs,
    merge_pairs,
    values_at,
)

COLUMNS = 7
columns = st.integers(0, COLUMNS - 1)
stored = st.sets(st.tuples(columns, columns), max_size=20)


def store(pairs: set[tuple[int, int]]) -> SparsePairs:
    ends = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return SparsePairs(COLUMNS, ends[:, 0], ends[:, 1])


@given(stored)
def test_every_pair_is_found_at_its_position(pairs: set[tuple[int, int]]) -> None:
    listed = sorted(pairs)
    left, right = np.indices((COLUMNS, COLUMNS))
    found = store(pairs).locate(left, right)
    expected = [
        [listed.index((a, b)) if (a, b) in pairs else -1 for b in range(COLUMNS)]
        for a in range(COLUMNS)
    ]
    assert found.tolist() == expected


@given(stored)
def test_values_of_missing_pairs_are_zero(pairs: set[tuple[int, int]]) -> None:
    whole = 1 + np.arange(len(pairs))
    left, right = np.indices((COLUMNS, COLUMNS))
    positions = store(pairs).locate(left, right)
    values = values_at(whole, positions)
    assert values.dtype == np.float64
    assert values.tolist() == (positions + 1).tolist()


@given(stored, st.integers(1, 50))
def test_a_pair_knows_the_position_of_its_reverse(
    pairs: set[tuple[int, int]], at_once: int
) -> None:
    both = store(pairs | {(b, a) for a, b in pairs})
    left, right = np.indices((COLUMNS, COLUMNS))
    with mock.patch.object(pairs_module, "_AT_ONCE", at_once):
        found = both.reverse_at(both.locate(left, right))
    assert found.tolist() == both.locate(right, left).tolist()
    assert both.reverse.tolist() == both.locate(both.right, both.left).tolist()


def test_columns_of_32_bits_are_found_in_lakes_whose_pairs_need_more() -> None:
    ends = np.array([[99_998, 99_999], [99_999, 99_998]], dtype=np.int32)
    pairs = SparsePairs(100_000, ends[0], ends[1])
    assert pairs.locate(ends[0], ends[1]).tolist() == [0, 1]
    # Multiplied in 32 bits, this pair would have the number of the first.
    assert pairs.locate(ends[0][:1], ends[1][:1] - 1).tolist() == [-1]


MEASURED = 9
indices = st.integers(0, MEASURED - 1)
pairs_of = st.sets(st.tuples(indices, indices))


def measured(pairs: list[tuple[int, int]], shared: int) -> MeasuredPairs:
    ends = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    values = np.full(len(pairs), shared, dtype=np.int32)
    return MeasuredPairs(ends[:, 0], ends[:, 1], values, values.astype(np.float32))


@given(order=st.permutations(range(MEASURED)), cuts=st.sets(indices), first=pairs_of, more=pairs_of)
def test_parts_in_any_order_are_merged_with_further_pairs(
    order: list[int], cuts: set[int], first: set[tuple[int, int]], more: set[tuple[int, int]]
) -> None:
    bounds = [0, *sorted(cuts), MEASURED]
    runs = [order[start:stop] for start, stop in pairwise(bounds)]
    listed = [
        [(left, right) for left in run for right in range(MEASURED) if (left, right) in first]
        for run in runs
    ]
    parts = [measured(pairs, 1) for pairs in listed]
    add_pairs(parts, measured([*more], 2), MEASURED)
    merged = merge_pairs(parts, MEASURED)
    assert not parts
    assert [*zip(merged.left.tolist(), merged.right.tolist(), strict=True)] == sorted(first | more)
    expected = [1 + (pair in more) for pair in sorted(first | more)]
    assert merged.shared.tolist() == expected
    assert merged.containment.tolist() == pytest.approx(expected)


def test_without_parts_there_are_no_pairs() -> None:
    assert merge_pairs([], MEASURED).left.tolist() == []
