"""Score possible references by the clues of each pair."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates
from datahub_hyperjoin.model.roles.name_clues import (
    NameClues,
    NameComparison,
    column_stems,
    spell,
    table_prefixes,
)
from datahub_hyperjoin.model.roles.table_clues import TableClues, TableComparison
from datahub_hyperjoin.model.roles.table_groups import ALIKE, TablePairs
from datahub_hyperjoin.model.roles.weights import ReferenceWeights
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.model.signals.stems import Words, meaningful_words, stems

_UNIQUE = 0.999
"""Minimum uniqueness and completeness of a table's own key. It is below 1 because uniqueness may be
an estimate."""


@dataclass(frozen=True)
class KeyClues:
    """Clues as to whether each column is the key of its table."""

    leads: Bool[np.ndarray, " column"]
    """Columns that are unique and look most like the key of their table."""

    own_name: Bool[np.ndarray, " column"]
    """Columns that are called `id` or named after their own table."""

    has_rival: Bool[np.ndarray, " column"]
    """Columns that look less like a key than a unique and complete column of their table."""

    names_other: Bool[np.ndarray, " column"]
    """Columns that are named after another table, and not after their own."""


def _is_own(table: Words, name: Words) -> bool:
    return bool(name) and {*meaningful_words(name)} <= {*table}


def _name_others(
    lake: Lake, tables: Sequence[Words], columns: Sequence[Words]
) -> Bool[np.ndarray, " column"]:
    """Mark the columns that have the name of another table.

    `tables` and `columns` are the stems of their names.
    """
    prefixes = table_prefixes(tables)
    titles = spell(tables, prefixes)
    known = frozenset().union(*titles)
    names = spell(map(meaningful_words, columns), prefixes)
    named = (
        not name.isdisjoint(known) and name.isdisjoint(titles[table])
        for name, table in zip(names, lake.table_of.tolist(), strict=True)
    )
    return np.fromiter(named, dtype=bool, count=len(lake))


def find_key_clues(
    lake: Lake,
    columns: Sequence[Words],
    uniqueness: Float[np.ndarray, " column"],
    is_key: Bool[np.ndarray, " column"],
) -> KeyClues:
    """For each column, collect clues as to whether it is the key of its table.

    Args:
        columns: The names of the columns, as `column_stems` splits them.
        uniqueness: Uniqueness of each column in the whole table.
    """
    complete = np.array([profile.completeness >= _UNIQUE for profile in lake.profiles], dtype=bool)
    unique = uniqueness >= _UNIQUE
    first: Int[np.ndarray, " table"] = np.full(len(lake.titles), np.iinfo(np.int64).max)
    own_key = unique & complete & is_key
    np.minimum.at(first, lake.table_of[own_key], lake.standing[own_key])
    tables = [stems(title) for title in lake.titles]
    names_other = _name_others(lake, tables, columns)
    names = zip((tables[table] for table in lake.table_of), columns, strict=True)
    own_name = np.array([_is_own(table, name) for table, name in names], dtype=bool)
    return KeyClues(
        leads=unique & (lake.standing == 0),
        own_name=own_name & ~names_other,
        has_rival=first[lake.table_of] < lake.standing,
        names_other=names_other,
    )


_ALL = 0.98
"""Minimum estimated containment at which a key is assumed to hold all values of a column."""
_GAPLESS = 0.999
"""A column has no gaps if its numbers fill at least this share of their range."""
_MANY_WORDS = 50
"""Maximum number of shared words that count as evidence."""


def find_measures(
    lake: Lake,
    candidates: ReferenceCandidates,
    names: NameClues,
    distinct: Float[np.ndarray, " column"],
) -> Float[np.ndarray, " pair"]:
    """For each pair, score from 0 to 1 how much the column looks like a measure, such as an age.

    A measure refers to no key. Its numbers are few of the key's, and its name neither marks an
    identifier, as the key's does, nor is that of the key or its table.
    """
    column = candidates.referring
    explained = np.maximum(names.column_explained, names.table_explained)
    return (
        names.unmarked * lake.is_whole[column] * (1 - _held(candidates, distinct)) * (1 - explained)
    )


def compare_sizes(
    candidates: ReferenceCandidates, distinct: Float[np.ndarray, " column"]
) -> Float[np.ndarray, " pair"]:
    """Score each pair by the share of the key's values that the column holds.

    The score is this share minus ½, so it lies between -½ and ½. The share is the *coverage* of
    Rostin et al. (2009), "A Machine Learning Approach to Foreign Key Discovery".
    """
    return _held(candidates, distinct) - 0.5


def _held(
    candidates: ReferenceCandidates, distinct: Float[np.ndarray, " column"]
) -> Float[np.ndarray, " pair"]:
    """Return the share of each key's values that the column holds."""
    shared = distinct[candidates.referring] * candidates.containment
    return np.minimum(shared / np.maximum(distinct[candidates.referenced], 1), 1)


def find_parts(
    lake: Lake, candidates: ReferenceCandidates, distinct: Float[np.ndarray, " column"]
) -> Bool[np.ndarray, " pair"]:
    """Mark the pairs in which the column's values are a proper subset of the key's values.

    Numbers without gaps are no part of another counter, but one of their own.
    """
    column, key = candidates.referring, candidates.referenced
    is_counter = lake.density[column] >= _GAPLESS
    return (distinct[column] < distinct[key]) & (candidates.containment >= _ALL) & ~is_counter


def words_in_common(
    lake: Lake, candidates: ReferenceCandidates, distinct: Float[np.ndarray, " column"]
) -> Float[np.ndarray, " pair"]:
    """Score how well each key covers the words of a text column, from -1 to 1.

    The score is negative if the key lacks more than a quarter of the column's values. It is 0 if
    one of the two holds no text.
    """
    column, key = candidates.referring, candidates.referenced
    shared = np.minimum(distinct[column] * candidates.containment, _MANY_WORDS)
    amount = np.log1p(shared) / np.log1p(_MANY_WORDS)
    # Words match by meaning: if the key lacks one word in four, the others are no evidence.
    amount *= np.maximum(4 * candidates.containment - 3, -1)
    return np.where(lake.is_text[column] & lake.is_text[key], amount, 0.0)


_MANY_VALUES = 8
"""Minimum number of distinct values of a column for full trust in its matches; fewer values may
all match by chance."""
_PAIRS = 1 << 19
"""Number of pairs whose clues are collected at once, which takes some 100 MB."""


class LabelPairs(NamedTuple):
    """The pairs in which a label seems to refer to a label beside a key."""

    at: Int[np.ndarray, " label"]
    """The positions of the pairs."""

    share: Float[np.ndarray, " label"]
    """The share of the name of the key's table that the column's name lacks."""


class ScoredPairs(NamedTuple):
    """Possible references with their scores."""

    scores: Float[np.ndarray, " pair"]
    """Log-odds."""

    tables: TablePairs
    labels: LabelPairs


def split_pairs(count: int) -> Iterator[slice]:
    """Divide pairs into parts whose clues fit into memory."""
    return (slice(start, start + _PAIRS) for start in range(0, count, _PAIRS))


def score_references(
    lake: Lake, priors: CatalogPriors, candidates: ReferenceCandidates, weights: ReferenceWeights
) -> ScoredPairs:
    """Add up the clues of each possible reference that hold whatever other columns refer to.

    Returns:
        The scores, without the clue of labels, and what the later clues need.
    """
    scores, elsewhere = np.zeros(count := len(candidates.referring)), np.zeros(count, dtype=bool)
    alike, likeness = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    labels, shares = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    scorer = _Scorer.of(lake, priors, candidates.is_key, weights)
    comparison = TableComparison(lake)
    for some in split_pairs(count):
        part = candidates.part(some)
        tables = comparison.of(lake.table_of[part.referring], lake.table_of[part.referenced])
        scores[some], label = scorer.score(part, tables)
        elsewhere[some] = tables.elsewhere > 0
        labels.append(some.start + np.flatnonzero(label))
        shares.append(label[label > 0])
        similar = np.flatnonzero(tables.vocabulary > ALIKE)
        alike.append(some.start + similar)
        likeness.append(tables.vocabulary[similar])
    return ScoredPairs(
        scores,
        TablePairs(elsewhere, np.concatenate(alike), np.concatenate(likeness)),
        LabelPairs(np.concatenate(labels), np.concatenate(shares)),
    )


@dataclass(frozen=True)
class _Scorer:
    """An object that scores possible references by a weighted sum of clues."""

    lake: Lake
    uniqueness: Float[np.ndarray, " column"]
    weights: ReferenceWeights
    names: NameComparison
    keys: KeyClues
    distinct: Float[np.ndarray, " column"]
    """Number of distinct values of each column."""

    trust: Float[np.ndarray, " column"]
    """Weight of each column's containments. It is low for a column with few distinct values,
    because many keys contain these values by chance."""

    @classmethod
    def of(
        cls,
        lake: Lake,
        priors: CatalogPriors,
        is_key: Bool[np.ndarray, " column"],
        weights: ReferenceWeights,
    ) -> "_Scorer":
        columns = column_stems(lake)
        names = NameComparison(lake, columns)
        keys = find_key_clues(lake, columns, priors.uniqueness, is_key)
        distinct = np.array([profile.distinct for profile in lake.profiles], dtype=np.float64)
        trust = np.log1p(np.minimum(distinct, _MANY_VALUES)) / np.log1p(_MANY_VALUES)
        return cls(lake, priors.uniqueness, weights, names, keys, distinct, trust)

    def score(
        self, candidates: ReferenceCandidates, tables: TableClues
    ) -> tuple[Float[np.ndarray, " pair"], Float[np.ndarray, " pair"]]:
        """Return the score of each pair, and how much it looks like two labels."""
        lake, weights, keys, distinct = self.lake, self.weights, self.keys, self.distinct
        column, key = candidates.referring, candidates.referenced
        names, trust = self.names.of(column, key), self.trust[column]
        within = lake.table_of[column] == lake.table_of[key]
        extends = keys.leads[key] & (names.same_name > 0) & find_parts(lake, candidates, distinct)
        lone = keys.has_rival[key] & ~keys.own_name[key]
        scores = (
            weights.prior
            + weights.containment * (-np.log(1.02 - candidates.containment) - 2)
            - weights.rarity * np.log(candidates.chance) * trust * candidates.containment
            + weights.words * words_in_common(lake, candidates, distinct)
            + weights.column_in_key * names.column_explained
            + weights.key_in_column * names.key_in_column
            + weights.table_in_column * names.table_explained
            + weights.names_table * names.names_table
            + weights.continues_table * names.continues_table
            + weights.same_name * names.same_name
            + weights.other_word * names.other_word
            + weights.unmarked * find_measures(lake, candidates, names, distinct)
            + weights.measures * lake.is_whole[column] * names.measures
            + weights.leading_column * (keys.leads[column] & ~extends)
            + weights.own_key * (keys.leads & keys.own_name)[column]
            + weights.uniqueness * self.uniqueness[column]
            + weights.density * lake.density[column]
            + weights.coverage * lake.density[column] * compare_sizes(candidates, distinct)
            + weights.leading_key * keys.leads[key]
            + weights.other_key * (lone & (names.names_table == 0))
            + weights.other_table * (keys.names_other[column] & ~names.agree)
            + weights.style * tables.style
            + weights.own_table * within
            + weights.parent_in_table * within * names.names_parent
            + weights.elsewhere * tables.elsewhere
            + weights.same_number * tables.same_number
            + weights.same_prefix * tables.same_prefix
            + weights.vocabulary * np.minimum(tables.vocabulary, 0.5)
        )
        return scores, names.labels * (lake.is_text[column] & lone)
