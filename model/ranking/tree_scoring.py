"""Correct the noisy-or model with trees that were trained on other lakes.

The strengths of the noisy-or are the same whatever the columns are like. The trees see how the
signals, the references and both columns go together.
"""

import numpy as np
from jaxtyping import Float, Int

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.noisy_or import combine, combine_knowledge
from datahub_hyperjoin.model.ranking.pair_features import PairFeatures, log_odds
from datahub_hyperjoin.model.ranking.pair_scoring import NoisyOrScorer, PairScorer
from datahub_hyperjoin.model.ranking.trees import TreeEnsemble, shipped_trees


class TreeScorer(PairScorer):
    """A noisy-or scorer whose scores are corrected by decision trees.

    The trees judge the evidence of values, cells, names and references. Knowledge from standard
    codes, crosswalks and the catalog differs between lakes by policy rather than by likelihood, so
    the noisy-or combines it with the trees' probability.

    Args:
        index: The columns with their signals, catalog priors and references.
        noisy_or: The scorer to correct.
        trees: The trees.
    """

    def __init__(self, index: LakeIndex, noisy_or: NoisyOrScorer, trees: TreeEnsemble) -> None:
        self._noisy_or = noisy_or
        self._trees = trees
        self._features = PairFeatures(index)

    def score(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Score pairs by all signals, and correct the scores with the trees."""
        strengths = self._noisy_or.strengths
        signals = self._noisy_or.measure(left, right)
        shape = signals.names.shape
        first, second = np.broadcast_arrays(left[:, :, None], right[:, None, :])
        flat = signals.flatten()
        by_evidence = combine(flat.without_knowledge(), strengths)
        rows = self._features.of(first.ravel(), second.ravel(), flat, by_evidence)
        corrected = 1 / (1 + np.exp(-log_odds(by_evidence) - self._trees(rows)))
        known = combine_knowledge(flat, strengths)
        return (1 - (1 - corrected) * (1 - known)).reshape(shape)


def correct(scorer: PairScorer, index: LakeIndex) -> PairScorer:
    """Correct a noisy-or scorer with the trees that come with the package.

    Any other scorer is returned as it is, and so is a noisy-or of names alone: the trees were
    trained on columns with values.

    Args:
        scorer: The scorer.
        index: The columns that it scores.
    """
    if isinstance(scorer, NoisyOrScorer) and index.features.values:
        return TreeScorer(index, scorer, shipped_trees())
    return scorer
