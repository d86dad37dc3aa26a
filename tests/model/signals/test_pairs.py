"""Test that pairs are found in `SparsePairs` just as in a set of pairs."""

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.signals import pairs as pairs_module
from datahub_hyperjoin.model.signals.pairs import SparsePairs, values_at

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
