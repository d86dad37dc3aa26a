r"""Exact attention with a sparse additive bias, in linear memory.

Memory grows with the number of rows and of non-zero biases, never with the square of the rows.

Let $O$ and $L$ be the output and log-sum-exp of plain attention, and let $b_{ij} = \lambda A_{ij}$
be the bias, which is 0 almost everywhere. Then

$$p_{ij} = e^{s_{ij} - L_i} (e^{b_{ij}} - 1),\quad
O'_i = \frac{O_i + \sum_j p_{ij} v_j}{1 + \sum_j p_{ij}},\quad
L'_i = L_i + \ln\Big(1 + \sum_j p_{ij}\Big)$$

are those of biased attention, and the sums are over the non-zeros of A alone. Given $O'$ and $L'$,
the backward kernel weights each pair by $e^{s_{ij} - L'_i}$. That is correct wherever the bias is
0, and is corrected by the same factor where it is not.
"""

from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor

from datahub_hyperjoin.model.hypergraph.adjacency import Adjacency
from datahub_hyperjoin.model.network.flash import Attended, attend, attend_backward

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
