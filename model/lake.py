"""The lake: the columns of all tables in one list."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise

import numpy as np

from datahub_hyperjoin.model.roles.words import (
    column_words,
    names_label,
    spell,
    spell_out_titles,
    table_prefixes,
)
from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS, Words, meaningful_words, stems
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnInts,
    ColumnMask,
    SomeInts,
    ranks_in_runs,
)
from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    DescribedTable,
    TableId,
    TableProfile,
    ValueHash,
    places_of,
)
from datahub_hyperjoin.value_forms import Notation

# People mostly write the key first. That order is lost as soon as somebody exports the columns in
# another one, so values and names take its place.

ALL_UNIQUE = 0.999
"""Minimum uniqueness and completeness of a key. It is below 1 because uniqueness may be an
estimate."""
_SUREST = frozenset({"id", "ids", "identifier", "key", "uuid", "guid"})
"""Words that mark the keys of most tables; `code` and the like also mark other columns."""
_SHORTEST = 2
"""Minimum number of letters of a word that abbreviates a word of the table's name."""
LONGEST_KEY = 64.0
"""Maximum mean length of a key's values, in characters; longer text is prose."""
_WORDS = frozenset({DataType.TEXT, DataType.DATE, DataType.TIMESTAMP})
"""The types of columns that are rarely measures."""


def _rank_by_standing(
    profiles: Sequence[ColumnProfile], titles: Sequence[str], table_of: ColumnInts
) -> ColumnInts:
    """For each column, count the columns of its table that look more like the table's key."""
    tables = [{*stems(title)} for title in titles]
    owners = zip(table_of.tolist(), profiles, strict=True)
    standing = [(table, *_standing(profile, tables[table])) for table, profile in owners]
    ordered = sorted(range(len(profiles)), key=standing.__getitem__)
    ranks = np.empty(len(profiles), dtype=np.int64)
    ranks[ordered] = ranks_in_runs(table_of[ordered])
    return ranks


def _standing(profile: ColumnProfile, table: set[str]) -> tuple[object, ...]:
    """Return a sort key for the columns of a table, whose title has the given stems."""
    words = stems(profile.id.path)
    meant = meaningful_words(words)
    is_own = bool(words) and {*meant} <= table
    is_similar = bool(words) and all(_abbreviates(word, table) for word in meant)
    is_marked = not IDENTIFIER_WORDS.isdisjoint(words)
    is_unique = profile.uniqueness >= ALL_UNIQUE and profile.completeness >= ALL_UNIQUE
    is_word = profile.type in _WORDS and profile.lengths.mean <= LONGEST_KEY
    return (
        not is_unique,
        not (is_word or profile.type is DataType.INTEGER),
        not is_own,
        not is_similar,
        _SUREST.isdisjoint(words),
        not is_marked,
        names_label(words),
        not (is_marked or is_word),
        profile.lengths.mean,
        -profile.distinct,
        profile.id.path,
    )


def _abbreviates(word: str, table: set[str]) -> bool:
    return len(word) >= _SHORTEST and any(name.startswith(word) for name in table)


_OPAQUE = (DataType.BINARY, DataType.NESTED)
_NOTATIONS = {DataType.DECIMAL: Notation.POINT}
_NUMBERS = (DataType.INTEGER, DataType.DECIMAL)
_HASH_BYTES = 8
_WHOLE = re.compile("0|[1-9][0-9]{0,17}")
_NEARLY_ALL = 0.95
"""Minimum share of whole numbers in a text column that is treated as one of numbers."""
_MIN_COUNTER = 0.5
"""Minimum density of such a column; sparse numbers, such as codes, may well be text."""


def _density(profile: ColumnProfile) -> float:
    """Estimate how densely a column's numbers fill their range: 1 if they are consecutive."""
    # Days are in no counter, though spreadsheets number them.
    is_day = profile.notation is Notation.SERIAL_DAY
    if profile.type not in _NUMBERS or not profile.sample or is_day:
        return 0.0
    # `float` does not read all that counts as a number, such as superscripts and minus signs.
    return _fill(profile, [float(normal_form(cell)) for cell in profile.sample])


def _fill(profile: ColumnProfile, numbers: Sequence[float]) -> float:
    return min(1.0, profile.distinct / (max(numbers) - min(numbers) + 1))


def _marked_density(profile: ColumnProfile) -> float:
    """Return how dense a counter is of which a few numbers have marks (`205*`); 0 for others."""
    if profile.type is not DataType.TEXT or profile.notation:
        return 0.0
    numbers = [float(cell) for cell in profile.sample if _WHOLE.fullmatch(cell)]
    if not numbers or len(numbers) < _NEARLY_ALL * len(profile.sample):
        return 0.0
    density = _fill(profile, numbers)
    return density if density >= _MIN_COUNTER else 0.0


def _count_distinct(profile: ColumnProfile) -> int:
    # Where one column writes a day in two ways, these are not two days.
    own = len(profile.form_sketch)
    merges = 0 < own < len(profile.sketch)
    return own // _HASH_BYTES if merges else profile.distinct


def _number_owners(columns: Iterable[Sequence[ColumnProfile]]) -> ColumnInts:
    """For each column of some tables, return the number of its table."""
    numbers = (number for number, owned in enumerate(columns) for _ in owned)
    return np.fromiter(numbers, dtype=np.int64)


@dataclass(frozen=True)
class Lake:
    """All columns whose values can be compared, grouped by table."""

    profiles: tuple[ColumnProfile, ...]  # the profile of each column
    titles: tuple[str, ...]  # the title of each table
    table_of: ColumnInts  # the table of each column
    # The function that hashed the values for all sketches.
    value_hash: ValueHash = ValueHash.SIPHASH

    @classmethod
    def from_tables(cls, tables: Sequence[TableProfile]) -> "Lake":
        """Collect the columns whose values can be compared, in the order of the tables."""
        # Columns without values share nothing, and opaque values cannot be compared.
        readable = [table for table in tables if not table.fault]
        columns = [
            [each for each in table.columns if each.type not in _OPAQUE and each.distinct]
            for table in readable
        ]
        return cls(
            profiles=tuple(chain.from_iterable(columns)),
            titles=tuple(table.table.title for table in readable),
            table_of=_number_owners(columns),
            value_hash=readable[0].value_hash if readable else ValueHash.SIPHASH,
        )

    def with_described(self, tables: Sequence[DescribedTable]) -> "Lake":
        """Return a copy of the lake with further tables, whose rows were not read."""
        columns = [[each for each in table.columns if each.type not in _OPAQUE] for table in tables]
        further = _number_owners(columns) + len(self.titles)
        return Lake(
            profiles=(*self.profiles, *chain.from_iterable(columns)),
            titles=(*self.titles, *(table.title for table in tables)),
            table_of=np.concatenate([self.table_of, further]),
            value_hash=self.value_hash,
        )

    def in_order(self) -> "Lake":
        """Return a copy of the lake with tables in the order of titles, and columns of names."""
        # Of equals, the first one is often chosen. No file or list of tables says which that is.
        # Titles come before places, so that a renamed folder changes the order of few tables.
        keys = [(title, repr(table)) for title, table in zip(self.titles, self.tables, strict=True)]
        tables = sorted(range(len(keys)), key=keys.__getitem__)
        rank = np.empty(len(tables), dtype=np.int64)
        rank[tables] = np.arange(len(tables))
        owner = rank[self.table_of]
        columns = sorted(range(len(self)), key=lambda column: (owner[column], self.ids[column]))
        return replace(
            self,
            profiles=tuple(self.profiles[column] for column in columns),
            titles=tuple(self.titles[table] for table in tables),
            table_of=owner[columns],
        )

    @cached_property
    def ids(self) -> tuple[ColumnId, ...]:
        """The identifier of each column."""
        return tuple(profile.id for profile in self.profiles)

    @cached_property
    def index_of(self) -> Mapping[ColumnId, int]:
        """The index of each column."""
        return {column: number for number, column in enumerate(self.ids)}

    @cached_property
    def notations(self) -> dict[ColumnId, Notation]:
        """The notation of each column's values, such as decimal commas."""
        # Decimals may have zeros at their end, so they are read as numbers where a join needs it.
        known = {
            profile.id: profile.notation or _NOTATIONS.get(profile.type)
            for profile in self.profiles
        }
        return {id_: notation for id_, notation in known.items() if notation}

    def mask(self, test: Callable[[ColumnProfile], bool]) -> ColumnMask:
        """Mark the columns whose profiles pass a test."""
        return np.array([test(profile) for profile in self.profiles], dtype=bool)

    @cached_property
    def paths(self) -> list[str]:
        """The name of each column."""
        return [profile.id.path for profile in self.profiles]

    @property
    def sketches(self) -> list[bytes]:
        """The sketch of each column's values."""
        return [profile.sketch for profile in self.profiles]

    @cached_property
    def is_text(self) -> ColumnMask:
        """Whether each column holds text, other than a counter with a few marks."""
        return self.mask(lambda profile: profile.type is DataType.TEXT) & ~self._is_marked_counter

    @cached_property
    def is_whole(self) -> ColumnMask:
        """Whether each column holds whole numbers, but for a few marks in a counter."""
        return self.mask(lambda profile: profile.type is DataType.INTEGER) | self._is_marked_counter

    @cached_property
    def _marked_densities(self) -> ColumnFloats:
        return np.array([_marked_density(profile) for profile in self.profiles])

    @property
    def _is_marked_counter(self) -> ColumnMask:
        return self._marked_densities > 0

    @cached_property
    def standing(self) -> ColumnInts:
        """The number of columns of the same table that look more like its key: 0 for the first."""
        return _rank_by_standing(self.profiles, self.titles, self.table_of)

    @cached_property
    def density(self) -> ColumnFloats:
        """How densely each column's numbers fill their range: 1 if they are consecutive."""
        numbers = np.array([_density(profile) for profile in self.profiles])
        return np.maximum(numbers, self._marked_densities)

    @cached_property
    def title_words(self) -> list[Words]:
        """The stems of each table's title."""
        return [stems(title) for title in self.titles]

    @cached_property
    def title_prefixes(self) -> frozenset[str]:
        """The words, such as `dim`, with which several titles begin."""
        return table_prefixes(self.title_words)

    @cached_property
    def title_spellings(self) -> list[frozenset[str]]:
        """Each title as one word, with and without such a prefix."""
        return spell(self.title_words, self.title_prefixes)

    @cached_property
    def column_words(self) -> list[Words]:
        """The stems of each column's name, where `customerid` and `cust_id` are `customer id`."""
        names = column_words(self.paths, self.titles, self.title_spellings)
        keys = frozenset(np.flatnonzero(self.standing == 0).tolist())
        owners = self.table_of.tolist()
        return spell_out_titles(names, owners, keys, self.title_words, self.places)

    @cached_property
    def distinct(self) -> ColumnInts:
        """The number of distinct values of each column, in whichever form they are fewer."""
        return np.array([_count_distinct(profile) for profile in self.profiles], dtype=np.int64)

    @cached_property
    def texts(self) -> frozenset[ColumnId]:
        """The columns that hold text."""
        return frozenset(each.id for each in self.profiles if each.type is DataType.TEXT)

    @cached_property
    def tables(self) -> tuple[TableId | None, ...]:
        """The identifier of each table, or None for a table without columns."""
        owners = zip(self.table_of.tolist(), self.ids, strict=True)
        identifiers = {table: column.table for table, column in owners}
        return tuple(identifiers.get(table) for table in range(len(self.titles)))

    @cached_property
    def places(self) -> tuple[str, ...]:
        """The folder or schema of each table; empty for a table without columns."""
        places = places_of(filter(None, self.tables))
        return tuple(places[table] if table else "" for table in self.tables)

    @cached_property
    def place_of(self) -> ColumnInts:
        """The number of the folder or schema of each column."""
        return self.table_places[self.table_of]

    @cached_property
    def table_places(self) -> SomeInts:
        """The number of the folder or schema of each table."""
        return np.unique(self.places, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def columns_of(self) -> tuple[SomeInts, ...]:
        """The columns of each table."""
        order = np.argsort(self.table_of, kind="stable")
        bounds = np.searchsorted(self.table_of[order], np.arange(len(self.titles) + 1))
        return tuple(order[start:stop] for start, stop in pairwise(bounds))

    def __len__(self) -> int:
        return len(self.profiles)
