"""Correct the scores of the noisy-or model with trees that were trained on other lakes.

The strengths of the noisy-or are the same whatever the columns are like. The trees see how the
signals, the references and both columns go together.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int
from safetensors.numpy import load_file
from scipy.special import expit

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.network.pair_network import CandidatePairs, PairNetwork
from datahub_hyperjoin.model.ranking.name_features import NameFeatures
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.noisy_or import combine, combine_background_knowledge
from datahub_hyperjoin.model.ranking.pair_features import PairFeatures, log_odds
from datahub_hyperjoin.model.ranking.pair_graph import (
    PairGraph,
    build_graph_in_parts,
    number_table_pairs,
)
from datahub_hyperjoin.model.ranking.pair_scoring import (
    NameScorer,
    NoisyOrScorer,
    PairScorer,
    score_pairs,
)
from datahub_hyperjoin.model.ranking.trees import SHIPPED_FOR_NAMES, TreeEnsemble, shipped_trees
from datahub_hyperjoin.model.signals.pairs import SparsePairs, number_pairs, values_at
from datahub_hyperjoin.tables import DataType

SHIPPED_NETWORK = Path(__file__).with_name("pair_network.safetensors")
"""The network that comes with the package; `pair_network.md` describes it."""


def to_candidate_pairs(graph: PairGraph) -> CandidatePairs:
    """Convert the candidate pairs of a lake to the input of the pair network.

    Args:
        graph: The candidate pairs, or a part of them that has all pairs between two tables; sorted
            by key column, then candidate.
    """
    count = len(graph.table_of)
    left, right = graph.left.astype(np.int32), graph.right.astype(np.int32)
    between = number_table_pairs(graph.table_of, left, right)
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
) -> tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"], Float[np.ndarray, " pair"]]:
    """Return the correction to add to each pair's log-odds of a join.

    Args:
        graphs: The candidate pairs of a lake, whole or in parts. All pairs between the same two
            tables are in one part.

    Returns:
        The pairs, sorted by key column, then candidate, and their corrections.
    """
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

_CHUNK = 1 << 18
"""Number of pairs described at once, which bounds the memory of their features to some 100 MB."""


class NameTreeScorer(PairScorer):
    """A scorer that corrects the scores of a `NameScorer` with decision trees.

    Only the scores of candidates are corrected. The catalog evidence is combined with the corrected
    score, so the trees never contradict it.

    Args:
        candidates: Candidates of each key column; `NO_CANDIDATE` fills the remaining positions.
    """

    def __init__(
        self,
        index: LakeIndex,
        by_names: NameScorer,
        trees: TreeEnsemble,
        candidates: Int[np.ndarray, "key candidate"],
    ) -> None:
        self._catalog = index.priors.join_probability
        self._strength = by_names.strengths.catalog
        self._by_names = by_names.with_strengths(replace(by_names.strengths, catalog=0.0))
        row, position = np.nonzero(candidates != NO_CANDIDATE)
        left, right = index.keys[row], candidates[row, position]
        order = np.lexsort((right, left))
        left, right = left[order], right[order]
        self._pairs = SparsePairs(len(index.lake), left, right)
        features = NameFeatures(index)
        parts = [np.zeros(0)]
        for start in range(0, len(left), _CHUNK):
            ends = (left[start : start + _CHUNK], right[start : start + _CHUNK])
            parts.append(trees(features.of(*ends, score_pairs(self._by_names, *ends))))
        self._correction = np.concatenate(parts)

    def score(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Score pairs by names, correct the scores by decision trees, and add catalog evidence."""
        first, second = np.broadcast_arrays(left[:, :, None], right[:, None, :])
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

    pairs: SparsePairs
    """The strongest candidate pairs of each key column, without pairs that involve other types than
    text and integers."""

    log_odds: Float[np.ndarray, " pair"]
    """What the network adds to the log-odds of each of these pairs."""

    @classmethod
    def of(
        cls,
        index: LakeIndex,
        noisy_or: NoisyOrScorer,
        candidates: Int[np.ndarray, "key candidate"],
        network: PairNetwork | None = None,
    ) -> "NetworkCorrection":
        """Compute the pair network's corrections to the log-odds of candidate pairs.

        Only the strongest candidates of each key column get a correction, and of these only the
        pairs in which both columns are text or integers.

        Args:
            network: The network; None for the one that comes with the package.
        """
        graphs = build_graph_in_parts(index, noisy_or, candidates)
        left, right, corrections = correct_pairs(graphs, network or shipped_network())
        is_learnt = np.array([it.type in _LEARNT_TYPES for it in index.lake.profiles], dtype=bool)
        kept = is_learnt[left] & is_learnt[right]
        pairs = SparsePairs(len(index.lake), left[kept], right[kept])
        return cls(pairs, corrections[kept])

    def blend(
        self,
        by_trees: Float[np.ndarray, " pair"],
        left: Int[np.ndarray, " pair"],
        right: Int[np.ndarray, " pair"],
    ) -> Float[np.ndarray, " pair"]:
        """Combine the trees' corrections with the pair network's corrections.

        Args:
            by_trees: The correction of each pair by the trees.

        Returns:
            A weighted sum of both; the correction by the trees for pairs that the network does not
            see.
        """
        at = self.pairs.locate(left, right)
        by_network = values_at(self.log_odds, at)
        both = SHARE_OF_TREES * by_trees + SHARE_OF_NETWORK * by_network
        return np.where(at >= 0, both, by_trees)


class TreeScorer(PairScorer):
    """A noisy-or scorer whose scores are corrected by decision trees.

    The trees judge the evidence of values, cells, names and references. Knowledge from standard
    codes, crosswalks and the catalog differs between lakes by policy rather than by likelihood, so
    the noisy-or combines it with the trees' probability.

    Args:
        network: The corrections by the pair network; None for the trees alone.
    """

    def __init__(
        self,
        index: LakeIndex,
        noisy_or: NoisyOrScorer,
        trees: TreeEnsemble,
        network: NetworkCorrection | None = None,
    ) -> None:
        self._noisy_or = noisy_or
        self._trees = trees
        self._network = network
        self._features = PairFeatures(index)

    def score(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Score pairs by all signals, and correct the scores with the trees."""
        return self.score_and_describe(left, right)[0]

    def score_and_describe(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> tuple[Float[np.ndarray, "query l r"], Float32[np.ndarray, "query l r feature"]]:
        """Score pairs as `score` does, and return the features in `PAIR_FEATURES`, too.

        Returns:
            Scores in [0, 1], and the features that the trees read.
        """
        strengths = self._noisy_or.strengths
        first, second = np.broadcast_arrays(left[:, :, None], right[:, None, :])
        signals = self._noisy_or.measure(left, right).flatten()
        by_evidence = combine(signals.without_background_knowledge(), strengths)
        rows = self._features.of(first.ravel(), second.ravel(), signals, by_evidence)
        correction = self._trees(rows)
        if self._network is not None:
            correction = self._network.blend(correction, first.ravel(), second.ravel())
        corrected = 1 / (1 + np.exp(-log_odds(by_evidence) - correction))
        known = combine_background_knowledge(signals, strengths)
        scores = (1 - (1 - corrected) * (1 - known)).reshape(first.shape)
        return scores, rows.reshape(*first.shape, rows.shape[1])


def correct_with_trees(
    scorer: PairScorer,
    index: LakeIndex,
    candidates: Int[np.ndarray, "key candidate"],
    *,
    by_network: bool,
) -> PairScorer:
    """Return a scorer corrected by the package's trees and, if `by_network`, by the pair network.

    A scorer by names has trees of its own, because the others and the network were trained on
    columns with values. The paper's scorer is returned as it is.

    Args:
        candidates: Candidates of each key column; `NO_CANDIDATE` fills the remaining positions.
        by_network: Whether the pair network corrects candidates, beside the trees.
    """
    match scorer:
        case NoisyOrScorer():
            network = NetworkCorrection.of(index, scorer, candidates) if by_network else None
            return TreeScorer(index, scorer, shipped_trees(), network)
        case NameScorer():
            return NameTreeScorer(index, scorer, shipped_trees(SHIPPED_FOR_NAMES), candidates)
        case _:
            return scorer
