"""Compare the names of columns and of the keys that the columns may refer to.

A reference is named after the table that it leads to (`customer_id`), after the key itself
(`iata`), or after a table that continues the name of its own (`rack.role_id` to `rack_role`).
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.words import (
    TYPE_WORDS,
    continues,
    endings,
    is_form_of,
    join_words,
    names_count,
    names_label,
    names_measure,
    spell,
    without_prefix,
)
from datahub_hyperjoin.model.signals.names import (
    IDENTIFIER_WORDS,
    Words,
    meaningful_words,
    noun_stem,
    stems,
    trigrams,
)
from datahub_hyperjoin.model.signals.pairs import ColumnMask, PairFloats, PairInts, PairMask
from datahub_hyperjoin.model.signals.sketches import row_products

_PARENT_WORDS = frozenset(
    {"ancestor", "belongs", "boss", "chief", "father", "head", "leader", "manager", "master"}
    | {"mother", "parent", "predecessor", "previous", "prior", "replaced", "replaces", "reports"}
    | {"root", "successor", "superior", "supervisor"}
)
"""Words that name another row of the same table, often one above it in a hierarchy."""

_MARKERS = tuple(sorted(IDENTIFIER_WORDS, key=lambda word: (-len(word), word)))
PEOPLE = ("user", "person", "employee", "staff", "member", "account")
"""Tables that list the people who create or change rows. If a lake has several, the first counts.
"""
_AGENTS = ("er", "or", "ee")
"""Endings of nouns for people by what they do, such as `author`, `approver` and `assignee`."""
_ROLES = frozenset(
    ["assignee", "author", "creator", "editor", "manager", "owner", "reporter", "reviewer"]
)
"""Such nouns that denote people even without a word such as `id`, if values say so, too."""
_NOUN = 0.7
"""How surely such a noun denotes people, where 1 is as surely as `created_by` does."""
_MIN_AGENT = 5
"""Minimum number of letters of such a noun."""


def names_actor(words: Words, tables: Container[str], *, is_marked: bool) -> float:
    """Return how surely a column is named after people by what they do, as `created_by` is.

    >>> [names_actor((word,), {"order"}, is_marked=True) for word in ("by", "seller", "order")]
    [1.0, 0.7, 0.0]
    """
    # Nouns such as `author` count less than `by`: they may denote a thing or an organisation.
    if not words:
        return 0.0
    if words[-1] == "by":
        return 1.0
    noun = words[-1]
    ends = (noun[start:] for start in range(len(noun) - _MIN_AGENT + 1))
    is_agent = is_marked and len(noun) >= _MIN_AGENT and noun.endswith(_AGENTS)
    return _NOUN if is_agent and not any(end in tables for end in ends) else 0.0


@dataclass(frozen=True)
class NameClues:
    """The similarities between the names of columns and keys, from 0 to 1."""

    # Share of the referring column's name that also occurs in the names of the key and its table.
    column_in_key: PairFloats
    # Share of the names of the key and its table that also occurs in the names of the referring
    # column and its table.
    key_in_column: PairFloats
    # Share of the name of the key's table that also occurs in the name of the referring column.
    table_in_column: PairFloats
    names_table: PairFloats  # 1 if the referring column is named after the key's table
    # 1 if the name of the key's table consists of the names of the referring table and column.
    continues_table: PairFloats
    # 1 if the name of the referring column has a word such as `parent` or `manager`, or continues
    # that of a key of its own table, as `base_sku` does `sku`.
    names_parent: PairFloats
    # How surely the referring column is named after people by what they do, such as `created_by`,
    # if the key's table lists people.
    actor: PairFloats
    # 1 if both columns have the same name, unless that name is only a word such as `id`.
    same_name: PairFloats
    # 1 if the two names contain different identifier words, such as `key` and `id`.
    other_word: PairFloats
    unmarked: PairFloats  # 1 if only the key's name contains an identifier word such as `id`
    # 1 if the referring column is named as a count, a measure or a position, such as `room_count`,
    # `quantity` or `sort_order`. Less if it may be named after the key's table instead, as in
    # `purchase_order`; but `room_count` is no room.
    measures: PairFloats
    # 1 if the referring column is named as a label, such as `name` or `description`. Less if it may
    # be named after the key's table, as in `country_name`.
    labels: PairFloats

    @property
    def agree(self) -> PairMask:
        """Pairs in which the column is named after the key or its table."""
        return (self.names_table + self.continues_table + self.same_name) > 0

    @property
    def column_explained(self) -> PairFloats:
        """Share of the column's name that occurs in the names of the key and its table."""
        return np.maximum(self.column_in_key, self.continues_table)

    @property
    def table_explained(self) -> PairFloats:
        """Share of the referenced table's name that occurs in the referring column's name."""
        return np.maximum(self.table_in_column, self.continues_table)


class _Trigrams:
    """The trigrams of names, weighted by their rarity."""

    def __init__(self, tables: Sequence[Words], columns: Sequence[Words]) -> None:
        names = sorted({*tables, *columns})
        windows = [trigrams(" ".join(name)) for name in names]
        counts = Counter(window for name in windows for window in name)
        self._number = {window: number for number, window in enumerate(sorted(counts))}
        frequency = np.array([counts[window] for window in sorted(counts)], dtype=np.float64)
        # Inverse document frequency: a trigram that most names contain says little about any of
        # them.
        self._weights = np.log((len(names) + 1) / (frequency + 1))

    def incidence(self, names: Sequence[Words]) -> sparse.csr_array:
        """Return a matrix of names by trigrams: 1 where a name contains a trigram, otherwise 0."""
        held = [sorted(self._number[w] for w in trigrams(" ".join(name))) for name in names]
        rows = np.repeat(np.arange(len(held)), [len(name) for name in held])
        columns = np.array([number for name in held for number in name], dtype=np.int64)
        ones = np.ones(len(rows), dtype=np.float64)
        return sparse.csr_array((ones, (rows, columns)), (len(held), max(len(self._number), 1)))

    def explained(
        self, what: sparse.csr_array, by: sparse.csr_array, left: PairInts, right: PairInts
    ) -> PairFloats:
        """Return the share of each left name's trigrams that the right name contains."""
        weights = self._weights if len(self._weights) else np.zeros(1)
        weighted = sparse.csr_array(what.multiply(weights[None, :]))
        total = np.asarray(weighted.sum(axis=1)).ravel()
        shares = row_products(weighted, by, left, right)
        # The share is 0 for a name without trigrams, where it is undefined.
        return shares / np.maximum(total[left], 1e-9) * (total[left] > 0)


class NameComparison:
    """Compares the names of columns with the names of keys and of the keys' tables."""

    def __init__(self, lake: Lake) -> None:
        tables, columns = lake.title_words, lake.column_words
        meanings = [meaningful_words(words) for words in columns]
        self._table_of = lake.table_of
        self._weigher = _Trigrams(tables, meanings)
        self._of_tables = self._weigher.incidence(tables)
        self._of_columns = self._weigher.incidence(meanings)
        of_both = self._of_columns + self._of_tables[lake.table_of]
        self._of_both = of_both.sign().tocsr()
        self._words = columns
        self._names_parent = names_parent(columns)
        titles = frozenset().union(*lake.title_spellings)
        ids_or_roles = IDENTIFIER_WORDS | _ROLES
        marked = (not ids_or_roles.isdisjoint(words) for words in columns)
        owners = lake.table_of.tolist()
        # The kind of an `owner_kind` decides whether the owner is one of the people.
        typed = {
            (table, frozenset(words) - TYPE_WORDS)
            for table, words in zip(owners, meanings, strict=True)
            if not TYPE_WORDS.isdisjoint(words)
        }
        actors = (
            0.0
            if (table, frozenset(words)) in typed
            else names_actor(words, titles, is_marked=is_marked)
            for table, words, is_marked in zip(owners, meanings, marked, strict=True)
        )
        self._actor = np.fromiter(actors, dtype=np.float64, count=len(columns))
        self._lists_people = np.array(
            [bool(words) and words[-1] in PEOPLE for words in tables], dtype=bool
        )
        self._names_count = np.array([names_count(words) for words in columns], dtype=bool)
        self._names_label = np.array([names_label(words) for words in columns], dtype=bool)
        self._names_measure = np.array([names_measure(words) for words in columns], dtype=bool)
        # An abbreviation such as `pid` or `custno` may mark an identifier, too.
        self._may_be_marked = _end_marked(columns)
        self._number_spellings(lake, meanings)

    def _number_spellings(self, lake: Lake, meanings: Sequence[Words]) -> None:
        """Give each spelling of tables and columns a number, since numbers compare fast."""
        common, numbers = lake.title_prefixes, dict[str, int]()

        def number(names: Iterable[str]) -> Int[np.ndarray, " name"]:
            listed = [numbers.setdefault(name, len(numbers)) for name in names]
            return np.array(listed, dtype=np.int64)

        titles = [join_words(words) for words in lake.title_words]
        briefs = [join_words(without_prefix(common, words)) for words in lake.title_words]
        names = [join_words(words) for words in meanings]
        pairs = list(zip(lake.table_of.tolist(), names, strict=True))
        self._title, self._brief, self._name = number(titles), number(briefs), number(names)
        self._brief_name = number(join_words(without_prefix(common, words)) for words in meanings)
        # `rack` and `role_id` together spell `rackrole`, the name of another table.
        self._titled = number(titles[table] + name for table, name in pairs)
        self._briefly = number(briefs[table] + name for table, name in pairs)
        self._whole = number(" ".join(words) for words in lake.column_words)
        marks = (sorted(IDENTIFIER_WORDS.intersection(words)) for words in lake.column_words)
        self._marker = number(map(" ".join, marks))
        self._has_meaning = np.array([bool(name) for name in names], dtype=bool)
        (self._no_marker,) = number([""])

    def of(self, referring: PairInts, referenced: PairInts) -> NameClues:
        """Return the clues of each pair."""
        explained, table = self._weigher.explained, self._table_of[referenced]
        title, brief, name = self._title[table], self._brief[table], self._name[referring]
        marks, key_marks = self._marker[referring], self._marker[referenced]
        is_key_marked = key_marks != self._no_marker
        table_in_column = explained(self._of_tables, self._of_columns, table, referring)

        def if_meant(same: PairMask) -> PairFloats:
            return np.where(self._has_meaning[referring], same, 0.0)

        return NameClues(
            column_in_key=explained(self._of_columns, self._of_both, referring, referenced),
            key_in_column=explained(self._of_both, self._of_both, referenced, referring),
            table_in_column=table_in_column,
            names_table=if_meant(
                (name == title) | (name == brief) | (self._brief_name[referring] == brief)
            ),
            continues_table=if_meant(
                (self._titled[referring] == title) | (self._briefly[referring] == brief)
            ),
            names_parent=self._find_parents(referring, referenced),
            actor=self._actor[referring] * self._lists_people[table],
            same_name=if_meant(self._whole[referring] == self._whole[referenced]),
            other_word=np.where(
                (marks != self._no_marker) & is_key_marked, marks != key_marks, 0.0
            ),
            unmarked=np.where(self._may_be_marked[referring], 0.0, is_key_marked),
            measures=np.where(
                self._names_count[referring],
                1.0,
                self._names_measure[referring] * (1 - table_in_column),
            ),
            labels=self._names_label[referring] * (1 - table_in_column),
        )

    def _find_parents(self, referring: PairInts, referenced: PairInts) -> PairFloats:
        named = self._names_parent[referring]
        within = self._table_of[referring] == self._table_of[referenced]
        # Labels such as `native_name` are no keys, even if those in a column `name` are unique.
        for at in np.flatnonzero(within & ~named & ~self._names_label[referring]).tolist():
            key = self._words[referenced[at]]
            named[at] = continues(self._words[referring[at]], key) and bool(meaningful_words(key))
        return named.astype(np.float64)


def _end_marked(columns: Sequence[Words]) -> ColumnMask:
    """For each name, return whether a word ends like an identifier's."""
    ends = (any(word.endswith(_MARKERS) for word in words) for words in columns)
    return np.fromiter(ends, dtype=bool, count=len(columns))


def names_parent(columns: Sequence[Words]) -> ColumnMask:
    """For each name, return whether it has a word such as `parent`, or ends like `part_of`."""
    parents = {noun_stem(word) for word in _PARENT_WORDS}
    named = (not parents.isdisjoint(words) or words[-1:] == ("of",) for words in columns)
    return np.fromiter(named, dtype=bool, count=len(columns))


_NAMESAKES = 50
"""Maximum number of tables with the same name that are considered. If more tables have the name,
only those in the same folder or schema are considered."""
_MIN_MARKED = 3
"""A word, such as `sk`, marks identifiers if at least this many tables have a column that is called
like the table, followed by this word, and whose name ends that of a column elsewhere."""


class LakeNames:
    """The names of a lake's tables and columns."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self._prefixes = lake.title_prefixes
        self.columns = lake.column_words
        self.meanings = [_letters(meaningful_words(words)) for words in self.columns]
        self.tables = [_letters(words) for words in lake.title_words]
        self.spellings = [set(spellings) for spellings in spell(self.tables, self._prefixes)]
        self._places = lake.places
        self._named: dict[str, list[int]] = defaultdict(list)
        for table, spellings in enumerate(self.spellings):
            for spelling in spellings:
                self._named[spelling].append(table)
        self._key_names = dict(self._find_key_names())
        self._add([*self._key_names.items()])
        self._add([*self._find_last_words()])

    def _add(self, named: Iterable[tuple[int, str]]) -> None:
        for table, spelling in named:
            self.spellings[table].add(spelling)
            self._named[spelling].append(table)

    def _find_last_words(self) -> Iterator[tuple[int, str]]:
        """Yield each table that alone ends with a word, and this word."""
        # In a lake without `users`, `user_id` refers to `app_user`. But `type_id` hardly refers to
        # `contract_type` where there are contracts.
        last = Counter(words[-1] for words in self.tables if words)
        for table, words in enumerate(self.tables):
            names = ["".join(words[:end]) for end in range(1, len(words))]
            if (
                names
                and last[words[-1]] == 1
                and self._named.keys().isdisjoint([*names, words[-1]])
            ):
                yield table, words[-1]

    def _find_key_names(self) -> Iterator[tuple[int, str]]:
        """Yield the tables whose likely key has a name of its own, and this name."""
        # As `CUST_NO` is the key of `T_CUSTOMER`, columns such as `ORD_CUST_NO` refer to it. If
        # several tables have such a column, those count whose names it resembles.
        tables_of: dict[str, list[int]] = defaultdict(list)
        for column in np.flatnonzero(self.lake.standing == 0).tolist():
            words, table = self.meanings[column], int(self.lake.table_of[column])
            if not any(end in self._named for end in endings(words)):
                tables_of["".join(words)].append(table)
        for name, tables in tables_of.items():
            alike = [table for table in tables if is_form_of(name, self.tables[table])]
            yield from ((table, name) for table in alike if not self._links(table, name))

    def _links(self, table: int, name: str) -> bool:
        """Return whether a table connects rows called `name` with those of another table."""
        # Its title consists of this name and that of the other table, in any order.
        words = self.tables[table]
        splits = ((words[:at], words[at:]) for at in range(1, len(words)))
        ends = (("".join(a), "".join(b)) for a, b in splits)
        return any(
            (a == name and b in self._named) or (b == name and a in self._named) for a, b in ends
        )

    @cached_property
    def is_marked(self) -> ColumnMask:
        """PairInts whose names have a word such as `id`."""
        marked = (not IDENTIFIER_WORDS.isdisjoint(words) for words in self.columns)
        return np.fromiter(marked, dtype=bool, count=len(self.columns))

    @cached_property
    def ends_marked(self) -> ColumnMask:
        """Columns with a word that ends like such a word, as `uid` and `custno` do."""
        return _end_marked(self.columns)

    @cached_property
    def has_marked(self) -> Bool[np.ndarray, " table"]:
        """Tables with such a column."""
        has = np.zeros(len(self.lake.titles), dtype=bool)
        has[self.lake.table_of[self.is_marked]] = True
        return has

    def tables_named(self, spelling: str, near: int) -> Iterator[int]:
        """Yield the tables that have a given name, except the table `near`."""
        tables = self._named.get(spelling, [])
        for table in tables:
            nearby = len(tables) <= _NAMESAKES or self._places[table] == self._places[near]
            if nearby and table != near:
                yield table

    def is_own(self, column: int) -> bool:
        """Return whether a column is called `id`, or is named after its own table."""
        words, table = self.meanings[column], int(self.lake.table_of[column])
        if not words:
            return bool(self.is_marked[column])
        return not {"".join(words), "".join(without_prefix(self._prefixes, words))}.isdisjoint(
            self.spellings[table]
        )

    def is_foreign(self, column: int) -> bool:
        """Return whether a column is named after another table, but not after its own."""
        words, table = self.meanings[column], int(self.lake.table_of[column])
        starts = range(len(words)) if self.is_marked[column] else range(min(len(words), 1))
        spellings = {"".join(words[start:]) for start in starts}
        spellings |= {"".join(without_prefix(self._prefixes, words))} - {""}
        others = (other for spelling in spellings for other in self.tables_named(spelling, table))
        return not self.is_own(column) and any(True for _ in others)

    def ends_with_key_name(self, column: int, key: int) -> bool:
        """Return whether a column's name ends with that of a key, which is not its table's name."""
        name = self._key_names.get(int(self.lake.table_of[key]))
        words = self.meanings[column]
        return any(end == name for end in endings(words))

    @cached_property
    def people(self) -> Sequence[int]:
        """The tables of people who may have created a row: those of users, or else of others."""
        tables = ([*self._named.get(word, ())] for word in PEOPLE)
        return next(filter(None, tables), [])

    def actor(self, column: int) -> float:
        """Return how surely a column is named after people by what they do."""
        is_marked = bool(self.is_marked[column])
        return names_actor(self.meanings[column], self._named, is_marked=is_marked)


def _letters(words: Words) -> Words:
    """Remove the numbers from the words of a name."""
    return tuple(word for word in words if not word.isdigit())


_LONGEST_PREFIX = 3
"""Maximum number of letters that titles of a database have in common, as in `omoccurrences`."""


def abbreviates_title(column: Words, title: Words) -> bool:
    """Return whether a name is the start of a title or its initials, before a word such as `id`.

    >>> abbreviates_title(("uid",), ("user",)), abbreviates_title(("collid",), ("omcollection",))
    (True, True)
    >>> abbreviates_title(("gtpid",), ("geologic", "time", "period"))
    True
    >>> abbreviates_title(("uid",), ("order",))
    False
    """
    whole, name = "".join(title), "".join(column)
    marker = next((word for word in _MARKERS if name.endswith(word)), "")
    start = name.removesuffix(marker)
    if not marker or not start:
        return False
    starts = (*title, *(whole[cut:] for cut in range(1, _LONGEST_PREFIX + 1)))
    initials = "".join(word[:1] for word in title)
    return any(each.startswith(start) for each in starts) or (len(start) > 1 and start == initials)


def spell_out_markers(lake: Lake) -> Lake:
    """Write `id` for the lake's own words for identifiers."""
    # In `dim_store.store_sk` and the like, `sk` marks the keys of a warehouse.
    markers = _find_markers(lake)
    if not markers:
        return lake

    def spell_out(path: str) -> str:
        words = stems(path)
        if markers.isdisjoint(words):
            return path
        return "_".join("id" if word in markers else word for word in words)

    profiles = (
        replace(profile, id=replace(profile.id, path=spell_out(profile.id.path)))
        for profile in lake.profiles
    )
    return replace(lake, profiles=tuple(profiles))


def _find_markers(lake: Lake) -> AbstractSet[str]:
    columns = zip(lake.profiles, lake.table_of.tolist(), strict=True)
    names = [(stems(each.id.path), table) for each, table in columns]
    tables_of: dict[Words, set[int]] = defaultdict(set)
    for words, table in names:
        for start in range(len(words)):
            tables_of[words[start:]].add(table)
    # A table whose key is marked already has `policy_type` for another reason.
    marked = {table for words, table in names if _marks_own_key(words, lake.title_spellings[table])}
    found: Counter[str] = Counter()
    for words, table in names:
        is_named = (
            table not in marked
            and bool(meaningful_words(words[-1:]))
            and "".join(words[:-1]) in lake.title_spellings[table]
        )
        is_property = names_label(words) or names_measure(words) or words[-1:] in _TYPES
        if is_named and not is_property and tables_of[words] - {table}:
            found[words[-1]] += 1
    return {word for word, count in found.items() if count >= _MIN_MARKED}


_TYPES = {(word,) for word in TYPE_WORDS}


def _marks_own_key(words: Words, titles: AbstractSet[str]) -> bool:
    """Return whether a column is called `id`, or like its table with such a word."""
    if IDENTIFIER_WORDS.isdisjoint(words):
        return False
    meant = "".join(meaningful_words(words))
    return not meant or meant in titles
