"""Estimate how many values columns share, from their sketches.

A sketch holds the k smallest hashes of a column. Up to the smaller of their two greatest hashes,
two sketches are complete, so the share of common hashes in that range estimates containment
without bias (bottom-k estimator; Cohen and Kaplan, 2007).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.pairs import SparsePairs

MAX_POSTINGS = 4096
"""Values held by more columns are ignored: they distinguish nothing, and the cost of a value grows
with the square of the number of columns that hold it."""

_HASH_BYTES = 8
_PSEUDO_COLUMNS = 10
"""Columns without any overlap that are added to each mean: a few real columns say little about the
overlap expected by chance."""


@dataclass(frozen=True)
class ValueOverlap(SparsePairs):
    """The estimated value overlap of pairs of columns from different tables.

    Pairs without a shared value are left out.
    """

    shared: Int[np.ndarray, " pair"]
    """Number of hashes that both sketches hold."""

    containment: Float[np.ndarray, " pair"]
    """Estimated share of the left column's values that the right one holds, in [0, 1]."""

    beyond_chance: Float[np.ndarray, " pair"]
    """Containment minus the left column's mean containment in all columns of its kind, in [0, 1].

    Every counter contains 1 to 10, so such overlap is no evidence of a join.
    """

    @classmethod
    def empty(cls, columns: int) -> "ValueOverlap":
        """Return an instance without pairs."""
        none, zero = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(
            columns=columns,
            left=none,
            right=none,
            shared=none,
            containment=zero,
            beyond_chance=zero,
        )

    @cached_property
    def either_way(self) -> Float[np.ndarray, " pair"]:
        """For each pair, the greater of its two values of `beyond_chance`."""
        reverse = self.look_up(self.beyond_chance, self.right, self.left)
        return np.maximum(self.beyond_chance, reverse)

    @cached_property
    def ochiai(self) -> Float[np.ndarray, " pair"]:
        """The geometric mean of both containments, in [0, 1] (Ochiai, 1957).

        It is the cosine of the two sets of values, and low for a small set within a large one.
        """
        reverse = self.look_up(self.containment, self.right, self.left)
        return np.sqrt(self.containment * reverse)


def concatenate_sketches(
    sketches: Sequence[bytes],
) -> tuple[UInt64[np.ndarray, " hash"], Int[np.ndarray, " _"]]:
    """Concatenate the hashes of all columns, and return the start of each column."""
    hashes = np.frombuffer(b"".join(sketches), dtype="<u8")
    sizes = np.array([len(sketch) // _HASH_BYTES for sketch in sketches], dtype=np.int64)
    return hashes, np.concatenate([[0], np.cumsum(sizes)])


def _count_at_most(
    hashes: UInt64[np.ndarray, " hash"],
    start: Int[np.ndarray, " pair"],
    stop: Int[np.ndarray, " pair"],
    threshold: UInt64[np.ndarray, " pair"],
) -> Int[np.ndarray, " pair"]:
    """For each pair, count the hashes of a slice that do not exceed a threshold.

    Each slice is ascending. The binary searches of all pairs advance in step, which takes about
    log2(k) passes over the pairs instead of a Python loop over them.
    """
    low, high = start.copy(), stop.copy()
    while (searching := low < high).any():
        middle = (low + high) // 2
        below = np.zeros(len(low), dtype=bool)
        # A finished search may point past the last hash, so only the others are read.
        below[searching] = hashes[middle[searching]] <= threshold[searching]
        low = np.where(searching & below, middle + 1, low)
        high = np.where(searching & ~below, middle, high)
    return low - start


def _count_shared(
    hashes: UInt64[np.ndarray, " hash"], bounds: Int[np.ndarray, " _"]
) -> sparse.coo_array:
    """Count the hashes that each pair of columns shares.

    The matrix of columns by hashes, multiplied by its transpose, yields only pairs that share a
    hash, so the cost depends on common hashes and not on the square of the number of columns.
    """
    columns = len(bounds) - 1
    _, value = np.unique(hashes, return_inverse=True)
    column = np.repeat(np.arange(columns), np.diff(bounds))
    rare = np.bincount(value)[value] <= MAX_POSTINGS
    holds = sparse.csr_array(
        (np.ones(rare.sum(), dtype=np.int32), (column[rare], value[rare])),
        shape=(columns, int(value.max(initial=0)) + 1),
    )
    return (holds @ holds.T).tocoo()


def expected_containment(
    is_text: Bool[np.ndarray, " column"],
    left: Int[np.ndarray, " pair"],
    right: Int[np.ndarray, " pair"],
    containment: Float[np.ndarray, " pair"],
) -> Float[np.ndarray, " column"]:
    """For each column, estimate the containment that is due to chance.

    Args:
        is_text: The columns compared as text; the others are compared as numbers.
        left: The left column of each pair that shares a value.
        right: The right column of each pair.
        containment: The share of the left column's values that the right one holds.

    Returns:
        The mean containment of a column in all columns of its kind: text, or not text.
    """
    same_kind: Bool[np.ndarray, " pair"] = is_text[left] == is_text[right]
    total = np.bincount(left, np.where(same_kind, containment, 0.0), minlength=len(is_text))
    kind_size = np.where(is_text, is_text.sum(), (~is_text).sum())
    return total / (kind_size + _PSEUDO_COLUMNS)


def _complete_up_to(
    lake: Lake, hashes: UInt64[np.ndarray, " hash"], bounds: Int[np.ndarray, " _"]
) -> UInt64[np.ndarray, " column"]:
    """For each sketch, return the greatest hash below which no hash is missing.

    A sketch of another form has fewer hashes than values if the form merges some, so only the
    column's sketch of normal forms tells whether the sketches hold all values.
    """
    unlimited = np.iinfo(np.uint64).max
    return np.array(
        [
            unlimited if _HASH_BYTES * profile.distinct <= len(profile.sketch) else hashes[stop - 1]
            for profile, stop in zip(lake.profiles, bounds[1:], strict=True)
        ],
        dtype=np.uint64,
    )


def measure_overlap(lake: Lake) -> ValueOverlap:
    """Estimate the value overlap of columns from different tables.

    The cost is the sum, over all values, of the squared number of columns that hold the value.

    Args:
        lake: The columns with their sketches.

    Returns:
        The pairs that share at least one hash.
    """
    sketches = [profile.sketch for profile in lake.profiles]
    pairs = estimate_pairs(lake, sketches, _count_shared(*concatenate_sketches(sketches)))
    left, right, _, containment = pairs
    expected = expected_containment(lake.is_text, left, right, containment)
    return ValueOverlap(len(lake), *pairs, np.maximum(containment - expected[left], 0.0))


def estimate_pairs(
    lake: Lake, sketches: Sequence[bytes], counts: sparse.coo_array
) -> tuple[
    Int[np.ndarray, " pair"],
    Int[np.ndarray, " pair"],
    Int[np.ndarray, " pair"],
    Float[np.ndarray, " pair"],
]:
    """Estimate the containment of each pair of columns that share a hash.

    Args:
        lake: The columns.
        sketches: The sketch of each column: of its normal forms, or of its values in another form.
        counts: The number of hashes that two columns have in common, in both orders of a pair.

    Returns:
        The left and the right column of each pair from different tables, sorted, the number of
        hashes that both hold, and the share of the left column's values that the right one holds.
    """
    apart = lake.table_of[counts.row] != lake.table_of[counts.col]
    # Two indices combined into one exceed 32 bits in large lakes.
    left, right = counts.row[apart].astype(np.int64), counts.col[apart].astype(np.int64)
    shared = counts.data[apart].astype(np.int64)
    order = np.lexsort((right, left))
    left, right, shared = left[order], right[order], shared[order]
    return left, right, shared, estimate_containment(lake, sketches, left, right, shared)


def estimate_containment(
    lake: Lake,
    sketches: Sequence[bytes],
    left: Int[np.ndarray, " pair"],
    right: Int[np.ndarray, " pair"],
    shared: Int[np.ndarray, " pair"],
) -> Float[np.ndarray, " pair"]:
    """For each pair, estimate the containment of the left column in the right column.

    Args:
        lake: The columns.
        sketches: The sketch of each column.
        left: The left column of each pair.
        right: The right column of each pair.
        shared: The number of hashes that both sketches hold.
    """
    hashes, bounds = concatenate_sketches(sketches)
    # Beyond the smaller of the two limits a hash may be missing from one of the sketches.
    limit = _complete_up_to(lake, hashes, bounds)
    threshold = np.minimum(limit[left], limit[right])
    comparable = _count_at_most(hashes, bounds[left], bounds[left + 1], threshold)
    return np.minimum(shared / np.maximum(comparable, 1), 1.0)
