"""How alike columns' names are written, whatever they hold: the least that a rival can know."""

from collections.abc import Sequence

import numpy as np

from datahub_hyperjoin.evaluate.rivals.cells import Cells
from datahub_hyperjoin.evaluate.rivals.rival import Queries, Scores
from datahub_hyperjoin.model.signals.names import NameSimilarity


def name_similarity(lake: Sequence[Cells], queries: Queries) -> Scores:
    """Compares names by Dice's coefficient of their trigrams; those of tables do not count.

    Args:
        lake: All columns.
        queries: Which of them are asked about.

    Returns:
        In [0, 1]: 1 for names of the same tokens.
    """
    alike = NameSimilarity([cells.name.column for cells in lake])
    everyone = np.arange(len(lake))
    # Query by query, since all pairs at once would hold the trigrams of each.
    return np.stack([alike.of(np.full(len(lake), query), everyone) for query in queries])
