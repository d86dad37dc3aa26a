"""Estimate how many values columns share, from their sketches."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.best_partners import find_best_partners
from datahub_hyperjoin.model.signals.chance import (
    mean_containment,
    sample_expected_containment,
)
from datahub_hyperjoin.model.signals.measured_pairs import (
    MeasuredPairs,
    add_pairs,
    concatenate_pairs,
    merge_pairs,
)
from datahub_hyperjoin.model.signals.named_keys import find_named_keys, large_folders
from datahub_hyperjoin.model.signals.pairs import SparsePairs, number_pairs, values_at
from datahub_hyperjoin.model.signals.shared_values import Postings, count_common_hashes
from datahub_hyperjoin.model.signals.sketches import SketchArrays, concatenate_sketches
from datahub_hyperjoin.model.signals.stems import meaningful_words, stems
from datahub_hyperjoin.tables import ColumnProfile

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
_BLOCK = 2048
"""Number of columns paired at once, which bounds memory."""

_Columns = Int[np.ndarray, " pair"]
_Mask = Bool[np.ndarray, " column"]


def find_near_pairs(
    lake: Lake, chosen: _Mask, most_named: int
) -> Iterator[tuple[_Columns, _Columns]]:
    """Yield blocks of column pairs that have a name or folder in common.

    The two columns of a pair are in different tables. A unique column also has the name of its
    table, to which `customer_id` refers. In large folders, the most similar names are paired.

    Args:
        most_named: Maximum number of unique columns that are paired with each column of a large
            folder.

    Yields:
        Chosen columns, and their partners. One column of each pair is unique. Pairs may repeat.
    """
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
    for folder in large_folders(lake, _MOST_NEIGHBOURS):
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
    for start in range(0, len(columns), _BLOCK):
        block = columns[start : start + _BLOCK]
        alike = (sought[block] @ bearers + borne[block] @ seekers).tocoo()
        left, right = block[alike.row], alike.col.astype(np.int64)
        once = (left < right) | ~chosen[right]
        yield left[once], right[once]


def _label_columns(lake: Lake, is_unique: _Mask) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Build a matrix of columns by the labels that they seek, and one by those that they bear.

    Labels are names of columns, names of tables, and folders. Only unique columns bear labels.
    Names of columns and of tables are counted apart: hundreds of unique columns may be called
    `customer_id`, but few of them are in a table of customers. Labels of too many columns are left
    out.
    """
    titles = ["".join(stems(title)) for title in lake.titles]
    columns = zip(lake.profiles, lake.table_of.tolist(), is_unique.tolist(), strict=True)
    names = [_names(profile, titles[table], unique=unique) for profile, table, unique in columns]
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


def _names(
    profile: ColumnProfile, title: str, *, unique: bool
) -> tuple[AbstractSet[str], AbstractSet[str]]:
    """Return the names that a column seeks, and those that it bears.

    They consist of joined stems. Words such as `id` are dropped, so a column named `id` has only
    the title of its table, if any.
    """
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


@dataclass(frozen=True)
class SharedCounts:
    """The counts of a lake's pairs that are known already, and the hashes that remain to count."""

    pairs: SparsePairs
    """The pairs that share a hash."""

    shared: Int[np.ndarray, " pair"]
    """For each of these pairs, the number of hashes that both columns hold."""

    sketches: Sequence[bytes]
    """Of each column, the hashes that these numbers leave out."""

    @classmethod
    def of(
        cls,
        parts: Sequence[MeasuredPairs],
        sketches: Sequence[bytes],
        frequent: UInt64[np.ndarray, " value"],
        is_cut: Bool[np.ndarray, " column"],
    ) -> "SharedCounts":
        """Collect what is known from measured pairs.

        If some pairs were left out, a missing pair may share hashes nevertheless, so nothing is
        known. Otherwise, only the frequent hashes remain to count.

        Args:
            parts: The measured pairs, in both orders, each once.
            is_cut: The columns of which some pairs were left out.
        """
        columns = len(sketches)
        if is_cut.any():
            known, remaining = MeasuredPairs.none(), sketches
        else:
            known = concatenate_pairs(parts).without_repeats(columns)
            remaining = _keep_hashes(sketches, frequent)
        return cls(SparsePairs(columns, known.left, known.right), known.shared, remaining)

    def common(
        self, left: Int[np.ndarray, " pair"], right: Int[np.ndarray, " pair"]
    ) -> Int[np.ndarray, " pair"]:
        """For each pair of columns from different tables, count the hashes that both have."""
        known = values_at(self.shared, self.pairs.locate(left, right)).astype(np.int64)
        return known + count_common_hashes(self.sketches, left, right)


def _keep_hashes(sketches: Sequence[bytes], kept: UInt64[np.ndarray, " value"]) -> list[bytes]:
    """Reduce each sketch to its hashes among those in `kept`."""
    hashes, bounds = concatenate_sketches(sketches)
    positions = np.flatnonzero(np.isin(hashes, kept))
    held, ends = hashes[positions], np.searchsorted(positions, bounds).tolist()
    return [held[start:stop].tobytes() for start, stop in pairwise(ends)]


_MOST_PAIRS = 1 << 23
"""Maximum number of column pairs to keep, divided equally among the columns. Lakes of 2,896 columns
and fewer keep all."""
_LEAST_PARTNERS = 128
"""Number of partners that a column may keep in any case, however many columns the lake has."""

_PAIRS_AT_ONCE = 1 << 22
"""To limit memory, the search for reversed pairs handles this many pairs at once."""


@dataclass(frozen=True)
class ValueOverlap(SparsePairs):
    """The estimated value overlap of pairs of columns from different tables.

    Pairs without a shared value are left out.
    """

    shared: Int[np.ndarray, " pair"]
    """Number of hashes that both sketches of a pair hold. The integers have 32 bits, because there
    are many pairs."""

    containment: Float[np.ndarray, " pair"]
    """Estimated share of the left column's values that the right one holds, in [0, 1]; of single
    precision, which is more than an estimate needs."""

    beyond_chance: Float[np.ndarray, " pair"]
    """The part of the containment that exceeds chance, in [0, 1].

    Chance explains the left column's mean containment in all columns of its kind: every counter
    contains 1 to 10, so such overlap is no evidence of a join.
    """

    least_chance: Float[np.ndarray, " column"]
    """For a column with omitted pairs, its mean containment in all columns of its kind; else 0.

    The remaining pairs alone do not show how likely matches by chance are.
    """

    cut: int = 0
    """Number of columns with so many partners that some were left out."""

    @classmethod
    def empty(cls, columns: int) -> "ValueOverlap":
        """Return an instance without pairs."""
        none, zero = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(
            columns=columns,
            left=none,
            right=none,
            shared=none,
            containment=zero,
            beyond_chance=zero,
            least_chance=np.zeros(columns),
        )

    def either_way(self, some: slice) -> Float[np.ndarray, " pair"]:
        """Return the greater of the two containments, corrected for chance, of some pairs."""
        return np.maximum(self.beyond_chance[some], self.beyond_chance[self.reverse[some]])

    def either_way_at(
        self, there: Int[np.ndarray, "*shape"], back: Int[np.ndarray, "*shape"]
    ) -> Float[np.ndarray, "*shape"]:
        """Return `either_way` for some pairs, without computing it for all pairs of the lake.

        Args:
            there: Positions of the pairs among the stored ones; -1 for a pair that is not stored.
            back: Positions of the same pairs in the other order, from `reverse_at`.
        """
        return np.maximum(values_at(self.beyond_chance, there), values_at(self.beyond_chance, back))

    def ochiai_at(
        self, there: Int[np.ndarray, "*shape"], back: Int[np.ndarray, "*shape"]
    ) -> Float[np.ndarray, "*shape"]:
        """Return the geometric mean of both containments of some pairs, in [0, 1] (Ochiai, 1957).

        It is the cosine of the two sets of values, and low for a small set within a large one.

        Args:
            there: Positions of the pairs among the stored ones; -1 for a pair that is not stored.
            back: Positions of the same pairs in the other order, from `reverse_at`.
        """
        return np.sqrt(values_at(self.containment, there) * values_at(self.containment, back))


def most_partners(columns: int) -> int:
    """Return the maximum number of overlapping columns to keep for each column of a lake.

    The number falls as the lake grows, which limits the number of pairs.
    """
    return max(_LEAST_PARTNERS, _MOST_PAIRS // max(columns, 1))


def measure_overlap(lake: Lake) -> ValueOverlap:
    """Estimate the value overlap of columns from different tables.

    The time is the sum, over all values, of the number of columns that hold the value, times the
    number of sketches. The memory is linear in the number of columns.

    Returns:
        The pairs that share at least one hash. Of a column with very many partners, these are the
        partners with the most similar values, and those that names or folders suggest.
    """
    sketches = [profile.sketch for profile in lake.profiles]
    arrays = SketchArrays.of(lake, sketches)
    total, parts = np.zeros(len(lake)), [MeasuredPairs.none()]
    is_cut = np.zeros(len(lake), dtype=bool)
    postings = Postings.of(sketches, arrays.is_complete)
    for best in find_best_partners(lake, arrays, postings, most_partners(len(lake))):
        total[best.columns], is_cut[best.columns] = best.total, best.is_cut
        parts += best.parts
    expected = mean_containment(lake.is_text, total)
    is_partial, is_alone, frequent = postings.is_partial, postings.is_alone, postings.frequent
    del postings
    is_incomplete = is_cut | is_partial
    if is_incomplete.any():
        counted = SharedCounts.of(parts, sketches, frequent, is_cut)
        near = _measure_near(arrays, lake, counted, is_incomplete, is_alone)
        add_pairs(parts, near, len(lake))
    if is_partial.any():
        columns = np.flatnonzero(is_partial)
        expected[columns] = sample_expected_containment(lake, sketches, arrays, columns)
    pairs = merge_pairs(parts, len(lake))
    if is_cut.any():
        pairs = _in_both_orders(arrays, pairs, is_cut)
    left, right, shared, containment = pairs
    del pairs
    # In place, since pairs take most of the memory.
    beyond_chance = containment.copy()
    beyond_chance -= expected.astype(np.float32)[left]
    np.maximum(beyond_chance, 0.0, out=beyond_chance)
    return ValueOverlap(
        len(lake),
        left,
        right,
        shared,
        containment,
        beyond_chance,
        least_chance=np.where(is_incomplete, expected, 0.0),
        cut=int(is_cut.sum()),
    )


def _between_tables(
    lake: Lake,
    left: Int[np.ndarray, " pair"],
    right: Int[np.ndarray, " pair"],
    shared: Int[np.ndarray, " pair"],
) -> tuple[Int[np.ndarray, " kept"], Int[np.ndarray, " kept"], Int[np.ndarray, " kept"]]:
    apart = lake.table_of[left] != lake.table_of[right]
    return left[apart], right[apart], shared[apart]


def _measure_near(
    arrays: SketchArrays,
    lake: Lake,
    counted: SharedCounts,
    chosen: Bool[np.ndarray, " column"],
    is_alone: Bool[np.ndarray, " column"],
) -> MeasuredPairs:
    """For the chosen columns, measure the pairs that names or folders suggest, in both orders.

    `is_alone` marks columns that share no value with any other.
    """
    parts = []
    for near in find_near_pairs(lake, chosen, most_partners(len(lake))):
        possible = ~is_alone[near[1]]
        first, second = (ends[possible] for ends in near)
        common = counted.common(first, second)
        some = common > 0
        shared, ends = common[some], (first[some], second[some])
        parts += [
            MeasuredPairs(left, right, shared, arrays.containment(left, right, shared)).narrow()
            for left, right in (ends, ends[::-1])
        ]
    return concatenate_pairs(parts)


def _in_both_orders(
    arrays: SketchArrays, pairs: MeasuredPairs, is_cut: Bool[np.ndarray, " column"]
) -> MeasuredPairs:
    """Add the reverse of each pair that is stored in only one order.

    `is_cut` marks the columns that have left out partners.
    """
    columns = len(arrays.start)
    stored = number_pairs(pairs.left, pairs.right, columns)  # ascending
    reverses: list[MeasuredPairs] = []
    for start in range(0, len(stored), _PAIRS_AT_ONCE):
        left, right, shared, _ = pairs.at(slice(start, start + _PAIRS_AT_ONCE))
        # Only a column that has left out partners can have left out the reverse of a pair.
        alone = np.flatnonzero(is_cut[right])
        reverse = number_pairs(right[alone], left[alone], columns)
        # Sorted searches stay in the processor's cache.
        order = np.argsort(reverse)
        alone, reverse = alone[order], reverse[order]
        at = np.minimum(np.searchsorted(stored, reverse), len(stored) - 1)
        alone = alone[stored[at] != reverse]
        added = right[alone], left[alone], shared[alone]
        reverses.append(MeasuredPairs(*added, arrays.containment(*added)).narrow())
    further = concatenate_pairs(reverses).without_repeats(columns)
    at = np.searchsorted(stored, number_pairs(further.left, further.right, columns))
    waiting = [*pairs]
    del stored, pairs
    # Only one of the four arrays is in memory twice at a time.
    return MeasuredPairs(*(np.insert(waiting.pop(0), at, more) for more in further))


def estimate_pairs(
    lake: Lake, sketches: Sequence[bytes], counts: sparse.coo_array
) -> MeasuredPairs:
    """Estimate the containment of each pair of columns that share a hash.

    Args:
        sketches: The sketch of each column: of its normal forms, or of its values in another form.

    Returns:
        The left and the right column of each pair from different tables, sorted, the number of
        hashes that both hold, and the share of the left column's values that the right one holds.
    """
    # Two indices combined into one exceed 32 bits in large lakes.
    row, column = counts.row.astype(np.int64), counts.col.astype(np.int64)
    left, right, shared = _between_tables(lake, row, column, counts.data.astype(np.int64))
    order = np.lexsort((right, left))
    left, right, shared = left[order], right[order], shared[order]
    arrays = SketchArrays.of(lake, sketches)
    return MeasuredPairs(left, right, shared, arrays.containment(left, right, shared))
