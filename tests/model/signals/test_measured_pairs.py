from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.signals.pairs import MeasuredPairs, add_pairs, merge_pairs

COLUMNS = 9
columns = st.integers(0, COLUMNS - 1)
pairs_of = st.sets(st.tuples(columns, columns))


def measured(pairs: list[tuple[int, int]], shared: int) -> MeasuredPairs:
    ends = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    values = np.full(len(pairs), shared, dtype=np.int32)
    return MeasuredPairs(ends[:, 0], ends[:, 1], values, values.astype(np.float32))


@given(order=st.permutations(range(COLUMNS)), cuts=st.sets(columns), first=pairs_of, more=pairs_of)
def test_parts_in_any_order_are_merged_with_further_pairs(
    order: list[int], cuts: set[int], first: set[tuple[int, int]], more: set[tuple[int, int]]
) -> None:
    bounds = [0, *sorted(cuts), COLUMNS]
    runs = [order[start:stop] for start, stop in pairwise(bounds)]
    listed = [
        [(left, right) for left in run for right in range(COLUMNS) if (left, right) in first]
        for run in runs
    ]
    parts = [measured(pairs, 1) for pairs in listed]
    add_pairs(parts, measured([*more], 2), COLUMNS)
    merged = merge_pairs(parts, COLUMNS)
    assert not parts
    assert [*zip(merged.left.tolist(), merged.right.tolist(), strict=True)] == sorted(first | more)
    expected = [1 + (pair in more) for pair in sorted(first | more)]
    assert merged.shared.tolist() == expected
    assert merged.containment.tolist() == pytest.approx(expected)


def test_without_parts_there_are_no_pairs() -> None:
    assert merge_pairs([], COLUMNS).left.tolist() == []
