"""The layers of HIN, which pass messages between columns and hyperedges.

Equation numbers are the paper's (section 4.2).
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from datahub_hyperjoin.model.config import Method
from datahub_hyperjoin.model.hypergraph.adjacency import Adjacency
from datahub_hyperjoin.model.hypergraph.hyperedges import Hypergraph
from datahub_hyperjoin.model.hypergraph.ragged import mean_of_members
from datahub_hyperjoin.model.network.attention import StructureAwareAttention


def to_hyperedge(
    columns: Float[Tensor, "column width"], graph: Hypergraph
) -> Float[Tensor, "hyperedge width"]:
    r"""For each hyperedge, compute the mean vector of its columns (paper, equation 6).

    As a formula, this is $D_e^{-1} \Pi^\top H$.
    """
    return mean_of_members(columns, graph.by_hyperedge, graph.by_column)


def to_column(
    hyperedges: Float[Tensor, "hyperedge width"], graph: Hypergraph
) -> Float[Tensor, "column width"]:
    r"""For each column, compute the mean vector of its hyperedges (paper, equation 12).

    Returns:
        One vector per column; zeros for a column in no hyperedge.
    """
    return mean_of_members(hyperedges, graph.by_column, graph.by_hyperedge)


class NodeLayer(nn.Module):
    r"""A transformation of column vectors (paper, equation 5).

    The formula is $\mathrm{LayerNorm}(\mathrm{ReLU}(W h + b))$.
    """

    def __init__(self, *, width: int, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, columns: Float[Tensor, "column width"]) -> Float[Tensor, "column width"]:
        """Transform the vector of each column independently of other columns."""
        return self.dropout(self.norm(torch.relu(self.linear(columns))))


class MixerLayer(nn.Module):
    r"""Attention between hyperedges, then a feed-forward network (paper, equations 9 to 11).

    $$Z' = Z + \mathrm{Attention}(\mathrm{LayerNorm}(Z)),\quad
    Z'' = Z' + W_2\,\mathrm{GELU}(W_1\,\mathrm{LayerNorm}(Z'))$$

    The input of attention is normalised, as in the algorithm of the paper's appendix; the equations
    do not show that norm.
    """

    def __init__(self, width: int, method: Method) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = StructureAwareAttention(
            width=width, heads=method.heads, structure_weight=method.structure_weight
        )
        self.channels = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Dropout(method.dropout),
            nn.Linear(4 * width, width),
        )

    def forward(
        self, hyperedges: Float[Tensor, "hyperedge width"], adjacency: Adjacency
    ) -> Float[Tensor, "hyperedge width"]:
        """Apply attention and the feed-forward network, each with a residual connection."""
        mixed = hyperedges + self.attention(self.attention_norm(hyperedges), adjacency)
        return mixed + self.channels(mixed)
