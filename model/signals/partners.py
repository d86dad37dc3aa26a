"""Choose the pairs of columns that a large lake measures and keeps, and estimate their number."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import faiss
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Int32, UInt64
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals import sketches
from datahub_hyperjoin.model.signals.names import NameSimilarity, Words, meaningful_words, stems
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnInts,
    ColumnMask,
    KeyInts,
    MeasuredPairs,
    PairFloats,
    PairInts,
    PairMask,
    Partition,
    chunks,
    concatenate_ranges,
    find_among,
    group_equal,
    number_distinct,
    number_pairs,
    ranks_in_runs,
)
from datahub_hyperjoin.model.signals.sketches import (
    MAX_POSTINGS,
    Postings,
    SketchArrays,
    concatenate_sketches,
    split_by_size,
    weigh_shared,
)

_Chosen = Int[np.ndarray, " chosen"]
_Values = Int32[np.ndarray, " hash"]
_Bounds = Int[np.ndarray, " bound"]
_Holders = UInt64[np.ndarray, "word value"]

_MOST_PAIRS = 1 << 23
"""Maximum number of column pairs to keep, divided equally among the columns. Lakes of 2,896 columns
and fewer keep all."""
_LEAST_PARTNERS = 128
"""Number of partners that a column may keep in any case, however many columns the lake has."""


def most_partners(columns: int) -> int:
    """Return the maximum number of overlapping columns to keep for each column of a lake."""
    return max(_LEAST_PARTNERS, _MOST_PAIRS // max(columns, 1))


# In a large lake, a running number shares its values with thousands of other columns. Of so many
# partners, the overlap keeps only some, and values alone don't tell which: hundreds hold all
# values. The pairs of this module are measured in any case.

_MOST_NEIGHBOURS, _MOST_NAMESAKES = 1024, 64
"""Maximum number of columns in a folder of which all pairs are measured, and of unique columns with
the same name or in tables of the same name. Larger groups of namesakes, such as all columns named
`remark`, form no pairs, because they say too little about joins. Only unique columns count, since
many columns with one name may all refer to one key."""
_MIN_UNIQUENESS = 0.95  # minimum uniqueness of a column that others refer to
_COLUMNS_AT_ONCE = 2048  # number of columns paired at once, which bounds memory

_BLOCK = 4096  # number of columns whose keys are searched at once, which bounds memory

_Ends = Iterator[tuple[PairInts, PairInts]]


def find_near_pairs(lake: Lake, chosen: ColumnMask, most_named: int) -> _Ends:
    """Yield blocks of column pairs that have a name or folder in common; pairs may repeat."""
    near = _NearColumns(
        lake,
        chosen,
        lake.mask(lambda profile: profile.uniqueness >= _MIN_UNIQUENESS),
        [meaningful_words(stems(path)) for path in lake.paths],
    )
    for left, right in chain(near.find_labelled(), near.find_in_large_folders(most_named)):
        apart = lake.table_of[left] != lake.table_of[right]
        yield left[apart], right[apart]


@dataclass(frozen=True)
class _NearColumns:
    """The columns of a lake by their names and folders; one column of each pair is unique."""

    lake: Lake
    chosen: ColumnMask
    is_unique: ColumnMask
    names: Sequence[Words]

    def find_labelled(self) -> _Ends:
        """Pair the chosen columns with those that have a label in common."""
        sought, borne = self._label_columns()
        seekers, bearers = sought.T.tocsr(), borne.T.tocsr()
        columns = np.flatnonzero(self.chosen)
        for some in chunks(len(columns), _COLUMNS_AT_ONCE):
            block = columns[some]
            alike = (sought[block] @ bearers + borne[block] @ seekers).tocoo()
            left, right = block[alike.row], alike.col.astype(np.int64)
            once = (left < right) | ~self.chosen[right]
            yield left[once], right[once]

    def _label_columns(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Build a matrix of columns by the labels that they seek, and by those that they bear."""
        # Labels are names of columns, names of tables, and folders. Names of columns and of tables
        # are counted apart: hundreds of unique columns may be called `customer_id`, but few of them
        # are in a table of customers. A unique column also has the name of its table, to which
        # `customer_id` refers. A column named `id` has no other name, since such words are dropped.
        count, sought, borne = len(self.lake), list[list[str]](), list[list[str]]()
        tables = zip(self.lake.table_of.tolist(), self.is_unique.tolist(), strict=True)
        for name, (table, is_unique) in zip(self.names, tables, strict=True):
            own, title = "".join(name), "".join(self.lake.title_words[table])
            labels = [f"column {own}"] if own else []
            labels += [f"table {title}"] if title and is_unique else []
            sought.append([*dict.fromkeys([*labels, *([f"table {own}"] if own else [])])])
            borne.append(labels if is_unique else [])
        # One matrix for both, so that a label has the same number in both.
        of_names = _incidence([*sought, *borne])
        few_unique = of_names[count:].sum(axis=0) <= _MOST_NAMESAKES
        of_folders = _incidence([[place] for place in self.lake.place_of.tolist()])
        of_folders = of_folders[:, of_folders.sum(axis=0) <= _MOST_NEIGHBOURS]
        of_unique = of_folders.multiply(self.is_unique[:, None])
        return (
            sparse.hstack([of_names[:count, few_unique], of_folders], format="csr"),
            sparse.hstack([of_names[count:, few_unique], of_unique], format="csr"),
        )

    def find_in_large_folders(self, count: int) -> _Ends:
        """Pair the chosen columns of each large folder with the unique ones of similar names."""
        is_text = self.lake.is_text
        for folder in group_equal(self.lake.place_of):
            seeking, keys = folder[self.chosen[folder]], folder[self.is_unique[folder]]
            most = min(count, len(keys))
            if len(folder) > _MOST_NEIGHBOURS and most and len(seeking):
                for left, right in self._find_named_keys(seeking, keys, most):
                    # Texts hardly ever share a value with numbers or dates.
                    alike = is_text[left] == is_text[right]
                    yield left[alike], right[alike]

    def _find_named_keys(
        self, seeking: Int[np.ndarray, " seeking"], keys: KeyInts, most: int
    ) -> _Ends:
        """For each seeking column, find the keys with the most similar names."""
        # A reference mostly has the name of a table, or a part of it: `rack.role_id` refers to
        # `rack_role`. So a key goes by the names of its table and column, and a seeking column is
        # compared with both by its own name, and by that of its table and its own.
        names = [" ".join(self.names[column]) for column in (*seeking, *keys)]
        tables = self.lake.table_of[np.concatenate([seeking, keys])].tolist()
        whole_names = [
            f"{' '.join(self.lake.title_words[table])} {name}"
            for table, name in zip(tables, names, strict=True)
        ]
        vectors = NameSimilarity([*names[: len(seeking)], *whole_names]).vectors()
        own, whole, borne = np.split(vectors, [len(seeking), 2 * len(seeking)])
        for some in chunks(len(seeking), _BLOCK):
            sought = own[some] + whole[some]
            _, near = faiss.knn(sought, borne, most, metric=faiss.METRIC_INNER_PRODUCT)
            yield np.repeat(seeking[some], most), keys[near.ravel()]


def _incidence(held: Sequence[Sequence[Hashable]]) -> sparse.csr_array:
    """Return a matrix of columns by labels: 1 where a column has a label."""
    _, listed = number_distinct(chain.from_iterable(held))
    bounds = np.concatenate([[0], np.cumsum([len(labels) for labels in held])])
    ones = np.ones(len(listed), dtype=np.int32)
    return sparse.csr_array((ones, listed, bounds), (len(held), int(listed.max(initial=0)) + 1))


_INTERVALS = 64  # number of intervals in which the strengths of pairs are counted


@dataclass(frozen=True)
class BestPartners:
    """The best partners of some columns, in other tables."""

    columns: ColumnInts
    # Sum of each column's containments in all columns of its kind: text, or not text.
    total: ColumnFloats
    is_cut: ColumnMask
    # The pairs, each with one of the columns on the left. Each part is sorted, and has all pairs of
    # its left columns.
    parts: list[MeasuredPairs]


@dataclass(frozen=True)
class _Block:
    """All pairs of some groups on the left, sorted by left, then right group."""

    groups: Partition
    left: PairInts
    right: PairInts
    shared: PairInts
    containment: PairFloats

    @cached_property
    def row(self) -> PairInts:
        """The number of each pair's left group within the block."""
        return self.left - self.left[0]

    @cached_property
    def columns(self) -> ColumnInts:
        """The columns of the left groups, group by group."""
        starts = self.groups.starts
        return self.groups.members[starts[self.left[0]] : starts[self.left[-1] + 1]]

    @cached_property
    def row_of(self) -> ColumnInts:
        """The number of each column's group within the block."""
        return self.groups.group_of[self.columns] - self.left[0]


@dataclass(frozen=True)
class _Lists:
    """The strongest partners of the groups of some columns, from all tables."""

    columns: ColumnInts
    start: ColumnInts
    size: ColumnInts
    partner: Int[np.ndarray, " entry"]
    shared: Int[np.ndarray, " entry"]
    containment: Float[np.ndarray, " entry"]


def find_best_partners(
    lake: Lake, arrays: SketchArrays, postings: Postings, most: int
) -> Iterator[BestPartners]:
    """Yield the best partners of each column, for one block of columns after another."""
    tables, groups = Partition.of(lake.table_of, len(lake.titles)), postings.groups
    first, is_text = groups.first, lake.is_text
    of_kind = np.stack([groups.count(~is_text), groups.count(is_text)])
    for left, right, shared in postings.count_shared():
        if not len(left):
            continue
        containment = arrays.containment(first[left], first[right], shared)
        block = _Block(groups, left, right, shared, containment)
        own, own_total = _compare_own_tables(is_text, tables, block)
        sums = [np.bincount(block.row, containment * count[right]) for count in of_kind]
        kind = is_text[block.columns].astype(np.int64)
        total = np.stack(sums)[kind, block.row_of] - own_total
        lists = _list_strongest(arrays, block, own, most)
        yield BestPartners(
            block.columns,
            # The difference of sums that are equal but for rounding may be below zero.
            np.maximum(total, 0.0),
            np.bincount(block.row, groups.sizes[right])[block.row_of] - own > most,
            [part for each in lists for part in _pair(lake.table_of, each, most)],
        )


def _compare_own_tables(
    is_text: ColumnMask, tables: Partition, block: _Block
) -> tuple[_Chosen, Float[np.ndarray, " chosen"]]:
    """Compare each column of a block with the columns of its own table, and with itself."""
    count, groups = len(block.columns), len(block.groups.sizes)
    own, total = np.zeros(count, dtype=np.int64), np.zeros(count)
    pairs = number_pairs(block.left, block.right, groups)  # ascending
    table, group_of = tables.group_of[block.columns], block.groups.group_of
    for part in split_by_size(tables.sizes[table], sketches.BLOCK_PAIRS):
        sizes = tables.sizes[table[part]]
        at = np.repeat(np.arange(part.start, part.stop), sizes)
        partner = tables.members[concatenate_ranges(tables.starts[table[part]], sizes)]
        wanted = number_pairs(group_of[block.columns[at]], group_of[partner], groups)
        pair, found = find_among(pairs, wanted)
        at, pair, partner = at[found], pair[found], partner[found]
        same_kind = is_text[block.columns[at]] == is_text[partner]
        own += np.bincount(at, minlength=count)
        total += np.bincount(at, block.containment[pair] * same_kind, minlength=count)
    return own, total


def _list_strongest(
    arrays: SketchArrays, block: _Block, own: _Chosen, most: int
) -> Iterator[_Lists]:
    """List the strongest partners of each left group of a block."""
    # A list is long enough to have `most` partners besides the columns of any single table: `own`
    # counts the partners of each column in its own one.
    groups, row = block.groups, block.row
    sizes = groups.sizes[block.right]
    limit = np.full(int(row[-1]) + 1, most)
    np.maximum.at(limit, block.row_of, most + own)
    # The columns of other groups keep all partners, in any order.
    crowded: PairMask = (np.bincount(row, sizes) > most)[row]
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
    for part in split_by_size(np.bincount(row, taken).astype(np.int64), sketches.BLOCK_PAIRS):
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
    row: PairInts, strength: PairFloats, sizes: PairInts, limit: Int[np.ndarray, " row"]
) -> Int[np.ndarray, " possible"]:
    """Return the positions of the pairs that can be listed, so that most need not be sorted."""
    # The strengths of a long row are counted in intervals. A pair is left out if the pairs in the
    # intervals above its own fill the list already.
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
    arrays: SketchArrays, block: _Block, chosen: PairMask
) -> Float[np.ndarray, " chosen"]:
    """For the chosen pairs of groups, return how similar their values are, in [0, 1)."""
    # Hundreds of columns may hold the few values of another one, and the greater containment alone
    # would not tell them apart.
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
    """Cut the sorted partners of some left groups, and assign them to the groups' columns."""
    row = block.row[pair]
    listed = ranks_in_runs(row) < limit[row]
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


def _pair(table_of: ColumnInts, lists: _Lists, most: int) -> Iterator[MeasuredPairs]:
    """Pair each column with the first partners of its list that are in other tables."""
    for run in split_by_size(lists.size, sketches.BLOCK_PAIRS):
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


_DRAWN = 256
"""Number of random columns that are compared with all columns. With so many, the estimated number
of pairs is off by a few percent."""
_KEPT = 1.5
"""Ratio of a column's kept pairs to the partners that the column selects. It exceeds 1, because
pairs that other columns select are kept, too."""
_ENDS = np.uint64(1 << 24)
"""Number of different ends of hashes, which take 16 MiB: their last 24 bits."""
_CHUNK = 4096  # number of columns whose sketches are read at once
_BITS = 64  # number of columns that one word marks


@dataclass(frozen=True, slots=True)
class ExpectedPairs:
    """The expected number of pairs that are compared, and of those that are kept."""

    # Each pair counts twice, once in each order.

    # Expected number of pairs of distinct sketches that share a value. Columns with equal sketches
    # are compared with others only once.
    compared: int
    # Expected number of pairs of columns from different tables that share a value, if each column
    # keeps only its best partners.
    kept: int


def expect_pairs(lake: Lake, drawn: int = _DRAWN) -> ExpectedPairs:
    """Estimate from `drawn` random columns how many pairs `measure_overlap` compares and keeps."""
    columns = len(lake)
    if not columns:
        return ExpectedPairs(0, 0)
    draw = np.random.default_rng(0)
    chosen = np.sort(draw.choice(columns, min(drawn, columns), replace=False))
    _, sketch_of = number_distinct(lake.sketches)
    partners, sketches = _count_partners(lake, chosen, sketch_of)
    compared = sketches / np.bincount(sketch_of)[sketch_of[chosen]]
    kept = np.minimum(partners, _KEPT * most_partners(columns))
    scale = columns / len(chosen)
    return ExpectedPairs(round(scale * compared.sum()), round(scale * kept.sum()))


def _count_partners(lake: Lake, chosen: _Chosen, sketch_of: ColumnInts) -> tuple[_Chosen, _Chosen]:
    """For each chosen column, count what shares a value with it."""
    is_first = np.zeros(len(lake), dtype=bool)
    is_first[np.unique(sketch_of, return_index=True)[1]] = True
    values, bounds, count = _find_values(lake, chosen)
    # Equal sketches count once, as in `Postings`.
    held = values[np.repeat(is_first, np.diff(bounds))]
    is_rare = np.bincount(held, minlength=count) <= MAX_POSTINGS
    holders = _mark_holders(values, bounds, chosen, is_rare)
    partners = np.zeros(len(chosen), dtype=np.int64)
    sketches = np.zeros(len(chosen), dtype=np.int64)
    for some in chunks(len(lake), _CHUNK):
        own = bounds[some.start : some.stop + 1]
        shares = _share_values(values[own[0] : own[-1]], own - own[0], holders)[:, : len(chosen)]
        apart = lake.table_of[some, np.newaxis] != lake.table_of[chosen]
        other = is_first[some, np.newaxis] & (sketch_of[some, np.newaxis] != sketch_of[chosen])
        partners += np.count_nonzero(shares & apart, axis=0)
        sketches += np.count_nonzero(shares & other, axis=0)
    return partners, sketches


def _find_values(lake: Lake, chosen: _Chosen) -> tuple[_Values, _Bounds, int]:
    """Find the hashes of each column that the chosen columns hold, too."""
    sketches = lake.sketches
    wanted = pd.unique(concatenate_sketches([sketches[column] for column in chosen])[0])
    number = pd.Index(wanted)
    # Few hashes of a lake end in the bits of a wanted one, and only these are searched.
    ends = np.zeros(_ENDS, dtype=bool)
    ends[wanted % _ENDS] = True
    bounds, found = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
    for some in chunks(len(sketches), _CHUNK):
        hashes, own = concatenate_sketches(sketches[some])
        possible = np.flatnonzero(ends.take((hashes % _ENDS).view(np.int64)))
        position = number.get_indexer(pd.Index(hashes[possible]))
        is_held = position >= 0
        found.append(position[is_held].astype(np.int32))
        bounds.append(bounds[-1][-1] + np.searchsorted(possible[is_held], own[1:]))
    return np.concatenate(found), np.concatenate(bounds), len(wanted)


def _mark_holders(
    values: _Values, bounds: _Bounds, chosen: _Chosen, is_rare: Bool[np.ndarray, " value"]
) -> _Holders:
    """Mark the chosen columns that hold each value, if it is rare, with one bit for each column."""
    holders = np.zeros((-(-len(chosen) // _BITS), len(is_rare)), dtype=np.uint64)
    for at, column in enumerate(chosen.tolist()):
        own = values[bounds[column] : bounds[column + 1]]
        holders[at // _BITS, own] |= np.uint64(1 << at % _BITS)
    return np.where(is_rare, holders, np.uint64(0))


def _share_values(
    values: _Values, bounds: _Bounds, holders: _Holders
) -> Bool[np.ndarray, "column bit"]:
    """For each column and each bit of `holders`, return whether a value of the column has it."""
    shared = np.zeros((len(bounds) - 1, len(holders)), dtype="<u8")
    some = np.flatnonzero(np.diff(bounds))
    for word, marks in enumerate(holders) if len(some) else ():
        shared[some, word] = np.bitwise_or.reduceat(marks[values], bounds[some])
    return np.unpackbits(shared.view(np.uint8), axis=1, bitorder="little").view(bool)
