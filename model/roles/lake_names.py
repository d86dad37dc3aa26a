"""Collect the names that the tables and columns of a lake go by.

Values are not read, so names alone tell which column is the key of a table, and by which words
other tables refer to it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from operator import eq

import numpy as np
from jaxtyping import Bool

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.name_clues import column_stems, spell, table_prefixes
from datahub_hyperjoin.model.roles.property_names import names_label, names_measure
from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS
from datahub_hyperjoin.model.signals.stems import Words, meaningful_words, stems

_NAMESAKES = 50
"""Maximum number of tables with the same name that are considered. If more tables have the name,
only those in the same folder or schema are considered."""
_SHORTEST = 2
"""Minimum number of letters of a table's name at the end of a column's name, and of an
abbreviation."""
_SAME_START = 4
"""Minimum number of letters with which two forms of a word both start, as in `Auftrag` and
`Auftraege`."""
_SHARE_OF_START = 0.6
"""Minimum share of the shorter form that this start takes up."""
_LONGEST_SHARE = 0.8
"""Maximum length of an abbreviation as a share of the word's; `contact` does not abbreviate
`contract`."""
_MIN_MARKED = 3
"""A word, such as `sk`, marks identifiers if at least this many tables have a column that is called
like the table, followed by this word, and whose name ends that of a column elsewhere."""
_PEOPLE = ("user", "person", "employee", "staff", "member", "account")
"""Tables that list the people who create or change rows. If a lake has several, the first counts.
"""
_AGENTS = ("er", "or", "ee")
"""Endings of nouns for people by what they do, such as `author`, `approver` and `assignee`."""
_NOUN = 0.7
"""How surely such a noun denotes people, where 1 is as surely as `created_by` does."""
_MIN_AGENT = 5
"""Minimum number of letters of such a noun."""


class LakeNames:
    """The names of a lake's tables and columns.

    For each table, this includes the spellings that columns repeat.
    """

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        tables = [stems(title) for title in lake.titles]
        self._prefixes = table_prefixes(tables)
        self.columns = column_stems(lake)
        self.meanings = [_letters(meaningful_words(words)) for words in self.columns]
        self.tables = [_letters(words) for words in tables]
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
        """Yield each table that alone ends with a word, and this word.

        In a lake without `users`, `user_id` refers to `app_user`. But `type_id` hardly refers to
        `contract_type` where there are contracts.
        """
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
        """Yield the tables whose likely key has a name of its own, and this name.

        As `CUST_NO` is the key of `T_CUSTOMER`, columns such as `ORD_CUST_NO` refer to it. If
        several tables have such a column, those count whose names it resembles.
        """
        tables_of: dict[str, list[int]] = defaultdict(list)
        for column in np.flatnonzero(self.lake.standing == 0).tolist():
            words, table = self.meanings[column], int(self.lake.table_of[column])
            endings = ("".join(words[start:]) for start in range(len(words)))
            if not any(end in self._named for end in endings):
                tables_of["".join(words)].append(table)
        for name, tables in tables_of.items():
            alike = [table for table in tables if _resembles(name, self.tables[table])]
            yield from ((table, name) for table in alike if not self._links(table, name))

    def _links(self, table: int, name: str) -> bool:
        """Return whether a table connects rows called `name` with those of another table.

        The title of such a table consists of this name and that of the other table, in any order.
        """
        words = self.tables[table]
        splits = ((words[:at], words[at:]) for at in range(1, len(words)))
        ends = (("".join(a), "".join(b)) for a, b in splits)
        return any(
            (a == name and b in self._named) or (b == name and a in self._named) for a, b in ends
        )

    def without_prefix(self, words: Words) -> Words:
        """Drop the first word of a name if many names of tables start with this word."""
        return words[1:] if words[1:] and words[0] in self._prefixes else words

    @cached_property
    def is_marked(self) -> Bool[np.ndarray, " column"]:
        """Columns whose names have a word such as `id`."""
        marked = (not IDENTIFIER_WORDS.isdisjoint(words) for words in self.columns)
        return np.fromiter(marked, dtype=bool, count=len(self.columns))

    @cached_property
    def has_marked(self) -> Bool[np.ndarray, " table"]:
        """Tables with such a column."""
        has = np.zeros(len(self.lake.titles), dtype=bool)
        has[self.lake.table_of[self.is_marked]] = True
        return has

    def tables_named(self, spelling: str, near: int) -> Iterator[int]:
        """Yield the tables that have a given name, except the table `near`.

        If many tables have it, only those in the same folder or schema count.
        """
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
        return not {"".join(words), "".join(self.without_prefix(words))}.isdisjoint(
            self.spellings[table]
        )

    def is_foreign(self, column: int) -> bool:
        """Return whether a column is named after another table, but not after its own."""
        words, table = self.meanings[column], int(self.lake.table_of[column])
        starts = range(len(words)) if self.is_marked[column] else range(min(len(words), 1))
        spellings = {"".join(words[start:]) for start in starts}
        spellings |= {"".join(self.without_prefix(words))} - {""}
        others = (other for spelling in spellings for other in self.tables_named(spelling, table))
        return not self.is_own(column) and any(True for _ in others)

    def ends_with_key_name(self, column: int, key: int) -> bool:
        """Return whether a column's name ends with that of a key, which is not its table's name."""
        name = self._key_names.get(int(self.lake.table_of[key]))
        words = self.meanings[column]
        return any("".join(words[start:]) == name for start in range(len(words)))

    @cached_property
    def people(self) -> Sequence[int]:
        """The tables of people who may have created a row: those of users, or else of others."""
        tables = ([*self._named.get(word, ())] for word in _PEOPLE)
        return next(filter(None, tables), [])

    def names_actor(self, column: int) -> float:
        """Return how surely a column is named after people by what they do, as `created_by` is.

        Returns:
            1 for names that end with `by`; less for nouns such as `author`, which may also denote a
            thing or an organisation; otherwise 0.
        """
        words = self.meanings[column]
        if not words:
            return 0.0
        if words[-1] == "by":
            return 1.0
        endings = (words[-1][start:] for start in range(len(words[-1]) - _MIN_AGENT + 1))
        is_noun = words[-1].endswith(_AGENTS) and not any(end in self._named for end in endings)
        return _NOUN if is_noun and len(words[-1]) >= _MIN_AGENT and self.is_marked[column] else 0.0


def _letters(words: Words) -> Words:
    """Remove the numbers from the words of a name.

    They only tell copies of a table apart.
    """
    return tuple(word for word in words if not word.isdigit())


def _resembles(name: str, title: Words) -> bool:
    """Return whether a name abbreviates the words of a title or is another form of them.

    >>> _resembles("cust", ("t", "customer")), _resembles("ciudad", ("ciudade",))
    (True, True)
    >>> _resembles("auftrag", ("auftraege",)), _resembles("contact", ("contract",))
    (True, False)
    """
    words = ("".join(title[start:]) for start in range(len(title)))
    return any(_is_form(name, word) for word in words)


def _is_form(name: str, word: str) -> bool:
    if name[:1] != word[:1]:
        return False
    start = sum(1 for _ in takewhile(bool, map(eq, name, word)))
    shorter = min(len(name), len(word))
    return start >= max(_SAME_START, _SHARE_OF_START * shorter) or _abbreviates(name, word)


def _abbreviates(name: str, word: str) -> bool:
    """Return whether a name is much shorter, and a word has its letters in the same order."""
    letters = iter(word)
    is_short = _SHORTEST <= len(name) <= _LONGEST_SHARE * len(word)
    return is_short and all(letter in letters for letter in name)


def spell_out_markers(lake: Lake) -> Lake:
    """Write `id` for the lake's own words for identifiers.

    In `dim_store.store_sk` and the like, `sk` marks the keys of a warehouse.

    Returns:
        A lake with other names of columns; the lake itself if it has no such words.
    """
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
    tables = [stems(title) for title in lake.titles]
    spellings = spell(tables, table_prefixes(tables))
    columns = zip(lake.profiles, lake.table_of.tolist(), strict=True)
    names = [(stems(each.id.path), table) for each, table in columns]
    tables_of: dict[Words, set[int]] = defaultdict(set)
    for words, table in names:
        for start in range(len(words)):
            tables_of[words[start:]].add(table)
    found: Counter[str] = Counter()
    for words, table in names:
        is_named = bool(meaningful_words(words[-1:])) and "".join(words[:-1]) in spellings[table]
        is_property = names_label(words) or names_measure(words)
        if is_named and not is_property and tables_of[words] - {table}:
            found[words[-1]] += 1
    return {word for word, count in found.items() if count >= _MIN_MARKED}
