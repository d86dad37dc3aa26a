"""Count the values that columns share, with memory linear in the number of columns.

The matrix of columns by hashes, multiplied by its transpose, yields only pairs that share a hash.
It is computed for a block of columns at a time, and each column keeps only its best partners.
Columns with equal sketches, such as hundreds of lists of all countries, are one row of the right
factor.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from datahub_hyperjoin.model.signals.row_products import row_products
from datahub_hyperjoin.model.signals.sketches import concatenate_sketches

MAX_POSTINGS = 1024
"""Maximum number of distinct sketches that hold a value. More frequent values are ignored: they
distinguish nothing, and the cost of a value grows with the square of that number."""

BLOCK_PAIRS = 1 << 21
"""Number of pairs in memory at once; a pair takes some 100 bytes while it is measured."""

Pairs = tuple[
    Int[np.ndarray, " pair"],
    Int[np.ndarray, " pair"],
    Int[np.ndarray, " pair"],
]
"""The left and the right column of each pair, and the number of hashes that both hold."""


@dataclass(frozen=True)
class Postings:
    """The distinct sketches of a lake, with the columns and the hashes of each sketch.

    Columns with equal values have the same sketch.
    """

    sketch_of: Int[np.ndarray, " column"]
    members: Int[np.ndarray, " column"]
    """Columns, sorted by their sketch."""

    starts: Int[np.ndarray, " _"]
    """Start of each sketch's columns in `members`, then the length of `members`."""

    holds: sparse.csr_array
    """A matrix of sketches and hashes: 1 where the sketch holds the hash."""

    held_by: sparse.csr_array
    """The transpose of `holds`, stored because SciPy would otherwise rebuild it for each block."""

    is_partial: Bool[np.ndarray, " column"]
    """Whether some of a column's values are ignored, because too many sketches hold them."""

    @classmethod
    def of(cls, sketches: Sequence[bytes]) -> "Postings":
        """Collect the columns and the hashes of each distinct sketch.

        Args:
            sketches: The sketch of each column.
        """
        numbers = {sketch: number for number, sketch in enumerate(dict.fromkeys(sketches))}
        sketch_of = np.array([numbers[sketch] for sketch in sketches], dtype=np.int64)
        every = build_incidence([*numbers])
        is_rare = np.bincount(every.indices, minlength=1) <= MAX_POSTINGS
        rare = is_rare[every.indices]
        bounds = np.concatenate([[0], np.cumsum(rare)])[every.indptr]
        is_cut = np.diff(bounds) < np.diff(every.indptr)
        holds = sparse.csr_array((every.data[rare], every.indices[rare], bounds), every.shape)
        del every, rare
        sizes = np.bincount(sketch_of, minlength=len(numbers))
        starts = np.concatenate([[0], np.cumsum(sizes)])
        members = np.argsort(sketch_of, kind="stable")
        return cls(sketch_of, members, starts, holds, holds.T.tocsr(), is_cut[sketch_of])

    def count_shared(self) -> Iterator[Pairs]:
        """Yield, in blocks, all pairs of columns that share hashes, and how many they share.

        Yields:
            All pairs of the left columns of a block, sorted by left, then right column. A column is
            also paired with itself.
        """
        return map(self._pairs, self._blocks())

    def _blocks(self) -> Iterator[slice]:
        """Divide the columns into blocks, each so small that its pairs fit into memory."""
        sizes = np.diff(self.starts)
        columns = len(self.sketch_of)
        most = np.minimum(self.holds @ (self.held_by @ sizes), columns)[self.sketch_of]
        start, filled = 0, 0
        for column, pairs in enumerate(most.tolist()):
            if filled and filled + pairs > BLOCK_PAIRS:
                yield slice(start, column)
                start, filled = column, 0
            filled += pairs
        yield slice(start, columns)

    def _pairs(self, block: slice) -> Pairs:
        """Pair a block of columns with all columns, and count the hashes that each pair shares."""
        counts = (self.holds[self.sketch_of[block]] @ self.held_by).tocoo()
        # Each sketch on the right stands for all its columns.
        repeats = np.diff(self.starts)[counts.col]
        ends = np.cumsum(repeats)
        within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - repeats, repeats)
        right = self.members[np.repeat(self.starts[counts.col], repeats) + within]
        left = np.repeat(counts.row.astype(np.int64) + block.start, repeats)
        shared = np.repeat(counts.data.astype(np.int64), repeats)
        # Each pair has a number of its own, and one key sorts faster than two.
        order = np.argsort(left * len(self.sketch_of) + right)
        return left[order], right[order], shared[order]


def build_incidence(sketches: Sequence[bytes]) -> sparse.csr_array:
    """Build a matrix that holds 1 where a sketch (row) contains a hash (column).

    Args:
        sketches: The sketches, which give the rows.
    """
    hashes, bounds = concatenate_sketches(sketches)
    # NumPy's inverse of distinct hashes would take three more arrays of 64 bits, and the hashes of
    # all columns at once are what most memory goes to.
    order = np.argsort(hashes)
    ordered = hashes[order]
    is_first = np.ones(len(ordered), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    del ordered
    value = np.empty(len(order), dtype=np.int32)
    value[order] = np.cumsum(is_first, dtype=np.int32) - 1
    ones = np.ones(len(value), dtype=np.int32)
    shape = (len(sketches), max(int(np.count_nonzero(is_first)), 1))
    del order, is_first
    return sparse.csr_array((ones, value, bounds), shape)


def count_common_hashes(
    sketches: Sequence[bytes], left: Int[np.ndarray, " pair"], right: Int[np.ndarray, " pair"]
) -> Int[np.ndarray, " pair"]:
    """For each pair, count the hashes that both columns have, including very common hashes.

    Args:
        sketches: The sketch of each column.
        left: Column indices.
        right: Column indices, as many.
    """
    columns, ends = np.unique(np.concatenate([left, right]), return_inverse=True)
    holds = build_incidence([sketches[column] for column in columns.tolist()])
    return row_products(holds, holds, *np.split(ends, 2)).astype(np.int64)


def best_partners(
    left: Int[np.ndarray, " pair"],
    strength: Callable[[Bool[np.ndarray, " pair"]], Float[np.ndarray, " chosen"]],
    most: int,
) -> Bool[np.ndarray, " pair"]:
    """Select the strongest pairs of each left column, up to a maximum number.

    Args:
        left: The left column of each pair, ascending.
        strength: Returns the strengths of some pairs, in [0, 1]; called only for columns with too
            many.
        most: Maximum number of pairs of a column.

    Returns:
        A mask of the pairs. Of equally strong pairs, the first are selected.
    """
    kept = np.ones(len(left), dtype=bool)
    crowded: Bool[np.ndarray, " pair"] = (np.bincount(left) > most)[left]
    if crowded.any():
        of = left[crowded]
        # One number for each pair sorts by left column, then by falling strength.
        order = np.argsort(of + (1 - strength(crowded)) / 2, kind="stable")
        rank = np.empty(len(of), dtype=np.int64)
        rank[order] = np.arange(len(of)) - np.searchsorted(of, of)
        kept[crowded] = rank < most
    return kept
