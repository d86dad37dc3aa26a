"""Sparse storage of values for pairs of columns."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

_AT_ONCE = 1 << 20
"""Number of pairs whose reverses are found at once, which bounds memory."""


def values_at(
    values: Shaped[np.ndarray, " pair"], positions: Int[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """Return the values at some positions, as floating-point numbers.

    Args:
        positions: Positions among the stored pairs, as `SparsePairs.locate` returns them.
    """
    if not len(values):
        return np.zeros(positions.shape)
    # Values may be of single precision, or integers.
    return np.where(positions >= 0, values[positions], np.float64(0.0))


def number_pairs(
    left: Int[np.ndarray, "*shape"], right: Int[np.ndarray, "*shape"], count: int
) -> Int[np.ndarray, "*shape"]:
    """Compute a sort key for each pair, to sort pairs by left index and then by right index.

    Args:
        count: Number of columns or tables.

    >>> number_pairs(np.array([0, 2], dtype=np.int32), np.array([1, 0], dtype=np.int32), 3).tolist()
    [1, 6]
    """
    # Indices may have 32 bits, which the product of two exceeds in large lakes.
    return np.multiply(left, count, dtype=np.int64) + right


@dataclass(frozen=True)
class SparsePairs:
    """Pairs of columns for which something was measured, sorted for fast look-up.

    `left` and `right` list every pair in both orders, sorted by `left`, then `right`. Columns are
    given by their index in the lake.

    Pairs are looked up by binary search among the partners of the left column.
    """

    columns: int
    """Number of columns in the lake."""

    left: Int[np.ndarray, " pair"]
    right: Int[np.ndarray, " pair"]

    def look_up(
        self,
        values: Float[np.ndarray, " pair"],
        left: Int[np.ndarray, "*shape"],
        right: Int[np.ndarray, "*shape"],
    ) -> Float[np.ndarray, "*shape"]:
        """Look up the requested pairs in `values`, which has one value for each stored pair.

        Returns:
            One value for each requested pair; 0 for a pair that is not stored.

        >>> pairs = SparsePairs(3, left=np.array([0, 1]), right=np.array([1, 0]))
        >>> pairs.look_up(np.array([0.5, 0.25]), np.array([1, 1]), np.array([0, 2])).tolist()
        [0.25, 0.0]
        """
        return values_at(values, self.locate(left, right))

    def locate(
        self, left: Int[np.ndarray, "*shape"], right: Int[np.ndarray, "*shape"]
    ) -> Int[np.ndarray, "*shape"]:
        """Return the positions of the requested pairs among the stored ones.

        The search takes much longer than reading a value, so several values of the same pairs are
        best read by `values_at`.

        Returns:
            One position for each requested pair; -1 for a pair that is not stored.
        """
        if not len(self.right):
            return np.full(left.shape, -1)
        # All binary searches advance in step. Each is among the partners of one column, which fit
        # into the processor's cache, where a search among all pairs takes several times as long.
        position, stop = self.starts[left], self.starts[left + 1]
        last = len(self.right) - 1
        # The greatest number of partners of these columns, not of all: that would take time in
        # proportion to the lake for every few pairs.
        step = 1 << int((stop - position).max(initial=0)).bit_length()
        while step := step >> 1:
            ahead = position + (step - 1)
            below = (ahead < stop) & (self.right[np.minimum(ahead, last)] < right)
            position = position + step * below
        found = np.minimum(position, last)
        return np.where((position < stop) & (self.right[found] == right), found, -1)

    def reverse_at(self, positions: Int[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
        """For the pair at each position, return the position of the same pair in the other order.

        All pairs must be stored in both orders. Once for all, this takes 4 bytes a pair, and much
        less time than a search.

        Args:
            positions: Positions among the stored pairs; -1 for a pair that is not stored.

        >>> pairs = SparsePairs(3, left=np.array([0, 0, 1, 2]), right=np.array([1, 2, 0, 0]))
        >>> pairs.reverse_at(np.array([0, 1, -1])).tolist()
        [2, 3, -1]
        """
        if not len(self.left):
            return positions
        return np.where(positions >= 0, self.reverse[positions], -1)

    @cached_property
    def reverse(self) -> Int[np.ndarray, " pair"]:
        """For each stored pair, the position of the same pair in the other order.

        All pairs must be stored in both orders.
        """
        # Reverses of the pairs with one right column are next to each other, in the order of the
        # pairs, so that counting replaces a search for each of them.
        reverse = np.empty(len(self.right), dtype=np.int32)
        following = self.starts[:-1].copy()
        for start in range(0, len(reverse), _AT_ONCE):
            right = self.right[start : start + _AT_ONCE]
            order = np.argsort(right, kind="stable")
            right = right[order]
            first = np.flatnonzero(np.diff(right, prepend=-1))
            count = np.diff(first, append=len(right))
            earlier = np.arange(len(right)) - np.repeat(first, count)
            reverse[start + order] = following[right] + earlier
            following[right[first]] += count
        return reverse

    @cached_property
    def starts(self) -> Int[np.ndarray, " bound"]:
        """The positions at which the pairs of each left column begin, then the number of pairs."""
        # Of the same type, because NumPy would convert all pairs otherwise.
        return np.searchsorted(self.left, np.arange(self.columns + 1, dtype=self.left.dtype))


@dataclass(frozen=True)
class PairValues(SparsePairs):
    """A sparse symmetric matrix with a positive value for each stored pair of columns.

    A pair that is not stored has the value 0.
    """

    values: Float[np.ndarray, " pair"]
    """The value of each stored pair, equal in both orders of the pair."""

    @classmethod
    def from_mapping(cls, columns: int, values: Mapping[tuple[int, int], float]) -> "PairValues":
        """Build the matrix from a mapping that contains each pair in only one order.

        Args:
            values: The value of each pair, listed in one order.
        """
        reversed_pairs = {(right, left): value for (left, right), value in values.items()}
        listed = sorted([*values.items(), *reversed_pairs.items()])
        ends = np.array([pair for pair, _ in listed], dtype=np.int64).reshape(-1, 2)
        return cls(
            columns=columns,
            left=ends[:, 0],
            right=ends[:, 1],
            values=np.array([value for _, value in listed], dtype=np.float64),
        )

    def of(
        self, left: Int[np.ndarray, "*shape"], right: Int[np.ndarray, "*shape"]
    ) -> Float[np.ndarray, "*shape"]:
        """Return the value of each requested pair, or 0 if it is not stored."""
        return self.look_up(self.values, left, right)

    def holds(
        self, left: Int[np.ndarray, "*shape"], right: Int[np.ndarray, "*shape"]
    ) -> Bool[np.ndarray, "*shape"]:
        """For each requested pair, return whether it is stored."""
        return self.of(left, right) > 0

    def partners(self, column: int) -> Int[np.ndarray, " _"]:
        """Return all columns that are paired with a given column, in ascending order."""
        return self.right[self.starts[column] : self.starts[column + 1]]

    def select(self, mask: Bool[np.ndarray, " pair"]) -> "PairValues":
        """Return a copy of the matrix with only the pairs that a mask selects.

        Args:
            mask: The pairs to keep; the same for both orders of a pair.
        """
        return replace(self, left=self.left[mask], right=self.right[mask], values=self.values[mask])

    @cached_property
    def once(self) -> Bool[np.ndarray, " pair"]:
        """A mask that selects each pair once, with the smaller index on the left."""
        return self.left < self.right

    def __len__(self) -> int:
        return len(self.left) // 2
