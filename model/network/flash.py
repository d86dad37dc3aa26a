"""Flash attention that also returns the log-sum-exp of the scores.

Torch's public `scaled_dot_product_attention` does not return the log-sum-exp, and an additive bias
makes it compute dense scores. The kernels that it calls do both in memory linear in the rows.
"""
# ruff: noqa: FBT003, SLF001 - the kernels are private, and their schemas are positional

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

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
