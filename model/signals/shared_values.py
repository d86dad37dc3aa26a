"""Count the values that columns share, with memory linear in the number of columns.

Columns with equal sketches, such as hundreds of lists of all countries, form a group. The matrix of
groups by hashes, multiplied by its transpose, yields only pairs of groups that share a hash. It is
computed for a block of groups at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int, Int32, UInt64
from scipy import sparse

from datahub_hyperjoin.model.signals.partition import Partition, number_distinct
from datahub_hyperjoin.model.signals.row_products import (
    multiply_with_transpose,
    products_of_pairs,
)
from datahub_hyperjoin.model.signals.sketches import concatenate_sketches

MAX_POSTINGS = 512
"""Maximum number of distinct sketches that hold a value. More frequent values are ignored: they
distinguish nothing, and the cost of a value grows with the square of that number."""

BLOCK_PAIRS = 1 << 19
"""Number of pairs in memory at once; a pair takes some 100 bytes while it is measured."""

_PAIRS_IN_MEMORY = 1 << 23
"""Number of pairs of groups that are counted at once, in half the time; each takes some 30 bytes.
All lakes of 2,896 groups and fewer have no more."""

_HASHES_AT_ONCE = 1 << 22
"""Approximate number of hashes that are sorted at once, which takes some 200 MB."""
_MOST_PARTS = 256
"""Maximum number of parts in which hashes are sorted, which one byte of a hash tells apart."""
_ALONE, _FREQUENT = -1, -2
"""In place of a value's number: only one group holds the value, or too many sketches do."""

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
    """A matrix of groups and values: 1 where the sketch of the group holds the value. The values
    that no other group holds share one column for each group. SciPy multiplies floats faster than
    integers, and those of single precision are exact for all counts."""

    alone: Int[np.ndarray, " group"]
    """The number of values that no other group holds."""

    frequent: UInt64[np.ndarray, " value"]
    """The hashes that are ignored because too many sketches hold them."""

    is_partial: Bool[np.ndarray, " column"]
    """Whether some of a column's values are ignored, because too many sketches hold them."""

    is_alone: Bool[np.ndarray, " column"]
    """Whether no other column holds any of a column's values."""

    @classmethod
    def of(cls, sketches: Sequence[bytes], complete: Bool[np.ndarray, " column"]) -> "Postings":
        """Collect the columns and the hashes of each group.

        Args:
            complete: Whether each sketch holds all values of its column. Equal sketches of which
                only some are complete are two groups, because they estimate other containments.
        """
        kinds, group_of = number_distinct(zip(sketches, complete.tolist(), strict=True))
        distinct = [*{sketch: number for number, (sketch, _) in enumerate(kinds)}.values()]
        is_copy = np.ones(len(kinds), dtype=bool)
        is_copy[distinct] = False
        hashes, bounds = concatenate_sketches([sketch for sketch, _ in kinds])
        value, frequent = _number_values(hashes, bounds, is_copy)
        del hashes
        alone = _count_in_groups(value == _ALONE, bounds)
        is_cut = _count_in_groups(value == _FREQUENT, bounds) > 0
        holds = _build_matrix(value, bounds, alone)
        del value
        groups = Partition.of(group_of, len(kinds))
        is_alone = (groups.sizes == 1) & (alone == np.diff(bounds))
        return cls(groups, holds, alone, frequent, is_cut[group_of], is_alone[group_of])

    def count_shared(self) -> Iterator[GroupCounts]:
        """Yield, in blocks, all pairs of groups that share hashes, and how many they share.

        Yields:
            All pairs of the left groups of a block, sorted by left, then right group. A group is
            also paired with itself.
        """
        held = self.holds.sum(axis=0).astype(np.float64)
        most = np.minimum(self.holds @ held, self.holds.shape[0]).astype(np.int64)
        for block, counts in self._multiply(most):
            left = np.repeat(np.arange(block.start, block.stop), np.diff(counts.indptr))
            right, shared = counts.indices.astype(np.int64), counts.data.astype(np.int64)
            # One of the values that a group shares with itself stands for all that no other holds.
            own = np.flatnonzero(left == right)
            shared[own] += np.maximum(self.alone[left[own]] - 1, 0)
            yield left, right, shared

    def _multiply(
        self, most: Int[np.ndarray, " group"]
    ) -> Iterator[tuple[slice, sparse.csr_array]]:
        """Yield the products of the groups of each block with all groups, with sorted rows.

        `most` bounds the number of groups that share a value with each group.
        """
        blocks = split_by_size(most, BLOCK_PAIRS)
        # To convert a matrix twice sorts its rows in linear time.
        if most.sum() <= _PAIRS_IN_MEMORY:
            counts = multiply_with_transpose(self.holds).tocsc().tocsr()
            yield from ((block, counts[block]) for block in blocks)
            return
        held_by = self.holds.T.tocsr()
        for block in blocks:
            yield block, (self.holds[block] @ held_by).tocsc().tocsr()


def _build_matrix(
    value: Int32[np.ndarray, " hash"],
    bounds: Int[np.ndarray, " bound"],
    alone: Int[np.ndarray, " group"],
) -> sparse.csr_array:
    """Build the matrix of groups and values, with a last column for each group that is `alone`."""
    has_own = alone > 0
    kept = value >= 0
    sizes = _count_in_groups(kept, bounds) + has_own
    starts = np.concatenate([[0], np.cumsum(sizes)])
    shared = int(value.max(initial=-1)) + 1
    columns = np.empty(starts[-1], dtype=np.int32)
    is_own = np.zeros(len(columns), dtype=bool)
    is_own[starts[1:][has_own] - 1] = True
    columns[is_own] = shared + np.arange(np.count_nonzero(has_own))
    columns[~is_own] = value[kept]
    # With starts of 64 bits, SciPy would widen the numbers of values, too.
    if len(columns) <= np.iinfo(np.int32).max:
        starts = starts.astype(np.int32)
    shape = (len(alone), max(shared + np.count_nonzero(has_own), 1))
    return sparse.csr_array((np.ones(len(columns), dtype=np.float32), columns, starts), shape)


def _number_values(
    hashes: UInt64[np.ndarray, " hash"],
    bounds: Int[np.ndarray, " bound"],
    is_copy: Bool[np.ndarray, " group"],
) -> tuple[Int32[np.ndarray, " hash"], UInt64[np.ndarray, " value"]]:
    """Give equal hashes the same number; `_ALONE` and `_FREQUENT` if they are not compared.

    The hashes of a lake are what most memory goes to while columns are compared, so they are sorted
    in parts that hold all hashes with the same last bits.

    Args:
        bounds: Start of each group in `hashes`, and the end of the last.
        is_copy: Whether another group has the same sketch, so that its hashes do not count.
    """
    value = np.full(len(hashes), _ALONE, dtype=np.int32)
    parts = 1
    while parts < _MOST_PARTS and len(hashes) > parts * _HASHES_AT_ONCE:
        parts *= 2
    last_byte = hashes.astype("<u8", copy=False).view(np.uint8)[::8]
    numbered, frequent = 0, list[UInt64[np.ndarray, " value"]]()
    for part in range(parts):
        at = np.flatnonzero((last_byte & np.uint8(parts - 1)) == part)
        at = at[np.argsort(hashes[at])]
        is_first = np.ones(len(at), dtype=bool)
        is_first[1:] = hashes[at[1:]] != hashes[at[:-1]]
        starts = np.flatnonzero(is_first)
        held = np.diff(starts, append=len(at))
        sketches = held
        if is_copy.any():
            copies = is_copy[np.searchsorted(bounds, at, side="right") - 1]
            sketches = held - np.add.reduceat(copies, starts, dtype=np.int64)
        is_frequent = sketches > MAX_POSTINGS
        compared = (held > 1) & ~is_frequent
        frequent.append(hashes[at[starts[is_frequent]]])
        number = np.where(is_frequent, _FREQUENT, _ALONE)
        number[compared] = numbered + np.arange(compared.sum())
        numbered += int(compared.sum())
        value[at] = np.repeat(number, held)
    return value, np.concatenate(frequent)


def _count_in_groups(
    chosen: Bool[np.ndarray, " hash"], bounds: Int[np.ndarray, " bound"]
) -> Int[np.ndarray, " group"]:
    """For each group, count its chosen hashes."""
    counts = np.zeros(len(bounds) - 1, dtype=np.int64)
    some = np.flatnonzero(np.diff(bounds))
    if len(some):
        counts[some] = np.add.reduceat(chosen, bounds[some], dtype=np.int64)
    return counts


def split_by_size(sizes: Int[np.ndarray, " item"], most: int) -> Iterator[slice]:
    """Divide items into runs of consecutive items, with a maximum for the sum of their sizes.

    Args:
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
    """Build a matrix that holds 1 where a sketch (row) contains a hash (column)."""
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
    """For each pair, count the hashes that both columns have, including very common hashes."""
    columns, ends = np.unique(np.concatenate([left, right]), return_inverse=True)
    # Large lakes repeat columns and pairs, so each pair of distinct sketches is counted once.
    distinct, of_column = number_distinct(sketches[at] for at in columns.tolist())
    first, second = np.split(of_column[ends], 2)
    low, high = np.minimum(first, second), np.maximum(first, second)
    pairs, of_pair = np.unique(low * len(distinct) + high, return_inverse=True)
    common = products_of_pairs(build_incidence(distinct), *np.divmod(pairs, len(distinct)))
    return common[of_pair]
