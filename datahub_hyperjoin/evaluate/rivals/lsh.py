r"""Columns that hold at least half of a query's values, found by hashing: LSH Ensemble.

LSH Ensemble (Zhu, Nargesian, Pu, Miller: LSH Ensemble: Internet-Scale Domain Search, VLDB 2016)
looks for columns C whose containment $t(Q, C) = |Q \cap C| / |Q|$ reaches a threshold. datasketch
implements it and returns columns without scores, so that they are ordered here by the containment
that the same MinHashes estimate, by the paper's own transform: with s the estimated Jaccard
coefficient, q = |Q| and c = |C|,

$$t = \frac{(q + c)\,s}{(1 + s)\,q}.$$
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from datahub_hyperjoin.evaluate.rivals.cells import Cells
from datahub_hyperjoin.evaluate.rivals.rival import Queries, Scores

if TYPE_CHECKING:
    from datasketch import MinHash

_PERMUTATIONS = 128
_PARTITIONS = 16
_THRESHOLD = 0.5


def lsh_ensemble(lake: Sequence[Cells], queries: Queries) -> Scores:
    """Estimates the containment of queries in what the index returns for them.

    The hash functions are those that datasketch draws by default, the same in every run.

    Args:
        lake: All columns.
        queries: Which of them are asked about.

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
        for found in cast("Iterator[int]", index.query(sketches[query], sizes[query])):
            jaccard = sketches[query].jaccard(sketches[found])
            row[found] = containment(jaccard, sizes[query], sizes[found])
    return scores


def sketch(lake: Sequence[Cells]) -> "list[MinHash]":
    """A MinHash of the distinct values of each column.

    Args:
        lake: The columns.

    Returns:
        One a column.
    """
    from datasketch import MinHash  # noqa: PLC0415 (an optional requirement)

    values = ([value.encode() for value in cells.counts] for cells in lake)
    return MinHash.bulk(values, num_perm=_PERMUTATIONS)


def containment(jaccard: float, query: int, candidate: int) -> float:
    """How much of a query a candidate holds.

    Args:
        jaccard: Their Jaccard coefficient, which may be an estimate.
        query: Distinct values of the query.
        candidate: Distinct values of the candidate.

    Returns:
        In [0, 1]; an estimate that says more than the sizes allow is cut.

    >>> containment(1 / 4, 4, 6)
    0.5
    """
    found = (query + candidate) * jaccard / ((1 + jaccard) * query)
    return min(found, candidate / query, 1.0)
