"""Choose the best partners of each column, without pairing all columns that have equal sketches.

Thousands of columns may have the same list of four states. Such a group of columns is compared with
another group once. All columns of a group are equally similar to all of the other, so only as many
of them are listed as a column may keep, and each column takes its partners from the list of its
group. The result is that of comparing all columns, but the time is not quadratic in the size of
the groups.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals import shared_values
from datahub_hyperjoin.model.signals.measured_pairs import MeasuredPairs
from datahub_hyperjoin.model.signals.pairs import number_pairs
from datahub_hyperjoin.model.signals.partition import Partition, concatenate_ranges
from datahub_hyperjoin.model.signals.shared_values import Postings, split_by_size
from datahub_hyperjoin.model.signals.sketches import SketchArrays
from datahub_hyperjoin.model.signals.trust import weigh_shared

_INTERVALS = 64
"""Number of intervals in which the strengths of pairs are counted."""


@dataclass(frozen=True)
class BestPartners:
    """The best partners of some columns, in other tables."""

    columns: Int[np.ndarray, " column"]
    total: Float[np.ndarray, " column"]
    """Sum of each column's containments in all columns of its kind: text, or not text."""

    is_cut: Bool[np.ndarray, " column"]
    """Whether some partners of a column were left out."""

    parts: list[MeasuredPairs]
    """The pairs, each with one of the columns on the left. Each part is sorted, and has all pairs
    of its left columns."""


@dataclass(frozen=True)
class _Block:
    """All pairs of some groups on the left, sorted by left, then right group."""

    groups: Partition
    left: Int[np.ndarray, " pair"]
    right: Int[np.ndarray, " pair"]
    shared: Int[np.ndarray, " pair"]
    containment: Float[np.ndarray, " pair"]
    """Share of the left group's values that the right one holds."""

    @cached_property
    def row(self) -> Int[np.ndarray, " pair"]:
        """The number of each pair's left group within the block."""
        return self.left - self.left[0]

    @cached_property
    def columns(self) -> Int[np.ndarray, " column"]:
        """The columns of the left groups, group by group."""
        starts = self.groups.starts
        return self.groups.members[starts[self.left[0]] : starts[self.left[-1] + 1]]

    @cached_property
    def row_of(self) -> Int[np.ndarray, " column"]:
        """The number of each column's group within the block."""
        return self.groups.group_of[self.columns] - self.left[0]


@dataclass(frozen=True)
class _Lists:
    """The strongest partners of the groups of some columns, from all tables."""

    columns: Int[np.ndarray, " column"]
    start: Int[np.ndarray, " column"]
    """Start of the list of each column's group in the arrays below."""

    size: Int[np.ndarray, " column"]
    partner: Int[np.ndarray, " entry"]
    shared: Int[np.ndarray, " entry"]
    containment: Float[np.ndarray, " entry"]


def find_best_partners(
    lake: Lake, arrays: SketchArrays, postings: Postings, most: int
) -> Iterator[BestPartners]:
    """Yield the best partners of each column, for one block of columns after another.

    Columns that share no value are left out.
    """
    tables, groups = Partition.of(lake.table_of, len(lake.titles)), postings.groups
    first, is_text = groups.first, lake.is_text
    of_kind = np.stack([groups.count(~is_text), groups.count(is_text)])
    for left, right, shared in postings.count_shared():
        if not len(left):
            continue
        containment = arrays.containment(first[left], first[right], shared)
        block = _Block(groups, left, right, shared, containment)
        own, own_total = _compare_own_tables(is_text, tables, block)
        total = _sum_containment(is_text, of_kind, block) - own_total
        lists = _list_strongest(arrays, block, own, most)
        yield BestPartners(
            block.columns,
            # The difference of sums that are equal but for rounding may be below zero.
            np.maximum(total, 0.0),
            np.bincount(block.row, groups.sizes[right])[block.row_of] - own > most,
            [part for each in lists for part in _pair(lake.table_of, each, most)],
        )


def _sum_containment(
    is_text: Bool[np.ndarray, " column"], of_kind: Int[np.ndarray, "2 group"], block: _Block
) -> Float[np.ndarray, " chosen"]:
    """For each column of a block, sum up its containments in all columns of its kind.

    `of_kind` is the number of columns in each group that are not text, and of those that are.
    """
    sums = [np.bincount(block.row, block.containment * count[block.right]) for count in of_kind]
    kind = is_text[block.columns].astype(np.int64)
    return np.stack(sums)[kind, block.row_of]


def _compare_own_tables(
    is_text: Bool[np.ndarray, " column"], tables: Partition, block: _Block
) -> tuple[Int[np.ndarray, " chosen"], Float[np.ndarray, " chosen"]]:
    """Compare each column of a block with the columns of its own table, and with itself.

    Returns:
        For each column, the number of these that share a value with it, and the sum of its
        containments in those of its kind.
    """
    count = len(block.columns)
    own, total = np.zeros(count, dtype=np.int64), np.zeros(count)
    for at, pair, partner in _pairs_in_tables(tables, block):
        same_kind = is_text[block.columns[at]] == is_text[partner]
        own += np.bincount(at, minlength=count)
        total += np.bincount(at, block.containment[pair] * same_kind, minlength=count)
    return own, total


def _pairs_in_tables(
    tables: Partition, block: _Block
) -> Iterator[
    tuple[Int[np.ndarray, " found"], Int[np.ndarray, " found"], Int[np.ndarray, " found"]]
]:
    """Yield the pairs of each column of a block with columns of its own table.

    Yields:
        The positions of the columns in the block, those of the pairs of their groups, and the
        columns of the same table that share a value.
    """
    groups = len(block.groups.sizes)
    pairs = number_pairs(block.left, block.right, groups)  # ascending
    table = tables.group_of[block.columns]
    for part in split_by_size(tables.sizes[table], shared_values.BLOCK_PAIRS):
        sizes = tables.sizes[table[part]]
        at = np.repeat(np.arange(part.start, part.stop), sizes)
        partner = tables.members[concatenate_ranges(tables.starts[table[part]], sizes)]
        group_of = block.groups.group_of
        wanted = number_pairs(group_of[block.columns[at]], group_of[partner], groups)
        pair = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
        found = pairs[pair] == wanted
        yield at[found], pair[found], partner[found]


def _list_strongest(
    arrays: SketchArrays, block: _Block, own: Int[np.ndarray, " chosen"], most: int
) -> Iterator[_Lists]:
    """List the strongest partners of each left group of a block.

    A list is long enough to have `most` partners besides the columns of any single table. `own` is
    the number of partners that each column of the block has in its own table.
    """
    groups, row = block.groups, block.row
    sizes = groups.sizes[block.right]
    limit = np.full(int(row[-1]) + 1, most)
    np.maximum.at(limit, block.row_of, most + own)
    # The columns of other groups keep all partners, in any order.
    crowded: Bool[np.ndarray, " pair"] = (np.bincount(row, sizes) > most)[row]
    strength = np.ones(len(row))
    strength[crowded] = _strength(arrays, block, crowded)
    possible = _find_possible(row, strength, sizes, limit)
    row, sizes, strength = row[possible], sizes[possible], strength[possible]
    # One number for each pair sorts by left group, then by falling strength.
    ranked = np.argsort(row + (1 - strength) / 2, kind="stable")
    order, row, sizes, strength = possible[ranked], row[ranked], sizes[ranked], strength[ranked]
    # Equally strong partners of a group are on one level, from which the first columns are taken.
    is_first = np.ones(len(row), dtype=bool)
    is_first[1:] = (np.diff(row) > 0) | (np.diff(strength) < 0)
    level = np.cumsum(is_first) - 1
    before = np.cumsum(sizes) - sizes
    stronger = before[is_first][level] - before[np.searchsorted(row, row)]
    taken = np.clip(limit[row] - stronger, 0, sizes)
    bounds = np.searchsorted(row, np.arange(len(limit) + 1))
    for part in split_by_size(np.bincount(row, taken).astype(np.int64), shared_values.BLOCK_PAIRS):
        chosen = slice(bounds[part.start], bounds[part.stop])
        pair = np.repeat(order[chosen], taken[chosen])
        starts = groups.starts[block.right[order[chosen]]]
        partner = groups.members[concatenate_ranges(starts, taken[chosen])]
        ranked = np.argsort(
            number_pairs(np.repeat(level[chosen], taken[chosen]), partner, len(groups.group_of))
        )
        pair, partner = pair[ranked], partner[ranked]
        yield _serve(block, part, pair, partner, limit)


def _find_possible(
    row: Int[np.ndarray, " pair"],
    strength: Float[np.ndarray, " pair"],
    sizes: Int[np.ndarray, " pair"],
    limit: Int[np.ndarray, " row"],
) -> Int[np.ndarray, " possible"]:
    """Return the positions of the pairs that can be listed, so that most need not be sorted.

    The strengths of a long row are counted in intervals. A pair is left out if the pairs in the
    intervals above its own fill the list already.
    """
    kept = np.ones(len(row), dtype=bool)
    long = np.flatnonzero((np.bincount(row) > limit)[row])
    number = np.cumsum(np.diff(row[long], prepend=-1) > 0) - 1
    interval = (strength[long] * (_INTERVALS - 1)).astype(np.int64)
    shape = (int(number.max(initial=-1)) + 1, _INTERVALS)
    at = number * _INTERVALS + interval
    filled = np.bincount(at, sizes[long], minlength=shape[0] * _INTERVALS).reshape(shape)
    above = np.cumsum(filled[:, ::-1], axis=1)[:, ::-1] - filled
    kept[long] = above[number, interval] < limit[row[long]]
    return np.flatnonzero(kept)


def _strength(
    arrays: SketchArrays, block: _Block, chosen: Bool[np.ndarray, " pair"]
) -> Float[np.ndarray, " chosen"]:
    """For the chosen pairs of groups, return how similar their values are, in [0, 1).

    It is the mean of the greater containment and of the geometric mean of both, weighed by the
    number of shared values. Hundreds of columns may hold the few values of another one, and the
    greater containment alone would not tell them apart.
    """
    first = block.groups.first
    ends = first[block.right[chosen]], first[block.left[chosen]]
    shared, there = block.shared[chosen], block.containment[chosen]
    back = arrays.containment(*ends, shared)
    return weigh_shared(shared) * (np.maximum(there, back) + np.sqrt(there * back)) / 2


def _serve(
    block: _Block,
    rows: slice,
    pair: Int[np.ndarray, " entry"],
    partner: Int[np.ndarray, " entry"],
    limit: Int[np.ndarray, " row"],
) -> _Lists:
    """Cut the sorted partners of some left groups, and assign them to the groups' columns.

    Each entry is the position of a pair of groups, and a column of its right group. `rows` are the
    numbers of the left groups within the block.
    """
    row = block.row[pair]
    listed = np.arange(len(row)) - np.searchsorted(row, row) < limit[row]
    row, pair = row[listed], pair[listed]
    bounds = np.searchsorted(row, np.arange(rows.start, rows.stop + 1))
    served = slice(*np.searchsorted(block.row_of, [rows.start, rows.stop]).tolist())
    of = block.row_of[served] - rows.start
    return _Lists(
        columns=block.columns[served],
        start=bounds[of],
        size=np.diff(bounds)[of],
        partner=partner[listed],
        shared=block.shared[pair],
        containment=block.containment[pair],
    )


def _pair(
    table_of: Int[np.ndarray, " column"], lists: _Lists, most: int
) -> Iterator[MeasuredPairs]:
    """Pair each column with the first partners of its list that are in other tables."""
    for run in split_by_size(lists.size, shared_values.BLOCK_PAIRS):
        size = lists.size[run]
        at, entry = (
            np.repeat(np.arange(len(size)), size),
            concatenate_ranges(lists.start[run], size),
        )
        left, right = lists.columns[run][at], lists.partner[entry]
        apart = table_of[left] != table_of[right]
        count = np.concatenate([[0], np.cumsum(apart)])
        kept = apart & (count[1:] - count[np.cumsum(size) - size][at] <= most)
        left, right, at, entry = left[kept], right[kept], at[kept], entry[kept]
        order = np.argsort(number_pairs(at, right, len(table_of)))
        entry = entry[order]
        yield MeasuredPairs(
            left[order], right[order], lists.shared[entry], lists.containment[entry]
        ).narrow()
