"""Which hyperedges share columns, and how much (paper, equation 9)."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import sparse
from torch import Tensor

from datahub_hyperjoin.model.hypergraph.ragged import Lists


@dataclass(frozen=True)
class Adjacency:
    r"""The non-zeros of $A = \mathrm{RowNormalise}(\Pi^\top \Pi - \mathrm{diag})$, row by row.

    A column lies in at most two hyperedges, so there are at most as many of them as columns.
    """

    row: Int[Tensor, " entry"]
    """The hyperedge that reads; in order."""

    lists: Lists
    """The hyperedges that each one reads. If i reads j, then j reads i."""

    share: Float[Tensor, " entry"]
    """Shared columns as a part of all that the row shares; a row sums to 1, or has no entry."""

    mirror: Int[Tensor, " entry"]
    """Where the entry (j, i) stands, for each entry (i, j)."""

    @classmethod
    def from_incidence(
        cls, columns: int, hyperedges: int, incidence: Int[Tensor, "2 entry"]
    ) -> "Adjacency":
        """Counts the columns that every two hyperedges share.

        Args:
            columns: How many columns there are.
            hyperedges: How many hyperedges there are.
            incidence: Pairs (column, hyperedge).

        Returns:
            The shares, on the device of `incidence`.
        """
        column, edge = incidence.cpu().numpy()
        ones = np.ones(len(edge), dtype=np.float32)
        holds = sparse.csr_array((ones, (column, edge)), shape=(columns, hyperedges))
        shared = (holds.T @ holds).tocoo()
        apart = shared.row != shared.col
        counts = sparse.csr_array(
            (shared.data[apart], (shared.row[apart], shared.col[apart])), shape=shared.shape
        )
        counts.sort_indices()
        starts = torch.from_numpy(counts.indptr).long()
        row = torch.repeat_interleave(torch.arange(hyperedges), starts.diff())
        neighbour = torch.from_numpy(counts.indices).long()
        count = torch.from_numpy(counts.data)
        device = incidence.device
        return cls(
            row=row.to(device),
            lists=Lists(neighbour.to(device), starts.to(device)),
            share=(count / row.bincount(count, minlength=hyperedges)[row]).float().to(device),
            mirror=torch.argsort(neighbour, stable=True).to(device),
        )

    @property
    def entries(self) -> Lists:
        """The numbers of each row's own entries."""
        return Lists(torch.arange(len(self.row), device=self.row.device), self.lists.starts)
