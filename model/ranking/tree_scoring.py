"""Correct scores with trees and a pair network that were trained on other lakes.

The strengths of the noisy-or are the same whatever the columns are like. Gradient-boosted
regression trees (Friedman, 2001) see how the signals, the references and both columns go together.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int
from safetensors.numpy import load_file
from scipy.special import expit

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.network.pair_network import CandidatePairs, PairNetwork
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE, KeyCandidates
from datahub_hyperjoin.model.ranking.pair_features import (
    PAIR_FEATURES,
    NameFeatures,
    PairFeatures,
    log_odds,
)
from datahub_hyperjoin.model.ranking.pair_scoring import (
    Lefts,
    NameScorer,
    NoisyOrScorer,
    PairScorer,
    Rights,
    Scores,
    combine,
    combine_background_knowledge,
    pairs_of_each,
    score_pairs,
)
from datahub_hyperjoin.model.signals.pairs import (
    ColumnInts,
    PairFloats,
    PairInts,
    SparsePairs,
    chunks,
    number_pairs,
    ranks_in_runs,
    values_at,
)
from datahub_hyperjoin.model.tree_ensemble import TreeEnsemble, shipped_trees
from datahub_hyperjoin.tables import DataType

SHIPPED = Path(__file__).with_name("trees.safetensors")
"""File of the package with the trees for lakes whose values are read; see `trees.md`."""

SHIPPED_FOR_NAMES = Path(__file__).with_name("name_trees.safetensors")
"""File of the package with the trees for lakes whose values are not read; see `name_trees.md`."""
_STRONGEST = 48
"""Number of candidates of each key column that the network sees."""
_KEYS = 1024
"""Number of key columns whose candidates are compared at once, which bounds memory."""
_DESCRIBED = 16_384
"""Number of pairs whose features are computed at once."""
_PART = 1 << 14
"""Approximate number of pairs that the pair network updates at once, in about 25 MB. All pairs of
two tables are updated together, so the number may be exceeded."""


@dataclass(frozen=True)
class PairGraph:
    """The pairs of each key column with its strongest candidates, as input of the pair network."""

    left: PairInts  # the key column of each pair
    right: PairInts  # the candidate of each pair
    rows: Float32[np.ndarray, "pair feature"]  # the features of each pair
    # Score of each pair by evidence alone, in [0, 1], without the facts in `known`.
    by_evidence: PairFloats
    known: PairFloats  # score of each pair by codes, crosswalks and the catalog
    table_of: ColumnInts  # the table of each column of the lake


def build_pair_graph(
    index: LakeIndex, noisy_or: NoisyOrScorer, candidates: KeyCandidates
) -> PairGraph:
    """Build the graph of all key columns with their strongest candidates."""
    left, right = _find_strongest(index, noisy_or, candidates)
    return _describe(index, noisy_or, PairFeatures(index), left, right)


def build_graph_in_parts(
    index: LakeIndex, noisy_or: NoisyOrScorer, candidates: KeyCandidates
) -> Iterator[PairGraph]:
    """Yield the graph that `build_pair_graph` builds, in parts of some 16,000 pairs."""
    # The pair network needs all pairs between the same two tables in one part. The features of all
    # pairs at once would take 200 bytes a pair.
    left, right = _find_strongest(index, noisy_or, candidates)
    features, between = PairFeatures(index), _number_table_pairs(index.lake.table_of, left, right)
    order = np.argsort(between, kind="stable")
    starts = np.flatnonzero(np.diff(between[order], prepend=-1))
    del between
    cuts = starts[np.flatnonzero(np.diff(starts // _PART, prepend=-1))]
    for part in np.split(order, cuts[1:]):
        # A stable sort by tables and then by position: each part is sorted as the whole graph is.
        some = np.sort(part)
        if len(some):
            yield _describe(index, noisy_or, features, left[some], right[some])


def _number_table_pairs(table_of: ColumnInts, left: PairInts, right: PairInts) -> PairInts:
    """For each pair of columns, return a number that identifies their two tables."""
    first, second = table_of[left], table_of[right]
    return number_pairs(np.minimum(first, second), np.maximum(first, second), len(table_of))


def _find_strongest(
    index: LakeIndex, noisy_or: NoisyOrScorer, candidates: KeyCandidates
) -> Int[np.ndarray, "2 pair"]:
    """Return each key column with its strongest candidates, sorted by key, then candidate."""
    parts = [np.zeros((2, 0), dtype=np.int32)]
    for block in chunks(len(candidates), _KEYS):
        near = candidates[block]
        row, position = np.nonzero(near != NO_CANDIDATE)
        left, right = index.keys[block][row], near[row, position].astype(np.int64)
        described = chunks(len(left), _DESCRIBED)
        scores = (score_pairs(noisy_or, left[some], right[some]) for some in described)
        order = np.lexsort((-np.concatenate([np.zeros(0), *scores]), left))
        best = order[ranks_in_runs(left[order]) < _STRONGEST]
        chosen = best[np.lexsort((right[best], left[best]))]
        parts.append(np.stack([left[chosen], right[chosen]]).astype(np.int32))
    return np.concatenate(parts, axis=1)


def _describe(
    index: LakeIndex,
    noisy_or: NoisyOrScorer,
    features: PairFeatures,
    left: PairInts,
    right: PairInts,
) -> PairGraph:
    strengths = noisy_or.strengths
    rows = np.empty((len(left), len(PAIR_FEATURES)), dtype=np.float32)
    by_evidence, known = np.empty((2, len(left)))
    for some in chunks(len(left), _DESCRIBED):
        signals = noisy_or.measure(left[some, None], right[some, None]).flatten()
        by_evidence[some] = combine(signals.without_background_knowledge(), strengths)
        rows[some] = features.of(left[some], right[some], signals, by_evidence[some])
        known[some] = combine_background_knowledge(signals, strengths)
    return PairGraph(left, right, rows, by_evidence, known, index.lake.table_of)


SHIPPED_NETWORK = Path(__file__).with_name("pair_network.safetensors")
"""The network that comes with the package; `pair_network.md` describes it."""


def to_candidate_pairs(graph: PairGraph) -> CandidatePairs:
    """Convert the candidate pairs of a lake to the input of the pair network."""
    count = len(graph.table_of)
    left, right = graph.left.astype(np.int32), graph.right.astype(np.int32)
    between = _number_table_pairs(graph.table_of, left, right)
    towards = number_pairs(left, graph.table_of[right], count)
    return CandidatePairs(
        rows=graph.rows,
        log_odds=log_odds(graph.by_evidence).astype(np.float32),
        left=left,
        right=right,
        reverse=SparsePairs(count, left, right).locate(right, left).astype(np.int32),
        table_of=graph.table_of,
        tables=np.unique(between, return_inverse=True)[1].astype(np.int32),
        towards=np.unique(towards, return_inverse=True)[1].astype(np.int32),
    )


@cache
def shipped_network() -> PairNetwork:
    """Load the pair network that comes with the package."""
    return PairNetwork(load_file(SHIPPED_NETWORK))


def correct_pairs(
    graphs: Iterable[PairGraph], network: PairNetwork
) -> tuple[PairInts, PairInts, PairFloats]:
    """Return the correction to add to each pair's log-odds of a join."""
    none = np.zeros(0, dtype=np.int32)
    ends = [(none, none)]

    def parts() -> Iterator[CandidatePairs]:
        for graph in graphs:
            pairs = to_candidate_pairs(graph)
            ends.append((pairs.left, pairs.right))
            yield pairs

    corrections = np.concatenate([np.zeros(0), *network.correct_parts(parts())])
    left, right = map(np.concatenate, zip(*ends, strict=True))
    order = np.lexsort((right, left))
    return left[order], right[order], corrections[order]


# Where values are not read, the trees see how names, references, types and statistics go together.

_PAIRS = 1 << 18
"""Number of pairs described at once, which bounds the memory of their features to some 100 MB."""


class NameTreeScorer(PairScorer):
    """A scorer that corrects the scores of a `NameScorer` with decision trees."""

    # Only candidates are corrected. The catalog evidence is combined with the corrected score, so
    # the trees never contradict it.

    def __init__(
        self, index: LakeIndex, by_names: NameScorer, trees: TreeEnsemble, candidates: KeyCandidates
    ) -> None:
        self._catalog = index.priors.join_probability
        self._strength = by_names.strengths.catalog
        self._by_names = replace(by_names, strengths=replace(by_names.strengths, catalog=0.0))
        row, position = np.nonzero(candidates != NO_CANDIDATE)
        left, right = index.keys[row], candidates[row, position]
        order = np.lexsort((right, left))
        left, right = left[order], right[order]
        self._pairs = SparsePairs(len(index.lake), left, right)
        features = NameFeatures(index)
        parts = [np.zeros(0)]
        for some in chunks(len(left), _PAIRS):
            ends = left[some], right[some]
            parts.append(trees(features.of(*ends, score_pairs(self._by_names, *ends))))
        self._correction = np.concatenate(parts)

    def score(self, left: Lefts, right: Rights) -> Scores:
        """Score pairs by names, correct the scores by decision trees, and add catalog evidence."""
        first, second = pairs_of_each(left, right)
        correction = self._pairs.look_up(self._correction, first, second)
        corrected = expit(log_odds(self._by_names.score(left, right)) + correction)
        known = self._strength * self._catalog.of(first, second)
        return 1 - (1 - corrected) * (1 - known)


SHARE_OF_TREES, SHARE_OF_NETWORK = 0.5, 0.35
"""Weights of the two corrections of a pair, if both the trees and the pair network correct it. The
weights were chosen on validation lakes."""

_LEARNT_TYPES = frozenset({DataType.TEXT, DataType.INTEGER})
"""The types of joined columns in the lakes that trained the network. For other types, such as two
columns of prices, the network takes a join for impossible."""


@dataclass(frozen=True)
class NetworkCorrection:
    """The corrections that the pair network makes to the log-odds of candidate pairs."""

    # The strongest candidate pairs of each key column, without pairs that involve other types than
    # text and integers.
    pairs: SparsePairs
    # What the network adds to the log-odds of each of these pairs.
    log_odds: PairFloats

    @classmethod
    def of(
        cls,
        index: LakeIndex,
        noisy_or: NoisyOrScorer,
        candidates: KeyCandidates,
        network: PairNetwork | None = None,
    ) -> "NetworkCorrection":
        """Compute the pair network's corrections to the log-odds of candidate pairs."""
        graphs = build_graph_in_parts(index, noisy_or, candidates)
        left, right, corrections = correct_pairs(graphs, network or shipped_network())
        is_learnt = index.lake.mask(lambda profile: profile.type in _LEARNT_TYPES)
        kept = is_learnt[left] & is_learnt[right]
        pairs = SparsePairs(len(index.lake), left[kept], right[kept])
        return cls(pairs, corrections[kept])

    def blend(self, by_trees: PairFloats, left: PairInts, right: PairInts) -> PairFloats:
        """Combine the trees' corrections with the pair network's corrections."""
        at = self.pairs.locate(left, right)
        by_network = values_at(self.log_odds, at)
        both = SHARE_OF_TREES * by_trees + SHARE_OF_NETWORK * by_network
        return np.where(at >= 0, both, by_trees)


@dataclass(frozen=True)
class TreeScorer(PairScorer):
    """A noisy-or scorer whose scores are corrected by decision trees."""

    # Knowledge from standard codes, crosswalks and the catalog differs between lakes by policy
    # rather than by likelihood, so the noisy-or combines it with the trees' probability.

    index: LakeIndex
    noisy_or: NoisyOrScorer
    trees: TreeEnsemble
    network: NetworkCorrection | None = None

    @cached_property
    def _features(self) -> PairFeatures:
        return PairFeatures(self.index)

    def score(self, left: Lefts, right: Rights) -> Scores:
        """Score pairs by all signals, and correct the scores with the trees."""
        return self.score_and_describe(left, right)[0]

    def score_and_describe(
        self, left: Lefts, right: Rights
    ) -> tuple[Scores, Float32[np.ndarray, "query l r feature"]]:
        """Score pairs as `score` does, and return the features in `PAIR_FEATURES`, too."""
        strengths = self.noisy_or.strengths
        first, second = pairs_of_each(left, right)
        signals = self.noisy_or.measure(left, right).flatten()
        by_evidence = combine(signals.without_background_knowledge(), strengths)
        rows = self._features.of(first.ravel(), second.ravel(), signals, by_evidence)
        correction = self.trees(rows)
        if self.network is not None:
            correction = self.network.blend(correction, first.ravel(), second.ravel())
        corrected = 1 / (1 + np.exp(-log_odds(by_evidence) - correction))
        known = combine_background_knowledge(signals, strengths)
        scores = (1 - (1 - corrected) * (1 - known)).reshape(first.shape)
        return scores, rows.reshape(*first.shape, rows.shape[1])


def correct_with_trees(
    scorer: PairScorer, index: LakeIndex, candidates: KeyCandidates, *, by_network: bool
) -> PairScorer:
    """Correct a scorer with the package's trees and, if `by_network`, with the pair network."""
    # Names have trees of their own, because the others and the network were trained on columns with
    # values. The paper's scorer is returned as it is.
    match scorer:
        case NoisyOrScorer():
            network = NetworkCorrection.of(index, scorer, candidates) if by_network else None
            return TreeScorer(index, scorer, shipped_trees(SHIPPED), network)
        case NameScorer():
            return NameTreeScorer(index, scorer, shipped_trees(SHIPPED_FOR_NAMES), candidates)
        case _:
            return scorer
