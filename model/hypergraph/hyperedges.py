"""The hypergraph of a lake's columns.

A hyperedge connects the columns of one table, or those of one value domain.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from datahub_hyperjoin.model.hypergraph.adjacency import Adjacency
from datahub_hyperjoin.model.hypergraph.hyperedge_groups import Groups, HyperedgeGroups
from datahub_hyperjoin.model.hypergraph.ragged import Lists


@dataclass(frozen=True)
class Hypergraph:
    """A hypergraph over columns, stored as a sparse incidence matrix."""

    columns: int
    """Number of columns."""

    incidence: Int[Tensor, "2 entry"]
    """Pairs (column, hyperedge), sorted by hyperedge."""

    across: Bool[Tensor, " hyperedge"]
    """Whether a hyperedge spans tables; every other hyperedge contains the columns of one table."""

    @classmethod
    def from_groups(cls, columns: int, *, within: Groups, across: Groups) -> "Hypergraph":
        """Build a hypergraph whose hyperedges are tables (`within`) and value domains (`across`).

        Returns:
            A hypergraph with the hyperedges of `within`, then those of `across`.
        """
        groups = [*within, *across]
        members = np.concatenate([*groups, np.zeros(0, dtype=np.int64)])
        edges = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        return cls(
            columns=columns,
            incidence=torch.from_numpy(np.stack([members, edges]).astype(np.int64)),
            across=torch.arange(len(groups)) >= len(within),
        )

    @cached_property
    def by_hyperedge(self) -> Lists:
        """The columns of each hyperedge."""
        column, edge = self.incidence
        return Lists.from_pairs(edge, column, len(self.across))

    @cached_property
    def by_column(self) -> Lists:
        """The hyperedges of each column."""
        column, edge = self.incidence
        return Lists.from_pairs(column, edge, self.columns)

    @cached_property
    def adjacency(self) -> Adjacency:
        """The adjacency matrix of the hyperedges (paper, equation 9)."""
        return Adjacency.from_incidence(self.columns, len(self.across), self.incidence)


def build_hypergraph(groups: HyperedgeGroups, columns: int) -> Hypergraph:
    """Build a hypergraph over all columns, with one hyperedge for each group.

    It is the one for inference, and has a hyperedge for each table and for each value domain.
    """
    return Hypergraph.from_groups(columns, within=groups.within, across=groups.across)
