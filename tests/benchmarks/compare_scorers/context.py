"""Compute features that describe the context of candidate pairs, for gradient-boosted trees.

The pair network learns from messages what a pair's context tells. These features say by hand what
one would look for: mutual ranks, competitors, joins of the two tables' other columns, and common
neighbours.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int
from scipy import sparse

from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES, log_odds
from datahub_hyperjoin.model.ranking.tree_scoring import PairGraph, to_candidate_pairs
from datahub_hyperjoin.model.signals.sketches import row_products

_Values = Float[np.ndarray, " pair"]
_Group = Int[np.ndarray, " pair"]

_NONE = float(log_odds(np.zeros(1))[0])
"""Used as the log-odds of a pair that is not a candidate."""
_NEAR = 1.0
"""Difference of log-odds up to which a competitor counts as hardly worse than a pair."""
_APART = 100.0
"""Offset that separates groups of pairs in a sorted list; it exceeds any difference of log-odds."""
_LISTED = 8
"""Number of best pairs between two tables that `_best_apart` searches."""
_COMPARED = (
    "containment beyond chance",
    "names",
    "cells",
    "probability that left refers to right",
    "probability that right refers to left",
)
"""Features, besides the evidence, in which a pair is compared with its competitors."""


@dataclass(frozen=True)
class _Grouped:
    """One value for each pair, to be compared with the values of other pairs in the same group."""

    values: _Values
    group: _Group
    order: Int[np.ndarray, " pair"]
    """Indices of the pairs, sorted by group, and by falling value within each group."""

    start: Int[np.ndarray, " pair"]
    """For each pair, the position in the order at which its group starts."""

    @classmethod
    def of(cls, values: _Values, group: _Group) -> "_Grouped":
        order = np.lexsort((-values, group))
        return cls(values, group, order, np.searchsorted(group[order], group))

    @property
    def size(self) -> _Group:
        """For each pair, the number of pairs in its group."""
        return np.searchsorted(self.group[self.order], self.group, side="right") - self.start

    @property
    def rank(self) -> _Group:
        """The position of each pair in its group, from 0 for the best pair."""
        position = np.empty(len(self.order), dtype=np.int64)
        position[self.order] = np.arange(len(self.order))
        return position - self.start

    def at(self, rank: int) -> tuple[_Group, Bool[np.ndarray, " pair"]]:
        """For each pair, return the pair at `rank` in the same group, and whether there is one."""
        exists = rank < self.size
        return self.order[np.where(exists, self.start + rank, self.start)], exists

    @property
    def best(self) -> _Values:
        """For each pair, the greatest value in its group."""
        return self.values[self.at(0)[0]]

    @property
    def best_other(self) -> _Values:
        """For each pair, the greatest value among the other pairs of its group."""
        second, exists = self.at(1)
        others = np.where(exists, self.values[second], _NONE)
        return np.where(self.rank == 0, others, self.best)

    @property
    def near(self) -> _Group:
        """For each pair, the number of other pairs in its group that are better or hardly worse."""
        place = self.group * _APART - self.values
        return np.searchsorted(place[self.order], place + _NEAR, side="right") - self.start - 1


def _total(values: _Values, group: _Group) -> _Values:
    return np.bincount(group, values)[group]


def _best_apart(graph: PairGraph, between: _Grouped) -> _Values:
    """For each pair, return the greatest value among other pairs between the same two tables.

    Pairs that share a column with the pair do not count.
    """
    best = np.full(len(graph.left), _NONE)
    for rank in reversed(range(_LISTED)):
        other, exists = between.at(rank)
        for one in (graph.left, graph.right):
            for end in (graph.left, graph.right):
                exists &= one[other] != end
        best = np.where(exists, between.values[other], best)
    return best


def _common_neighbours(graph: PairGraph) -> tuple[_Values, _Values]:
    """For each pair, return the dot product and the cosine of both columns' score vectors.

    The score vector of a column holds its scores with all columns.
    """
    count = len(graph.table_of)
    directed = sparse.csr_array((graph.by_evidence, (graph.left, graph.right)), (count, count))
    both = sparse.csr_array(directed.maximum(directed.T))
    products = row_products(both, both, graph.left, graph.right)
    lengths = np.sqrt(both.multiply(both).sum(axis=1))
    return products, products / np.maximum(lengths[graph.left] * lengths[graph.right], 1e-6)


def measure_context(graph: PairGraph) -> Float32[np.ndarray, "pair context"]:
    """Describe the context of each candidate pair.

    Args:
        graph: The candidate pairs, sorted by key column, then candidate.

    Returns:
        Numbers that are comparable between lakes.
    """
    pairs = to_candidate_pairs(graph)
    measured = [
        *_competition(graph, graph.left),
        *_competition(graph, graph.right),
        *_mutual(graph, pairs.reverse),
        *_between(graph, pairs.tables, pairs.towards),
        *_common_neighbours(graph),
    ]
    return np.column_stack(measured).astype(np.float32)


def _competition(graph: PairGraph, end: _Group) -> list[_Values]:
    """Compare each pair with the other pairs of one of its columns."""
    evidence = log_odds(graph.by_evidence)
    grouped = _Grouped.of(evidence, end)
    measured = [evidence - grouped.best_other, np.log1p(grouped.rank), np.log1p(grouped.near)]
    measured += [grouped.best, np.log1p(_total(graph.by_evidence, end))]
    for name in _COMPARED:
        compared = _Grouped.of(graph.rows[:, PAIR_FEATURES.index(name)].astype(np.float64), end)
        measured.append(compared.values - np.maximum(compared.best_other, 0.0))
    return measured


def _mutual(graph: PairGraph, reverse: _Group) -> list[_Values]:
    """Compare each pair with its reversed pair.

    `reverse` is the index of the reversed pair, or -1 if the reversed pair does not exist.
    """
    evidence = log_odds(graph.by_evidence)
    rank = _Grouped.of(evidence, graph.left).rank
    back = np.where(reverse >= 0, rank[reverse], rank.max(initial=0) + 1)
    best = np.where(reverse >= 0, evidence[reverse], _NONE)
    return [best, np.log1p(back), np.log1p(np.maximum(rank, back))]


def _between(graph: PairGraph, tables: _Group, towards: _Group) -> list[_Values]:
    """For each pair, compute features of the other possible joins between the pair's two tables."""
    evidence, probability = log_odds(graph.by_evidence), graph.by_evidence
    first, second = graph.table_of[graph.left], graph.table_of[graph.right]
    columns = len(graph.table_of)
    from_table = np.unique(first * columns + graph.right, return_inverse=True)[1]
    between = _Grouped.of(evidence, tables)
    return [
        _best_apart(graph, between),
        np.log1p(_total(probability, tables) - probability),
        np.log1p(between.size),
        _Grouped.of(evidence, towards).best_other,
        _Grouped.of(evidence, from_table).best_other,
        np.log1p(_total(probability, first)),
        np.log1p(_total(probability, second)),
    ]
