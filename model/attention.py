"""Attention between hyperedges that knows which of them share columns (paper, equation 10)."""

import torch
from jaxtyping import Float
from scipy import sparse
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

_BLOCK = 1024
"""Hyperedges whose scores stand in memory at once."""


class StructureAwareAttention(nn.Module):
    r"""Multi-head self-attention with an additive bias for shared columns.

    $$\mathrm{head}_i = \mathrm{softmax}\left(\frac{Q_i K_i^\top}{\sqrt{d_k}}
    + \lambda A\right) V_i$$

    The bias is added block by block of queries, so that inference never holds a score for every
    two hyperedges.

    Args:
        width: Length of a hyperedge's vector, d.
        heads: How many heads share it.
        structure_weight: Initial lambda, which is learnt.

    Shapes:
        hyperedges (hyperedge, width), adjacency (hyperedge, hyperedge) sparse; returns
        (hyperedge, width).
    """

    def __init__(self, *, width: int, heads: int, structure_weight: float) -> None:
        super().__init__()
        if width % heads:
            message = (
                f"`model.network.width` {width} is no multiple of `model.network.heads` {heads}"
            )
            raise ValueError(message)
        self.heads = heads
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.structure = nn.Parameter(torch.tensor(structure_weight))

    def forward(
        self, hyperedges: Float[Tensor, "hyperedge width"], adjacency: sparse.csr_array
    ) -> Float[Tensor, "hyperedge width"]:
        """Lets every hyperedge read every other.

        Args:
            hyperedges: One vector a hyperedge.
            adjacency: Shares of common columns, rows summing to 1 or 0.

        Returns:
            What each hyperedge reads.
        """
        count, width = hyperedges.shape
        split = self.project(hyperedges).view(count, 3, self.heads, width // self.heads)
        query, key, value = split.permute(1, 2, 0, 3)
        blocks = []
        for start in range(0, count, _BLOCK):
            shared = torch.from_numpy(adjacency[start : start + _BLOCK].toarray())
            bias = self.structure * shared.to(hyperedges)
            rows = query[:, start : start + _BLOCK]
            blocks.append(scaled_dot_product_attention(rows, key, value, attn_mask=bias))
        heads = torch.cat(blocks, dim=1) if blocks else query
        return self.output(heads.transpose(0, 1).reshape(count, width))
