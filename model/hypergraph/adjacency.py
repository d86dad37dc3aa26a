"""The adjacency matrix of hyperedges (paper, equation 9)."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import sparse
from torch import Tensor

from datahub_hyperjoin.model.hypergraph.ragged import Lists


@dataclass(frozen=True)
class Adjacency:
    r"""A sparse matrix of weights between hyperedges, based on the number of columns they share.

    It holds the non-zeros of $A = \mathrm{RowNormalise}(\Pi^\top \Pi - \mathrm{diag})$, row by row,
    where $\Pi$ is the incidence matrix of columns and hyperedges. A column is in at most two
    hyperedges, so there are at most two entries per column.
    """

    row: Int[Tensor, " entry"]
    """The row of each entry: the hyperedge that attends to another one. The rows are ascending."""

    lists: Lists
    """The neighbours of each hyperedge. The relation is symmetric."""

    share: Float[Tensor, " entry"]
    """Numbers of shared columns, normalised so that the entries of each row sum to 1."""

    mirror: Int[Tensor, " entry"]
    """Index of the entry (j, i) for each entry (i, j)."""

    @classmethod
    def from_incidence(
        cls, columns: int, hyperedges: int, incidence: Int[Tensor, "2 entry"]
    ) -> "Adjacency":
        """Compute the adjacency matrix from the (column, hyperedge) pairs of a hypergraph."""
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
            # By neighbour, the k-th entry is the mirror of the k-th entry by row.
            mirror=torch.argsort(neighbour, stable=True).to(device),
        )

    @property
    def entries(self) -> Lists:
        """For each row of the matrix, the indices of its entries in `share`.

        Each row belongs to one hyperedge.
        """
        return Lists(torch.arange(len(self.row), device=self.row.device), self.lists.starts)
