r"""How good a ranking is, query by query.

With $R_K(q)$ the first K answers to a query and $R^*(q)$ the columns that join with it,

$$\mathrm{Precision@K} = |R_K(q) \cap R^*(q)| / K,\quad
\mathrm{Recall@K} = |R_K(q) \cap R^*(q)| / |R^*(q)|$$

(paper, equations 26 and 27): the divisor of precision is K, however few answers there are or could
be. The ceiling is what a perfect ranking scores. Average precision is over all answers given, and
divided by $|R^*(q)|$; the reciprocal rank is that of the first right answer.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from datahub_hyperjoin.evaluate.coherence import TruthGraph
from datahub_hyperjoin.evaluate.suite import ColumnName, Rankings

CUTOFFS = (5, 15, 25)
"""Where precision and recall are measured, K."""
ANSWERS = max(CUTOFFS)
"""How many answers a method is asked for."""
COHERENT = 15
"""Of how many answers coherence is measured."""

Scores = Mapping[str, Float[np.ndarray, " query"]]
"""One number a query, by metric."""


def score(truth: Mapping[ColumnName, frozenset[ColumnName]], rankings: Rankings) -> Scores:
    """Scores a method's answers.

    Args:
        truth: Every query, and the columns that join with it.
        rankings: The answers, best first. A query without answers scores 0.

    Returns:
        `P@K`, `R@K` and their ceilings for each cut-off, `MAP`, `MRR` and `coherence@15`; each in
        [0, 1], in the order of `truth`.

    >>> gold = [ColumnName("b", "x"), ColumnName("c", "x")]
    >>> from datahub_hyperjoin.evaluate.suite import Answer
    >>> answers = [Answer(ColumnName("z", "x"), 0.9), Answer(gold[1], 0.8)]
    >>> query = ColumnName("a", "x")
    >>> scores = score({query: frozenset(gold)}, {query: answers})
    >>> {metric: values.round(3).tolist() for metric, values in scores.items() if "5" not in metric}
    {'MAP': [0.25], 'MRR': [0.5]}
    >>> float(scores["P@5"][0]), float(scores["R@5"][0])
    (0.2, 0.5)
    """
    graph, rows = TruthGraph(truth), []
    for query, gold in truth.items():
        answers = [answer.candidate for answer in rankings.get(query, ())]
        coherence = graph.coherence(answers[:COHERENT])
        rows.append({**_score(answers, gold), f"coherence@{COHERENT}": coherence})
    return {metric: np.array([row[metric] for row in rows]) for metric in rows[0]}


def _score(answers: Sequence[ColumnName], gold: frozenset[ColumnName]) -> dict[str, float]:
    right = np.array([answer in gold for answer in answers], dtype=bool)
    ranks = np.flatnonzero(right) + 1
    row: dict[str, float] = {}
    for cutoff in CUTOFFS:
        hits, most = int(right[:cutoff].sum()), min(cutoff, len(gold))
        row |= {f"P@{cutoff}": hits / cutoff, f"R@{cutoff}": hits / len(gold)}
        row |= {f"P@{cutoff} ceiling": most / cutoff, f"R@{cutoff} ceiling": most / len(gold)}
    precisions = np.arange(1, len(ranks) + 1) / ranks
    row["MAP"] = float(precisions.sum()) / len(gold)
    row["MRR"] = 1 / int(ranks[0]) if len(ranks) else 0.0
    return row
