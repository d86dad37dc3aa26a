"""Self-attention between hyperedges (paper, equation 10)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from datahub_hyperjoin.model.hypergraph.adjacency import Adjacency
from datahub_hyperjoin.model.network.biased_attention import biased_attention


class StructureAwareAttention(nn.Module):
    r"""Multi-head self-attention between hyperedges.

    A bias favours hyperedges that share columns.

    $$\mathrm{head}_i = \mathrm{softmax}\left(\frac{Q_i K_i^\top}{\sqrt{d_k}}
    + \lambda A\right) V_i$$

    The matrix of scores is never in memory.

    Args:
        heads: Number of heads; it must divide the width.
        structure_weight: Initial value of lambda, which is learned.

    Shapes:
    """

    def __init__(self, *, width: int, heads: int, structure_weight: float) -> None:
        super().__init__()
        if width % heads:
            message = f"`model.network.width` is {width}; it must be a multiple of {heads}"
            raise ValueError(message)
        self.heads = heads
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.structure = nn.Parameter(torch.tensor(structure_weight))

    def forward(
        self, hyperedges: Float[Tensor, "hyperedge width"], adjacency: Adjacency
    ) -> Float[Tensor, "hyperedge width"]:
        """Compute attention between all hyperedges."""
        count, width = hyperedges.shape
        if not count:
            return hyperedges
        projected = self.project(hyperedges).view(count, 3, self.heads, width // self.heads)
        heads = biased_attention(projected, self.structure, adjacency)
        return self.output(heads.reshape(count, width))
