"""Sparse storage of values for pairs of columns."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, Real, Shaped


def values_at(
    values: Shaped[np.ndarray, " pair"], positions: Int[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """Return the values at some positions, as floating-point numbers.

    Args:
        values: One value for each stored pair.
        positions: Positions among the stored pairs, as `SparsePairs.locate` returns them.

    Returns:
        One value for each position; 0 for -1.
    """
    if not len(values):
        return np.zeros(positions.shape)
    return np.where(positions >= 0, values[positions], 0.0)


def number_pairs(
    left: Int[np.ndarray, "*shape"], right: Int[np.ndarray, "*shape"], count: int
) -> Int[np.ndarray, "*shape"]:
    """For each pair, compute a number that orders pairs by their left, then right indices.

    Args:
        left: Indices, of columns or tables.
        right: Indices below `count`, as many.
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

    Pairs are looked up by binary search in their flattened indices. Indexing a
    `scipy.sparse.csr_array` of 500,000 pairs with index arrays of shape (128, 200) takes 0.4 times
    as long where columns have few partners (100,000 columns), but 2.4 times as long where they have
    many (2,000 columns); its result is sparse or dense depending on SciPy's version.
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

        Args:
            values: One value for each stored pair.
            left: Column indices.
            right: Column indices, as many.

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

        Args:
            left: Column indices.
            right: Column indices, as many.

        Returns:
            One position for each requested pair; -1 for a pair that is not stored.
        """
        wanted = number_pairs(left, right, self.columns)
        stored = self._flat_indices
        if not len(stored):
            return np.full(wanted.shape, -1)
        # Past the end any valid position will do, because it does not hold the wanted pair.
        position = np.minimum(np.searchsorted(stored, wanted), len(stored) - 1)
        return np.where(stored[position] == wanted, position, -1)

    def of_reverse(self, values: Real[np.ndarray, " pair"]) -> Real[np.ndarray, " pair"]:
        """For each stored pair, return the value of the same pair in the other order.

        All pairs must be stored in both orders.

        Args:
            values: One value for each stored pair.

        >>> pairs = SparsePairs(3, left=np.array([0, 0, 1, 2]), right=np.array([1, 2, 0, 0]))
        >>> pairs.of_reverse(np.array([0.1, 0.2, 0.3, 0.4])).tolist()
        [0.3, 0.4, 0.1, 0.2]
        """
        # Sorted by right, then left column, pairs are in the order of their reverses, so that a
        # sort replaces a search for each of them.
        reverse = np.empty_like(values)
        reverse[np.argsort(self.right, kind="stable")] = values
        return reverse

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
        return np.where(positions >= 0, self._reverse[positions], -1)

    @cached_property
    def _reverse(self) -> Int[np.ndarray, " pair"]:
        return self.of_reverse(np.arange(len(self.left), dtype=np.int32))

    @cached_property
    def _flat_indices(self) -> Int[np.ndarray, " pair"]:
        """The indices of the stored pairs in the flattened matrix of all pairs, ascending."""
        return number_pairs(self.left, self.right, self.columns)


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
            columns: Number of columns in the lake.
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
        return self.right[slice(*np.searchsorted(self.left, [column, column + 1]))]

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
