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
) -> Int[np.ndarray, " table"]:
    """Group the tables that refer to each other or have similar columns.

    The groups are the communities that the Louvain method finds.

    Args:
        lake: The columns.
        candidates: The possible references.
        tables: What the tables of all pairs have in common.
        probability: The probability of each possible reference.

    Returns:
        The group of each table.
    """
    count = len(lake.titles)
    likely = np.flatnonzero(probability > _LIKELY)
    pairs = np.concatenate([likely, tables.alike])
    evidence = np.zeros((2, len(pairs)))
    evidence[0, : len(likely)] = probability[likely]
    evidence[1, len(likely) :] = tables.likeness
    ends = lake.table_of[np.stack([candidates.referring[pairs], candidates.referenced[pairs]])]
    apart = ends[0] != ends[1]
    pairs, evidence = pairs[apart], evidence[:, apart]
    one, other = np.sort(ends[:, apart], axis=0)
    edges, edge = np.unique(number_pairs(one, other, count), return_inverse=True)
    strongest, first = np.zeros((2, len(edges))), np.full(len(edges), len(probability))
    for strength, of_kind in zip(strongest, evidence, strict=True):
        np.maximum.at(strength, edge, of_kind)
    # In the order of the pairs, on which the groups depend where several are equally good.
    np.minimum.at(first, edge, pairs)
    order = np.argsort(first, kind="stable")
    import networkx as nx  # noqa: PLC0415 (a tenth of a second; a run without changes needs none)

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(count))
    weighted = (edges[order] // count, edges[order] % count, strongest.sum(axis=0)[order])
    graph.add_weighted_edges_from(zip(*(each.tolist() for each in weighted), strict=True))
    groups = np.zeros(count, dtype=np.int64)
    communities = nx.community.louvain_communities(graph, seed=0, resolution=_RESOLUTION)
    for number, members in enumerate(communities):
        groups[list(members)] = number
    return groups
