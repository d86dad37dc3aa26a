"""Score possible references by the clues of each pair."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates
from datahub_hyperjoin.model.roles.key_clues import KeyClues, find_key_clues
from datahub_hyperjoin.model.roles.name_clues import NameComparison, column_stems
from datahub_hyperjoin.model.roles.table_clues import TableClues, TableComparison
from datahub_hyperjoin.model.roles.table_groups import ALIKE, TablePairs
from datahub_hyperjoin.model.roles.value_clues import (
    compare_sizes,
    find_measures,
    find_parts,
    words_in_common,
)
from datahub_hyperjoin.model.roles.weights import ReferenceWeights
from datahub_hyperjoin.model.signals.priors import CatalogPriors

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
