"""The sketches of all columns, and the values that they share.

A sketch holds the k smallest hashes of a column. Up to the smaller of their two greatest hashes,
two sketches are complete, so the share of common hashes in that range estimates containment
without bias (bottom-k estimator; Cohen and Kaplan, 2007).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Int, Int32, Real, UInt64
from scipy import sparse

from datahub_hyperjoin.arrow_bytes import starts_run
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.pairs import (
    ColumnInts,
    ColumnMask,
    Floats,
    MeasuredPairs,
    PairFloats,
    PairInts,
    Partition,
    SomeInts,
    chunks,
    number_distinct,
    search_slices,
)

_Hashes = UInt64[np.ndarray, " hash"]
_Values = Int32[np.ndarray, " hash"]
_Bounds = Int[np.ndarray, " bound"]
_GroupInts = Int[np.ndarray, " group"]

_HASH_BYTES = 8
_UNLIMITED = np.iinfo(np.uint64).max
"""Up to this hash, a sketch is complete that holds the hashes of all values."""


@dataclass(frozen=True)
class SketchArrays:
    """The hashes in the sketches of all columns; those of equal sketches are stored once."""

    hashes: _Hashes
    start: ColumnInts
    stop: ColumnInts
    # For each column, the hash up to which its sketch is complete.
    complete_up_to: UInt64[np.ndarray, " column"]

    @classmethod
    def of(cls, lake: Lake, sketches: Sequence[bytes]) -> "SketchArrays":
        """Build the arrays from the sketches of all columns."""
        distinct, number = number_distinct(sketches)
        hashes, bounds = concatenate_sketches(distinct)
        start, stop = bounds[number], bounds[number + 1]
        # A sketch of another form has fewer hashes than values if the form merges some, so only the
        # column's sketch of normal forms tells whether the sketches hold all values.
        complete = [
            hashes[end - 1] if profile.distinct_is_estimated else _UNLIMITED
            for profile, end in zip(lake.profiles, stop.tolist(), strict=True)
        ]
        return cls(hashes, start, stop, np.array(complete, dtype=np.uint64))

    @cached_property
    def _sizes(self) -> ColumnInts:
        return self.stop - self.start

    @cached_property
    def is_complete(self) -> ColumnMask:
        """Whether each column's sketch holds the hashes of all its values."""
        return self.complete_up_to == _UNLIMITED

    def containment(self, left: PairInts, right: PairInts, shared: PairInts) -> PairFloats:
        """Estimate each left column's containment in the right one from shared hashes."""
        comparable = self._sizes[left]
        partial = np.flatnonzero(~(self.is_complete[left] & self.is_complete[right]))
        left, right = left[partial], right[partial]
        # Beyond the smaller of the two limits a hash may be missing from one of the sketches.
        threshold = np.minimum(self.complete_up_to[left], self.complete_up_to[right])
        comparable[partial] = _count_at_most(
            self.hashes, self.start[left], self.stop[left], threshold
        )
        return np.minimum(shared / np.maximum(comparable, 1), 1.0)

    def measure(self, left: PairInts, right: PairInts, shared: PairInts) -> MeasuredPairs:
        """Collect pairs with the number of hashes that both columns hold."""
        return MeasuredPairs(left, right, shared, self.containment(left, right, shared))


def concatenate_sketches(sketches: Sequence[bytes]) -> tuple[_Hashes, SomeInts]:
    """Concatenate the hashes of all columns, and compute where each column starts."""
    hashes = np.frombuffer(b"".join(sketches), dtype="<u8")
    sizes = np.array([len(sketch) // _HASH_BYTES for sketch in sketches], dtype=np.int64)
    return hashes, np.concatenate([[0], np.cumsum(sizes)])


def _count_at_most(
    hashes: _Hashes, start: PairInts, stop: PairInts, threshold: UInt64[np.ndarray, " pair"]
) -> PairInts:
    """For each pair, count the hashes in `hashes[start:stop]` that do not exceed `threshold`."""
    # Most slices are whole sketches of all values, which need no search.
    is_below = stop > start
    is_below[is_below] = hashes[stop[is_below] - 1] <= threshold[is_below]
    found = np.where(is_below, stop - start, 0)
    rest = np.flatnonzero(~is_below)
    ends = start[rest], stop[rest], threshold[rest]
    found[rest] = search_slices(hashes, *ends, np.less_equal) - start[rest]
    return found


_CHUNK = 1 << 20  # approximate number of non-zeros to multiply at once, which bounds memory
_ROWS, _LEAST = 64, 4
"""Number of left rows in a block, and with how many of them a right row must be paired to be
multiplied with all of them."""


def row_products(
    left: sparse.csr_array, right: sparse.csr_array, left_rows: PairInts, right_rows: PairInts
) -> PairFloats:
    """For each pair, compute the inner product of a row of `left` and a row of `right`."""
    products = np.zeros(len(left_rows))
    in_row = max(left.nnz // max(left.shape[0], 1), right.nnz // max(right.shape[0], 1), 1)
    step = max(_CHUNK // in_row, 1)
    for part in chunks(len(left_rows), step):
        common: PairFloats = left[left_rows[part]].multiply(right[right_rows[part]]).sum(axis=1)
        products[part] = np.asarray(common).ravel()
    return products


def multiply_with_transpose(rows: sparse.csr_array, halvings: int = 3) -> sparse.csr_array:
    """Compute `rows @ rows.T` in little more than half the time, since the product is symmetric."""
    middle = rows.shape[0] // 2
    if not (halvings and middle):
        return rows @ rows.T
    first, second = rows[:middle], rows[middle:]
    across = first @ second.T
    return sparse.block_array(
        [
            [multiply_with_transpose(first, halvings - 1), across],
            [across.T, multiply_with_transpose(second, halvings - 1)],
        ],
        format="csr",
    )


def _products_of_pairs(rows: sparse.csr_array, left: PairInts, right: PairInts) -> PairInts:
    """For each pair of rows of a matrix of integers, compute the inner product."""
    # A block of left rows is multiplied with all right rows that are paired with several of them,
    # which takes time only for the non-zeros that two rows have in common.
    products = np.empty(len(left), dtype=np.int64)
    starts = np.searchsorted(left, np.unique(left)[::_ROWS])
    for start, stop in pairwise([*starts.tolist(), len(left)]):
        block, found = slice(start, stop), products[start:stop]
        in_block, row = np.unique(left[block], return_inverse=True)
        partners, partner, times = np.unique(right[block], return_inverse=True, return_counts=True)
        is_often = times >= min(_LEAST, len(in_block))
        together = (rows[in_block] @ rows[partners[is_often]].T).toarray()
        at = is_often[partner]
        found[at] = together[row[at], (np.cumsum(is_often) - 1)[partner[at]]]
        found[~at] = row_products(rows, rows, left[block][~at], right[block][~at])
    return products


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

GroupCounts = tuple[PairInts, PairInts, PairInts]
"""The left and the right group of each pair, and the number of hashes that both hold."""


@dataclass(frozen=True)
class Postings:
    """The columns and the hashes of each group of columns with equal sketches."""

    groups: Partition
    # A matrix of groups and values: 1 where the sketch of the group holds the value. The values
    # that no other group holds share one column for each group. SciPy multiplies floats faster than
    # integers, and those of single precision are exact for all counts.
    holds: sparse.csr_array
    alone: _GroupInts  # the number of values that no other group holds
    # The hashes that are ignored because too many sketches hold them.
    frequent: UInt64[np.ndarray, " value"]
    # Whether some of a column's values are ignored, because too many sketches hold them.
    is_partial: ColumnMask
    is_alone: ColumnMask  # whether no other column holds any of a column's values

    @classmethod
    def of(cls, sketches: Sequence[bytes], complete: ColumnMask) -> "Postings":
        """Collect the columns and the hashes of each group."""
        # Equal sketches of which only some are complete estimate other containments: two groups.
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
        """Yield, in blocks, all pairs of groups that share hashes, and how many they share."""
        # Pairs are sorted by left, then right group. A group is also paired with itself.
        held = self.holds.sum(axis=0).astype(np.float64)
        most = np.minimum(self.holds @ held, self.holds.shape[0]).astype(np.int64)
        for block, counts in self._multiply(most):
            left = np.repeat(np.arange(block.start, block.stop), np.diff(counts.indptr))
            right, shared = counts.indices.astype(np.int64), counts.data.astype(np.int64)
            # One of the values that a group shares with itself stands for all that no other holds.
            own = np.flatnonzero(left == right)
            shared[own] += np.maximum(self.alone[left[own]] - 1, 0)
            yield left, right, shared

    def _multiply(self, most: _GroupInts) -> Iterator[tuple[slice, sparse.csr_array]]:
        """Yield the products of the groups of each block with all groups, with sorted rows."""
        blocks = split_by_size(most, BLOCK_PAIRS)
        # To convert a matrix twice sorts its rows in linear time.
        if most.sum() <= _PAIRS_IN_MEMORY:
            counts = multiply_with_transpose(self.holds).tocsc().tocsr()
            yield from ((block, counts[block]) for block in blocks)
            return
        held_by = self.holds.T.tocsr()
        for block in blocks:
            yield block, (self.holds[block] @ held_by).tocsc().tocsr()


def _build_matrix(value: _Values, bounds: _Bounds, alone: _GroupInts) -> sparse.csr_array:
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
    hashes: _Hashes, bounds: _Bounds, is_copy: Bool[np.ndarray, " group"]
) -> tuple[_Values, UInt64[np.ndarray, " value"]]:
    """Give equal hashes the same number; `_ALONE` and `_FREQUENT` if they are not compared."""
    # The hashes of a lake are what most memory goes to while columns are compared, so they are
    # sorted in parts that hold all hashes with the same last bits.
    value = np.full(len(hashes), _ALONE, dtype=np.int32)
    parts = 1
    while parts < _MOST_PARTS and len(hashes) > parts * _HASHES_AT_ONCE:
        parts *= 2
    last_byte = hashes.astype("<u8", copy=False).view(np.uint8)[::8]
    numbered, frequent = 0, list[UInt64[np.ndarray, " value"]]()
    for part in range(parts):
        at = np.flatnonzero((last_byte & np.uint8(parts - 1)) == part)
        at = at[np.argsort(hashes[at])]
        starts = np.flatnonzero(starts_run(hashes[at]))
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


def _count_in_groups(chosen: Bool[np.ndarray, " hash"], bounds: _Bounds) -> _GroupInts:
    """For each group, count its chosen hashes."""
    counts = np.zeros(len(bounds) - 1, dtype=np.int64)
    some = np.flatnonzero(np.diff(bounds))
    if len(some):
        counts[some] = np.add.reduceat(chosen, bounds[some], dtype=np.int64)
    return counts


def split_by_size(sizes: Int[np.ndarray, " item"], most: int) -> Iterator[slice]:
    """Divide items into runs of consecutive items, with a maximum for the sum of their sizes.

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
    is_first = starts_run(hashes[order])
    value = np.empty(len(order), dtype=np.int32)
    value[order] = np.cumsum(is_first, dtype=np.int32) - 1
    ones = np.ones(len(value), dtype=np.int32)
    shape = (len(sketches), max(int(np.count_nonzero(is_first)), 1))
    del order, is_first
    return sparse.csr_array((ones, value, bounds), shape)


def count_common_hashes(sketches: Sequence[bytes], left: PairInts, right: PairInts) -> PairInts:
    """For each pair, count the hashes that both columns have, including very common hashes."""
    columns, ends = np.unique(np.concatenate([left, right]), return_inverse=True)
    # Large lakes repeat columns and pairs, so each pair of distinct sketches is counted once.
    distinct, of_column = number_distinct(sketches[at] for at in columns.tolist())
    first, second = np.split(of_column[ends], 2)
    low, high = np.minimum(first, second), np.maximum(first, second)
    pairs, of_pair = np.unique(low * len(distinct) + high, return_inverse=True)
    common = _products_of_pairs(build_incidence(distinct), *np.divmod(pairs, len(distinct)))
    return common[of_pair]


_SHARED_SCALE = 3.0
"""Number of shared values at which the weight reaches about two thirds. The weight approaches 1 as
the number grows."""
_MIN_NAME_SIMILARITY = 0.1  # similarity assumed for names that have nothing in common
_SPARSE_POWER, _DENSE_POWER = 0.5, 2.0
"""Powers to which name similarity is raised, for sparse and for gapless numbers."""


def weigh_shared(shared: Real[np.ndarray, "*pair"]) -> Floats:
    """Return a weight below 1 that grows with the number of shared values."""
    return 1 - np.exp(-shared / _SHARED_SCALE)


def trust_in_numbers(names: Floats, density: Floats) -> Floats:
    """Return a weight for shared numbers: low if the names differ and the numbers are dense."""
    # Numbers in common are weak evidence: consecutive numbers share values with every such column.
    similarity = (names + _MIN_NAME_SIMILARITY) / (1 + _MIN_NAME_SIMILARITY)
    return similarity ** (_SPARSE_POWER + (_DENSE_POWER - _SPARSE_POWER) * density)
