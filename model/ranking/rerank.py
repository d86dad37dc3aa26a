"""Select candidates that join with the query and with each other (paper, algorithm 1).

The selection grows a maximum spanning tree greedily.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE

PairwiseScores = Callable[[Int[np.ndarray, " query"]], Float[np.ndarray, "query candidate"]]
"""A function that scores joins of one candidate with all candidates of the same query. Its argument
contains the position of the one candidate for each query."""


def select_coherent(
    relevance: Float[np.ndarray, "query candidate"],
    score_among: PairwiseScores,
    *,
    count: int,
    coherence: float,
    duplicates: Int[np.ndarray, "query candidate"] | None = None,
) -> Int[np.ndarray, "query rank"]:
    r"""For each query, select candidates that join with the query and with each other.

    For all queries in parallel, a step takes the candidate with the greatest gain (equation 19)

    $$\Delta(C) = w(C_q, C) + \lambda \max_{C' \in S} w(C, C'),\quad S = \{C_q\} \cup R$$

    The cost is proportional to queries, candidates and `count`: scores among candidates are
    computed only for selected ones.

    Args:
        relevance: Score of each query and candidate; minus infinity for an empty position.
        score_among: Scores candidates with each other.
        count: Number of candidates to select, K.
        coherence: lambda.
        duplicates: Numbers that duplicate columns share. A second duplicate is selected only when
            no other candidate is left; None treats duplicates like other candidates.

    Returns:
        Positions of the selected candidates, in the order of selection; `NO_CANDIDATE` where none
        was left.
    """
    queries, candidates = relevance.shape
    rows = np.arange(queries)
    available = np.isfinite(relevance)
    relevance = np.where(available, relevance, 0.0)
    # Greatest score with the query or a selected candidate. The query belongs to S from the start.
    attachment = relevance.copy()
    repeated = np.zeros((queries, candidates), dtype=bool)
    selected = np.full((queries, count), NO_CANDIDATE, dtype=np.int64)
    for step in range(min(count, candidates)):
        gain = np.where(available, relevance + coherence * attachment, -np.inf)
        # Gains lie in [0, 1 + coherence], so a penalty of twice that puts duplicates last.
        gain = np.where(repeated & available, gain - 2 * (1 + coherence), gain)
        best = gain.argmax(axis=1)
        left = available[rows, best]
        selected[left, step] = best[left]
        available[rows, best] = False
        if coherence and step + 1 < count:
            attachment = np.maximum(attachment, score_among(best))
        if duplicates is not None:
            repeated |= duplicates == duplicates[rows, best][:, None]
    return selected
