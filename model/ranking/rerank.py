"""Keeps the coherent candidates: greedy growth of a maximum spanning tree (paper, algorithm 1)."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE

PairwiseScores = Callable[[Int[np.ndarray, " query"]], Float[np.ndarray, "query candidate"]]
"""Weights of one candidate of each query, given by its place, and all of that query's."""


def select_coherent(
    relevance: Float[np.ndarray, "query candidate"],
    among: PairwiseScores,
    *,
    count: int,
    coherence: float,
    twins: Int[np.ndarray, "query candidate"] | None = None,
) -> Int[np.ndarray, "query place"]:
    r"""Picks candidates one by one, for all queries at once.

    Each step takes the candidate of greatest gain (paper, equation 19)

    $$\Delta(C) = w(C_q, C) + \lambda \max_{C' \in S} w(C, C'),\quad S = \{C_q\} \cup R$$

    Cost is proportional to queries, candidates and `count`: of the weights of candidates only those
    of the ones picked are ever asked for.

    Args:
        relevance: Weight of each query and candidate; minus infinity for a place without one.
        among: Weights of candidates among each other.
        count: How many to pick, K.
        coherence: lambda.
        twins: Numbers that copies of one column share; a second copy waits until no other
            candidate is left.

    Returns:
        Places among the candidates, in the order picked; `NO_CANDIDATE` where none was left.
    """
    queries, candidates = relevance.shape
    rows = np.arange(queries)
    waiting = np.isfinite(relevance)
    relevance = np.where(waiting, relevance, 0.0)
    attachment = relevance.copy()
    second = np.zeros((queries, candidates), dtype=bool)
    picked = np.full((queries, count), NO_CANDIDATE, dtype=np.int64)
    for step in range(min(count, candidates)):
        gain = np.where(waiting, relevance + coherence * attachment, -np.inf)
        gain = np.where(second & waiting, gain - 2 * (1 + coherence), gain)
        best = gain.argmax(axis=1)
        alive = waiting[rows, best]
        picked[alive, step] = best[alive]
        waiting[rows, best] = False
        if coherence and step + 1 < count:
            attachment = np.maximum(attachment, among(best))
        if twins is not None:
            second |= twins == twins[rows, best][:, None]
    return picked
