"""Choose the pairs of columns of a large lake that are measured and kept."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import faiss
import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals import sketches
from datahub_hyperjoin.model.signals.names import NameSimilarity, meaningful_words, stems
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnInts,
    ColumnMask,
    MeasuredPairs,
    PairFloats,
    PairInts,
    PairMask,
    Partition,
    concatenate_ranges,
    number_pairs,
)
from datahub_hyperjoin.model.signals.sketches import (
    Postings,
    SketchArrays,
    split_by_size,
    weigh_shared,
)
from datahub_hyperjoin.tables import ColumnProfile

_BLOCK = 4096
"""Number of columns whose keys are searched at once, which bounds memory."""


def _large_folders(lake: Lake, above: int) -> Iterator[ColumnInts]:
    """Yield the columns of each folder or schema that has more columns than `above`."""
    folders: dict[str, list[int]] = defaultdict(list)
    for column, profile in enumerate(lake.profiles):
        folders[profile.id.table.place].append(column)
    yield from (np.array(columns) for columns in folders.values() if len(columns) > above)


def find_named_keys(
    lake: Lake, seeking: Int[np.ndarray, " seeking"], keys: Int[np.ndarray, " key"], *, count: int
) -> Iterator[tuple[PairInts, PairInts]]:
    """For each seeking column, find the keys with the most similar names."""
    # A key goes by the names of its table and column. A seeking column is compared with both by its
    # own name, and by that of its table and its own.
    most = min(count, len(keys))
    if not most or not len(seeking):
        return
    of_seeking, of_keys = _names(lake, seeking), _names(lake, keys)
    whole_names = (*_whole(lake, seeking, of_seeking), *_whole(lake, keys, of_keys))
    vectors = NameSimilarity([*of_seeking, *whole_names]).vectors()
    own, whole, borne = np.split(vectors, [len(seeking), 2 * len(seeking)])
    for start in range(0, len(seeking), _BLOCK):
        some = slice(start, start + _BLOCK)
        sought = own[some] + whole[some]
        _, near = faiss.knn(sought, borne, most, metric=faiss.METRIC_INNER_PRODUCT)
        yield np.repeat(seeking[some], most), keys[near.ravel()]


def _names(lake: Lake, columns: ColumnInts) -> list[str]:
    words = (meaningful_words(stems(lake.profiles[column].id.path)) for column in columns.tolist())
    return [" ".join(each) for each in words]


def _whole(lake: Lake, columns: ColumnInts, names: Sequence[str]) -> Iterator[str]:
    """Yield the names of columns, each after that of its table."""
    for table, name in zip(lake.table_of[columns].tolist(), names, strict=True):
        yield f"{' '.join(stems(lake.titles[table]))} {name}"


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
_MIN_UNIQUENESS = 0.95
"""Minimum uniqueness of a column that others refer to."""
_COLUMNS_AT_ONCE = 2048
"""Number of columns paired at once, which bounds memory."""

_Columns = PairInts
_Mask = ColumnMask


def find_near_pairs(
    lake: Lake, chosen: _Mask, most_named: int
) -> Iterator[tuple[_Columns, _Columns]]:
    """Yield blocks of column pairs that have a name or folder in common."""
    # A unique column also has the name of its table, to which `customer_id` refers.
    is_unique = np.array([each.uniqueness >= _MIN_UNIQUENESS for each in lake.profiles], dtype=bool)
    for left, right in chain(
        _find_labelled(lake, chosen, is_unique),
        _find_in_large_folders(lake, chosen, is_unique, most_named),
    ):
        apart = lake.table_of[left] != lake.table_of[right]
        yield left[apart], right[apart]


def _find_in_large_folders(
    lake: Lake, chosen: _Mask, is_unique: _Mask, count: int
) -> Iterator[tuple[_Columns, _Columns]]:
    for folder in _large_folders(lake, _MOST_NEIGHBOURS):
        keys = folder[is_unique[folder]]
        for left, right in find_named_keys(lake, folder[chosen[folder]], keys, count=count):
            # Texts hardly ever share a value with numbers or dates.
            alike = lake.is_text[left] == lake.is_text[right]
            yield left[alike], right[alike]


def _find_labelled(
    lake: Lake, chosen: _Mask, is_unique: _Mask
) -> Iterator[tuple[_Columns, _Columns]]:
    sought, borne = _label_columns(lake, is_unique)
    seekers, bearers = sought.T.tocsr(), borne.T.tocsr()
    columns = np.flatnonzero(chosen)
    for start in range(0, len(columns), _COLUMNS_AT_ONCE):
        block = columns[start : start + _COLUMNS_AT_ONCE]
        alike = (sought[block] @ bearers + borne[block] @ seekers).tocoo()
        left, right = block[alike.row], alike.col.astype(np.int64)
        once = (left < right) | ~chosen[right]
        yield left[once], right[once]


def _label_columns(lake: Lake, is_unique: _Mask) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Build a matrix of columns by the labels that they seek, and one by those that they bear."""
    # Labels are names of columns, names of tables, and folders. Names of columns and of tables are
    # counted apart: hundreds of unique columns may be called `customer_id`, but few of them are in
    # a table of customers.
    titles = ["".join(stems(title)) for title in lake.titles]
    columns = zip(lake.profiles, lake.table_of.tolist(), is_unique.tolist(), strict=True)
    names = [_labels(profile, titles[table], unique=unique) for profile, table, unique in columns]
    # One matrix for both, so that a label has the same number in both.
    of_names = _incidence([*(sought for sought, _ in names), *(borne for _, borne in names)])
    sought, borne = of_names[: len(lake)], of_names[len(lake) :]
    of_folders = _incidence([{profile.id.table.place} for profile in lake.profiles])
    few_unique = borne.sum(axis=0) <= _MOST_NAMESAKES
    few = of_folders.sum(axis=0) <= _MOST_NEIGHBOURS
    of_folders = of_folders[:, few]
    return (
        sparse.hstack([sought[:, few_unique], of_folders], format="csr"),
        sparse.hstack(
            [borne[:, few_unique], of_folders.multiply(is_unique[:, None])], format="csr"
        ),
    )


def _labels(
    profile: ColumnProfile, title: str, *, unique: bool
) -> tuple[AbstractSet[str], AbstractSet[str]]:
    """Return the names that a column seeks, and those that it bears."""
    # Words such as `id` are dropped, so a column named `id` has only the title of its table, if
    # any.
    own = "".join(meaningful_words(stems(profile.id.path)))
    of_column = {f"column {own}"} if own else set()
    of_table = {f"table {title}"} if title and unique else set()
    sought = of_column | of_table | ({f"table {own}"} if own else set())
    return sought, of_column | of_table if unique else set()


def _incidence(held: Sequence[AbstractSet[str]]) -> sparse.csr_array:
    """Return a matrix of columns by labels: 1 where a column has a label."""
    numbers: dict[str, int] = {}
    listed = [
        numbers.setdefault(label, len(numbers)) for labels in held for label in sorted(labels)
    ]
    bounds = np.concatenate([[0], np.cumsum([len(labels) for labels in held])])
    ones = np.ones(len(listed), dtype=np.int32)
    return sparse.csr_array((ones, listed, bounds), (len(held), max(len(numbers), 1)))


_INTERVALS = 64
"""Number of intervals in which the strengths of pairs are counted."""


@dataclass(frozen=True)
class BestPartners:
    """The best partners of some columns, in other tables."""

    columns: ColumnInts
    total: ColumnFloats
    """Sum of each column's containments in all columns of its kind: text, or not text."""

    is_cut: ColumnMask
    """Whether some partners of a column were left out."""

    parts: list[MeasuredPairs]
    """The pairs, each with one of the columns on the left. Each part is sorted, and has all pairs
    of its left columns."""


@dataclass(frozen=True)
class _Block:
    """All pairs of some groups on the left, sorted by left, then right group."""

    groups: Partition
    left: PairInts
    right: PairInts
    shared: PairInts
    containment: PairFloats
    """Share of the left group's values that the right one holds."""

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
    """Start of the list of each column's group in the arrays below."""

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
    is_text: ColumnMask, of_kind: Int[np.ndarray, "2 group"], block: _Block
) -> Float[np.ndarray, " chosen"]:
    """For each column of a block, sum up its containments in all columns of its kind."""
    sums = [np.bincount(block.row, block.containment * count[block.right]) for count in of_kind]
    kind = is_text[block.columns].astype(np.int64)
    return np.stack(sums)[kind, block.row_of]


def _compare_own_tables(
    is_text: ColumnMask, tables: Partition, block: _Block
) -> tuple[Int[np.ndarray, " chosen"], Float[np.ndarray, " chosen"]]:
    """Compare each column of a block with the columns of its own table, and with itself."""
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
    """Yield the pairs of each column of a block with columns of its own table."""
    groups = len(block.groups.sizes)
    pairs = number_pairs(block.left, block.right, groups)  # ascending
    table = tables.group_of[block.columns]
    for part in split_by_size(tables.sizes[table], sketches.BLOCK_PAIRS):
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
