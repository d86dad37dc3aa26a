"""Training losses, computed from the cosines of queries and candidates."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, relu
from typing_extensions import assert_never

from datahub_hyperjoin.model.config import Loss, Method


def triplet_loss(
    cosines: Float[Tensor, "pair candidate"],
    positive: Int[Tensor, " pair"],
    negative: Bool[Tensor, "pair candidate"],
    margin: float,
) -> Float[Tensor, ""]:
    r"""Compute the margin ranking loss with the hardest negative (paper, equation 15).

    $$\frac{1}{|D^+|} \sum [\, m + \max_{C^-} s(C, C^-) - s(C, C^+) \,]_+$$

    Args:
        negative: Whether a candidate is a negative of a query.
    """
    near = cosines.gather(1, positive[:, None]).squeeze(1)
    hardest = cosines.masked_fill(~negative, -1.0).amax(dim=1)
    return relu(margin + hardest - near).mean()


def semi_hard_loss(
    cosines: Float[Tensor, "pair candidate"],
    positive: Int[Tensor, " pair"],
    negative: Bool[Tensor, "pair candidate"],
    margin: float,
) -> Float[Tensor, ""]:
    """Compute the margin ranking loss with a semi-hard negative.

    That is the nearest negative that is farther than the positive.

    The hardest negative of all may be joinable itself, and early in training it is nearer than the
    positive. Pushing away from it alone collapses all embeddings into one (Schroff et al., 2015).
    If no negative is farther away than the positive, the easiest one counts.

    Args:
        negative: Whether a candidate is a negative of a query.
    """
    near = cosines.gather(1, positive[:, None])
    farther = negative & (cosines < near)
    easiest = negative & (
        cosines == cosines.masked_fill(~negative, torch.inf).amin(dim=1, keepdim=True)
    )
    counted = torch.where(farther.any(dim=1, keepdim=True), farther, easiest)
    return triplet_loss(cosines, positive, counted, margin)


def infonce_loss(
    cosines: Float[Tensor, "pair candidate"],
    positive: Int[Tensor, " pair"],
    negative: Bool[Tensor, "pair candidate"],
    temperature: float,
) -> Float[Tensor, ""]:
    r"""Compute the InfoNCE loss (van den Oord et al., 2018).

    $$-\frac{1}{|D^+|} \sum \log \frac{e^{s(C, C^+)/\tau}}
    {e^{s(C, C^+)/\tau} + \sum_{C^-} e^{s(C, C^-)/\tau}}$$

    Args:
        negative: Whether a candidate is a negative of a query.
    """
    counted = negative.scatter(1, positive[:, None], value=True)
    return cross_entropy(cosines.masked_fill(~counted, -torch.inf) / temperature, positive)


def measure_loss(
    cosines: Float[Tensor, "pair candidate"],
    positive: Int[Tensor, " pair"],
    negative: Bool[Tensor, "pair candidate"],
    method: Method,
) -> Float[Tensor, ""]:
    """Compute the configured loss: triplet, semi-hard or InfoNCE.

    Args:
        negative: Whether a candidate is a negative of a query.
    """
    match method.loss:
        case Loss.TRIPLET:
            return triplet_loss(cosines, positive, negative, method.margin)
        case Loss.SEMI_HARD:
            return semi_hard_loss(cosines, positive, negative, method.margin)
        case Loss.INFONCE:
            return infonce_loss(cosines, positive, negative, method.temperature)
    assert_never(method.loss)
