"""Collect each key column's strongest candidates for the network that corrects pair scores.

The network is `PairNetwork`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.noisy_or import combine, combine_background_knowledge
from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES, PairFeatures
from datahub_hyperjoin.model.ranking.pair_scoring import NoisyOrScorer

_Columns = Int[np.ndarray, " pair"]

_STRONGEST = 48
"""Number of candidates of each key column that the network sees."""
_KEYS = 1024
"""Key columns whose candidates are compared at once, which bounds memory."""
_CHUNK = 16_384
"""Pairs that are described at once."""


@dataclass(frozen=True)
class PairGraph:
    """The pairs of each key column with its strongest candidates, as input of the pair network.

    The pair network is a neural network that corrects the score of each pair. The pairs are sorted
    by key column, then by candidate.
    """

    left: Int[np.ndarray, " pair"]
    """The key column of each pair."""

    right: Int[np.ndarray, " pair"]
    """The candidate of each pair."""

    rows: Float32[np.ndarray, "pair feature"]
    """The features of each pair."""

    by_evidence: Float[np.ndarray, " pair"]
    """Score of each pair by evidence, in [0, 1], without what is known about it."""

    known: Float[np.ndarray, " pair"]
    """Score of each pair by codes, crosswalks and the catalog."""

    table_of: Int[np.ndarray, " column"]
    """The table of each column of the lake."""


def build_pair_graph(
    index: LakeIndex, noisy_or: NoisyOrScorer, candidates: Int[np.ndarray, "key candidate"]
) -> PairGraph:
    """Build the graph of all key columns with their strongest candidates.

    Args:
        index: The columns with their signals, catalog priors and references.
        noisy_or: Scores the candidates.
        candidates: Candidates of each key column; `NO_CANDIDATE` fills the remaining positions.
    """
    parts = [np.zeros((2, 0), dtype=np.int64)]
    for start in range(0, len(candidates), _KEYS):
        some = slice(start, start + _KEYS)
        parts.append(_strongest(noisy_or, index.keys[some], candidates[some]))
    return _describe(index, noisy_or, *np.concatenate(parts, axis=1))


def _slices(count: int) -> Iterator[slice]:
    return (slice(start, start + _CHUNK) for start in range(0, count, _CHUNK))


def _score(noisy_or: NoisyOrScorer, left: _Columns, right: _Columns) -> Float[np.ndarray, " pair"]:
    return noisy_or.score(left[:, None], right[:, None])[:, 0, 0]


def _strongest(
    noisy_or: NoisyOrScorer,
    keys: Int[np.ndarray, " some"],
    candidates: Int[np.ndarray, "some candidate"],
) -> Int[np.ndarray, "2 strongest"]:
    """Return the best-scoring pairs of each key column, sorted by key and candidate."""
    row, position = np.nonzero(candidates != NO_CANDIDATE)
    left, right = keys[row], candidates[row, position]
    score = np.concatenate(
        [np.zeros(0), *(_score(noisy_or, left[some], right[some]) for some in _slices(len(left)))]
    )
    order = np.lexsort((-score, left))
    rank = np.arange(len(order)) - np.searchsorted(left[order], left[order])
    best = order[rank < _STRONGEST]
    chosen = best[np.lexsort((right[best], left[best]))]
    return np.stack([left[chosen], right[chosen]])


def _describe(
    index: LakeIndex, noisy_or: NoisyOrScorer, left: _Columns, right: _Columns
) -> PairGraph:
    features, strengths = PairFeatures(index), noisy_or.strengths
    rows, scores = [np.zeros((0, len(PAIR_FEATURES)), np.float32)], [np.zeros((2, 0))]
    for some in _slices(len(left)):
        signals = noisy_or.measure(left[some, None], right[some, None]).flatten()
        evidence = combine(signals.without_background_knowledge(), strengths)
        rows.append(features.of(left[some], right[some], signals, evidence))
        scores.append(np.stack([evidence, combine_background_knowledge(signals, strengths)]))
    by_evidence, known = np.concatenate(scores, axis=1)
    return PairGraph(left, right, np.concatenate(rows), by_evidence, known, index.lake.table_of)
