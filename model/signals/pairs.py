"""Groups of columns, and what was measured of pairs of columns."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped

from datahub_hyperjoin.arrow_bytes import starts_run

PairInts = Int[np.ndarray, " pair"]
PairMask = Bool[np.ndarray, " pair"]
PairFloats = Float[np.ndarray, " pair"]
ColumnInts = Int[np.ndarray, " column"]
ColumnMask = Bool[np.ndarray, " column"]
ColumnFloats = Float[np.ndarray, " column"]
Ints = Int[np.ndarray, "*shape"]
Floats = Float[np.ndarray, "*shape"]
Masks = Bool[np.ndarray, "*shape"]
KeyInts = Int[np.ndarray, " key"]
SomeInts = Int[np.ndarray, " _"]
Vectors = Float32[np.ndarray, "column width"]
"""Numbers or marks of pairs, of columns, arrays of any shape, key columns, indices, and vectors."""

_Item = TypeVar("_Item", bound=Hashable)


@dataclass(frozen=True)
class Partition:
    """The columns of a lake, each in one of several groups, such as its table."""

    group_of: ColumnInts
    members: ColumnInts
    # Start of each group in `members`, then the length of `members`.
    starts: Int[np.ndarray, " bound"]

    @classmethod
    def of(cls, group_of: ColumnInts, groups: int) -> "Partition":
        """List the columns of each group."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(group_of, minlength=groups))])
        return cls(group_of, np.argsort(group_of, kind="stable"), starts)

    @cached_property
    def sizes(self) -> Int[np.ndarray, " group"]:
        """The number of columns in each group."""
        return np.diff(self.starts)

    @cached_property
    def first(self) -> Int[np.ndarray, " group"]:
        """The first column of each group; no group may be empty."""
        return self.members[self.starts[:-1]]

    def count(self, mask: ColumnMask) -> Int[np.ndarray, " group"]:
        """Count the columns of each group that a mask selects."""
        return np.bincount(self.group_of[mask], minlength=len(self.sizes))


def number_distinct(items: Iterable[_Item]) -> tuple[list[_Item], Int[np.ndarray, " item"]]:
    """Number the distinct items in the order in which they first occur.

    >>> distinct, numbers = number_distinct(["b", "a", "b"])
    >>> distinct, numbers.tolist()
    (['b', 'a'], [0, 1, 0])
    """
    numbers: dict[_Item, int] = {}
    of_item = np.array([numbers.setdefault(item, len(numbers)) for item in items], dtype=np.int64)
    return [*numbers], of_item


def concatenate_ranges(
    starts: Int[np.ndarray, " range"], sizes: Int[np.ndarray, " range"]
) -> Int[np.ndarray, " number"]:
    """Concatenate ranges of consecutive numbers.

    >>> concatenate_ranges(np.array([5, 1]), np.array([2, 3])).tolist()
    [5, 6, 1, 2, 3]
    """
    ends = np.cumsum(sizes)
    count = int(ends[-1]) if len(ends) else 0
    return np.arange(count) + np.repeat(starts - (ends - sizes), sizes)


def chunks(count: int, size: int) -> Iterator[slice]:
    """Divide items into slices of at most `size`, which bounds the memory of what handles them."""
    return (slice(start, start + size) for start in range(0, count, size))


def ranks_in_runs(ordered: Shaped[np.ndarray, " item"]) -> Int[np.ndarray, " item"]:
    """For each of some ascending numbers, count the equal ones before it."""
    return np.arange(len(ordered)) - np.searchsorted(ordered, ordered)


def find_among(
    ordered: Shaped[np.ndarray, " item"], wanted: Shaped[np.ndarray, "*shape"]
) -> tuple[Ints, Masks]:
    """Find numbers among ascending ones: their positions, and whether they are there at all."""
    if not len(ordered):
        return np.zeros(wanted.shape, dtype=np.int64), np.zeros(wanted.shape, dtype=bool)
    at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return at, ordered[at] == wanted


def group_equal(numbers: Int[np.ndarray, " item"]) -> list[SomeInts]:
    """Return the positions of each distinct number that is not negative, in ascending order.

    >>> [group.tolist() for group in group_equal(np.array([4, -1, 0, 4]))]
    [[2], [0, 3]]
    """
    order = np.argsort(numbers, kind="stable")
    order = order[numbers[order] >= 0]
    starts = np.flatnonzero(starts_run(numbers[order]))
    return [group for group in np.split(order, starts[1:]) if len(group)]


def search_slices(
    values: Shaped[np.ndarray, " _"],
    start: Ints,
    stop: Ints,
    wanted: Shaped[np.ndarray, "*shape"],
    before: np.ufunc = np.less,
) -> Ints:
    """In each ascending slice of `values`, find the first that does not come before `wanted`."""
    # All binary searches advance in step. Their number of steps is that of the longest of these
    # slices, not of all: that would take time in proportion to the lake for every few pairs.
    position, last = start, len(values) - 1
    step = 1 << int((stop - start).max(initial=0)).bit_length()
    while step := step >> 1:
        ahead = position + (step - 1)
        passes = (ahead < stop) & before(values[np.minimum(ahead, last)], wanted)
        position = position + step * passes
    return position


_AT_ONCE = 1 << 20  # number of pairs whose reverses are found at once, which bounds memory


def values_at(values: Shaped[np.ndarray, " pair"], positions: Ints) -> Floats:
    """Return the values at some positions, as floating-point numbers."""
    if not len(values):
        return np.zeros(positions.shape)
    # Values may be of single precision, or integers.
    return np.where(positions >= 0, values[positions], np.float64(0.0))


def number_pairs(left: Ints, right: Ints, count: int) -> Ints:
    """Compute a sort key for each pair, to sort pairs by left index and then by right index.

    >>> number_pairs(np.array([0, 2], dtype=np.int32), np.array([1, 0], dtype=np.int32), 3).tolist()
    [1, 6]
    """
    # SomeInts may have 32 bits, which the product of two exceeds in large lakes.
    return np.multiply(left, count, dtype=np.int64) + right


@dataclass(frozen=True)
class SparsePairs:
    """Pairs of columns for which something was measured, sorted for fast look-up."""

    # Every pair is listed in both orders, sorted by `left`, then `right`, as indices in the lake.

    columns: int
    left: PairInts
    right: PairInts

    def look_up(self, values: PairFloats, left: Ints, right: Ints) -> Floats:
        """Look up the requested pairs in `values`, which has one value for each stored pair."""
        return values_at(values, self.locate(left, right))

    def locate(self, left: Ints, right: Ints) -> Ints:
        """Return the position of each requested pair among the stored ones; -1 if it is none."""
        # The search takes much longer than reading a value, so several values of the same pairs are
        # best read by `values_at`.
        if not len(self.right):
            return np.full(left.shape, -1)
        # Each search is among the partners of one column, which fit into the processor's cache; a
        # search among all pairs takes several times as long.
        stop = self.starts[left + 1]
        position = search_slices(self.right, self.starts[left], stop, right)
        found = np.minimum(position, len(self.right) - 1)
        return np.where((position < stop) & (self.right[found] == right), found, -1)

    def reverse_at(self, positions: Ints) -> Ints:
        """Return the position of each stored pair in the other order; -1 for a position of -1."""
        # Once for all, this takes 4 bytes a pair, and much less time than a search.
        if not len(self.left):
            return positions
        return np.where(positions >= 0, self.reverse[positions], -1)

    @cached_property
    def reverse(self) -> PairInts:
        """For each stored pair, the position of the same pair in the other order."""
        # Reverses of the pairs with one right column are next to each other, in the order of the
        # pairs, so that counting replaces a search for each of them.
        reverse = np.empty(len(self.right), dtype=np.int32)
        following = self.starts[:-1].copy()
        for some in chunks(len(reverse), _AT_ONCE):
            right = self.right[some]
            order = np.argsort(right, kind="stable")
            right = right[order]
            first = np.flatnonzero(starts_run(right))
            count = np.diff(first, append=len(right))
            earlier = np.arange(len(right)) - np.repeat(first, count)
            reverse[some.start + order] = following[right] + earlier
            following[right[first]] += count
        return reverse

    @cached_property
    def starts(self) -> Int[np.ndarray, " bound"]:
        """The positions at which the pairs of each left column begin, then the number of pairs."""
        # Of the same type, because NumPy would convert all pairs otherwise.
        return np.searchsorted(self.left, np.arange(self.columns + 1, dtype=self.left.dtype))


@dataclass(frozen=True)
class PairValues(SparsePairs):
    """A sparse symmetric matrix with a positive value for each stored pair of columns."""

    values: PairFloats

    @classmethod
    def from_mapping(cls, columns: int, values: Mapping[tuple[int, int], float]) -> "PairValues":
        """Build the matrix from a mapping that contains each pair in only one order."""
        reversed_pairs = {(right, left): value for (left, right), value in values.items()}
        listed = sorted([*values.items(), *reversed_pairs.items()])
        ends = np.array([pair for pair, _ in listed], dtype=np.int64).reshape(-1, 2)
        return cls(
            columns=columns,
            left=ends[:, 0],
            right=ends[:, 1],
            values=np.array([value for _, value in listed], dtype=np.float64),
        )

    def of(self, left: Ints, right: Ints) -> Floats:
        """Return the value of each requested pair, or 0 if it is not stored."""
        return self.look_up(self.values, left, right)

    def holds(self, left: Ints, right: Ints) -> Masks:
        """For each requested pair, return whether it is stored."""
        return self.of(left, right) > 0

    def partners(self, column: int) -> SomeInts:
        """Return all columns that are paired with a given column, in ascending order."""
        return self.right[self.starts[column] : self.starts[column + 1]]

    def select(self, mask: PairMask) -> "PairValues":
        """Return a copy of the matrix with only the pairs that a mask selects."""
        return replace(self, left=self.left[mask], right=self.right[mask], values=self.values[mask])

    @cached_property
    def once(self) -> PairMask:
        """A mask that selects each pair once, with the smaller index on the left."""
        return self.left < self.right

    def __len__(self) -> int:
        return len(self.left) // 2


class MeasuredPairs(NamedTuple):
    """Pairs of columns, and what the two columns of each pair have in common."""

    left: PairInts
    right: PairInts
    shared: PairInts
    containment: PairFloats  # share of the left column's values that the right one holds, in [0, 1]

    @classmethod
    def none(cls) -> "MeasuredPairs":
        """Return an instance without pairs."""
        none = np.zeros(0, dtype=np.int32)
        return cls(none, none, none, np.zeros(0, dtype=np.float32))

    def narrow(self) -> "MeasuredPairs":
        """Return the pairs with numbers of 32 bits."""
        ends = self.left.astype(np.int32), self.right.astype(np.int32)
        return MeasuredPairs(
            *ends, self.shared.astype(np.int32), self.containment.astype(np.float32)
        )

    def at(self, chosen: Int[np.ndarray, " chosen"] | PairMask | slice) -> "MeasuredPairs":
        """Return some of the pairs."""
        return MeasuredPairs(*(values[chosen] for values in self))

    def without_repeats(self, columns: int) -> "MeasuredPairs":
        """Sort the pairs by left, then right column, and keep the first of equal pairs."""
        _, first = np.unique(number_pairs(self.left, self.right, columns), return_index=True)
        return self.at(first)


def concatenate_pairs(parts: Sequence[MeasuredPairs]) -> MeasuredPairs:
    """Concatenate the pairs of all parts."""
    return MeasuredPairs(*map(np.concatenate, zip(MeasuredPairs.none(), *parts, strict=True)))


def add_pairs(parts: list[MeasuredPairs], added: MeasuredPairs, columns: int) -> None:
    """Merge further pairs into parts, so that all pairs with one left column stay in one part."""
    # One part after another takes much less memory than sorting all pairs.
    part_of = np.full(columns, len(parts))
    for number, part in enumerate(parts):
        part_of[part.left] = number
    added = added.without_repeats(columns)
    added = added.at(np.argsort(part_of[added.left], kind="stable"))
    bounds = np.searchsorted(part_of[added.left], np.arange(len(parts) + 2)).tolist()
    for number, part in enumerate(parts):
        if bounds[number] < bounds[number + 1]:
            both = [added.at(slice(bounds[number], bounds[number + 1])), part]
            parts[number] = concatenate_pairs(both).without_repeats(columns)
    parts.append(added.at(slice(*bounds[-2:])))


def merge_pairs(parts: list[MeasuredPairs], columns: int) -> MeasuredPairs:
    """Merge all parts into pairs that are sorted by left, then right column."""
    # All pairs of one left column are in one part, next to each other, sorted by right column. The
    # list is emptied, so that most pairs are in memory only once.
    counts = np.zeros(columns, dtype=np.int64)
    for part in parts:
        left, count = np.unique(part.left, return_counts=True)
        counts[left] = count
    starts = np.cumsum(counts) - counts
    lefts, *others = ([*values] for values in zip(MeasuredPairs.none(), *parts, strict=True))
    parts.clear()
    merged = []
    while others:
        # Only one of the arrays is in memory twice at a time.
        values = others.pop(0)
        whole = np.empty(int(counts.sum()), dtype=values[0].dtype)
        for left, of_part in zip(lefts, values, strict=True):
            whole[_positions(starts, left)] = of_part
        merged.append(whole)
    return MeasuredPairs(np.repeat(np.arange(columns, dtype=np.int32), counts), *merged)


def _positions(starts: ColumnInts, left: PairInts) -> PairInts:
    """Return the positions of a part's pairs among all pairs."""
    number = np.arange(len(left))
    return starts[left] + number - np.maximum.accumulate(number * starts_run(left))
