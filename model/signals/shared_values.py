"""Count the values that columns share, with memory linear in the number of columns.

Columns with equal sketches, such as hundreds of lists of all countries, form a group. The matrix of
groups by hashes, multiplied by its transpose, yields only pairs of groups that share a hash. It is
computed for a block of groups at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from scipy import sparse

from datahub_hyperjoin.model.signals.partition import Partition
from datahub_hyperjoin.model.signals.row_products import row_products
from datahub_hyperjoin.model.signals.sketches import concatenate_sketches

MAX_POSTINGS = 1024
"""Maximum number of distinct sketches that hold a value. More frequent values are ignored: they
distinguish nothing, and the cost of a value grows with the square of that number."""

BLOCK_PAIRS = 1 << 19
"""Number of pairs in memory at once; a pair takes some 100 bytes while it is measured."""

GroupCounts = tuple[
    Int[np.ndarray, " pair"],
    Int[np.ndarray, " pair"],
    Int[np.ndarray, " pair"],
]
"""The left and the right group of each pair, and the number of hashes that both hold."""


@dataclass(frozen=True)
class Postings:
    """The columns and the hashes of each group of columns with equal sketches."""

    groups: Partition

    holds: sparse.csr_array
    """A matrix of groups and hashes: 1 where the sketch of the group holds the hash."""

    held_by: sparse.csr_array
    """The transpose of `holds`, stored because SciPy would otherwise rebuild it for each block."""

    is_partial: Bool[np.ndarray, " column"]
    """Whether some of a column's values are ignored, because too many sketches hold them."""

    @classmethod
    def of(cls, sketches: Sequence[bytes], complete: Bool[np.ndarray, " column"]) -> "Postings":
        """Collect the columns and the hashes of each group.

        Args:
            sketches: The sketch of each column.
            complete: Whether each sketch holds all values of its column. Equal sketches of which
                only some are complete are two groups, because they estimate other containments.
        """
        kinds = [*zip(sketches, complete.tolist(), strict=True)]
        numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
        group_of = np.array([numbers[kind] for kind in kinds], dtype=np.int64)
        every = build_incidence([sketch for sketch, _ in numbers])
        distinct = [*{sketch: number for (sketch, _), number in numbers.items()}.values()]
        counted = every if len(distinct) == len(numbers) else every[distinct]
        is_rare = np.bincount(counted.indices, minlength=every.shape[1]) <= MAX_POSTINGS
        rare = is_rare[every.indices]
        bounds = np.concatenate([[0], np.cumsum(rare)])[every.indptr]
        is_cut = np.diff(bounds) < np.diff(every.indptr)
        holds = sparse.csr_array((every.data[rare], every.indices[rare], bounds), every.shape)
        del every, counted, rare
        groups = Partition.of(group_of, len(numbers))
        return cls(groups, holds, holds.T.tocsr(), is_cut[group_of])

    def count_shared(self) -> Iterator[GroupCounts]:
        """Yield, in blocks, all pairs of groups that share hashes, and how many they share.

        Yields:
            All pairs of the left groups of a block, sorted by left, then right group. A group is
            also paired with itself.
        """
        most = np.minimum(self.holds @ np.diff(self.held_by.indptr), self.holds.shape[0])
        for block in split_by_size(most, BLOCK_PAIRS):
            counts = self.holds[block] @ self.held_by
            counts.sort_indices()
            left = np.repeat(np.arange(block.start, block.stop), np.diff(counts.indptr))
            yield left, counts.indices.astype(np.int64), counts.data.astype(np.int64)


def split_by_size(sizes: Int[np.ndarray, " item"], most: int) -> Iterator[slice]:
    """Divide items into runs of consecutive items, with a maximum for the sum of their sizes.

    Args:
        sizes: The size of each item.
        most: The maximum of a run; an item that exceeds it is a run of its own.

    >>> [(run.start, run.stop) for run in split_by_size(np.array([1, 2, 9, 1]), 3)]
    [(0, 2), (2, 3), (3, 4)]
    """
    start, filled = 0, 0
    for item, size in enumerate(sizes.tolist()):
        if item > start and filled + size > most:
            yield slice(start, item)
            start, filled = item, 0
        filled += size
    if start < len(sizes):
        yield slice(start, len(sizes))


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
