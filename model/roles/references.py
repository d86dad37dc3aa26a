r"""Find the key that each column of a lake refers to, if any.

A column refers to at most one key. Its candidates compete, and so does the possibility that it
refers to none of them:

$$P(a \to b) = \frac{e^{s(a, b)}}{1 + \sum_{b'} e^{s(a, b')}}$$

The score s adds the evidence of values, names and tables as log-odds. References between tables of
one database support each other: a first pass finds groups of tables that refer to one another, and
the second pass discounts references that leave the group.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import (
    Containments,
    ReferenceCandidates,
    find_reference_candidates,
)
from datahub_hyperjoin.model.roles.common_keys import find_common_keys
from datahub_hyperjoin.model.roles.key_clues import KeyClues, find_key_clues
from datahub_hyperjoin.model.roles.name_clues import NameComparison, column_stems
from datahub_hyperjoin.model.roles.namesakes import Namesakes, follow_namesakes
from datahub_hyperjoin.model.roles.table_clues import TableClues, compare_tables
from datahub_hyperjoin.model.roles.value_clues import (
    compare_sizes,
    find_measures,
    find_parts,
    words_in_common,
)
from datahub_hyperjoin.model.roles.weights import DEFAULT_WEIGHTS, ReferenceWeights
from datahub_hyperjoin.model.signals.overlap import ValueOverlap
from datahub_hyperjoin.model.signals.priors import CatalogPriors

_LIKELY, _ALIKE = 0.2, 0.25
"""Two tables may be grouped if a reference between them is more probable than `_LIKELY`, or if
their column names are more similar than `_ALIKE`."""
_RESOLUTION = 0.5
"""Resolution of community detection; a value below 1 gives fewer and larger communities."""
_MANY_VALUES = 8
"""Minimum number of distinct values of a column for full trust in its matches; fewer values may
all match by chance."""
_NEGLIGIBLE = 1e-3
"""References with a lower probability are ignored."""
_SURE = 0.5
"""Minimum probability at which one key counts as referring to another key."""
_PAIRS = 1 << 19
"""Number of pairs whose clues are collected at once, which takes some 100 MB."""
_MAX_SCORE = 30.0
"""Greatest score, which keeps exponentials finite."""


@dataclass(frozen=True)
class References:
    """Possible references, each with its probability."""

    referring: Int[np.ndarray, " pair"]
    """For each pair, the index of the column that may refer to a key. Pairs are sorted by column,
    then by key."""

    referenced: Int[np.ndarray, " pair"]
    """For each pair, the index of the key to which the column may refer."""

    probability: Float[np.ndarray, " pair"]
    """Probability that the column refers to the key, in [0, 1]; the probabilities of all keys of a
    column add up to at most 1."""

    namesakes: Namesakes | None = None
    """The known references of each column's namesakes; None if they were not counted."""

    def select(self, kept: Bool[np.ndarray, " pair"]) -> "References":
        """Return some of the references.

        Args:
            kept: Whether each reference is kept.
        """
        namesakes = self.namesakes and self.namesakes.select(kept)
        ends = self.referring[kept], self.referenced[kept]
        return References(*ends, self.probability[kept], namesakes)

    @classmethod
    def empty(cls) -> "References":
        """Return an instance without references."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, np.zeros(0))

    @cached_property
    def best(self) -> Mapping[int, tuple[int, float]]:
        """The key that each column most probably refers to, and the probability of this reference.

        Two columns never refer to each other: the more probable direction is kept. If a key refers
        to another key, both are keys of the same things, and do not compete for a column.
        """
        return {
            column: (key, self._pooled(column, key)) for column, (key, _) in self._first.items()
        }

    @cached_property
    def _likely(self) -> Mapping[tuple[int, int], float]:
        """The references with a probability of at least 0.001, most probable first."""
        likely = np.flatnonzero(self.probability >= _NEGLIGIBLE)
        order = likely[np.argsort(-self.probability[likely], kind="stable")]
        pairs = zip(self.referring[order].tolist(), self.referenced[order].tolist(), strict=True)
        return dict(zip(pairs, self.probability[order].tolist(), strict=True))

    @cached_property
    def _first(self) -> Mapping[int, tuple[int, float]]:
        """Map each column to its most probable key.

        The most probable references come first. A key that already refers to a column cannot become
        the key of that column.
        """
        first: dict[int, tuple[int, float]] = {}
        for (column, key), probability in self._likely.items():
            if column not in first and first.get(key, (-1,))[0] != column:
                first[column] = key, probability
        return first

    @cached_property
    def _extensions(self) -> Mapping[int, Sequence[int]]:
        """For each key, the other keys that probably refer to it."""
        extensions: dict[int, list[int]] = defaultdict(list)
        keys = set(self.referenced.tolist())
        for column, (key, probability) in self._first.items():
            if column in keys and probability >= _SURE:
                extensions[key].append(column)
        return extensions

    def _pooled(self, column: int, key: int) -> float:
        """Return the total probability that a column refers to a key or to a linked key.

        Two keys are linked if one probably refers to the other. The total is at most 1.
        """
        alike = {key, *self._extensions.get(key, ())}
        base, sure = self._first.get(key, (key, 0.0))
        if sure >= _SURE:
            alike.add(base)
        total = sum(self._likely.get((column, other), 0.0) for other in alike - {column})
        return min(total, 1.0)


def find_references(
    lake: Lake,
    overlap: ValueOverlap,
    priors: CatalogPriors,
    containments: Containments | None = None,
    weights: ReferenceWeights = DEFAULT_WEIGHTS,
) -> References:
    """Find the key that each column probably refers to.

    Args:
        lake: The columns.
        overlap: Their estimated value overlap.
        priors: The catalog facts about them.
        containments: Containment of directed pairs that is known better than by the overlap, or
            within a table.
        weights: The log-odds of each clue.

    Returns:
        The probability of each possible reference.
    """
    lake = lake if weights.reads_names else _without_names(lake)
    candidates = find_reference_candidates(lake, overlap, priors, containments or {})
    return weigh_candidates(lake, priors, candidates, weights)


def weigh_candidates(
    lake: Lake,
    priors: CatalogPriors,
    candidates: ReferenceCandidates,
    weights: ReferenceWeights,
    further: Float[np.ndarray, " pair"] | float = 0.0,
) -> References:
    """For each possible reference, convert the summed log-odds of its clues to a probability.

    Args:
        lake: The columns.
        priors: The catalog facts about them.
        candidates: The possible references.
        weights: The log-odds of each clue.
        further: Log-odds of each pair by clues that are not among the weights.
    """
    column, key = lake.table_of[candidates.referring], lake.table_of[candidates.referenced]
    tables = compare_tables(lake, column, key)
    parts = [np.zeros(0)]
    scorer = _Scorer.of(lake, priors, candidates.is_key, weights)
    for start in range(0, len(column), _PAIRS):
        some = slice(start, start + _PAIRS)
        parts.append(scorer.score(candidates.part(some), tables.part(some)))
    connected = priors.connected.holds(candidates.referring, candidates.referenced)
    scores = np.concatenate(parts) + weights.catalog * connected + further
    groups = _group_tables(lake, candidates, tables, _normalise(candidates.referring, scores))
    scores += np.where(groups[column] == groups[key], 0.0, weights.other_group)
    namesakes = follow_namesakes(lake, candidates, connected, scores, groups)
    scores += weights.namesake * namesakes.share
    scores += weights.common_key * find_common_keys(
        lake,
        candidates,
        scores,
        _normalise(candidates.referring, scores),
        tables.elsewhere > 0,
    )
    probability = _normalise(candidates.referring, scores)
    return References(candidates.referring, candidates.referenced, probability, namesakes)


def _without_names(lake: Lake) -> Lake:
    """Return a copy of the lake in which all names are empty."""
    nameless = [replace(profile, id=replace(profile.id, path="")) for profile in lake.profiles]
    return replace(lake, profiles=tuple(nameless), titles=("",) * len(lake.titles))


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
    ) -> Float[np.ndarray, " pair"]:
        lake, weights, keys, distinct = self.lake, self.weights, self.keys, self.distinct
        column, key = candidates.referring, candidates.referenced
        names, trust = self.names.of(column, key), self.trust[column]
        within = lake.table_of[column] == lake.table_of[key]
        extends = keys.leads[key] & (names.same_name > 0) & find_parts(lake, candidates, distinct)
        lone = keys.has_rival[key] & ~keys.own_name[key]
        return (
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


def _normalise(
    column: Int[np.ndarray, " pair"], scores: Float[np.ndarray, " pair"]
) -> Float[np.ndarray, " pair"]:
    """Convert the scores of each column's possible keys to probabilities.

    The odds that the column refers to no key are set to 1.
    """
    odds = np.exp(np.clip(scores, -_MAX_SCORE, _MAX_SCORE))
    total = 1 + np.bincount(column, odds, minlength=int(column.max(initial=-1)) + 1)
    return odds / total[column]


def _group_tables(
    lake: Lake,
    candidates: ReferenceCandidates,
    tables: TableClues,
    probability: Float[np.ndarray, " pair"],
) -> Int[np.ndarray, " table"]:
    """Group the tables that refer to each other or have similar columns.

    The groups are the communities that the Louvain method finds.
    """
    weight = np.where(probability > _LIKELY, probability, 0.0)
    alike = np.where(tables.vocabulary > _ALIKE, tables.vocabulary, 0.0)
    first = lake.table_of[candidates.referring]
    second = lake.table_of[candidates.referenced]
    import networkx as nx  # noqa: PLC0415 (a tenth of a second; a run without changes needs none)

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(lake.titles)))
    connected = np.flatnonzero((weight + alike > 0) & (first != second))
    for pair in connected.tolist():
        ends = int(first[pair]), int(second[pair])
        known = graph.get_edge_data(*ends, default={"reference": 0.0, "alike": 0.0})
        reference = max(known["reference"], float(weight[pair]))
        likeness = max(known["alike"], float(alike[pair]))
        graph.add_edge(*ends, reference=reference, alike=likeness, weight=reference + likeness)
    groups = np.zeros(len(lake.titles), dtype=np.int64)
    communities = nx.community.louvain_communities(graph, seed=0, resolution=_RESOLUTION)
    for number, members in enumerate(communities):
        groups[list(members)] = number
    return groups
