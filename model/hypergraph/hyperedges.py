"""The hypergraph of a lake's columns as tensors.

A hyperedge connects the columns of one table, or those of one value domain. The relation of both is
stored as lists in both directions: the gradient of a sum along one direction is a sum along the
other. Neither pass needs a scatter, whose order of additions would differ from run to run on a GPU.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy import sparse
from torch import Tensor
from torch.nn.functional import embedding_bag

from datahub_hyperjoin.model.config import Method
from datahub_hyperjoin.model.hypergraph.join_graph import Groups, JoinGraph, find_hyperedges
from datahub_hyperjoin.model.lake import Lake


@dataclass(frozen=True)
class Lists:
    """Lists of indices, stored one after another in one tensor."""

    members: Int[Tensor, " entry"]
    starts: Int[Tensor, " bound"]  # start of each list in `members`, and the end of the last one

    @classmethod
    def from_pairs(
        cls, owner: Int[Tensor, " entry"], member: Int[Tensor, " entry"], count: int
    ) -> "Lists":
        """Build `count` lists of indices: put index `member[i]` into list number `owner[i]`."""
        # Sorted by owner, then by member, so that every run adds in the same order.
        order = torch.argsort(member, stable=True)
        order = order[torch.argsort(owner[order], stable=True)]
        sizes = torch.bincount(owner, minlength=count)
        return cls(
            members=member[order], starts=torch.cat([sizes.new_zeros(1), sizes.cumsum(dim=0)])
        )

    @property
    def sizes(self) -> Int[Tensor, " list"]:
        """The length of each list."""
        return self.starts.diff()

    def sum(
        self, values: Float[Tensor, "source width"], weights: Float[Tensor, " entry"] | None = None
    ) -> Float[Tensor, "list width"]:
        """For each list, compute the weighted sum of the rows of `values` at the list's indices."""
        # Call it only where no gradient is recorded, such as within an autograd function.
        return embedding_bag(
            self.members,
            values.contiguous(),
            self.starts,
            mode="sum",
            per_sample_weights=weights,
            include_last_offset=True,
        )


class _ListSum(torch.autograd.Function):
    """A differentiable version of `Lists.sum`, without weights."""

    # The gradient of a row is a sum over the lists that contain the row.

    @staticmethod
    def forward(ctx: Any, values: Tensor, forth: Lists, back: Lists) -> Tensor:  # noqa: ANN401 - torch's own context has no public type
        ctx.back = back
        return forth.sum(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401 - as above
        return ctx.back.sum(gradients[0]), None, None


def mean_of_members(
    values: Float[Tensor, "source width"], forth: Lists, back: Lists
) -> Float[Tensor, "list width"]:
    """For each list of row numbers in `forth`, average the listed rows of `values`."""
    # In half precision, long sums would lose small members.
    exact = values.to(torch.promote_types(values.dtype, torch.float32))
    total = cast("Tensor", _ListSum.apply(exact, forth, back))  # type: ignore[no-untyped-call]
    return total / forth.sizes.clamp(min=1)[:, None]


@dataclass(frozen=True)
class Adjacency:
    """A sparse matrix of weights between hyperedges, based on the number of columns they share."""

    # The non-zeros of RowNormalise(P^T P - diag), row by row, where P is the incidence matrix. A
    # column is in at most two hyperedges, so there are at most two entries per column.

    # The row of each entry: the hyperedge that attends to another one. The rows are ascending.
    row: Int[Tensor, " entry"]
    lists: Lists
    share: Float[Tensor, " entry"]
    mirror: Int[Tensor, " entry"]  # index of the entry (j, i) for each entry (i, j)

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
        """For each row of the matrix, the indices of its entries in `share`."""
        return Lists(torch.arange(len(self.row), device=self.row.device), self.lists.starts)


@dataclass(frozen=True)
class Hypergraph:
    """A hypergraph over columns, stored as a sparse incidence matrix."""

    columns: int
    incidence: Int[Tensor, "2 entry"]  # pairs (column, hyperedge), sorted by hyperedge
    # Whether a hyperedge spans tables; every other hyperedge contains the columns of one table.
    across: Bool[Tensor, " hyperedge"]

    @classmethod
    def from_groups(cls, columns: int, *, within: Groups, across: Groups) -> "Hypergraph":
        """Build a hypergraph with the hyperedges of tables, then those of value domains."""
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


def build_hypergraph(lake: Lake, joins: JoinGraph, method: Method) -> Hypergraph:
    """Build the hypergraph for inference, with a hyperedge for each table and value domain."""
    within, across = find_hyperedges(lake, joins, method)
    return Hypergraph.from_groups(len(lake), within=within, across=across)
