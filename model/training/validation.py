"""Measure a network's recall on held-out key columns, and detect collapsed embeddings."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from datahub_hyperjoin.model.errors import CollapsedError
from datahub_hyperjoin.model.network.hin import HIN
from datahub_hyperjoin.model.training.augmented_views import PairBatch

_COLLAPSED = 0.98
"""Mean cosine of random columns above which embeddings carry no information."""
_FEWEST = 10
"""Minimum number of held-out keys. With fewer, recall compares epochs no better than chance."""
_MOST = 512
"""Maximum number of held-out keys. With so many, recall has a standard error of at most 2 points.
More keys would enlarge the validation batch, and training would lack them."""


def measure_cosines(network: HIN, pairs: PairBatch) -> Float[Tensor, "pair candidate"]:
    """Compute the cosine similarity of every query to every candidate."""
    embeddings = network(pairs.batch)
    queries = embeddings.index_select(0, pairs.queries)
    return queries @ embeddings.index_select(0, pairs.candidates).T


def hold_out(
    keys: Int[np.ndarray, " key"], share: float, random: np.random.Generator
) -> tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]]:
    """Split the key columns into keys for training and keys for validation.

    Args:
        share: Share to hold out, in [0, 1], up to 512 keys.

    Returns:
        The keys to train on and the keys to choose the epoch by. If there are too few to hold any
        out, all keys are in both parts.
    """
    count = min(int(len(keys) * share), _MOST)
    if count < _FEWEST:
        return keys, keys[:_MOST]
    order = random.permutation(keys)
    return order[count:], order[:count]


@torch.inference_mode()
def measure_recall(network: HIN, pairs: PairBatch) -> float:
    """Compute the share of queries that are nearer to their positive than to any negative."""
    cosines = measure_cosines(network.eval(), pairs)
    own = cosines.gather(1, pairs.positive[:, None])
    nearer = ((cosines > own) & pairs.negative).any(dim=1)
    return float((~nearer).float().mean())


@torch.inference_mode()
def check_spread(network: HIN, pairs: PairBatch) -> None:
    """Raise an error if all embeddings are similar."""
    mean = float(measure_cosines(network.eval(), pairs)[pairs.negative].mean())
    if mean > _COLLAPSED:
        raise CollapsedError.from_cosine(mean)
