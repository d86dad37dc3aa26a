r"""Measures taken together: the mean of scores, each scaled per query to [0, 1].

That is CombSUM (Fox and Shaw: Combination of Multiple Searches, TREC-2, 1994) of scores scaled as
$(s - \min) / (\max - \min)$ (Lee: Analyses of Multiple Evidence Combination, SIGIR 1997), which
Bruch, Gai and Ingber (An Analysis of Fusion Functions for Hybrid Retrieval, TOIS 2023) find better
than reciprocal ranks. In join discovery, IBM's comparison of 2025 (arXiv 2510.24599) finds that
ensembles of values, meaning and names win over each of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datahub_hyperjoin.evaluate.rivals.cells import Cells
from datahub_hyperjoin.evaluate.rivals.rival import Queries, Scores, Scoring


@dataclass(frozen=True)
class Fusion:
    """The mean of measures, all of one weight."""

    parts: Sequence[Scoring]
    """The measures."""

    def __call__(self, lake: Sequence[Cells], queries: Queries, /) -> Scores:
        """Scores columns by all measures; a query's own table does not set the scale.

        Args:
            lake: All columns.
            queries: Which of them are asked about.

        Returns:
            In [0, 1] for columns of other tables than the query's.
        """
        tables = np.array([cells.name.table for cells in lake])
        others = tables != tables[queries][:, None]
        scaled = [_scaled(part(lake, queries), others) for part in self.parts]
        return np.mean(scaled, axis=0)


def _scaled(scores: Scores, others: np.ndarray) -> Scores:
    """Zeros where all scores of a query are alike, since they tell nothing apart."""
    low = np.min(scores, axis=1, keepdims=True, where=others, initial=np.inf)
    high = np.max(scores, axis=1, keepdims=True, where=others, initial=-np.inf)
    spread = high - low
    return np.where(spread > 0, (scores - low) / np.where(spread > 0, spread, 1), 0)
