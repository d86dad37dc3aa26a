"""Compute the probability of a join, from all signals together and from each signal alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from datahub_hyperjoin.model.config import Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.noisy_or import combine, probabilities_by_signal
from datahub_hyperjoin.model.ranking.pair_scoring import NoisyOrScorer, build_scorer
from datahub_hyperjoin.tables import Pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributions:
    """The probability of a join, from all signals together and from each signal alone.

    Each value is the greater probability of the pair's two directions.
    """

    together: float
    """Probability of a join from all signals, in [0, 1], before trees, roles and decisions."""

    alone: Mapping[str, float]
    """Probability of a join from each signal alone, in [0, 1], by the signal's name."""


def list_contributions(
    index: LakeIndex,
    embeddings: Float32[np.ndarray, "column width"],
    pairs: Sequence[Pair],
    scoring: Scoring,
) -> dict[Pair, Contributions]:
    """Compute each pair's probability of a join, from all signals and from each signal alone.

    Returns:
        The signals of each pair; nothing if pairs are scored by the network or by names alone.
    """
    scorer = build_scorer(index, embeddings, scoring)
    if not isinstance(scorer, NoisyOrScorer) or not pairs:
        return {}
    ends = np.array([[index.lake.index_of[column] for column in pair] for pair in pairs])
    both = (ends, ends[:, ::-1])
    ways = [scorer.measure(way[:, :1], way[:, 1:]) for way in both]
    together = np.maximum(*(combine(way, scorer.strengths)[:, 0, 0] for way in ways))
    there, back = (probabilities_by_signal(way, scorer.strengths) for way in ways)
    alone = {name: np.maximum(there[name], back[name])[:, 0, 0] for name in there}
    return {
        pair: Contributions(
            together=float(together[at]),
            alone={name: float(weights[at]) for name, weights in alone.items()},
        )
        for at, pair in enumerate(pairs)
    }
