"""The half-steps of a hypergraph message, and the mixer between them (paper, section 4.2)."""

import torch
from jaxtyping import Float
from scipy import sparse
from torch import Tensor, nn

from datahub_hyperjoin.model.attention import StructureAwareAttention
from datahub_hyperjoin.model.config import NetworkConfig
from datahub_hyperjoin.model.hypergraph import Hypergraph


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
    column, edge = graph.incidence
    total = columns.new_zeros(len(graph.across), columns.shape[1])
    total = total.index_add(0, edge, columns.index_select(0, column))
    return total / torch.bincount(edge, minlength=len(graph.across)).clamp(min=1)[:, None]


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
    column, edge = graph.incidence
    total = hyperedges.new_zeros(graph.columns, hyperedges.shape[1])
    total = total.index_add(0, column, hyperedges.index_select(0, edge))
    return total / torch.bincount(column, minlength=graph.columns).clamp(min=1)[:, None]


class NodeLayer(nn.Module):
    r"""A column's own transformation, $\mathrm{LayerNorm}(\mathrm{ReLU}(W h + b))$ (equation 5).

    Args:
        config: Width and dropout.

    Shapes:
        (column, width) to (column, width).
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.linear = nn.Linear(config.width, config.width)
        self.norm = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, columns: Float[Tensor, "column width"]) -> Float[Tensor, "column width"]:
        """Transforms each column alone."""
        return self.dropout(self.norm(torch.relu(self.linear(columns))))


class MixerLayer(nn.Module):
    r"""Exchange between all hyperedges, then within each (paper, equations 9 to 11).

    $$Z' = Z + \mathrm{Attention}(\mathrm{LayerNorm}(Z)),\quad
    Z'' = Z' + W_2\,\mathrm{GELU}(W_1\,\mathrm{LayerNorm}(Z'))$$

    Args:
        config: Width, heads, dropout and the initial weight of structure.

    Shapes:
        (hyperedge, width) to (hyperedge, width).
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width)
        self.attention = StructureAwareAttention(
            width=config.width, heads=config.heads, structure_weight=config.structure_weight
        )
        self.channels = nn.Sequential(
            nn.LayerNorm(config.width),
            nn.Linear(config.width, 4 * config.width),
            nn.GELU(),
            nn.Dropout(config.dropout),
            nn.Linear(4 * config.width, config.width),
        )

    def forward(
        self, hyperedges: Float[Tensor, "hyperedge width"], adjacency: sparse.csr_array
    ) -> Float[Tensor, "hyperedge width"]:
        """Mixes hyperedges, then their channels, each beside a residual."""
        mixed = hyperedges + self.attention(self.attention_norm(hyperedges), adjacency)
        return mixed + self.channels(mixed)
