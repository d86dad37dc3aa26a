r"""Metrics of ranking quality, computed for each query column.

With $R_K(q)$ the first K candidates for a query column and $R^*(q)$ the columns that join with it,

$$\mathrm{Precision@K} = |R_K(q) \cap R^*(q)| / K,\quad
\mathrm{Recall@K} = |R_K(q) \cap R^*(q)| / |R^*(q)|$$

(paper, equations 26 and 27). Precision is divided by K, however few candidates there are. The
ceiling is the score of a perfect ranking. Average precision covers all candidates and is divided
by $|R^*(q)|$; the reciprocal rank is that of the first right candidate.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Float

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, Rankings

# Coherence is the share of candidate pairs that join with each other.
#
# The ground truth lists the columns that join with each query column, $R^*(r)$, and nothing about
# other pairs. Columns that join with the same column are assumed to join with one another: two
# columns are coherent if some query column r has both in $\{r\} \cup R^*(r)$. Coherence@K is the
# share of coherent pairs among the first K candidates.
#
# This has two limits. A pair that joins counts as incoherent if no query column joins with both.
# And joining is not always transitive: two columns that are both contained in a third need not
# share a value. Coherence also ignores the query column itself: wrong candidates can be very
# coherent. Read it beside precision.


class JoinedGroups:
    """Groups of columns that join with each other, one group for each query column.

    Args:
        truth: The columns that join with each query column.
    """

    def __init__(self, truth: Mapping[ColumnName, frozenset[ColumnName]]) -> None:
        self._groups: defaultdict[ColumnName, set[ColumnName]] = defaultdict(set)
        for query, joining in truth.items():
            for column in (query, *joining):
                self._groups[column].add(query)

    def coherence(self, candidates: Sequence[ColumnName]) -> float:
        """Return the share of candidate pairs whose two columns belong to the same group.

        Args:
            candidates: The first K candidates of one query column.

        Returns:
            In [0, 1]; 0 for fewer than two candidates, which form no pair.

        >>> a, b, c, d = (ColumnName(table, "x") for table in "abcd")
        >>> round(JoinedGroups({a: frozenset({b, c})}).coherence([b, c, d]), 3)
        0.333
        """
        pairs = list(combinations(candidates, 2))
        coherent = sum(self._share_group(*pair) for pair in pairs)
        return coherent / len(pairs) if pairs else 0.0

    def _share_group(self, left: ColumnName, right: ColumnName) -> bool:
        # Not self._groups[...]: a defaultdict would store an empty group for each lookup.
        none: set[ColumnName] = set()
        return not self._groups.get(left, none).isdisjoint(self._groups.get(right, none))


CUTOFFS = (5, 15, 25)
"""Values of K at which precision and recall are measured."""
RANKING_LENGTH = max(CUTOFFS)
"""Number of candidates that a method ranks for each query column."""
COHERENCE_CUTOFF = 15
"""Value of K at which coherence is measured."""

QueryScores = Mapping[str, Float[np.ndarray, " query"]]
"""The values of each metric, one per query column."""


def score_rankings(
    truth: Mapping[ColumnName, frozenset[ColumnName]], rankings: Rankings
) -> QueryScores:
    """Compute the quality metrics of a method's rankings.

    Args:
        truth: The columns that join with each query column.
        rankings: The candidates for each query column, best first. A query column without
            candidates scores 0.

    Returns:
        `P@K`, `R@K` and their ceilings for each cut-off, `MAP`, `MRR` and `coherence@15`; each in
        [0, 1], in the order of `truth`.

    >>> gold = [ColumnName("b", "x"), ColumnName("c", "x")]
    >>> from datahub_hyperjoin.evaluate.labelled_lake import RankedColumn
    >>> ranking = [RankedColumn(ColumnName("z", "x"), 0.9), RankedColumn(gold[1], 0.8)]
    >>> query = ColumnName("a", "x")
    >>> scores = score_rankings({query: frozenset(gold)}, {query: ranking})
    >>> {metric: values.round(3).tolist() for metric, values in scores.items() if "5" not in metric}
    {'MAP': [0.25], 'MRR': [0.5]}
    >>> float(scores["P@5"][0]), float(scores["R@5"][0])
    (0.2, 0.5)
    """
    groups, rows = JoinedGroups(truth), []
    for query, gold in truth.items():
        candidates = [ranked.candidate for ranked in rankings.get(query, ())]
        coherence = groups.coherence(candidates[:COHERENCE_CUTOFF])
        rows.append({**_score(candidates, gold), f"coherence@{COHERENCE_CUTOFF}": coherence})
    return {metric: np.array([row[metric] for row in rows]) for metric in rows[0]}


def _score(candidates: Sequence[ColumnName], gold: frozenset[ColumnName]) -> dict[str, float]:
    """Compute every metric of one ranking, except its coherence."""
    right = np.array([candidate in gold for candidate in candidates], dtype=bool)
    ranks = np.flatnonzero(right) + 1
    metrics: dict[str, float] = {}
    for cutoff in CUTOFFS:
        hits, possible = int(right[:cutoff].sum()), min(cutoff, len(gold))
        metrics |= {f"P@{cutoff}": hits / cutoff, f"R@{cutoff}": hits / len(gold)}
        metrics |= {
            f"P@{cutoff} ceiling": possible / cutoff,
            f"R@{cutoff} ceiling": possible / len(gold),
        }
    # The i-th right candidate at rank r has the precision i / r.
    precisions = np.arange(1, len(ranks) + 1) / ranks
    metrics["MAP"] = float(precisions.sum()) / len(gold)
    metrics["MRR"] = 1 / int(ranks[0]) if len(ranks) else 0.0
    return metrics
