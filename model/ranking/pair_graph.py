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
from datahub_hyperjoin.model.signals.pairs import number_pairs

_Columns = Int[np.ndarray, " pair"]

_STRONGEST = 48
"""Number of candidates of each key column that the network sees."""
_KEYS = 1024
"""Number of key columns whose candidates are compared at once, which bounds memory."""
_CHUNK = 16_384
"""Number of pairs whose features are computed at once."""
_PART = 1 << 14
"""Approximate number of pairs that the pair network updates at once, in about 25 MB. All pairs of
two tables are updated together, so the number may be exceeded."""


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
    """Score of each pair by evidence alone, in [0, 1], without the facts in `known`."""

    known: Float[np.ndarray, " pair"]
    """Score of each pair by codes, crosswalks and the catalog."""

    table_of: Int[np.ndarray, " column"]
    """The table of each column of the lake."""


def build_pair_graph(
    index: LakeIndex, noisy_or: NoisyOrScorer, candidates: Int[np.ndarray, "key candidate"]
) -> PairGraph:
    """Build the graph of all key columns with their strongest candidates.

    Args:
        candidates: Candidates of each key column; `NO_CANDIDATE` fills the remaining positions.
    """
    left, right = find_strongest(index, noisy_or, candidates)
    return _describe(index, noisy_or, PairFeatures(index), left, right)


def build_graph_in_parts(
    index: LakeIndex, noisy_or: NoisyOrScorer, candidates: Int[np.ndarray, "key candidate"]
) -> Iterator[PairGraph]:
    """Yield the graph that `build_pair_graph` builds, in parts of some 16,000 pairs.

    All pairs between the same two tables are in one part, which is what the pair network needs. The
    features of all pairs at once would take 200 bytes a pair.

    Args:
        candidates: Candidates of each key column; `NO_CANDIDATE` fills the remaining positions.
    """
    left, right = find_strongest(index, noisy_or, candidates)
    features, between = PairFeatures(index), number_table_pairs(index.lake.table_of, left, right)
    order = np.argsort(between, kind="stable")
    starts = np.flatnonzero(np.diff(between[order], prepend=-1))
    del between
    cuts = starts[np.flatnonzero(np.diff(starts // _PART, prepend=-1))]
    for part in np.split(order, cuts[1:]):
        # A stable sort by tables and then by position: each part is sorted as the whole graph is.
        some = np.sort(part)
        if len(some):
            yield _describe(index, noisy_or, features, left[some], right[some])


def number_table_pairs(
    table_of: Int[np.ndarray, " column"], left: _Columns, right: _Columns
) -> Int[np.ndarray, " pair"]:
    """For each pair of columns, return a number that identifies their two tables.

    The order of the two tables does not matter.

    Args:
        table_of: The table of each column of the lake.
    """
    first, second = table_of[left], table_of[right]
    return number_pairs(np.minimum(first, second), np.maximum(first, second), len(table_of))


def find_strongest(
    index: LakeIndex, noisy_or: NoisyOrScorer, candidates: Int[np.ndarray, "key candidate"]
) -> Int[np.ndarray, "2 pair"]:
    """Return each key column with its strongest candidates, sorted by key, then candidate.

    Args:
        candidates: Candidates of each key column; `NO_CANDIDATE` fills the remaining positions.
    """
    parts = [np.zeros((2, 0), dtype=np.int32)]
    for start in range(0, len(candidates), _KEYS):
        some = slice(start, start + _KEYS)
        parts.append(_strongest(noisy_or, index.keys[some], candidates[some]))
    return np.concatenate(parts, axis=1)


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
    left, right = keys[row], candidates[row, position].astype(np.int64)
    score = np.concatenate(
        [np.zeros(0), *(_score(noisy_or, left[some], right[some]) for some in _slices(len(left)))]
    )
    order = np.lexsort((-score, left))
    rank = np.arange(len(order)) - np.searchsorted(left[order], left[order])
    best = order[rank < _STRONGEST]
    chosen = best[np.lexsort((right[best], left[best]))]
    return np.stack([left[chosen], right[chosen]]).astype(np.int32)


def _describe(
    index: LakeIndex,
    noisy_or: NoisyOrScorer,
    features: PairFeatures,
    left: _Columns,
    right: _Columns,
) -> PairGraph:
    strengths = noisy_or.strengths
    rows = np.empty((len(left), len(PAIR_FEATURES)), dtype=np.float32)
    by_evidence, known = np.empty((2, len(left)))
    for some in _slices(len(left)):
        signals = noisy_or.measure(left[some, None], right[some, None]).flatten()
        by_evidence[some] = combine(signals.without_background_knowledge(), strengths)
        rows[some] = features.of(left[some], right[some], signals, by_evidence[some])
        known[some] = combine_background_knowledge(signals, strengths)
    return PairGraph(left, right, rows, by_evidence, known, index.lake.table_of)
