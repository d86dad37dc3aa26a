"""Rank columns by the similarity of their names, the simplest rival method."""

from collections.abc import Sequence

import numpy as np

from benchmarks.rivals.cells import Cells
from benchmarks.rivals.rival import ColumnScores, Queries
from datahub_hyperjoin.model.signals.names import NameSimilarity


def name_similarity(lake: Sequence[Cells], queries: Queries) -> ColumnScores:
    """Compare column names by the Dice coefficient of their trigrams.

    Table names and values do not count.

    Args:
        lake: All columns.
        queries: Positions of the query columns.

    Returns:
        In [0, 1]: 1 for names of the same tokens.
    """
    similarity = NameSimilarity([cells.name.column for cells in lake])
    columns = np.arange(len(lake))
    # One query at a time: all pairs at once would keep the trigrams of each pair in memory.
    return np.stack([similarity.of(np.full(len(lake), query), columns) for query in queries])
