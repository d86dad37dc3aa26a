r"""Rank columns with LSH Ensemble, which finds columns that contain most of a query column.

LSH Ensemble (Zhu, Nargesian, Pu, Miller: LSH Ensemble: Internet-Scale Domain Search, VLDB 2016)
looks for columns C whose containment $t(Q, C) = |Q \cap C| / |Q|$ reaches a threshold. datasketch
implements it and returns columns without scores. They are therefore ordered by the containment that
the same MinHashes estimate with the paper's own formula: with s the estimated Jaccard coefficient,
q = |Q| and c = |C|,

$$t = \frac{(q + c)\,s}{(1 + s)\,q}.$$
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from benchmarks.rivals.cells import Cells
from benchmarks.rivals.rival import ColumnScores, Queries

if TYPE_CHECKING:
    from datasketch import MinHash

_PERMUTATIONS = 128
_PARTITIONS = 16
_THRESHOLD = 0.5


def lsh_ensemble(lake: Sequence[Cells], queries: Queries) -> ColumnScores:
    """Estimate the containment of each query column in the columns of the index.

    The hash functions are datasketch's defaults, the same in every run.

    Args:
        lake: All columns.
        queries: Positions of the query columns.

    Returns:
        Estimates in [0, 1]; 0 where the index returns nothing.
    """
    from datasketch import MinHashLSHEnsemble  # noqa: PLC0415 (an optional requirement)

    sketches = sketch(lake)
    sizes = [len(cells.counts) for cells in lake]
    index = MinHashLSHEnsemble(_THRESHOLD, _PERMUTATIONS, _PARTITIONS)
    index.index(zip(range(len(lake)), sketches, sizes, strict=True))
    scores = np.zeros((len(queries), len(lake)))
    for row, query in zip(scores, queries, strict=True):
        for column in cast("Iterator[int]", index.query(sketches[query], sizes[query])):
            jaccard = sketches[query].jaccard(sketches[column])
            row[column] = containment(jaccard, sizes[query], sizes[column])
    return scores


def sketch(lake: Sequence[Cells]) -> "list[MinHash]":
    """Compute a MinHash of each column's distinct values."""
    from datasketch import MinHash  # noqa: PLC0415 (an optional requirement)

    values = ([value.encode() for value in cells.counts] for cells in lake)
    return MinHash.bulk(values, num_perm=_PERMUTATIONS)


def containment(jaccard: float, query: int, candidate: int) -> float:
    """Convert a Jaccard coefficient into the share of the query's values in a candidate.

    Args:
        jaccard: Their Jaccard coefficient, or an estimate of it.
        query: Number of distinct values of the query column.
        candidate: Number of distinct values of the candidate.

    Returns:
        In [0, 1]; an estimate is limited to the greatest share that the sizes allow.

    >>> containment(1 / 4, 4, 6)
    0.5
    """
    estimate = (query + candidate) * jaccard / ((1 + jaccard) * query)
    return min(estimate, candidate / query, 1.0)
