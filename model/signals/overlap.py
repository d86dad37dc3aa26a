"""Value overlap of all pairs of columns, from their sketches.

A sketch holds the k smallest hashes of a column. Of two sketches, every hash up to the smaller
of their greatest hashes is known on both sides, so that the shared ones among those estimate
containment without bias (bottom-k estimator; Cohen and Kaplan, 2007).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.lookup import look_up

_MAX_POSTINGS = 4096
"""A value that more columns hold tells nothing apart, and costs its square."""

_PRIOR = 10
"""Columns that share nothing, imagined beside the real ones: few columns say little of chance."""


@dataclass(frozen=True)
class ValueOverlap:
    """Estimated overlap of the pairs of columns of different tables that share a value.

    `left` and `right` list every such pair in both orders, sorted by `left`, then `right`.
    """

    columns: int
    """How many columns the lake has."""

    left: Int[np.ndarray, " pair"]
    right: Int[np.ndarray, " pair"]

    shared: Int[np.ndarray, " pair"]
    """Hashes that both sketches hold."""

    containment: Float[np.ndarray, " pair"]
    """Estimated share of the left column's values that the right one holds, in [0, 1]."""

    beyond_chance: Float[np.ndarray, " pair"]
    """Containment less the left column's mean over all columns of its kind, in [0, 1]: what is
    left when every counter contains 1 to 10 anyway."""

    @classmethod
    def nothing(cls, columns: int) -> "ValueOverlap":
        """No pair at all.

        Args:
            columns: How many columns the lake has.

        Returns:
            What is known of values that are not read.
        """
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
        """Containment beyond chance in the better of both directions, in [0, 1]."""
        back = self.lookup(self.beyond_chance, self.right, self.left)
        return np.maximum(self.beyond_chance, back)

    @cached_property
    def ochiai(self) -> Float[np.ndarray, " pair"]:
        """Geometric mean of containment in both directions, in [0, 1] (Ochiai, 1957).

        It is the cosine of the sets of values; a small set in a large one has little of it.
        """
        back = self.lookup(self.containment, self.right, self.left)
        return np.sqrt(self.containment * back)

    def lookup(
        self,
        values: Float[np.ndarray, " pair"],
        left: Int[np.ndarray, "*shape"],
        right: Int[np.ndarray, "*shape"],
    ) -> Float[np.ndarray, "*shape"]:
        """Values of given pairs; 0 where a pair shares nothing.

        Args:
            values: One number for each pair of this overlap.
            left: Columns.
            right: Columns, as many.

        Returns:
            The number of each pair asked for.
        """
        return look_up(self._numbers, values, left * self.columns + right)

    @cached_property
    def _numbers(self) -> Int[np.ndarray, " pair"]:
        return self.left * self.columns + self.right


def _hashes(sketches: Sequence[bytes]) -> tuple[UInt64[np.ndarray, " hash"], Int[np.ndarray, " _"]]:
    flat = np.frombuffer(b"".join(sketches), dtype="<u8")
    sizes = np.array([len(sketch) // 8 for sketch in sketches], dtype=np.int64)
    return flat, np.concatenate([[0], np.cumsum(sizes)])


def _count_at_most(
    flat: UInt64[np.ndarray, " hash"],
    start: Int[np.ndarray, " pair"],
    stop: Int[np.ndarray, " pair"],
    threshold: UInt64[np.ndarray, " pair"],
) -> Int[np.ndarray, " pair"]:
    """How many hashes of each slice are at most a threshold: one binary search for each pair."""
    low, high = start.copy(), stop.copy()
    while (open_ := low < high).any():
        middle = (low + high) // 2
        below = np.zeros(len(low), dtype=bool)
        below[open_] = flat[middle[open_]] <= threshold[open_]
        low = np.where(open_ & below, middle + 1, low)
        high = np.where(open_ & ~below, middle, high)
    return low - start


def _shared(flat: UInt64[np.ndarray, " hash"], bounds: Int[np.ndarray, " _"]) -> sparse.coo_array:
    columns = len(bounds) - 1
    _, value = np.unique(flat, return_inverse=True)
    column = np.repeat(np.arange(columns), np.diff(bounds))
    rare = np.bincount(value)[value] <= _MAX_POSTINGS
    holds = sparse.csr_array(
        (np.ones(rare.sum(), dtype=np.int32), (column[rare], value[rare])),
        shape=(columns, int(value.max(initial=0)) + 1),
    )
    return (holds @ holds.T).tocoo()


def _less_chance(
    lake: Lake,
    left: Int[np.ndarray, " pair"],
    right: Int[np.ndarray, " pair"],
    containment: Float[np.ndarray, " pair"],
) -> Float[np.ndarray, " pair"]:
    is_text = lake.is_text
    same_kind: Bool[np.ndarray, " pair"] = is_text[left] == is_text[right]
    total = np.bincount(left, np.where(same_kind, containment, 0.0), minlength=len(lake))
    kin = np.where(is_text, is_text.sum(), (~is_text).sum())
    return np.maximum(containment - (total / (kin + _PRIOR))[left], 0.0)


def measure_overlap(lake: Lake) -> ValueOverlap:
    """Estimates containment for every pair of columns of different tables.

    Cost is the sum over values of the square of the number of columns that hold it; values held
    by more than a few thousand columns are left out.

    Args:
        lake: The columns with their sketches.

    Returns:
        Pairs that share at least one hash.
    """
    flat, bounds = _hashes([profile.sketch for profile in lake.profiles])
    shared = _shared(flat, bounds)
    apart = lake.table_of[shared.row] != lake.table_of[shared.col]
    left, right = shared.row[apart].astype(np.int64), shared.col[apart].astype(np.int64)
    count = shared.data[apart].astype(np.int64)
    order = np.lexsort((right, left))
    left, right, count = left[order], right[order], count[order]
    known = _known_up_to(lake, flat, bounds)
    threshold = np.minimum(known[left], known[right])
    comparable = _count_at_most(flat, bounds[left], bounds[left + 1], threshold)
    containment = np.minimum(count / np.maximum(comparable, 1), 1.0)
    return ValueOverlap(
        columns=len(lake),
        left=left,
        right=right,
        shared=count,
        containment=containment,
        beyond_chance=_less_chance(lake, left, right, containment),
    )


def _known_up_to(
    lake: Lake, flat: UInt64[np.ndarray, " hash"], bounds: Int[np.ndarray, " _"]
) -> UInt64[np.ndarray, " column"]:
    """The greatest hash up to which a sketch is the whole column."""
    everything = np.iinfo(np.uint64).max
    return np.array(
        [
            everything if profile.distinct <= size else flat[stop - 1]
            for profile, size, stop in zip(lake.profiles, np.diff(bounds), bounds[1:], strict=True)
        ],
        dtype=np.uint64,
    )
