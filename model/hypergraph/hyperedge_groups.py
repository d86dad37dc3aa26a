"""The groups of columns that become hyperedges.

A group has the columns of one table, or those of one value domain.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.model.config import Method
from datahub_hyperjoin.model.hypergraph.join_graph import JoinGraph
from datahub_hyperjoin.model.lake import Lake

Groups = Sequence[Int[np.ndarray, " _"]]


@dataclass(frozen=True)
class HyperedgeGroups:
    """The groups of columns that become hyperedges.

    Each table has a group, and so does each value domain.
    """

    within: Groups
    """The columns of each table."""

    across: Groups
    """The columns of each value domain."""


def build_hyperedge_groups(lake: Lake, joins: JoinGraph, method: Method) -> HyperedgeGroups:
    """Group the columns of a lake by table and by value domain.

    The groups are the network's hyperedges at inference.

    Args:
        joins: The join graph; each of its components is a value domain.

    Returns:
        The groups; none of a kind that does not exist.
    """
    at_inference = method.hyperedges_at_inference
    tables = [columns for columns in lake.columns_of if len(columns)]
    return HyperedgeGroups(
        within=tables if at_inference and method.within_tables else [],
        across=joins.components if at_inference and method.across_tables else [],
    )
