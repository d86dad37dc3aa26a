"""Which epoch is best, told by key columns held out of training, and whether it says anything."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from datahub_hyperjoin.model.errors import CollapsedError
from datahub_hyperjoin.model.network.hin import HIN
from datahub_hyperjoin.model.training.augmented_views import PairBatch

_COLLAPSED = 0.98
"""Mean cosine of random columns from which an embedding says nothing."""
_FEWEST, _MOST = 10, 512
"""Held-out keys: fewer tell epochs apart no better than chance. Of so many, recall has a standard
error of at most 2 points; they stand in one batch, which more would let grow with the lake, and
each key held out is one not learnt from."""


def measure_cosines(network: HIN, pairs: PairBatch) -> Float[Tensor, "pair candidate"]:
    """How alike each query and each candidate are.

    Args:
        network: Encodes both.
        pairs: A batch.

    Returns:
        Cosines, in [-1, 1].
    """
    embeddings = network(pairs.batch)
    queries = embeddings.index_select(0, pairs.queries)
    return queries @ embeddings.index_select(0, pairs.candidates).T


def hold_out(
    keys: Int[np.ndarray, " key"], share: float, random: np.random.Generator
) -> tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]]:
    """Keys to learn from and keys to choose the epoch by; of few keys, all serve as both.

    Args:
        keys: The lake's.
        share: How many are held out, in [0, 1], up to 512.
        random: Where the choice comes from.

    Returns:
        Both parts.
    """
    count = min(int(len(keys) * share), _MOST)
    if count < _FEWEST:
        return keys, keys[:_MOST]
    order = random.permutation(keys)
    return order[count:], order[:count]


@torch.inference_mode()
def measure_recall(network: HIN, pairs: PairBatch) -> float:
    """Share of queries whose positive is nearer than every negative.

    Args:
        network: What is judged.
        pairs: The held-out batch.

    Returns:
        A share, in [0, 1].
    """
    cosines = measure_cosines(network.eval(), pairs)
    own = cosines.gather(1, pairs.positive[:, None])
    nearer = ((cosines > own) & pairs.negative).any(dim=1)
    return float((~nearer).float().mean())


@torch.inference_mode()
def check_spread(network: HIN, pairs: PairBatch) -> None:
    """Refuses a network for which joinable and other columns are alike.

    Args:
        network: What is judged.
        pairs: The held-out batch.

    Raises:
        CollapsedError: All embeddings are alike.
    """
    mean = float(measure_cosines(network.eval(), pairs)[pairs.negative].mean())
    if mean > _COLLAPSED:
        raise CollapsedError.from_cosine(mean)
