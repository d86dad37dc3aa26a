"""Score how joinable two columns are.

The paper scores a pair by the network's cosine alone. The default combines it with the other
signals: values, cells, names, entities and catalog evidence (see `noisy_or`).
"""

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Float, Float32, Int
from typing_extensions import assert_never

from datahub_hyperjoin.model.config import Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.noisy_or import (
    STRENGTHS,
    PairSignals,
    SignalStrengths,
    combine,
)
from datahub_hyperjoin.model.signals.pairs import PairValues, values_at
from datahub_hyperjoin.model.signals.trust import weigh_shared


class PairScorer(ABC):
    """The interface of objects that score how joinable two columns are."""

    @abstractmethod
    def score(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """For each query, score every left column with every right column.

        Row *i* of `left` and row *i* of `right` hold the columns of one query.
        """

    def to_probability(self, scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Convert scores to uncalibrated probabilities of a join.

        Returns:
            Probabilities in the order of the scores; here the scores themselves.
        """
        return scores


class CosineScorer(PairScorer):
    """A scorer that uses the cosine of embeddings.

    The cosine is rescaled so that an average pair scores 0.
    """

    def __init__(self, embeddings: Float32[np.ndarray, "column width"]) -> None:
        self._embeddings = embeddings
        count = max(len(embeddings), 2)
        total = embeddings.sum(axis=0)
        # The mean cosine of all pairs, in linear time: |sum of vectors|² counts each pair twice
        # and each unit vector once.
        self._mean = min(float(total @ total - count) / (count * (count - 1)), 0.999)

    def score(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Score each pair by the rescaled cosine of its two embeddings."""
        cosine = self._embeddings[left] @ self._embeddings[right].swapaxes(1, 2)
        return np.clip((cosine - self._mean) / (1 - self._mean), 0.0, 1.0)


class NoisyOrScorer(PairScorer):
    """A scorer that combines all signals with a noisy-or model.

    Args:
        cosine: The network's part; None to score without a network.
        strengths: The probability of a join by each signal alone.
    """

    def __init__(
        self,
        index: LakeIndex,
        cosine: CosineScorer | None,
        strengths: SignalStrengths,
    ) -> None:
        self._index = index
        self._cosine = cosine
        self.strengths = strengths
        locations = [column.table.place for column in index.lake.ids]
        self._location = np.unique(locations, return_inverse=True)[1]

    def score(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Score pairs by all signals together."""
        return combine(self.measure(left, right), self.strengths)

    def measure(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> PairSignals:
        """For each query, measure the signals of every left column with every right column.

        Row *i* of `left` and row *i* of `right` hold the columns of one query.
        """
        index, overlap = self._index, self._index.overlap
        # Signals of values come from pairs that are looked up one by one; only cells and
        # embeddings are compared as matrices.
        first, second = np.broadcast_arrays(left[:, :, None], right[:, None, :])
        density, is_text = index.lake.density, index.lake.is_text
        at = overlap.locate(first, second)
        back = overlap.reverse_at(at)
        return PairSignals(
            containment=overlap.either_way_at(at, back),
            containment_in_right=values_at(overlap.beyond_chance, at),
            shared_weight=weigh_shared(values_at(overlap.shared, at)),
            ochiai=overlap.ochiai_at(at, back),
            cells=index.cells.between(left, right),
            names=index.names.of(first, second),
            cosine=self._cosine.score(left, right) if self._cosine else None,
            right_uniqueness=index.priors.uniqueness[second],
            same_location=self._location[first] == self._location[second],
            entities=index.entities.of(first, second),
            same_form=index.entities.same_form(first, second),
            crosswalk=index.crosswalks.pairs.of(first, second),
            related=np.where(
                is_text[first] & is_text[second], 0.0, index.relations.between(first, second)
            ),
            catalog=index.priors.join_probability.of(first, second),
            text=is_text[first] & is_text[second],
            density=np.maximum(density[first], density[second]),
        )

    def to_probability(self, scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Convert scores to uncalibrated probabilities of a join.

        Weak scores are lowered and strong scores raised.

        A score s becomes s² / (s² + (1 - s)²). A noisy-or assumes independent signals. They are
        not: several weak signals are chance more often than it predicts, and one strong signal is
        mostly right.
        """
        joined, not_joined = scores**2, (1 - scores) ** 2
        return joined / (joined + not_joined)


class NameScorer(PairScorer):
    """A scorer that uses names, probable references and the catalog, but no values.

    The name of a column tells which key it refers to, and names alone hardly suggest a join.

    Args:
        cosine: The network's part; None to score without a network.
        strengths: The probability of a join by each signal alone.
    """

    def __init__(
        self, index: LakeIndex, cosine: CosineScorer | None, strengths: SignalStrengths
    ) -> None:
        self._index = index
        self._cosine = cosine
        self.strengths = strengths

    def with_strengths(self, strengths: SignalStrengths) -> "NameScorer":
        """Return a copy of this scorer with other signal strengths.

        Args:
            strengths: The probability of a join by each signal alone.
        """
        return NameScorer(self._index, self._cosine, strengths)

    def score(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Score pairs by references, names, the catalog and the network."""
        index, strengths = self._index, self.strengths
        first, second = np.broadcast_arrays(left[:, :, None], right[:, None, :])
        by_cosine = self._cosine.score(left, right) if self._cosine else np.zeros(first.shape)
        not_joinable = (
            (1 - strengths.related * index.relations.between(first, second))
            * (1 - strengths.names * index.names.of(first, second))
            * (1 - strengths.catalog * index.priors.join_probability.of(first, second))
            * (1 - strengths.cosine * by_cosine)
        )
        return 1 - not_joinable


class RejectionAwareScorer(PairScorer):
    """A scorer that gives rejected pairs the score 0.

    Another scorer scores all other pairs.
    """

    def __init__(self, scorer: PairScorer, rejected: PairValues) -> None:
        self._scorer = scorer
        self._rejected = rejected

    def score(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Give rejected pairs the score 0, and score all others with the wrapped scorer."""
        scores = self._scorer.score(left, right)
        if not len(self._rejected):
            return scores
        first, second = np.broadcast_arrays(left[:, :, None], right[:, None, :])
        return np.where(self._rejected.holds(first, second), 0.0, scores)


def score_pairs(
    scorer: PairScorer, left: Int[np.ndarray, " pair"], right: Int[np.ndarray, " pair"]
) -> Float[np.ndarray, " pair"]:
    """Score each left column with the right column at the same position."""
    if not len(left):
        return np.zeros(0)
    return np.clip(scorer.score(left[:, None], right[:, None])[:, 0, 0], 0.0, 1.0)


def build_scorer(
    index: LakeIndex, embeddings: Float32[np.ndarray, "column width"], scoring: Scoring
) -> PairScorer:
    """Create the scorer that the recipe selects.

    It ignores rejections.
    """
    blend = NoisyOrScorer if index.features.values else NameScorer
    match scoring:
        case Scoring.HIN:
            return CosineScorer(embeddings)
        case Scoring.BLEND:
            return blend(index, CosineScorer(embeddings), STRENGTHS)
        case Scoring.SIGNALS:
            return blend(index, None, STRENGTHS)
    assert_never(scoring)
