"""Score accepted and rejected pairs as if people had not decided on them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.ranking.calibration import Calibration, calibrate
from datahub_hyperjoin.model.ranking.pair_scoring import PairScorer, score_pairs
from datahub_hyperjoin.model.signals.priors import CatalogPriors


@dataclass(frozen=True)
class DecidedPairs:
    """All pairs that people accepted or rejected, with their scores."""

    pairs: Int[np.ndarray, "pair 2"]
    """The columns of each pair, by index."""

    accepted: Bool[np.ndarray, " pair"]
    """Whether each pair was accepted; the others were rejected."""

    probability: Float[np.ndarray, " pair"]
    """Probability of each pair before calibration, in the better of its two orders."""

    @classmethod
    def from_priors(cls, priors: CatalogPriors, unaware: PairScorer) -> "DecidedPairs":
        """Score accepted and rejected pairs with `unaware`, a scorer that knows no decisions."""
        decided = [
            np.column_stack([pairs.left[pairs.once], pairs.right[pairs.once]])
            for pairs in (priors.accepted, priors.rejected)
        ]
        pairs = np.vstack(decided)
        left, right = pairs.T
        # People decide on a pair, not on one of its directions.
        scores = np.maximum(score_pairs(unaware, left, right), score_pairs(unaware, right, left))
        return cls(
            pairs=pairs,
            accepted=np.arange(len(pairs)) < len(decided[0]),
            probability=unaware.to_probability(scores),
        )

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration that fits the decisions best; without decisions, the identity."""
        return calibrate(self.probability[self.accepted], self.probability[~self.accepted])
