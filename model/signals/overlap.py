"""Estimate how many values columns share, from their sketches, beyond what chance explains."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Real, UInt64
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnInts,
    ColumnMask,
    Floats,
    Ints,
    MeasuredPairs,
    PairFloats,
    PairInts,
    PairMask,
    SparsePairs,
    add_pairs,
    chunks,
    concatenate_pairs,
    find_among,
    merge_pairs,
    number_pairs,
    values_at,
)
from datahub_hyperjoin.model.signals.partners import (
    find_best_partners,
    find_near_pairs,
    most_partners,
)
from datahub_hyperjoin.model.signals.sketches import (
    MAX_POSTINGS,
    Postings,
    SketchArrays,
    build_incidence,
    concatenate_sketches,
    count_common_hashes,
)
from datahub_hyperjoin.value_forms import ValueForm

_PSEUDO_COLUMNS = 10
"""Number of columns without overlap that are added to each mean, because a few real columns say
little about the overlap expected by chance."""
_DRAWN = 256  # number of columns in the sample
_COLUMNS = 8192  # number of columns that are compared with the sample at once, which bounds memory


def _expected_containment(
    is_text: ColumnMask, left: PairInts, right: PairInts, containment: PairFloats
) -> ColumnFloats:
    """For each column, estimate how much of its containment in other columns is due to chance."""
    same_kind: PairMask = is_text[left] == is_text[right]
    total = np.bincount(left, np.where(same_kind, containment, 0.0), minlength=len(is_text))
    return _mean_containment(is_text, total)


def _mean_containment(is_text: ColumnMask, total: Real[np.ndarray, " column"]) -> ColumnFloats:
    """Divide each column's sum of containments by the number of columns of its kind."""
    return total / (_kind_sizes(is_text, is_text) + _PSEUDO_COLUMNS)


def _kind_sizes(is_text: ColumnMask, among: Bool[np.ndarray, " _"]) -> ColumnInts:
    """For each column, count those of its kind: text, or not text."""
    return np.where(is_text, among.sum(), (~among).sum())


def _sample_expected_containment(
    lake: Lake, sketches: Sequence[bytes], arrays: SketchArrays, columns: Int[np.ndarray, " chosen"]
) -> Float[np.ndarray, " chosen"]:
    """Estimate `_expected_containment` of some columns from a sample of the lake's columns."""
    is_text = lake.is_text
    drawn = np.sort(np.random.default_rng(0).permutation(len(lake))[:_DRAWN])
    total = np.zeros(len(lake))
    for block in chunks(len(columns), _COLUMNS):
        some = columns[block]
        holds = build_incidence([sketches[column] for column in (*some, *drawn)])
        counts = (holds[: len(some)] @ holds[len(some) :].T).tocoo()
        left, right = some[counts.row], drawn[counts.col]
        containment = arrays.containment(left, right, counts.data.astype(np.int64))
        compared = is_text[left] == is_text[right]
        compared &= lake.table_of[left] != lake.table_of[right]
        total += np.bincount(left, np.where(compared, containment, 0.0), minlength=len(lake))
    of_kind = _kind_sizes(is_text, is_text)
    mean = total / np.maximum(_kind_sizes(is_text, is_text[drawn]), 1)
    return (mean * of_kind / (of_kind + _PSEUDO_COLUMNS))[columns]


@dataclass(frozen=True)
class SharedCounts:
    """The counts of a lake's pairs that are known already, and the hashes that remain to count."""

    pairs: SparsePairs
    shared: PairInts  # for each of these pairs, the number of hashes that both columns hold
    sketches: Sequence[bytes]  # of each column, the hashes that these numbers leave out

    @classmethod
    def of(
        cls,
        parts: Sequence[MeasuredPairs],
        sketches: Sequence[bytes],
        frequent: UInt64[np.ndarray, " value"],
        is_cut: ColumnMask,
    ) -> "SharedCounts":
        """Collect what is known from measured pairs."""
        # `parts` has the measured pairs in both orders, each once.
        # If some pairs were left out, a missing pair may share hashes nevertheless, so nothing is
        # known. Otherwise, only the frequent hashes remain to count.
        columns = len(sketches)
        if is_cut.any():
            known, remaining = MeasuredPairs.none(), sketches
        else:
            known = concatenate_pairs(parts).without_repeats(columns)
            hashes, bounds = concatenate_sketches(sketches)
            positions = np.flatnonzero(np.isin(hashes, frequent))
            held, ends = hashes[positions], np.searchsorted(positions, bounds).tolist()
            remaining = [held[start:stop].tobytes() for start, stop in pairwise(ends)]
        return cls(SparsePairs(columns, known.left, known.right), known.shared, remaining)

    def common(self, left: PairInts, right: PairInts) -> PairInts:
        """For each pair of columns from different tables, count the hashes that both have."""
        known = values_at(self.shared, self.pairs.locate(left, right)).astype(np.int64)
        return known + count_common_hashes(self.sketches, left, right)


_PAIRS_AT_ONCE = 1 << 22
"""To limit memory, the search for reversed pairs handles this many pairs at once."""


@dataclass(frozen=True)
class ValueOverlap(SparsePairs):
    """The estimated value overlap of pairs of columns from different tables."""

    # Number of hashes that both sketches of a pair hold, in 32 bits, for there are many pairs.
    shared: PairInts
    # Estimated share of the left column's values that the right one holds, in [0, 1].
    containment: PairFloats
    # The part of the containment, in [0, 1], that exceeds chance: the left column's mean
    # containment in all columns of its kind. Every counter contains 1 to 10.
    beyond_chance: PairFloats
    # For a column with omitted pairs, its mean containment in all columns of its kind, which the
    # remaining pairs do not show; else 0.
    least_chance: ColumnFloats
    cut: int = 0  # number of columns with so many partners that some were left out

    @classmethod
    def empty(cls, columns: int) -> "ValueOverlap":
        """Return an instance without pairs."""
        none, zero = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(columns, none, none, none, zero, zero, least_chance=np.zeros(columns))

    def select(self, mask: PairMask) -> "ValueOverlap":
        """Return a copy with only the pairs that a mask selects in both orders."""
        names = ("left", "right", "shared", "containment", "beyond_chance")
        return replace(self, **{name: getattr(self, name)[mask] for name in names})

    def either_containment(self, left: PairInts, right: PairInts) -> PairFloats:
        """For each requested pair, return the greater of its two containments."""
        forth = self.look_up(self.containment, left, right)
        return np.maximum(forth, self.look_up(self.containment, right, left))

    def either_way(self, some: slice) -> PairFloats:
        """Return the greater of the two containments, corrected for chance, of some pairs."""
        return np.maximum(self.beyond_chance[some], self.beyond_chance[self.reverse[some]])

    def either_way_at(self, there: Ints, back: Ints) -> Floats:
        """Return `either_way` for some pairs, without computing it for all pairs of the lake."""
        # `there` and `back` come from `locate` and `reverse_at`.
        return np.maximum(values_at(self.beyond_chance, there), values_at(self.beyond_chance, back))

    def ochiai_at(self, there: Ints, back: Ints) -> Floats:
        """Return the geometric mean of both containments of some pairs (Ochiai, 1957)."""
        return np.sqrt(values_at(self.containment, there) * values_at(self.containment, back))


def measure_overlap(lake: Lake) -> ValueOverlap:
    """Estimate the value overlap of columns from different tables."""
    # The time is the sum, over all values, of the number of columns that hold the value, times the
    # number of sketches. The memory is linear in the number of columns.
    sketches = lake.sketches
    arrays = SketchArrays.of(lake, sketches)
    total, parts = np.zeros(len(lake)), [MeasuredPairs.none()]
    is_cut = np.zeros(len(lake), dtype=bool)
    postings = Postings.of(sketches, arrays.is_complete)
    for best in find_best_partners(lake, arrays, postings, most_partners(len(lake))):
        total[best.columns], is_cut[best.columns] = best.total, best.is_cut
        parts += best.parts
    expected = _mean_containment(lake.is_text, total)
    is_partial, is_alone, frequent = postings.is_partial, postings.is_alone, postings.frequent
    del postings
    is_incomplete = is_cut | is_partial
    if is_incomplete.any():
        counted = SharedCounts.of(parts, sketches, frequent, is_cut)
        near = _measure_near(arrays, lake, counted, is_incomplete, is_alone)
        add_pairs(parts, near, len(lake))
    if is_partial.any():
        columns = np.flatnonzero(is_partial)
        expected[columns] = _sample_expected_containment(lake, sketches, arrays, columns)
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


def _measure_near(
    arrays: SketchArrays,
    lake: Lake,
    counted: SharedCounts,
    chosen: ColumnMask,
    is_alone: ColumnMask,
) -> MeasuredPairs:
    """For the chosen columns, measure the pairs that names or folders suggest, in both orders."""
    parts = []
    for near in find_near_pairs(lake, chosen, most_partners(len(lake))):
        possible = ~is_alone[near[1]]
        first, second = (ends[possible] for ends in near)
        common = counted.common(first, second)
        some = common > 0
        shared, ends = common[some], (first[some], second[some])
        parts += [
            arrays.measure(left, right, shared).narrow() for left, right in (ends, ends[::-1])
        ]
    return concatenate_pairs(parts)


def _in_both_orders(
    arrays: SketchArrays, pairs: MeasuredPairs, is_cut: ColumnMask
) -> MeasuredPairs:
    """Add the reverse of each pair that is stored in only one order."""
    columns = len(arrays.start)
    stored = number_pairs(pairs.left, pairs.right, columns)  # ascending
    reverses: list[MeasuredPairs] = []
    for some in chunks(len(stored), _PAIRS_AT_ONCE):
        left, right, shared, _ = pairs.at(some)
        # Only a column that has left out partners can have left out the reverse of a pair.
        alone = np.flatnonzero(is_cut[right])
        reverse = number_pairs(right[alone], left[alone], columns)
        # Sorted searches stay in the processor's cache.
        order = np.argsort(reverse)
        alone, reverse = alone[order], reverse[order]
        alone = alone[~find_among(stored, reverse)[1]]
        reverses.append(arrays.measure(right[alone], left[alone], shared[alone]).narrow())
    further = concatenate_pairs(reverses).without_repeats(columns)
    at = np.searchsorted(stored, number_pairs(further.left, further.right, columns))
    waiting = [*pairs]
    del stored, pairs
    # Only one of the four arrays is in memory twice at a time.
    return MeasuredPairs(*(np.insert(waiting.pop(0), at, more) for more in further))


_MIN_GAIN = 0.01
"""By how much the containment after conversion to a value form must exceed that before it."""


def add_form_overlap(lake: Lake, overlap: ValueOverlap) -> ValueOverlap:
    """Add the pairs that overlap more in a value form than as written."""
    forms = [
        profile.notation.form if profile.notation and profile.form_sketch else None
        for profile in lake.profiles
    ]
    for form in ValueForm:
        if form in forms:
            # Columns that are not written in a notation of this form are compared as written.
            sketches = [
                profile.form_sketch if own is form else profile.sketch
                for profile, own in zip(lake.profiles, forms, strict=True)
            ]
            members = np.array([own is form for own in forms], dtype=bool)
            overlap = _add_gains(overlap, _measure_in_form(lake, sketches, overlap, members))
    return overlap


def _measure_in_form(
    lake: Lake, sketches: Sequence[bytes], overlap: ValueOverlap, members: ColumnMask
) -> ValueOverlap:
    """Estimate how columns overlap if the values of `members` are converted to one value form."""
    counts = _count_with_members(sketches, members)
    # Two indices combined into one exceed 32 bits in large lakes.
    left, right, shared = (each.astype(np.int64) for each in (counts.row, counts.col, counts.data))
    order = np.lexsort((right, left))
    order = order[lake.table_of[left[order]] != lake.table_of[right[order]]]
    arrays = SketchArrays.of(lake, sketches)
    left, right, _, containment = pairs = arrays.measure(left[order], right[order], shared[order])
    # In a form, the values are numbers, dates or times, whatever they are as written.
    by_form = _expected_containment(lake.is_text & ~members, left, right, containment)
    # Other columns are paired with members only, so their pairs as written complete the mean.
    as_written = _expected_containment(
        lake.is_text, overlap.left, overlap.right, overlap.containment
    )
    expected = by_form + np.where(members, 0.0, as_written)
    beyond_chance = np.maximum(containment - expected[left], 0.0)
    return ValueOverlap(len(lake), *pairs, beyond_chance, overlap.least_chance)


def _count_with_members(sketches: Sequence[bytes], members: ColumnMask) -> sparse.coo_array:
    """Count the hashes that each column shares with each of the columns in `members`."""
    # Only hashes of members matter, which leaves little of a lake where few columns have a form.
    hashes, bounds = concatenate_sketches(sketches)
    column = np.repeat(np.arange(len(members)), np.diff(bounds))
    wanted = np.unique(hashes[members[column]])
    value, chosen = find_among(wanted, hashes)
    chosen &= np.bincount(value[chosen], minlength=len(wanted))[value] <= MAX_POSTINGS
    column, value = column[chosen], value[chosen]
    holds, held_by_members = (
        sparse.csr_array(
            (np.ones(mask.sum(), dtype=np.int32), (column[mask], value[mask])),
            shape=(len(members), len(wanted)),
        )
        for mask in (np.ones(len(column), dtype=bool), members[column])
    )
    counts = held_by_members @ holds.T
    return counts.maximum(counts.T).tocoo()


def _add_gains(overlap: ValueOverlap, in_form: ValueOverlap) -> ValueOverlap:
    """Add to `overlap` the pairs that overlap more in `in_form` than in `overlap`."""
    ends = in_form.left, in_form.right
    gains = in_form.either_containment(*ends) > _MIN_GAIN + overlap.either_containment(*ends)
    if not gains.any():
        return overlap
    replaced = overlap.locate(in_form.left[gains], in_form.right[gains])
    kept = np.ones(len(overlap.left), dtype=bool)
    kept[replaced[replaced >= 0]] = False
    merged: dict[str, Any] = {
        name: np.concatenate([getattr(overlap, name)[kept], getattr(in_form, name)[gains]])
        for name in ("left", "right", "shared", "containment", "beyond_chance")
    }
    # Pairs are looked up by binary search.
    order = np.lexsort((merged["right"], merged["left"]))
    narrow = {"i": np.int32, "f": np.float32}
    return replace(
        overlap,
        **{name: each[order].astype(narrow[each.dtype.kind]) for name, each in merged.items()},
    )
