"""Use decision trees trained on other lakes to correct scores that are based on names.

Where values are not read, the trees see how names, references, types and statistics go together.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.name_features import NameFeatures
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_features import log_odds
from datahub_hyperjoin.model.ranking.pair_scoring import NameScorer, PairScorer, score_pairs
from datahub_hyperjoin.model.ranking.trees import TreeEnsemble
from datahub_hyperjoin.model.signals.pairs import SparsePairs

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
