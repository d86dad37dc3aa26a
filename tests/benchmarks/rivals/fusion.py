r"""Combine several measures of similarity into one by averaging their scaled scores.

This is CombSUM (Fox and Shaw: Combination of Multiple Searches, TREC-2, 1994) of scores scaled as
$(s - \min) / (\max - \min)$ (Lee: Analyses of Multiple Evidence Combination, SIGIR 1997), which
Bruch, Gai and Ingber (An Analysis of Fusion Functions for Hybrid Retrieval, TOIS 2023) find better
than reciprocal ranks. In join discovery, IBM's comparison of 2025 (arXiv 2510.24599) finds that
ensembles of values, meanings and names outperform each of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.rivals.cells import Cells
from benchmarks.rivals.rival import ColumnScores, ColumnScoring, Queries


@dataclass(frozen=True)
class Fusion:
    """The unweighted mean of several measures."""

    parts: Sequence[ColumnScoring]
    """The measures."""

    def __call__(self, lake: Sequence[Cells], queries: Queries, /) -> ColumnScores:
        """Average the scaled scores of all measures.

        Columns of the query's own table do not affect the scale.

        Args:
            lake: All columns.
            queries: Positions of the query columns.

        Returns:
            In [0, 1] for columns of other tables than the query's.
        """
        tables = np.array([cells.name.table for cells in lake])
        others = tables != tables[queries][:, None]
        scaled = [_scaled(part(lake, queries), others) for part in self.parts]
        return np.mean(scaled, axis=0)


def _scaled(scores: ColumnScores, others: np.ndarray) -> ColumnScores:
    """Scale each query's scores so that columns of other tables score between 0 and 1.

    If all are equal, they become 0.
    """
    low = np.min(scores, axis=1, keepdims=True, where=others, initial=np.inf)
    high = np.max(scores, axis=1, keepdims=True, where=others, initial=-np.inf)
    spread = high - low
    return np.where(spread > 0, (scores - low) / np.where(spread > 0, spread, 1), 0)
