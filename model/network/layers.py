"""The half-steps of a hypergraph message, and the mixer between them (paper, section 4.2)."""

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
    r"""Mean of each hyperedge's columns, $D_e^{-1} \Pi^\top H$ (paper, equation 6).

    Args:
        columns: One vector a column.
        graph: Which columns each hyperedge holds.

    Returns:
        One vector a hyperedge.
    """
    return mean_of_members(columns, graph.by_hyperedge, graph.by_column)


def to_column(
    hyperedges: Float[Tensor, "hyperedge width"], graph: Hypergraph
) -> Float[Tensor, "column width"]:
    r"""Mean of the hyperedges that hold each column (paper, equation 12).

    Args:
        hyperedges: One vector a hyperedge.
        graph: Which columns each hyperedge holds.

    Returns:
        One vector a column; zeros for a column in no hyperedge.
    """
    return mean_of_members(hyperedges, graph.by_column, graph.by_hyperedge)


class NodeLayer(nn.Module):
    r"""A column's own transformation, $\mathrm{LayerNorm}(\mathrm{ReLU}(W h + b))$ (equation 5).

    Args:
        width: Length of a column's vector, d.
        dropout: Share of activations dropped in training.

    Shapes:
        (column, width) to (column, width).
    """

    def __init__(self, *, width: int, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, columns: Float[Tensor, "column width"]) -> Float[Tensor, "column width"]:
        """Transforms each column alone."""
        return self.dropout(self.norm(torch.relu(self.linear(columns))))


class MixerLayer(nn.Module):
    r"""Exchange between all hyperedges, then within each (paper, equations 9 to 11).

    $$Z' = Z + \mathrm{Attention}(\mathrm{LayerNorm}(Z)),\quad
    Z'' = Z' + W_2\,\mathrm{GELU}(W_1\,\mathrm{LayerNorm}(Z'))$$

    Args:
        width: Length of a hyperedge's vector, d.
        method: Heads, dropout and the initial weight of shared columns.

    Shapes:
        (hyperedge, width) to (hyperedge, width).
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
        """Mixes hyperedges, then their channels, each beside a residual."""
        mixed = hyperedges + self.attention(self.attention_norm(hyperedges), adjacency)
        return mixed + self.channels(mixed)
