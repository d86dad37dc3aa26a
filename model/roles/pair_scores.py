"""Score possible references by the weighted clues of each pair."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from datahub_hyperjoin.model.lake import ALL_UNIQUE, Lake
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates, holds_days
from datahub_hyperjoin.model.roles.name_clues import NameClues, NameComparison
from datahub_hyperjoin.model.roles.words import spell
from datahub_hyperjoin.model.signals.names import meaningful_words, tokens
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnMask,
    PairFloats,
    PairInts,
    PairMask,
    chunks,
)
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.model.signals.sketches import row_products


@dataclass(frozen=True, kw_only=True)
class ReferenceWeights:
    """The weight of each clue, such as identical names, for or against a reference."""

    prior: float = -4.5  # log-odds that a column refers to a given key, before any clue is known
    # Multiplies the negative logarithm of the share of the column's values that the key lacks.
    containment: float = 0.8
    # Multiplies the negative logarithm of the probability that the values match by chance.
    rarity: float = 1.0
    # Weight if the key holds many values of a text column; words hardly ever match by chance.
    words: float = 2.0
    column_in_key: float = 2.0
    key_in_column: float = 3.0
    table_in_column: float = 1.5
    names_table: float = 1.5
    continues_table: float = 2.0
    # Multiplies how surely the column is named after people by what they do, such as `created_by`,
    # if the key's table lists people.
    actor: float = 4.0
    same_name: float = 0.5
    other_word: float = -1.0
    # Weight if only the key is named as an identifier, and the referring column looks like a
    # measure: it is not named after the key, and holds few of the key's numbers.
    unmarked: float = -1.5
    # Weight if the referring column holds whole numbers and is named as a count, a measure or a
    # position, such as `room_count` or `sort_order`. It refers to nothing, but its small numbers
    # occur in every key of consecutive numbers.
    measures: float = -3.0
    # Weight if the referring column holds text and is named as a label, such as `name`, and the
    # key's table has another key before. Different things may have the same name.
    labels: float = -8.0
    # Weight if the referring column is unique and looks most like the key of its table. The weight
    # is not added if that table extends the key's table: the two columns then have the same name,
    # and the key has all values of the referring column and others.
    leading_column: float = -2.5
    # Weight, added to `leading_column`, if the referring column is called `id` or named after its
    # own table.
    own_key: float = -2.0
    uniqueness: float = -2.0  # weight if the referring column repeats no value
    density: float = -1.0  # weight if the referring column holds consecutive numbers
    # Weight of a score for columns of consecutive numbers: the share of the key's values that the
    # column holds, minus one half. Every counter holds 1 to 10, so this share tells keys of
    # different sizes apart.
    coverage: float = 1.0
    leading_key: float = 1.0  # weight if the key is unique and looks most like one
    # Weight if another column of the table looks more like its key, and neither this key nor the
    # referring column is named after that table.
    other_key: float = -1.0
    # Weight if the referring column is named after another table, but the key is in a third table.
    other_table: float = -3.0
    # Weight if the key is a calendar that holds all of a column of days, and its increase if both
    # write days alike. A calendar has a column of each kind, and names hardly tell them apart.
    calendar: float = 1.0
    kind_of_day: float = 1.5
    style: float = -0.7
    # Weight if the key is in the column's own table, where all names and styles are alike.
    own_table: float = -6.0
    # Weight if the key is in the column's own table, and the column is called `parent`, `manager`
    # or the like.
    parent_in_table: float = 5.0
    elsewhere: float = -1.5  # weight if the tables are in different folders or schemas
    same_number: float = 0.5
    same_prefix: float = 1.0
    vocabulary: float = 1.0
    # Weight if the tables belong to two groups that hardly refer to each other.
    other_group: float = -1.5
    catalog: float = 16.0  # weight if the catalog or a person connects the pair
    # Weight if all known references from columns of the same name lead to this key. Known
    # references are those in the same group of tables that the catalog or a person states.
    namesake: float = 3.0
    # Weight for each doubling of the number of rejected pairs whose columns have the same names.
    rejected: float = -3.0
    # Weight if columns of the same name in many other folders or schemas together fit this key
    # best. It is multiplied by the probability that they all refer to this key.
    common_key: float = 3.0
    # Number of keys of each column whose scores trees correct; all others are far behind.
    corrected: int = 8
    reads_names: bool = True  # whether the clues include the names of tables and columns

    def without_names(self) -> "ReferenceWeights":
        """Return weights that ignore the names of columns and tables."""
        # Without names, those of any two tables end in the same number: none.
        return replace(self, reads_names=False, same_number=0.0)


DEFAULT_WEIGHTS = ReferenceWeights()
"""The default weights: round numbers, chosen on the development lakes. Small changes of the weights
hardly affect the results."""


_SUFFIX = re.compile(r"\d+$")

_STYLES = 4
"""Number of yes-or-no properties that describe how a name is written, such as all capitals."""


@dataclass(frozen=True)
class TableClues:
    """Clues that show whether the two tables of each pair belong to the same database."""

    # Number of differences in the way the names of both tables are written, from 0 to 4.
    style: PairFloats
    elsewhere: PairFloats  # 1 if the tables are in different folders or schemas
    same_number: (
        PairFloats  # 1 if both names end in the same number, or if neither ends in a number
    )
    same_prefix: PairFloats  # 1 if both names start with the same word
    vocabulary: (
        PairFloats  # cosine of the sets of column names, weighted by their rarity, in [0, 1]
    )


def _style(title: str) -> tuple[bool, ...]:
    return title.isupper(), title.islower(), "_" in title, " " in title


def _prefix(title: str) -> str:
    words = tokens(title)
    return words[0] if words[1:] else ""


def title_number(title: str) -> str:
    """Return the number at the end of a table's title."""
    # It tells copies of a database apart.
    number = _SUFFIX.search(title)
    return number.group() if number else ""


def _numbered(names: Sequence[str]) -> Int[np.ndarray, " table"]:
    return np.unique(np.array(names, dtype=object).astype(str), return_inverse=True)[1]


class TableComparison:
    """An object that collects the clues of two tables."""

    def __init__(self, lake: Lake) -> None:
        count = len(lake.titles)
        styles = [_style(title) for title in lake.titles]
        self._style = np.array(styles, dtype=bool).reshape(count, _STYLES)
        self._suffix = _numbered([title_number(title) for title in lake.titles])
        prefixes = [_prefix(title) for title in lake.titles]
        self._prefix = _numbered(prefixes)
        self._has_prefix = np.array([bool(prefix) for prefix in prefixes], dtype=bool)
        self._place = lake.table_places
        self._vocabulary = _weigh_vocabulary(lake)
        squares = self._vocabulary.multiply(self._vocabulary)
        self._lengths = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())

    def of(self, left: PairInts, right: PairInts) -> TableClues:
        """Collect clues whether tables `left[i]` and `right[i]` are in one database."""
        # Many pairs of columns belong to the same two tables, which are compared once.
        count = len(self._style)
        distinct, inverse = np.unique(left * count + right, return_inverse=True)
        first, second = distinct // count, distinct % count
        place, suffix, prefix, style = self._place, self._suffix, self._prefix, self._style
        same_prefix = (prefix[first] == prefix[second]) & self._has_prefix[first]
        return TableClues(
            elsewhere=(place[first] != place[second])[inverse].astype(np.float64),
            style=(style[first] != style[second]).sum(axis=1)[inverse].astype(np.float64),
            same_number=(suffix[first] == suffix[second])[inverse].astype(np.float64),
            same_prefix=same_prefix[inverse].astype(np.float64),
            vocabulary=self._compare_vocabulary(first, second)[inverse],
        )

    def _compare_vocabulary(self, left: PairInts, right: PairInts) -> PairFloats:
        products = row_products(self._vocabulary, self._vocabulary, left, right)
        return products / np.maximum(self._lengths[left] * self._lengths[right], 1e-9)


def _weigh_vocabulary(lake: Lake) -> sparse.csr_array:
    """Return a matrix of tables by column names: the rarity of each name that a table has."""
    names = _numbered(lake.paths)
    ones = np.ones(len(names))
    shape = (len(lake.titles), int(names.max(initial=0)) + 1)
    holds = sparse.csr_array((ones, (lake.table_of, names)), shape).sign().tocsr()
    # A column name that every table has, such as `id`, tells nothing.
    rarity = np.log(max(shape[0], 1) / np.maximum(np.asarray(holds.sum(axis=0)).ravel(), 1))
    return sparse.csr_array(holds.multiply(rarity[None, :]))


@dataclass(frozen=True)
class KeyClues:
    """Clues as to whether each column is the key of its table."""

    # Columns that are unique and look most like the key of their table.
    leads: ColumnMask
    # Columns that are called `id` or named after their own table.
    own_name: ColumnMask
    # Columns that look less like a key than a unique and complete column of their table.
    has_rival: ColumnMask
    # Columns that are named after another table, and not after their own.
    names_other: ColumnMask
    is_calendar: ColumnMask  # unique columns that hold most days of a period


def _name_others(lake: Lake) -> ColumnMask:
    """Mark the columns that have the name of another table."""
    titles = lake.title_spellings
    known = frozenset().union(*titles)
    names = spell(map(meaningful_words, lake.column_words), lake.title_prefixes)
    named = (
        not name.isdisjoint(known) and name.isdisjoint(titles[table])
        for name, table in zip(names, lake.table_of.tolist(), strict=True)
    )
    return np.fromiter(named, dtype=bool, count=len(lake))


def find_key_clues(lake: Lake, uniqueness: ColumnFloats, is_key: ColumnMask) -> KeyClues:
    """For each column, collect clues as to whether it is the key of its table."""
    complete = lake.mask(lambda profile: profile.completeness >= ALL_UNIQUE)
    unique = uniqueness >= ALL_UNIQUE
    first: Int[np.ndarray, " table"] = np.full(len(lake.titles), np.iinfo(np.int64).max)
    own_key = unique & complete & is_key
    np.minimum.at(first, lake.table_of[own_key], lake.standing[own_key])
    names_other = _name_others(lake)
    titles = [{*words} for words in lake.title_words]
    own_name = [
        bool(words) and titles[table].issuperset(meaningful_words(words))
        for table, words in zip(lake.table_of.tolist(), lake.column_words, strict=True)
    ]
    # The numbers that a calendar has of its days are no better key.
    is_calendar = is_key & lake.mask(holds_days)
    return KeyClues(
        leads=unique & ((lake.standing == 0) | is_calendar),
        own_name=np.array(own_name, dtype=bool) & ~names_other,
        has_rival=(first[lake.table_of] < lake.standing) & ~is_calendar,
        names_other=names_other,
        is_calendar=is_calendar,
    )


_ALL = 0.98
"""Minimum estimated containment at which a key is assumed to hold all values of a column."""
_GAPLESS = 0.999
"""A column has no gaps if its numbers fill at least this share of their range."""
_MANY_WORDS = 50
"""Maximum number of shared words that count as evidence."""


def _find_measures(lake: Lake, candidates: ReferenceCandidates, names: NameClues) -> PairFloats:
    """For each pair, score from 0 to 1 how much the column looks like a measure, such as an age."""
    # A measure refers to no key. Its numbers are few of the key's, and its name neither marks an
    # identifier, as the key's does, nor is that of the key or its table.
    explained = np.maximum(names.column_explained, names.table_explained)
    is_whole = lake.is_whole[candidates.referring]
    return names.unmarked * is_whole * (1 - _measure_coverage(lake, candidates)) * (1 - explained)


def _measure_coverage(lake: Lake, candidates: ReferenceCandidates) -> PairFloats:
    """Return the share of each key's values that the column holds."""
    # Rostin et al. (2009), "A Machine Learning Approach to Foreign Key Discovery".
    shared = lake.distinct[candidates.referring] * candidates.containment
    return np.minimum(shared / np.maximum(lake.distinct[candidates.referenced], 1), 1)


def _find_parts(lake: Lake, candidates: ReferenceCandidates) -> PairMask:
    """Mark the pairs in which the column's values are a proper subset of the key's values."""
    # Numbers without gaps are no part of another counter, but one of their own.
    column, key = candidates.referring, candidates.referenced
    is_counter = lake.density[column] >= _GAPLESS
    is_smaller = lake.distinct[column] < lake.distinct[key]
    return is_smaller & (candidates.containment >= _ALL) & ~is_counter


def _find_kinds_of_days(
    lake: Lake, candidates: ReferenceCandidates, is_calendar: ColumnMask
) -> tuple[PairMask, PairMask]:
    """Mark the pairs of days with a calendar that holds all of them, and those written alike."""
    column, key = candidates.referring, candidates.referenced
    of_days = is_calendar[key] & (candidates.containment >= _ALL)
    at = np.flatnonzero(of_days)
    of_days[at] = [holds_days(lake.profiles[each]) for each in column[at].tolist()]
    alike = np.zeros(len(of_days), dtype=bool)
    for each in np.flatnonzero(of_days).tolist():
        ends = (lake.profiles[end].patterns[:1] for end in (column[each], key[each]))
        shapes = [[pattern.shape for pattern in found] for found in ends]
        alike[each] = shapes[0] == shapes[1]
    return of_days, alike


def _words_in_common(lake: Lake, candidates: ReferenceCandidates) -> PairFloats:
    """Score how well each key covers the words of a text column, from -1 to 1."""
    column, key = candidates.referring, candidates.referenced
    shared = np.minimum(lake.distinct[column] * candidates.containment, _MANY_WORDS)
    amount = np.log1p(shared) / np.log1p(_MANY_WORDS)
    # Words match by meaning: if the key lacks one word in four, the others are no evidence.
    amount *= np.maximum(4 * candidates.containment - 3, -1)
    return np.where(lake.is_text[column] & lake.is_text[key], amount, 0.0)


_MANY_VALUES = 8
"""Minimum number of distinct values of a column for full trust in its matches; fewer values may
all match by chance."""
_PAIRS = 1 << 19
"""Number of pairs whose clues are collected at once, which takes some 100 MB."""


ALIKE = 0.25
"""Two tables may be grouped if their column names are more similar than this."""


@dataclass(frozen=True)
class TablePairs:
    """What the tables of all pairs have in common, as far as it is needed at once."""

    # Whether the two tables are in different folders or schemas.
    elsewhere: PairMask
    # The positions of the pairs of tables with similar column names.
    alike: Int[np.ndarray, " alike"]
    likeness: Float[np.ndarray, " alike"]  # how similar these names are


class ScoredPairs(NamedTuple):
    """Possible references with their scores."""

    scores: PairFloats  # log-odds
    tables: TablePairs
    # The positions of the pairs in which a label seems to refer to a label beside a key, and the
    # share of the name of the key's table that the column's name lacks.
    labels: Int[np.ndarray, " label"]
    label_shares: Float[np.ndarray, " label"]


def split_pairs(count: int) -> Iterator[slice]:
    """Divide pairs into parts whose clues fit into memory."""
    return chunks(count, _PAIRS)


MAX_SCORE = 30.0
"""Greatest score, which keeps exponentials finite."""


def normalise(column: PairInts, scores: PairFloats) -> PairFloats:
    """Convert the scores of each column's possible keys to probabilities."""
    # In place, since there may be hundreds of pairs for each column.
    odds = np.clip(scores, -MAX_SCORE, MAX_SCORE)
    np.exp(odds, out=odds)
    total = 1 + np.bincount(column, odds, minlength=int(column.max(initial=-1)) + 1)
    for some in split_pairs(len(odds)):
        odds[some] /= total[column[some]]
    return odds


def score_references(candidates: ReferenceCandidates, scorer: "ReferenceScorer") -> ScoredPairs:
    """Add up the clues of each possible reference that hold whatever other columns refer to."""
    scores, elsewhere = np.zeros(count := len(candidates.referring)), np.zeros(count, dtype=bool)
    none = np.zeros(0, dtype=np.int64)
    parts = [(none, np.zeros(0), none, np.zeros(0))]
    for some in split_pairs(count):
        tables = scorer.compare_tables(part := candidates.part(some))
        scores[some], label = scorer.score(part, tables)
        elsewhere[some] = tables.elsewhere > 0
        similar = np.flatnonzero(tables.vocabulary > ALIKE)
        at = some.start + similar, some.start + np.flatnonzero(label)
        parts.append((at[0], tables.vocabulary[similar], at[1], label[label > 0]))
    alike, likeness, labels, shares = map(np.concatenate, zip(*parts, strict=True))
    return ScoredPairs(scores, TablePairs(elsewhere, alike, likeness), labels, shares)


@dataclass(frozen=True)
class ReferenceScorer:
    """An object that scores possible references by a weighted sum of clues."""

    lake: Lake
    uniqueness: ColumnFloats
    weights: ReferenceWeights
    names: NameComparison
    keys: KeyClues
    tables: TableComparison
    # Weight of each column's containments. It is low for a column with few distinct values, because
    # many keys contain these values by chance.
    trust: ColumnFloats

    @classmethod
    def of(
        cls, lake: Lake, priors: CatalogPriors, is_key: ColumnMask, weights: ReferenceWeights
    ) -> "ReferenceScorer":
        """Prepare to score the possible references of a lake."""
        keys = find_key_clues(lake, priors.uniqueness, is_key)
        trust = np.log1p(np.minimum(lake.distinct, _MANY_VALUES)) / np.log1p(_MANY_VALUES)
        names, tables = NameComparison(lake), TableComparison(lake)
        return cls(lake, priors.uniqueness, weights, names, keys, tables, trust)

    def compare_tables(self, candidates: ReferenceCandidates) -> TableClues:
        """Collect the clues of the two tables of each pair."""
        table_of = self.lake.table_of
        return self.tables.of(table_of[candidates.referring], table_of[candidates.referenced])

    def score(
        self, candidates: ReferenceCandidates, tables: TableClues
    ) -> tuple[PairFloats, PairFloats]:
        """Return the score of each pair, and how much it looks like two labels."""
        weights = vars(self.weights)
        scores = np.full(len(candidates.referring), self.weights.prior)
        clues = self.clues(candidates, tables)
        labels = clues.pop("labels")
        for name, clue in clues.items():
            scores += weights[name] * clue
        return scores, labels

    def clues(
        self, candidates: ReferenceCandidates, tables: TableClues
    ) -> dict[str, PairFloats | PairMask]:
        """Return the clues of each pair, each under the name of its weight."""
        lake, keys = self.lake, self.keys
        column, key = candidates.referring, candidates.referenced
        names, trust = self.names.of(column, key), self.trust[column]
        within = lake.table_of[column] == lake.table_of[key]
        extends = keys.leads[key] & (names.same_name > 0) & _find_parts(lake, candidates)
        lone = keys.has_rival[key] & ~keys.own_name[key]
        of_days, alike = _find_kinds_of_days(lake, candidates, keys.is_calendar)
        return {
            "containment": -np.log(1.02 - candidates.containment) - 2,
            "rarity": -np.log(candidates.chance) * trust * candidates.containment,
            "words": _words_in_common(lake, candidates),
            "column_in_key": names.column_explained,
            "key_in_column": names.key_in_column,
            "table_in_column": names.table_explained,
            "names_table": names.names_table,
            "continues_table": names.continues_table,
            "actor": names.actor * keys.leads[key],
            "same_name": names.same_name,
            "other_word": names.other_word,
            "unmarked": _find_measures(lake, candidates, names),
            "measures": lake.is_whole[column] * names.measures,
            "leading_column": keys.leads[column] & ~extends,
            "own_key": (keys.leads & keys.own_name)[column],
            "uniqueness": self.uniqueness[column],
            "density": lake.density[column],
            "coverage": lake.density[column] * (_measure_coverage(lake, candidates) - 0.5),
            "leading_key": keys.leads[key],
            "other_key": lone & (names.names_table == 0),
            "other_table": keys.names_other[column] & ~names.agree,
            "calendar": of_days,
            "kind_of_day": alike,
            "style": tables.style,
            "own_table": within,
            "parent_in_table": within * names.names_parent,
            "elsewhere": tables.elsewhere,
            "same_number": tables.same_number,
            "same_prefix": tables.same_prefix,
            "vocabulary": np.minimum(tables.vocabulary, 0.5),
            "labels": names.labels * (lake.is_text[column] & lone),
        }
