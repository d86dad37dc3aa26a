"""Select candidates that join with the query and with each other (paper, algorithm 1).

The selection grows a maximum spanning tree greedily.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE

_Positions = Int[np.ndarray, " pair"]

PairwiseScores = Callable[[_Positions, _Positions, _Positions], Float[np.ndarray, " pair"]]
"""A function that scores joins between two candidates of one query, in [0, 1]. Its arguments
contain, for each pair, the query and the positions of the selected and of the other candidate."""

_Gains = Float[np.ndarray, "query candidate"]
_Mask = Bool[np.ndarray, "query candidate"]


def select_coherent(
    relevance: Float[np.ndarray, "query candidate"],
    score_among: PairwiseScores,
    *,
    count: int,
    coherence: float,
    duplicates: Int[np.ndarray, "query candidate"] | None = None,
    own: Int[np.ndarray, " query"] | None = None,
) -> Int[np.ndarray, "query rank"]:
    r"""For each query, select candidates that join with the query and with each other.

    For all queries in parallel, a step takes the candidate with the greatest gain (equation 19)

    $$\Delta(C) = w(C_q, C) + \lambda \max_{C' \in S} w(C, C'),\quad S = \{C_q\} \cup R$$

    The cost is proportional to queries, candidates and `count`: scores among candidates are
    computed only for selected ones, and only with those that may still be selected.

    Args:
        relevance: Score of each query and candidate; minus infinity for an empty position.
        duplicates: Numbers that duplicate columns share. A second duplicate is selected only when
            no other candidate is left; None treats duplicates like other candidates.
        own: The number of each query, whose duplicates are selected last, too.

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
    if duplicates is not None and own is not None:
        repeated |= duplicates == own[:, None]
    selected = np.full((queries, count), NO_CANDIDATE, dtype=np.int64)
    steps = min(count, candidates)
    for step in range(steps):
        gain = _gain(relevance + coherence * attachment, available, repeated, coherence)
        best = gain.argmax(axis=1)
        left = available[rows, best]
        selected[left, step] = best[left]
        available[rows, best] = False
        if duplicates is not None:
            repeated |= duplicates == duplicates[rows, best][:, None]
        if coherence and step + 1 < count:
            gain = _gain(relevance + coherence * attachment, available, repeated, coherence)
            enough = _sure_gain(gain, duplicates, steps - step - 1)
            # A score is at most 1, so no other candidate can reach what is sure already.
            query, other = np.nonzero(available & (relevance + coherence >= enough[:, None]))
            scores = score_among(query, best[query], other)
            attachment[query, other] = np.maximum(attachment[query, other], scores)
    return selected


def _gain(gain: _Gains, available: _Mask, repeated: _Mask, coherence: float) -> _Gains:
    """Penalise repeated candidates, and exclude those that are not available."""
    # Gains lie in [0, 1 + coherence], so a penalty of twice that puts duplicates last.
    return np.where(available, np.where(repeated, gain - 2 * (1 + coherence), gain), -np.inf)


def _sure_gain(
    gain: _Gains, duplicates: Int[np.ndarray, "query candidate"] | None, steps: int
) -> Float[np.ndarray, " query"]:
    """For each query, return a gain that each of the next `steps` selections reaches.

    As many candidates, no two of them duplicates, have this gain. It never falls, and an earlier
    selection takes or defers one of them only, so that one is left in each step.
    """
    rows, gain = np.arange(len(gain)), gain.copy()
    reached = np.full(len(gain), -np.inf)
    for _ in range(steps):
        best = gain.argmax(axis=1)
        reached = gain[rows, best]
        if duplicates is not None:
            gain[duplicates == duplicates[rows, best][:, None]] = -np.inf
        gain[rows, best] = -np.inf
    return reached
