"""Correct scores with people's decisions about similar pairs."""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.calibration import bounded_logit
from datahub_hyperjoin.model.ranking.column_similarity import ColumnSimilarity, score_candidates
from datahub_hyperjoin.model.ranking.decided_pairs import DecidedPairs
from datahub_hyperjoin.model.ranking.decision_process import fit_process
from datahub_hyperjoin.model.ranking.pair_kinds import PairKinds
from datahub_hyperjoin.model.ranking.pair_scoring import PairScorer
from datahub_hyperjoin.model.ranking.tree_scoring import TreeScorer

_VARIANCE = 1.5**2
"""Prior variance of the correction from decisions about equal columns, in log-odds."""
_KIND_VARIANCE = 1.0
"""Prior variance of the correction from decisions about pairs with equal features, in log-odds."""
_MOST = 500
"""Maximum number of decisions that the scorer uses, because each one takes memory for every column.
The scorer prefers the decisions that contradict its uncorrected scores most."""


class DecisionAwareScorer(PairScorer):
    """A scorer that corrects another scorer with people's decisions about similar pairs.

    Args:
        kinds: The similarity of pairs to the decided pairs by their features, if they have any.
    """

    def __init__(
        self,
        scorer: PairScorer,
        similarity: ColumnSimilarity,
        decided: Int[np.ndarray, "pair 2"],
        kinds: PairKinds | None,
        weights: Float[np.ndarray, " pair"],
    ) -> None:
        self._scorer = scorer
        self._similarity = similarity
        self._decided = decided
        self._kinds = kinds
        self._weights = (weights * _VARIANCE).astype(np.float32)
        self._kind_weights = (weights * _KIND_VARIANCE).astype(np.float32)

    def score(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Score pairs by the wrapped scorer, corrected by the decisions about similar pairs."""
        first, second = self._similarity.of(left), self._similarity.of(right)
        one, other = self._decided.T
        # A pair has no order, so its columns are compared with those of a decided pair both ways.
        straight = (first[..., one] * self._weights) @ second[..., other].swapaxes(1, 2)
        crossed = (first[..., other] * self._weights) @ second[..., one].swapaxes(1, 2)
        by_columns = straight + crossed
        if self._kinds is None:
            return expit(bounded_logit(self._scorer.score(left, right)) + by_columns)
        own, similar = self._kinds.score_and_compare(left, right)
        return expit(bounded_logit(own) + by_columns + similar @ self._kind_weights)

    def to_probability(self, scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Convert scores to probabilities in the same way as the wrapped scorer."""
        return self._scorer.to_probability(scores)


def correct_with_decisions(
    scorer: PairScorer,
    decided: DecidedPairs,
    index: LakeIndex,
    candidates: Int[np.ndarray, "key candidate"],
) -> PairScorer:
    """Return a scorer that corrects `scorer` with people's decisions about similar pairs.

    The correction grows with the difference between decisions and scores.

    Args:
        scorer: The scorer to correct. It must not know the decisions: a score that a decision has
            moved already would seem to be no surprise.
    """
    probability = decided.calibration.apply(decided.probability)
    surprise = np.argsort(-np.abs(decided.accepted - probability), kind="stable")[:_MOST]
    pairs, accepted = decided.pairs[surprise], decided.accepted[surprise]
    columns, places = np.unique(pairs, return_inverse=True)
    places = places.reshape(pairs.shape)
    joined = score_candidates(scorer, len(index.lake), index.keys, candidates)
    similarity = ColumnSimilarity(index, joined, columns)
    among = similarity.of(columns).astype(np.float64)
    one, other = places.T
    straight = among[np.ix_(one, one)] * among[np.ix_(other, other)]
    crossed = among[np.ix_(one, other)] * among[np.ix_(other, one)]
    covariance = _VARIANCE * (straight + crossed)
    kinds = _find_kinds(scorer, pairs, index.keys, candidates)
    if kinds is not None:
        covariance = covariance + _KIND_VARIANCE * kinds.among()
    weights = fit_process(covariance, bounded_logit(probability[surprise]), accepted)
    return DecisionAwareScorer(scorer, similarity, places, kinds, weights)


def _find_kinds(
    scorer: PairScorer,
    pairs: Int[np.ndarray, "pair 2"],
    keys: Int[np.ndarray, " key"],
    candidates: Int[np.ndarray, "key candidate"],
) -> PairKinds | None:
    """Build the `PairKinds` of decided pairs; return None if the scorer computes no features."""
    match scorer:
        case TreeScorer():
            return PairKinds(scorer, pairs, keys, candidates)
        case _:
            return None
