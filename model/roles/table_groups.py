"""Group the tables of a lake that refer to each other or have similar columns."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates
from datahub_hyperjoin.model.signals.pairs import number_pairs

ALIKE = 0.25
"""Two tables may be grouped if their column names are more similar than this."""
_LIKELY = 0.2
"""Two tables may be grouped if a reference between them is more probable than this."""
_RESOLUTION = 0.5
"""Resolution of community detection; a value below 1 gives fewer and larger communities."""
_PARTITIONS = 9
"""Number of partitions."""


@dataclass(frozen=True)
class TablePairs:
    """What the tables of all pairs have in common, as far as it is needed at once."""

    elsewhere: Bool[np.ndarray, " pair"]
    """Whether the two tables are in different folders or schemas."""

    alike: Int[np.ndarray, " alike"]
    """The positions of the pairs of tables with similar column names."""

    likeness: Float[np.ndarray, " alike"]
    """How similar these names are."""


def group_tables(
    lake: Lake,
    candidates: ReferenceCandidates,
    tables: TablePairs,
    probability: Float[np.ndarray, " pair"],
) -> Int[np.ndarray, "partition table"]:
    """Group the tables that refer to each other or have similar columns.

    The groups are the communities that the Louvain method finds. Many partitions of a lake are
    nearly as good, and a slight change of one table may lead to another, so there are several.
    """
    count = len(lake.titles)
    likely = np.flatnonzero(probability > _LIKELY)
    pairs = np.concatenate([likely, tables.alike])
    evidence = np.zeros((2, len(pairs)))
    evidence[0, : len(likely)] = probability[likely]
    evidence[1, len(likely) :] = tables.likeness
    ends = lake.table_of[np.stack([candidates.referring[pairs], candidates.referenced[pairs]])]
    apart = ends[0] != ends[1]
    evidence = evidence[:, apart]
    one, other = np.sort(ends[:, apart], axis=0)
    edges, edge = np.unique(number_pairs(one, other, count), return_inverse=True)
    if not len(edges):
        return np.arange(count)[np.newaxis]
    strongest = np.zeros((2, len(edges)))
    for strength, of_kind in zip(strongest, evidence, strict=True):
        np.maximum.at(strength, edge, of_kind)
    # A run without changes needs neither.
    from scipy.sparse import coo_matrix  # noqa: PLC0415
    from sknetwork.clustering import Louvain  # noqa: PLC0415

    between = edges // count, edges % count
    half = coo_matrix((strongest.sum(axis=0), between), shape=(count, count)).tocsr()
    graph = half + half.T
    return np.stack(
        [
            Louvain(_RESOLUTION, shuffle_nodes=True, random_state=seed).fit_predict(graph)
            for seed in range(_PARTITIONS)
        ]
    )
