"""Find all possible references from columns to keys in a lake."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

import numpy as np
from jaxtyping import Float, Int, Int32

from datahub_hyperjoin.model.lake import ALL_UNIQUE, LONGEST_KEY, Lake
from datahub_hyperjoin.model.roles.words import continues, endings
from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS, meaningful_words
from datahub_hyperjoin.model.signals.overlap import ValueOverlap
from datahub_hyperjoin.model.signals.pairs import (
    ColumnMask,
    PairFloats,
    PairInts,
    PairMask,
    SomeInts,
    number_pairs,
)
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.model.signals.sketches import SketchArrays, split_by_size
from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.tables import ColumnProfile, DataType
from datahub_hyperjoin.value_forms import Notation, ValueForm
from datahub_hyperjoin.written_in import canonical_form

_MIN_KEY_UNIQUENESS = 0.95
"""Minimum uniqueness of a referenced column; samples and dirty rows repeat a few values."""
_MIN_KEY_VALUES, _MIN_VALUES = 3, 2
"""Minimum number of distinct values of a referenced and of a referring column."""
REFERRING_TYPES = frozenset({DataType.TEXT, DataType.INTEGER, DataType.DATE})
"""Types of columns that refer to keys."""
_MIN_DAYS = 0.5
"""Minimum share of the days of a period that a calendar holds."""
_TOLERANCE = 0.02
"""Another key is as good for a column if its containment is lower by at most this difference."""
_PSEUDO_KEYS = 10
"""Added to the number of keys, because one match is weaker evidence in a small lake."""

_PAIRS = 1 << 20
"""Number of pairs that share a value and are looked through at once, which bounds memory."""

Containments = Mapping[tuple[int, int], float]
"""The share of the first column's values that the second one holds, by directed pair."""

_Found = tuple[Int32[np.ndarray, " pair"], Int32[np.ndarray, " pair"], PairFloats, PairFloats]


@dataclass(frozen=True)
class ReferenceCandidates:
    """Possible references: pairs of a column and a key."""

    # For each pair, the column that may refer to the key; sorted in ascending order.
    referring: PairInts
    referenced: PairInts  # the key of each pair, to which the column may refer
    # Share of the referring column's values that the key holds, in [0, 1].
    containment: PairFloats
    is_key: ColumnMask  # the columns that others can refer to
    # Share of the keys of the same kind that hold the referring column's values at least as well.
    chance: PairFloats

    def part(self, at: slice) -> "ReferenceCandidates":
        """Return some of the pairs."""
        ends, measured = (self.referring[at], self.referenced[at]), self.containment[at]
        return ReferenceCandidates(*ends, measured, self.is_key, self.chance[at])

    def without_values(self) -> "ReferenceCandidates":
        """Return the pairs without what was measured of them, which takes most of the memory."""
        nothing = np.broadcast_to(0.0, len(self.referring))
        return ReferenceCandidates(self.referring, self.referenced, nothing, self.is_key, nothing)


def may_refer(profile: ColumnProfile) -> bool:
    """Return whether a column's type and values allow it to refer to a key."""
    return profile.distinct >= _MIN_VALUES and _may_be_foreign(profile)


def _may_be_foreign(profile: ColumnProfile) -> bool:
    # Yes and no refer to nothing; 0 and 1 may be numbers of a table's rows.
    is_flag = profile.notation is Notation.TRUTH_WORDS and profile.type is DataType.TEXT
    return profile.type in REFERRING_TYPES and profile.lengths.mean <= LONGEST_KEY and not is_flag


def find_unique_columns(lake: Lake, priors: CatalogPriors) -> ColumnMask:
    """Mark the unique columns that other columns may refer to."""
    unique = priors.uniqueness >= _MIN_KEY_UNIQUENESS
    unique[priors.declared_unique] = True
    unique &= lake.mask(lambda each: may_refer(each) and each.distinct >= _MIN_KEY_VALUES)
    is_stated = np.zeros(len(lake), dtype=bool)
    for stated in (priors.declared_unique, priors.connected.left, priors.connected.right):
        is_stated[stated] = True
    # To read days takes much longer than all other tests, so few columns come to it.
    unsure = np.flatnonzero(unique & ~is_stated)
    unique[unsure] = [_may_be_key(lake, column) for column in unsure.tolist()]
    return unique


def _may_be_key(lake: Lake, column: int) -> bool:
    """Return whether other columns may refer to a unique column of this type and name."""
    # Who created each of a few rows is no key of them, even if nobody created two.
    if any(word == "by" or word.endswith("edby") for word in lake.column_words[column][-1:]):
        return False
    # Dates refer to calendars alone. A calendar holds most days of a period, or else numbers of
    # each day: it has no better key and no text.
    profile = lake.profiles[column]
    if not holds_days(profile):
        return True
    others = lake.columns_of[lake.table_of[column]]
    if lake.standing[column] == 0 and not lake.is_text[others].any():
        return True
    days = [*_read_days(profile)]
    return bool(days) and profile.distinct > _MIN_DAYS * (max(days) - min(days) + 1)


def holds_days(profile: ColumnProfile) -> bool:
    """Return whether a column holds days, in any notation but whole numbers, which are keys."""
    return profile.type is DataType.DATE or (
        profile.type is DataType.TEXT
        and profile.notation is not None
        and profile.notation.form is ValueForm.DATES
    )


def _read_days(profile: ColumnProfile) -> Iterator[int]:
    """Yield the number of each day; skip hashes of personal dates, and days such as 30 February."""
    for cell in profile.sample:
        normal = normal_form(cell)
        iso = canonical_form(normal, profile.notation) if profile.notation else normal
        with suppress(ValueError):
            yield date.fromisoformat(iso).toordinal()


def find_reference_candidates(
    lake: Lake, overlap: ValueOverlap, priors: CatalogPriors, containments: Containments
) -> ReferenceCandidates:
    """Find the keys that each column may refer to."""
    # The overlap holds no pairs within a table; they are known from `containments` only.
    search = _Search.of(lake, overlap, priors, containments)
    none = np.zeros(0, dtype=np.int32)
    parts = [(none, none, np.zeros(0), np.zeros(0))]
    parts += map(search.find, split_by_size(np.diff(overlap.starts), _PAIRS))
    fields = [*map(list, zip(*parts, strict=True))]
    parts.clear()
    # Only one of the arrays is in memory twice at a time.
    referring, referenced, containment, chance = (
        np.concatenate(fields.pop(0)) for _ in range(len(fields))
    )
    return ReferenceCandidates(referring, referenced, containment, search.is_key, chance)


@dataclass(frozen=True)
class _Search:
    """What is known about the columns and pairs among which candidates are searched."""

    lake: Lake
    overlap: ValueOverlap
    priors: CatalogPriors
    is_key: ColumnMask
    refers: ColumnMask  # the columns that may refer to keys
    # The numbers of pairs that are candidates whether or not they share a value, ascending.
    further: Int[np.ndarray, " further"]
    # The numbers of the pairs whose containment is known better than by the overlap, ascending.
    known: Int[np.ndarray, " known"]
    measured: Float[np.ndarray, " known"]  # the containments of these pairs

    @classmethod
    def of(
        cls, lake: Lake, overlap: ValueOverlap, priors: CatalogPriors, containments: Containments
    ) -> "_Search":
        connected, columns = priors.connected, len(lake)
        known, measured = _flat_containments(containments, columns)
        is_key, refers = find_unique_columns(lake, priors), lake.mask(may_refer)
        # The overlap holds no pair within a table.
        own = known[lake.table_of[known // columns] == lake.table_of[known % columns]]
        stated = number_pairs(connected.left, connected.right, columns)
        further = np.concatenate([stated, own])
        further = further[refers[further // columns] & is_key[further % columns]]
        named = known[_have_few_values(lake, known // columns, known % columns)]
        return cls(
            lake,
            overlap,
            priors,
            is_key=is_key,
            refers=refers,
            further=_distinct(np.concatenate([further, named])),
            known=known,
            measured=measured,
        )

    def find(self, block: slice) -> _Found:
        """Find the candidates of a block of columns."""
        lake, overlap, columns = self.lake, self.overlap, len(self.lake)
        left, right = (
            ends[overlap.starts[block.start] : overlap.starts[block.stop]]
            for ends in (overlap.left, overlap.right)
        )
        shared = self.refers[left] & self.is_key[right]
        further = _within(self.further, block, columns)
        by_values = number_pairs(left[shared], right[shared], columns)
        pairs = _distinct(np.concatenate([by_values, self.further[further]]))
        left, right = pairs // columns, pairs % columns
        containment = overlap.look_up(overlap.containment, left, right)
        # A measured containment replaces the estimate.
        some = _within(self.known, block, columns)
        known, measured = self.known[some], self.measured[some]
        at = np.searchsorted(pairs, known)
        is_candidate = at < np.searchsorted(pairs, known, side="right")
        containment[at[is_candidate]] = measured[is_candidate]
        chance = np.maximum(
            _chance(lake, left, right, containment, self.is_key), overlap.least_chance[left]
        )
        return left.astype(np.int32), right.astype(np.int32), containment, chance


def _within(pairs: PairInts, block: slice, columns: int) -> slice:
    """Return where, among ascending numbers of pairs, those of a block of left columns are."""
    start, stop = np.searchsorted(pairs, [block.start * columns, block.stop * columns]).tolist()
    return slice(start, stop)


def _distinct(numbers: SomeInts) -> Int[np.ndarray, " distinct"]:
    """Sort numbers, and drop repeated ones."""
    # Most are sorted already, and NumPy's `unique`, which hashes them, takes many times as long.
    ordered = np.sort(numbers, kind="stable")
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _flat_containments(containments: Containments, columns: int) -> tuple[PairInts, PairFloats]:
    """Return the number of each pair, ascending, and the pair's containment."""
    ends = np.array([*containments], dtype=np.int64).reshape(-1, 2)
    values = np.fromiter(containments.values(), dtype=np.float64, count=len(containments))
    numbers = number_pairs(ends[:, 0], ends[:, 1], columns)
    order = np.argsort(numbers)
    return numbers[order], values[order]


def _chance(
    lake: Lake, left: PairInts, right: PairInts, containment: PairFloats, is_key: ColumnMask
) -> PairFloats:
    """For each pair, estimate the probability that its containment is due to chance."""
    # That is the share of keys that hold at least as many of the left column's values. Small whole
    # numbers are in every counter, a five-digit number is in few keys.
    kind = lake.is_whole.astype(np.int64)
    keys = np.bincount(kind[is_key], minlength=2)
    # One number for each pair sorts by left column and kind of key, then by falling containment.
    group = 2 * left + kind[right]
    order = group + (1 - containment) / 2
    ranked = np.sort(order)
    as_good = np.searchsorted(ranked, order + _TOLERANCE / 2, side="right")
    return (as_good - np.searchsorted(ranked, group)) / (keys[kind[right]] + _PSEUDO_KEYS)


_REPEATS = 0.95
"""Maximum uniqueness of a referring column. A column of greater uniqueness may copy the key."""


def compare_with_own_keys(lake: Lake, priors: CatalogPriors) -> Containments:
    """For each column, measure its containment in the likeliest keys of its own table."""
    # Most of what columns of one table share with one another, such as the days of two dates, is no
    # reference.
    refers = lake.mask(lambda each: may_refer(each) and not holds_days(each))
    unique = find_unique_columns(lake, priors) & (priors.uniqueness >= ALL_UNIQUE)
    repeating = np.flatnonzero(refers & (priors.uniqueness <= _REPEATS))
    return _measure(lake, _pair_with_own_keys(lake, repeating, unique))


def compare_with_named_keys(lake: Lake, priors: CatalogPriors) -> Containments:
    """Measure pairs with too few values to be candidates, if a name says that they are.

    The column, whose name has a word such as `id`, is named after the key's table.
    """
    unique = lake.mask(lambda each: _may_be_foreign(each) and not holds_days(each))
    unique &= priors.uniqueness >= ALL_UNIQUE
    return _measure(lake, _pair_with_named_keys(lake, unique))


def _measure(lake: Lake, pairs: Iterable[tuple[int, int]]) -> Containments:
    """Estimate the containments of pairs of columns, and keep those that share a value."""
    column, key = np.array([*pairs], dtype=np.int64).reshape(-1, 2).T
    sketches = lake.sketches
    ends = zip(column.tolist(), key.tolist(), strict=True)
    shared = np.array([_count_shared(sketches[a], sketches[b]) for a, b in ends], dtype=np.int64)
    some = shared > 0
    column, key, shared = column[some], key[some], shared[some]
    containment = SketchArrays.of(lake, sketches).containment(column, key, shared)
    return dict(zip(zip(column.tolist(), key.tolist(), strict=True), containment, strict=True))


def _pair_with_own_keys(
    lake: Lake, columns: SomeInts, unique: ColumnMask
) -> Iterator[tuple[int, int]]:
    """Yield each column with the keys of its table that it may refer to."""
    # They are the likeliest, the likeliest that is text or not, as the column is, and those whose
    # names the column's continues, as `master_sku` does `sku`.
    keys_of: dict[int, list[int]] = defaultdict(list)
    for key in np.flatnonzero(unique)[np.argsort(lake.standing[unique], kind="stable")].tolist():
        keys_of[int(lake.table_of[key])].append(key)
    names, is_text = lake.column_words, lake.is_text
    for column in columns.tolist():
        keys, name = keys_of[int(lake.table_of[column])], names[column]
        alike = [key for key in keys if is_text[key] == is_text[column]]
        named = [key for key in keys if continues(name, names[key])]
        yield from ((column, key) for key in dict.fromkeys([*keys[:1], *alike[:1], *named]))


def _pair_with_named_keys(lake: Lake, unique: ColumnMask) -> Iterator[tuple[int, int]]:
    tables_named: dict[tuple[str, str], list[int]] = defaultdict(list)
    for table, (place, spellings) in enumerate(zip(lake.places, lake.title_spellings, strict=True)):
        for spelling in spellings:
            tables_named[place, spelling].append(table)
    owners = lake.table_of.tolist()
    for column in np.flatnonzero(lake.mask(_may_be_foreign)).tolist():
        words, place = lake.column_words[column], lake.places[owners[column]]
        if IDENTIFIER_WORDS.isdisjoint(words):
            continue
        named = (tables_named.get((place, end), []) for end in endings(meaningful_words(words)))
        # A longer name says more. One of several tables decides nothing, and that of the own table
        # marks its key.
        tables = next(filter(None, named), [])
        if len(tables) == 1 and tables[0] != owners[column]:
            keys = lake.columns_of[tables[0]]
            few = _have_few_values(lake, np.full(len(keys), column), keys) & unique[keys]
            yield from ((column, key) for key in keys[few].tolist())


def _have_few_values(lake: Lake, referring: SomeInts, referenced: SomeInts) -> PairMask:
    """Mark the pairs whose values are too few to tell anything."""
    distinct = lake.distinct
    return (distinct[referring] < _MIN_VALUES) | (distinct[referenced] < _MIN_KEY_VALUES)


def _count_shared(left: bytes, right: bytes) -> int:
    one, other = np.frombuffer(left, dtype="<u8"), np.frombuffer(right, dtype="<u8")
    return len(np.intersect1d(one, other, assume_unique=True))
