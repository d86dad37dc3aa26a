"""Correct scores with people's decisions about similar pairs."""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.calibration import bounded_logit
from datahub_hyperjoin.model.ranking.column_similarity import ColumnSimilarity, score_candidates
from datahub_hyperjoin.model.ranking.decided_pairs import DecidedPairs
from datahub_hyperjoin.model.ranking.decision_process import fit_process
from datahub_hyperjoin.model.ranking.pair_scoring import PairScorer

_VARIANCE = 1.5**2
"""Prior variance of the log-odds that decisions about equal columns may add."""
_MOST = 500
"""Decisions that teach; of more, those that surprise the score most. Memory grows with columns
times decisions."""


class TaughtScorer(PairScorer):
    """A scorer that corrects another scorer with people's decisions about similar pairs.

    Args:
        scorer: The scorer to change.
        similarity: The similarity of all columns to the decided columns.
        decided: The decided pairs, as positions among the decided columns.
        weights: The weight of each decision, see `fit_process`.
    """

    def __init__(
        self,
        scorer: PairScorer,
        similarity: ColumnSimilarity,
        decided: Int[np.ndarray, "pair 2"],
        weights: Float[np.ndarray, " pair"],
    ) -> None:
        self._scorer = scorer
        self._similarity = similarity
        self._decided = decided
        self._weights = (weights * _VARIANCE).astype(np.float32)

    def score(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Score pairs by the wrapped scorer, corrected by the decisions about similar pairs."""
        first, second = self._similarity.of(left), self._similarity.of(right)
        one, other = self._decided.T
        # A pair has no order, so its columns are compared with those of a decided pair both ways.
        straight = (first[..., one] * self._weights) @ second[..., other].swapaxes(1, 2)
        crossed = (first[..., other] * self._weights) @ second[..., one].swapaxes(1, 2)
        return expit(bounded_logit(self._scorer.score(left, right)) + straight + crossed)

    def to_probability(self, scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Convert scores to probabilities in the same way as the wrapped scorer."""
        return self._scorer.to_probability(scores)


def teach(
    scorer: PairScorer,
    unaware: PairScorer,
    decided: DecidedPairs,
    index: LakeIndex,
    candidates: Int[np.ndarray, "key candidate"],
) -> PairScorer:
    """Return a scorer that corrects `scorer` with people's decisions about similar pairs.

    The correction grows with the difference between decisions and the scores by `unaware`.

    Args:
        scorer: The scorer to correct.
        unaware: The same scorer, of an index without decisions: a score that a decision has moved
            already would seem to be no surprise.
        decided: The decided pairs, scored by `unaware`.
        index: The columns with their signals.
        candidates: The candidates of each key column.

    Returns:
        The changed scorer.
    """
    probability = decided.calibration.apply(decided.probability)
    surprise = np.argsort(-np.abs(decided.accepted - probability), kind="stable")[:_MOST]
    pairs, accepted = decided.pairs[surprise], decided.accepted[surprise]
    columns, places = np.unique(pairs, return_inverse=True)
    places = places.reshape(pairs.shape)
    joined = score_candidates(unaware, len(index.lake), index.keys, candidates)
    similarity = ColumnSimilarity(index, joined, columns)
    among = similarity.of(columns).astype(np.float64)
    one, other = places.T
    straight = among[np.ix_(one, one)] * among[np.ix_(other, other)]
    crossed = among[np.ix_(one, other)] * among[np.ix_(other, one)]
    prior = bounded_logit(probability[surprise])
    weights = fit_process(_VARIANCE * (straight + crossed), prior, accepted)
    return TaughtScorer(scorer, similarity, places, weights)
