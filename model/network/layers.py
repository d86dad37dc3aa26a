"""The layers of HIN, which pass messages between columns and hyperedges.

Equation numbers are the paper's (section 4.2).
"""

# ruff: noqa: FBT003, SLF001 - the kernels are private, and their schemas are positional

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from datahub_hyperjoin.model.config import Method
from datahub_hyperjoin.model.hypergraph.adjacency import Adjacency
from datahub_hyperjoin.model.hypergraph.hyperedges import Hypergraph
from datahub_hyperjoin.model.hypergraph.ragged import mean_of_members

# Memory grows with the number of rows and of non-zero biases, never with the square of the rows.
#
# Let $O$ and $L$ be the output and log-sum-exp of plain attention, and let $b_{ij} = \lambda
# A_{ij}$ be the bias, which is 0 almost everywhere. Then
#
# $$p_{ij} = e^{s_{ij} - L_i} (e^{b_{ij}} - 1),\quad
# O'_i = \frac{O_i + \sum_j p_{ij} v_j}{1 + \sum_j p_{ij}},\quad
# L'_i = L_i + \ln\Big(1 + \sum_j p_{ij}\Big)$$
#
# are those of biased attention, and the sums are over the non-zeros of A alone. Given $O'$ and
# $L'$, the backward kernel weights each pair by $e^{s_{ij} - L'_i}$. That is correct wherever the
# bias is 0, and is corrected by the same factor where it is not.

# Torch's public `scaled_dot_product_attention` does not return the log-sum-exp, and an additive
# bias makes it compute dense scores. The kernels that it calls do both in memory linear in the
# rows.

_KERNELS = torch.ops.aten

_ALIGNMENT = 8
"""The kernels for GPUs need vectors whose length is a multiple of this number."""


@dataclass(frozen=True)
class Attended:
    """The output of attention, and the values that the backward pass needs."""

    output: Float[Tensor, "1 head row size"]
    normalizer: Float[Tensor, "1 head row"]
    """The log-sum-exp of each row's scores."""

    rest: tuple[Tensor | int, ...]
    """Further values that this device's kernel passes to its backward pass."""


def _align(rows: Float[Tensor, "1 head row size"]) -> Float[Tensor, "1 head row length"]:
    """Pad vectors with zeros to a length that GPU kernels accept; inner products stay the same."""
    return pad(rows, (0, -rows.shape[3] % _ALIGNMENT))


def _is_half(tensor: Tensor) -> bool:
    return tensor.dtype in (torch.bfloat16, torch.float16)


def attend(
    query: Float[Tensor, "1 head row size"],
    key: Float[Tensor, "1 head row size"],
    value: Float[Tensor, "1 head row size"],
) -> Attended:
    r"""Compute attention, $\mathrm{softmax}(QK^\top/\sqrt{d_k}) V$ (Dao et al., 2022)."""
    if not query.is_cuda:
        output, normalizer = _KERNELS._scaled_dot_product_flash_attention_for_cpu(query, key, value)
        return Attended(output, normalizer, ())
    rows, size = query.shape[2:]
    inputs, scale = [_align(part) for part in (query, key, value)], size**-0.5
    if _is_half(query):
        output, normalizer, *rest = _KERNELS._scaled_dot_product_flash_attention(
            *inputs, scale=scale
        )
        return Attended(output[..., :size], normalizer, tuple(rest[:6]))
    output, normalizer, *rest = _KERNELS._scaled_dot_product_efficient_attention(
        *inputs, None, compute_log_sumexp=True, scale=scale
    )
    # The kernel pads its log-sum-exp.
    return Attended(output[..., :size], normalizer[:, :, :rows], tuple(rest))


def attend_backward(
    gradient: Float[Tensor, "1 head row size"],
    inputs: Sequence[Float[Tensor, "1 head row size"]],
    attended: Attended,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the gradients of queries, keys and values.

    The kernel recomputes each weight from its score and the log-sum-exp, and needs the output only
    for the inner product with its gradient. With another output and log-sum-exp, it is therefore
    exact for every score that these were computed from.
    """
    output, normalizer = attended.output, attended.normalizer
    if not gradient.is_cuda:
        return _KERNELS._scaled_dot_product_flash_attention_for_cpu_backward(
            gradient, *inputs, output, normalizer, 0.0, False
        )
    size = gradient.shape[3]
    slope, *parts, whole = (_align(part) for part in (gradient, *inputs, output))
    if _is_half(gradient):
        *lengths, seed, offset = attended.rest
        found = _KERNELS._scaled_dot_product_flash_attention_backward(
            slope, *parts, whole, normalizer, *lengths, 0.0, False, seed, offset, scale=size**-0.5
        )
    else:
        # This kernel expects the log-sum-exp padded to a multiple of 32 rows.
        padded = pad(normalizer, (0, -normalizer.shape[2] % 32))
        *found, _ = _KERNELS._scaled_dot_product_efficient_attention_backward(
            slope,
            *parts,
            None,
            whole,
            padded,
            *attended.rest,
            0.0,
            [True, True, True, False],
            scale=size**-0.5,
        )
    query, key, value = (part[..., :size] for part in found)
    return query, key, value


_BLOCK = 16384
"""Number of pairs whose vectors are in memory at once."""


def _by_head(rows: Float[Tensor, "row head size"]) -> Float[Tensor, "1 head row size"]:
    return rows.transpose(0, 1)[None]


def _by_row(heads: Float[Tensor, "1 head row size"]) -> Float[Tensor, "row head size"]:
    return heads[0].transpose(0, 1)


def _exact(rows: Float[Tensor, "row head size"]) -> Float[Tensor, "row head size"]:
    """Convert rows to at least single precision."""
    return rows.to(torch.promote_types(rows.dtype, torch.float32))


def _products(
    adjacency: Adjacency,
    left: Float[Tensor, "row head size"],
    right: Float[Tensor, "row head size"],
) -> Float[Tensor, "entry head"]:
    """For each adjacency entry (i, j), compute the inner product of left row i and right row j."""
    entries = zip(adjacency.row.split(_BLOCK), adjacency.lists.members.split(_BLOCK), strict=True)
    products = [
        (left.index_select(0, row) * right.index_select(0, neighbour)).sum(dim=2)
        for row, neighbour in entries
    ]
    return torch.cat(products)


def _sums(
    adjacency: Adjacency,
    weights: Float[Tensor, "entry head"],
    values: Float[Tensor, "row head size"],
) -> Float[Tensor, "row head size"]:
    """For each row, compute the weighted sum of its neighbours' values."""
    heads = zip(weights.T.contiguous(), values.unbind(1), strict=True)
    return torch.stack([adjacency.lists.sum(value, weight) for weight, value in heads], dim=1)


class _BiasedAttention(torch.autograd.Function):
    """Attention with a sparse bias, computed by correcting the result of plain attention.

    Both passes call the kernel of plain attention once, on all pairs, and then visit only the
    biased pairs: `added` is p of the module's formula, and `beyond` is what a pair's weight has in
    excess of the kernel's.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's context has no public type
        projected: Tensor,
        structure: Tensor,
        adjacency: Adjacency,
    ) -> Tensor:
        parts = projected.unbind(1)
        plain = attend(*map(_by_head, parts))
        query, key, value = map(_exact, parts)
        scores = _products(adjacency, query, key) / query.shape[2] ** 0.5
        normalizer = plain.normalizer[0].T
        bias = (structure * adjacency.share.to(scores))[:, None]
        # expm1 keeps the digits of a small bias, whose exponential is close to 1.
        added = torch.exp(scores - normalizer[adjacency.row]) * torch.expm1(bias)
        total = 1 + adjacency.entries.sum(added)
        read = _by_row(plain.output) + _sums(adjacency, added, value)
        output = (read / total[:, :, None]).to(projected)
        ctx.save_for_backward(projected, bias, output, normalizer + total.log(), scores)
        ctx.adjacency, ctx.rest = adjacency, plain.rest
        return output

    @staticmethod
    def backward(
        ctx: Any,  # noqa: ANN401 - as above
        *gradients: Tensor,
    ) -> tuple[Tensor, Tensor, None]:
        projected, bias, output, normalizer, scores = ctx.saved_tensors
        adjacency, parts = ctx.adjacency, projected.unbind(1)
        # With the corrected output and log-sum-exp, the kernel is exact except on biased pairs.
        corrected = Attended(_by_head(output), normalizer.T[None].contiguous(), ctx.rest)
        plain = attend_backward(_by_head(gradients[0]), [*map(_by_head, parts)], corrected)
        (query, key, value), gradient = map(_exact, parts), _exact(gradients[0])
        weight = torch.exp(scores - normalizer[adjacency.row])
        beyond = weight * torch.expm1(bias)
        own = (gradient * _exact(output)).sum(dim=2)
        toward = _products(adjacency, gradient, value) - own[adjacency.row]
        slope = beyond * toward / query.shape[2] ** 0.5
        # A is symmetric in its non-zeros: `mirror` turns sums over queries into sums over keys.
        corrections = (
            _sums(adjacency, slope, key),
            _sums(adjacency, slope[adjacency.mirror], query),
            _sums(adjacency, beyond[adjacency.mirror], gradient),
        )
        exact = [_by_row(part) + more for part, more in zip(plain, corrections, strict=True)]
        structure = ((weight + beyond) * toward).sum(dim=1) @ adjacency.share.to(scores)
        return torch.stack(exact, dim=1).to(projected), structure, None


def biased_attention(
    projected: Float[Tensor, "row 3 head size"],
    structure: Float[Tensor, ""],
    adjacency: Adjacency,
) -> Float[Tensor, "row head size"]:
    r"""Compute attention with a sparse additive bias (paper, equation 10).

    $$\mathrm{softmax}\left(\frac{QK^\top}{\sqrt{d_k}} + \lambda A\right) V$$

    The time is that of plain attention. Memory grows with the rows and the non-zeros of A. The
    correction is in single precision at least, whatever the precision of the rows.

    Returns:
        The result of attention, one vector per row and head.
    """
    attended = _BiasedAttention.apply(projected, structure, adjacency)  # type: ignore[no-untyped-call]
    return cast("Tensor", attended)


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
