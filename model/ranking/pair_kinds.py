"""Compare pairs of columns by features of the pairs, not by features of the single columns.

Signals that mislead the score for one pair, such as a shared range of numbers, mislead it for many
pairs of the same lake. A decision is therefore evidence about all pairs with similar features.
"""

import numpy as np
from jaxtyping import Float, Float32, Int

from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES
from datahub_hyperjoin.model.ranking.tree_scoring import TreeScorer

_COMPARED = PAIR_FEATURES.index("difference of rows") + 1
"""Number of features that describe a pair; the others describe its columns one by one."""
_LENGTH = 3.0
"""Distance of features, in standard deviations, at which the similarity of two pairs has fallen to
0.61."""
_SAMPLE = 128
"""Number of key columns on whose candidates the standard deviations of features are measured."""
_FARTHEST = 4.0
"""Maximum distance of a feature from its mean, in standard deviations. Outliers are clipped to it,
since a single feature would otherwise decide the similarity."""


class PairKinds:
    """How similar any pair of columns is to each decided pair, on a scale from 0 to 1.

    Pairs are compared by their features. The similarity is a squared exponential of the distance
    between standardised features (Rasmussen and Williams, 2006, equation 4.9).

    Args:
        scorer: Scores pairs and computes their features. It must not know the decisions.
        candidates: Candidates of each key column; `NO_CANDIDATE` fills the remaining positions.
    """

    def __init__(
        self,
        scorer: TreeScorer,
        decided: Int[np.ndarray, "pair 2"],
        keys: Int[np.ndarray, " key"],
        candidates: Int[np.ndarray, "key candidate"],
    ) -> None:
        self._scorer = scorer
        every = slice(None, None, len(keys) // _SAMPLE + 1)
        _, features = scorer.score_and_describe(keys[every, None], candidates[every])
        sample = features[:, 0, :, :_COMPARED][candidates[every] != NO_CANDIDATE]
        self._mean = sample.mean(axis=0)
        self._deviation = np.maximum(sample.std(axis=0), 1e-6)
        left, right = decided.T
        forth, one_way = scorer.score_and_describe(left[:, None], right[:, None])
        back, other_way = scorer.score_and_describe(right[:, None], left[:, None])
        # People decide on a pair, not on one of its orders, so the order that scores higher counts.
        better = np.where((forth >= back)[..., None], one_way, other_way)
        self._decided = self._standardise(better[:, 0, 0])

    def score_and_compare(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> tuple[Float[np.ndarray, "query l r"], Float32[np.ndarray, "query l r pair"]]:
        """Score pairs of columns, and compare each pair with the decided pairs.

        Each left column is paired with every right column in the same row.

        Returns:
            The scores by the scorer, and the similarity to each decided pair.
        """
        scores, features = self._scorer.score_and_describe(left, right)
        return scores, self._compare(self._standardise(features))

    def among(self) -> Float32[np.ndarray, "pair pair"]:
        """Compute the similarity of the decided pairs to each other."""
        return self._compare(self._decided)

    def _standardise(
        self, features: Float32[np.ndarray, "*shape feature"]
    ) -> Float32[np.ndarray, "*shape compared"]:
        standardised = (features[..., :_COMPARED] - self._mean) / self._deviation
        return np.clip(standardised, -_FARTHEST, _FARTHEST)

    def _compare(
        self, features: Float32[np.ndarray, "*shape compared"]
    ) -> Float32[np.ndarray, "*shape pair"]:
        # |a - b|² = |a|² + |b|² - 2 a·b, which needs no array of all differences.
        decided = self._decided
        squares = (features**2).sum(axis=-1)[..., None] + (decided**2).sum(axis=-1)
        distance = np.maximum(squares - 2 * features @ decided.T, 0.0)
        return np.exp(distance / (-2 * _LENGTH**2))
