"""Find and correct references where only headers are known, by trees taught by other schemas.

Without rows, no column is known to be a key. So more columns may be one, and what tells them apart
is how tables and columns are named beside each other: whose title a name abbreviates, how many
tables of a folder have a column of the name, and which titles begin with that of another table.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Shaped
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates
from datahub_hyperjoin.model.roles.name_clues import (
    PEOPLE,
    LakeNames,
    abbreviates_title,
)
from datahub_hyperjoin.model.roles.reference_trees import (
    DescribedCandidates,
    best_of_others,
)
from datahub_hyperjoin.model.roles.words import (
    TYPE_WORDS,
    endings,
    is_form_of,
    names_count,
    names_label,
    names_measure,
)
from datahub_hyperjoin.model.signals.names import trigrams
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnInts,
    ColumnMask,
    PairFloats,
    PairInts,
    find_among,
    number_distinct,
    number_pairs,
)
from datahub_hyperjoin.model.signals.sketches import row_products
from datahub_hyperjoin.model.tree_ensemble import TreeEnsemble, shipped_trees

SHIPPED_HEADER_TREES = Path(__file__).with_name("header_trees.safetensors")
"""File of the package with the trees; `header_trees.md` describes them."""

_KEYS = 4
"""Maximum number of columns of a table that other names may mean when they mention the table."""
_HOMES = 24
"""Maximum number of columns of one name that the others of this name may refer to."""
_QUALIFIED = 20
"""Maximum number of columns whose title and name together are the end of another column's name."""
_LIKELY_HOME = 0.5
"""Minimum likeness of a column and its table at which the column may be the table's key."""
_SHORTEST = 3
"""Minimum number of letters of a title with which others begin."""

Pairs = dict[tuple[int, int], float]
"""How far a clue holds for pairs of a column and a key."""
_Columns = Mapping[str, Shaped[np.ndarray, " column"]]


@dataclass(frozen=True)
class HeaderNames:
    """What the names of a lake tell about each column beside the other columns."""

    names: LakeNames
    guessed: ColumnMask  # columns that are keys by their own name alone

    @cached_property
    def joined(self) -> list[str]:
        """The name of each column as one word."""
        return ["".join(words) for words in self.names.columns]

    @cached_property
    def meanings(self) -> list[str]:
        """The same without words such as `id`."""
        return ["".join(words) for words in self.names.meanings]

    @cached_property
    def titles(self) -> list[str]:
        """The title of each table as one word."""
        return ["".join(words) for words in self.names.tables]

    @cached_property
    def owners(self) -> list[int]:
        """The table of each column."""
        return [*map(int, self.names.lake.table_of)]

    @cached_property
    def number(self) -> ColumnInts:
        """The number of each column's name."""
        return number_distinct(self.joined)[1]

    @cached_property
    def local(self) -> ColumnInts:
        """The number of each column's name in its folder or schema."""
        places = self.names.lake.place_of.tolist()
        return number_distinct(zip(self.number.tolist(), places, strict=True))[1]

    @cached_property
    def groups(self) -> list[list[int]]:
        """The columns of each name in each folder or schema, if there are several."""
        groups = defaultdict[int, list[int]](list)
        for column, name in enumerate(self.local.tolist()):
            if self.meanings[column]:
                groups[name].append(column)
        return [group for group in groups.values() if len(group) > 1]

    @cached_property
    def foreign(self) -> ColumnMask:
        """Columns that are named after another table."""
        count = len(self.joined)
        return np.fromiter(map(self.names.is_foreign, range(count)), dtype=bool, count=count)

    def share_of_title(self, column: PairInts, key: PairInts) -> PairFloats:
        """For each pair, return the share of the column's title that the key's is the start of."""
        tables = zip(
            *(self.names.lake.table_of[end].tolist() for end in (column, key)), strict=True
        )
        shares = (_share_at_start(self.titles[one], self.titles[other]) for one, other in tables)
        return np.fromiter(shares, dtype=float, count=len(column))

    def tables_with(self, name: ColumnInts) -> ColumnFloats:
        """For each column, return the logarithm of the number of tables with a column so named."""
        held = np.unique(np.stack([name, self.names.lake.table_of]), axis=1)[0]
        return np.log(np.bincount(held)[name])

    @cached_property
    def own_title(self) -> _Columns:
        """How the name of each column goes with the title of its own table."""
        titles = [trigrams(" ".join(words)) for words in self.names.tables]
        meant = [trigrams(" ".join(words)) for words in self.names.meanings]
        pairs = [(meant[column], titles[table]) for column, table in enumerate(self.owners)]
        words = [
            (self.names.columns[at], self.names.tables[of]) for at, of in enumerate(self.owners)
        ]
        return {
            "in_title": np.array([len(a & b) / max(len(a), 1) for a, b in pairs]),
            "of_title": np.array([len(a & b) / max(len(b), 1) for a, b in pairs]),
            "form": np.array(
                [
                    bool(name) and is_form_of(name, self.names.tables[table])
                    for name, table in zip(self.meanings, self.owners, strict=True)
                ],
                dtype=float,
            ),
            "initials": np.array([abbreviates_title(*pair) for pair in words], dtype=float),
        }

    @cached_property
    def among_namesakes(self) -> _Columns:
        """How the title of each column's table goes with those of the tables of its namesakes."""
        shorter, starts, lead = np.zeros((3, len(self.joined)))
        own = self.own_title
        likeness = own["in_title"] + own["of_title"] + own["form"] / 2
        for group in self.groups:
            titles = [self.titles[self.owners[column]] for column in group]
            lengths = np.sort([*map(len, titles)])
            sizes = np.array([*map(len, titles)])
            shorter[group] = 1 - np.searchsorted(lengths, sizes, side="right") / len(group)
            starts[group] = [_count_starts(titles, title) for title in titles]
            second, first = np.sort(likeness[group])[-2:]
            mine = likeness[group]
            lead[group] = mine - np.where(mine == first, second, first)
        return {"shorter": shorter, "starts": starts, "lead": lead}

    @cached_property
    def home(self) -> ColumnFloats:
        """How likely the table of each column is to be the one that the column's name means."""
        own = self.own_title
        likeness = own["in_title"] + own["of_title"] + (own["form"] + own["initials"]) / 2
        return likeness + self.among_namesakes["starts"]

    @cached_property
    def columns(self) -> _Columns:
        """All that is told of each column."""
        names, table_of = self.names, self.names.lake.table_of
        count = len(self.names.lake.titles)
        of_table = {
            "marks": np.bincount(table_of, self.names.ends_marked, count),
            "keys": np.bincount(table_of, self.guessed, count),
            "foreign_keys": np.bincount(table_of, self.foreign, count),
        }
        return {
            "in_place": self.tables_with(self.local),
            "in_lake": self.tables_with(self.number),
            "marked": names.is_marked,
            "ends_marked": self.names.ends_marked,
            "guessed": self.guessed,
            "foreign": self.foreign,
            "home": self.home,
            **self.own_title,
            **self.among_namesakes,
            **{name: values[table_of] for name, values in of_table.items()},
            "words": np.array([len(words) for words in names.columns]),
            "label": np.array([names_label(words) for words in names.columns]),
            "measure": np.array([names_measure(it) or names_count(it) for it in names.columns]),
            "type": np.array([not TYPE_WORDS.isdisjoint(words) for words in names.columns]),
            "actor": np.array([names.actor(column) for column in range(len(names.lake))]),
        }


def _count_starts(titles: Sequence[str], title: str) -> float:
    """Return the share of the other titles that begin with one."""
    if not title:
        return 0.0
    return (sum(other.startswith(title) for other in titles) - 1) / (len(titles) - 1)


def keys_by_table(lake: Lake, is_key: ColumnMask) -> dict[int, list[int]]:
    """Return the keys of each table."""
    return {
        table: columns[is_key[columns]].tolist() for table, columns in enumerate(lake.columns_of)
    }


class HeaderCandidates:
    """An object that finds the pairs of a column and a key that headers suggest."""

    def __init__(self, header: HeaderNames, is_key: ColumnMask, is_open: ColumnMask) -> None:
        self._header, self._names, self._is_open = header, header.names, is_open
        self._is_key = is_key
        lake = header.names.lake
        self._sure = keys_by_table(lake, is_key)
        self.keys_of = {table: [*keys] for table, keys in self._sure.items()}
        is_label = np.array([names_label(words) for words in self._names.columns], dtype=float)
        likely = header.home + header.names.ends_marked + header.tables_with(header.local) / 5
        likely -= 1.5 * is_label + 2 * header.foreign
        other = is_open & ~is_key & (header.names.ends_marked | (header.home >= _LIKELY_HOME))
        for table, columns in enumerate(lake.columns_of):
            rest = sorted(columns[other[columns]].tolist(), key=lambda column: -likely[column])
            self.keys_of[table] += rest[: max(0, _KEYS - len(self.keys_of[table]))]

    def clues(self, actors: Pairs, settled: Iterable[tuple[int, int]]) -> dict[str, Pairs]:
        """Return the clues that suggest further pairs, each with its share.

        `actors` are the pairs with people of the whole lake; `settled` are named after a table.
        """
        people = self._by_people({column for column, _ in settled})
        found = {
            "own_key": self._by_own_key(),
            "qualified": self._by_title_and_name(),
            "people": {pair: share for pair, share in people.items() if pair not in actors},
        }
        return {
            clue: {pair: share for pair, share in shares.items() if self._is_open[[*pair]].all()}
            for clue, shares in found.items()
        }

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield pairs of which nothing but names is known: those of one name."""
        yield from (pair for pair in self._namesakes() if self._is_open[[*pair]].all())

    def _namesakes(self) -> Iterator[tuple[int, int]]:
        """Yield columns of one name in a folder, and in tables of which one continues the other."""
        header, lake = self._header, self._names.lake
        for group in header.groups:
            likely = sorted(group, key=lambda at: (-header.home[at], self._title_of(at)))
            yield from ((a, b) for a in group for b in likely[:_HOMES] if a != b)
        tables = defaultdict[tuple[int, str], list[int]](list)
        for table, title in enumerate(header.titles):
            tables[int(header.names.lake.table_places[table]), title].append(table)
        named = {(header.owners[at], name): at for at, name in enumerate(header.number.tolist())}
        for table, title in enumerate(header.titles):
            starts = (title[:cut] for cut in range(_SHORTEST, len(title)))
            for start in starts:
                for other in tables.get((int(header.names.lake.table_places[table]), start), ()):
                    for column in lake.columns_of[table].tolist():
                        key = named.get((other, int(header.number[column])))
                        if key is not None and header.meanings[column]:
                            yield column, key

    def _title_of(self, column: int) -> tuple[int, str]:
        title = self._header.titles[self._header.owners[column]]
        return len(title), title

    def _by_own_key(self) -> Pairs:
        """Pair each column that ends like an identifier with the key of its own table."""
        header = self._header
        columns = np.flatnonzero(header.names.ends_marked & ~self._is_key).tolist()
        return {
            (column, key): 1.0
            for column in columns
            for key in self._sure[header.owners[column]][:1]
            if key != column
        }

    def _by_title_and_name(self) -> Pairs:
        """Pair each column whose name ends with a key's name, with or without the key's title."""
        # As `hostgroup_name` does with `name` of `hostgroup`, and `createdUid` with `uid`.
        header = self._header
        ended = defaultdict[str, list[int]](list)
        for key, table in enumerate(header.owners):
            if header.titles[table]:
                ended[header.titles[table] + header.joined[key]].append(key)
            if (
                header.names.ends_marked[key]
                and header.meanings[key]
                and header.home[key] >= _LIKELY_HOME
            ):
                ended[header.joined[key]].append(key)
        return {
            (column, key): len(end) / len(header.joined[column])
            for column, words in enumerate(self._names.columns)
            for end in endings(words)
            if len(ended.get(end, ())) <= _QUALIFIED
            for key in ended.get(end, ())
            if header.owners[key] != header.owners[column]
        }

    def _by_people(self, settled: Container[int]) -> Pairs:
        """Pair columns named after people with the keys of all tables of people in their folder."""
        header, names = self._header, self._names
        people = defaultdict[int, list[int]](list)
        for table, words in enumerate(names.tables):
            if words and words[-1] in PEOPLE:
                people[int(header.names.lake.table_places[table])] += self._sure[table]
        return {
            (column, key): share / 2 if column in settled else share
            for column, table in enumerate(header.owners)
            if (share := names.actor(column))
            for key in people.get(int(header.names.lake.table_places[table]), ())
            if key != column
        }


@dataclass(frozen=True)
class HeaderDescription:
    """An object that describes pairs by their names and those around them."""

    header: HeaderNames
    candidates: ReferenceCandidates
    clues: Mapping[str, PairFloats]  # the clues of these candidates

    def describe(self, some: DescribedCandidates) -> DescribedCandidates:
        """Add what headers tell to the features of some candidates."""
        column, key = (
            ends.astype(np.int64) for ends in (some.pairs.referring, some.pairs.referenced)
        )
        count = len(self.header.names.lake)
        numbers = number_pairs(self.candidates.referring, self.candidates.referenced, count)
        at, _ = find_among(numbers, number_pairs(column, key, count))
        compared = {**self._compare_names(column, key), **self._compare_tables(column, key)}
        told = {f"clue_{name}": values[at] for name, values in self.clues.items()} | compared
        leading = {name: compared[name] for name in _LEADING} | {"home": self.header.home[key]}
        for name, values in leading.items():
            told[f"{name}_lead"] = values - np.maximum(best_of_others(column, values), 0.0)
        told["share_of_table"] = _share_of_table(self.header, some)
        for name, values in self.header.columns.items():
            told[f"{name}_of_a"], told[f"{name}_of_b"] = values[column], values[key]
        rows = np.stack([*told.values()], axis=1, dtype=np.float32)
        return replace(
            some,
            features=(*some.features, *told),
            rows=np.concatenate([some.rows, rows], axis=1),
        )

    def _compare_names(self, column: PairInts, key: PairInts) -> dict[str, PairFloats]:
        """Compare the name of each column with that of the key and with its table's title."""
        header, names = self.header, self.header.names

        def to_title(a: int, b: int) -> tuple[float, ...]:
            name, title = header.meanings[a], header.titles[header.owners[b]]
            words = names.tables[header.owners[b]]
            return (
                _share_at_end(title, name),
                _share_at_start(title, name),
                _share_at_start(name, title),
                float(bool(name) and is_form_of(name, words)),
                float(abbreviates_title(names.columns[a], words)),
            )

        def to_key(a: int, b: int) -> tuple[float, ...]:
            name, other = header.joined[a], header.joined[b]
            return (
                _share_at_end(name, other) if header.meanings[b] else 0.0,
                _share_at_end(other, name) if header.meanings[a] else 0.0,
            )

        table = names.lake.table_of[key]
        titles = _measure_once(to_title, header.number[column], table, column, key)
        keys = _measure_once(to_key, header.number[column], header.number[key], column, key)
        return dict(zip(_TO_TITLE, titles.T, strict=True)) | dict(zip(_TO_KEY, keys.T, strict=True))

    def _compare_tables(self, column: PairInts, key: PairInts) -> dict[str, PairFloats]:
        """Compare the titles of both tables, and the keys that both have."""
        header, lake = self.header, self.header.names.lake
        left, right = lake.table_of[column], lake.table_of[key]

        def of_titles(a: int, b: int) -> tuple[float, ...]:
            one, other = header.titles[header.owners[a]], header.titles[header.owners[b]]
            return (
                _share_at_start(one, other),
                _share_at_start(other, one),
                _share_at_end(one, other) if one != other else 0.0,
            )

        titles = _measure_once(of_titles, left, right, column, key)
        named = np.array([bool(name) for name in header.meanings], dtype=bool)
        some = np.flatnonzero(
            named & header.names.ends_marked & (header.tables_with(header.local) > 0)
        )
        shape = len(lake.titles), int(header.local.max(initial=0)) + 1
        held = sparse.csr_array(
            (np.ones(len(some)), (lake.table_of[some], header.local[some])), shape
        )
        common: PairFloats = row_products(held, held, left, right)
        total: Float[np.ndarray, " table"] = np.asarray(held.sum(axis=1)).ravel()
        return dict(zip(_TITLES, titles.T, strict=True)) | {
            "common_keys": common,
            "share_of_its_keys": common / np.maximum(total[right], 1),
            "share_of_own_keys": common / np.maximum(total[left], 1),
        }


_TO_TITLE: tuple[str, ...] = (
    "title_ends_with_name",
    "title_begins_with_name",
    "name_begins_with_title",
    "name_form_of_title",
    "name_abbreviates_title",
)
_TO_KEY: tuple[str, ...] = ("name_ends_with_key", "key_ends_with_name")
_TITLES = ("title_begins", "title_begun", "title_ends")
_LEADING = ("title_begins", "common_keys", "name_ends_with_key", "title_ends_with_name")


def _share_at_end(name: str, end: str) -> float:
    return len(end) / len(name) if end and name.endswith(end) else 0.0


def _share_at_start(name: str, start: str) -> float:
    return len(start) / len(name) if start and name != start and name.startswith(start) else 0.0


def _measure_once(
    measure: Callable[[int, int], tuple[float, ...]],
    left: PairInts,
    right: PairInts,
    column: PairInts,
    key: PairInts,
) -> Float[np.ndarray, "pair measure"]:
    """Measure one of the pairs with each combination of left and right; the others are equal."""
    number = left.astype(np.int64) * (int(right.max(initial=0)) + 1) + right
    _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
    ends = zip(column[first].tolist(), key[first].tolist(), strict=True)
    return np.array([measure(*pair) for pair in ends])[inverse]


def _share_of_table(header: HeaderNames, candidates: DescribedCandidates) -> PairFloats:
    """Return the share of each key in all that refers to its table, by the scores so far."""
    key = candidates.pairs.referenced
    odds = np.exp(np.clip(candidates.scores, -20.0, 0.0))
    table = header.names.lake.table_of[key]
    return np.bincount(key, odds)[key] / np.bincount(table, odds)[table]


def correct_by_header_trees(candidates: DescribedCandidates) -> PairFloats:
    """Return the corrections by the trees that come with the package."""
    trees: TreeEnsemble = shipped_trees(SHIPPED_HEADER_TREES)
    return trees(candidates.rows)
