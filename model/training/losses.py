"""What training minimises, over the cosines of queries and candidates."""

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
    r"""Margin ranking with the hardest negative of the batch (paper, equation 15).

    $$\frac{1}{|D^+|} \sum [\, m + \max_{C^-} s(C, C^-) - s(C, C^+) \,]_+$$

    Args:
        cosines: Of every query and candidate.
        positive: Each query's positive candidate.
        negative: Which candidates are negatives.
        margin: m.

    Returns:
        The mean over pairs.
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
    """Margin ranking with the hardest negative that is farther away than the positive.

    The hardest of all may well be joinable itself, and is nearest of all while nothing is learnt
    yet; pushing from it alone, everything ends in one place (Schroff et al., 2015). Where none is
    farther away, the easiest negative counts.

    Args:
        cosines: Of every query and candidate.
        positive: Each query's positive candidate.
        negative: Which candidates are negatives.
        margin: m.

    Returns:
        The mean over pairs.
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
    r"""Softmax of the positive against every negative (van den Oord et al., 2018).

    $$-\frac{1}{|D^+|} \sum \log \frac{e^{s(C, C^+)/\tau}}
    {e^{s(C, C^+)/\tau} + \sum_{C^-} e^{s(C, C^-)/\tau}}$$

    Args:
        cosines: Of every query and candidate.
        positive: Each query's positive candidate.
        negative: Which candidates are negatives.
        temperature: tau.

    Returns:
        The mean over pairs.
    """
    counted = negative.scatter(1, positive[:, None], value=True)
    return cross_entropy(cosines.masked_fill(~counted, -torch.inf) / temperature, positive)


def measure_loss(
    cosines: Float[Tensor, "pair candidate"],
    positive: Int[Tensor, " pair"],
    negative: Bool[Tensor, "pair candidate"],
    method: Method,
) -> Float[Tensor, ""]:
    """Compute the loss that the method selects.

    Args:
        cosines: Of every query and candidate.
        positive: Each query's positive candidate.
        negative: Which candidates are negatives.
        method: The loss, its margin and its temperature.

    Returns:
        The mean over pairs.
    """
    match method.loss:
        case Loss.TRIPLET:
            return triplet_loss(cosines, positive, negative, method.margin)
        case Loss.SEMI_HARD:
            return semi_hard_loss(cosines, positive, negative, method.margin)
        case Loss.INFONCE:
            return infonce_loss(cosines, positive, negative, method.temperature)
    assert_never(method.loss)
