"""Train the pair network on the candidate pairs of many lakes."""

import logging
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from benchmarks.pair_network.examples import LabelledPairs
from benchmarks.pair_network.raw_inputs import RawInputs
from benchmarks.pair_network.torch_network import TorchPairNetwork
from benchmarks.trees.examples import average_precision
from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES, log_odds

logger = logging.getLogger(__name__)

Trainable = TorchPairNetwork | RawInputs
"""A model that corrects the log-odds of candidate pairs."""

_RATE, _DECAY, _WARM_UP = 2e-3, 1e-3, 0.1
"""Highest learning rate, weight decay, and share of the steps in which the rate rises."""
_ENTROPY = 5.0
"""Weight of the cross entropy of pairs relative to the softmax loss of queries."""
_SAMPLE = 2000
"""Number of pairs drawn from each lake to estimate the scale of the features."""


def _loss(network: Trainable, lake: LabelledPairs) -> Tensor:
    """Compute the mean softmax loss of the queries plus a multiple of the pairs' cross entropy."""
    taught = torch.from_numpy(lake.taught)
    odds = (lake.batch.log_odds + network(lake.batch))[taught]
    joins = torch.from_numpy(lake.joins.astype(np.float32))[taught]
    query, count = torch.from_numpy(lake.query)[taught], len(lake.queries)
    greatest = odds.new_full((count,), -1e9).scatter_reduce(0, query, odds, "amax").detach()
    exponentials = torch.exp(odds - greatest[query])
    normaliser = torch.log(odds.new_zeros(count).index_add(0, query, exponentials) + 1e-9)
    surprise = (normaliser + greatest)[query] - odds
    found = odds.new_zeros(count).index_add(0, query, joins)
    by_query = odds.new_zeros(count).index_add(0, query, joins * surprise) / found.clamp(min=1)
    return by_query[found > 0].mean() + _ENTROPY * binary_cross_entropy_with_logits(odds, joins)


def _set_scale(network: Trainable, lakes: Sequence[LabelledPairs], seed: int) -> None:
    random = np.random.default_rng(seed)
    drawn = [lake.graph.rows[random.integers(len(lake.graph.rows), size=_SAMPLE)] for lake in lakes]
    rows = torch.from_numpy(np.concatenate(drawn))
    network.mean.copy_(rows.mean(dim=0))
    network.scale.copy_(rows.std(dim=0) + 1e-3)


def score(
    lake: LabelledPairs, corrections: Float[np.ndarray, " pair"]
) -> Float[np.ndarray, " asked"]:
    """Compute the corrected scores of the pairs of the query columns.

    Args:
        lake: The pairs.
        corrections: What is added to the log-odds of each pair.
    """
    graph = lake.graph
    corrected = 1 / (1 + np.exp(-log_odds(graph.by_evidence) - corrections))
    return (1 - (1 - corrected) * (1 - graph.known))[lake.asked]


@torch.no_grad()
def corrections_of(lake: LabelledPairs, network: Trainable) -> Float[np.ndarray, " pair"]:
    """Return the correction of each pair's log-odds.

    Args:
        lake: The pairs.
        network: The trained model.
    """
    return network(lake.batch).numpy().astype(np.float64)


def mean_average_precision(
    lakes: Sequence[LabelledPairs], network: Trainable, share: float = 1.0
) -> float:
    """Compute the mean average precision of each lake, and return the mean over all lakes.

    Args:
        lakes: Lakes with answers.
        network: The model that corrects the scores.
        share: Share of its corrections that is added.
    """
    return float(
        np.mean(
            [
                average_precision(lake.ranked, score(lake, share * corrections_of(lake, network)))
                for lake in lakes
            ]
        )
    )


def train(
    lakes: Sequence[LabelledPairs],
    validation: Sequence[LabelledPairs],
    *,
    messages: bool = True,
    epochs: int = 10,
    seed: int = 0,
) -> TorchPairNetwork:
    """Train a network, and return it as it was after the best epoch.

    Args:
        lakes: The lakes to learn from; each is one step of an epoch.
        validation: The lakes whose mean average precision chooses the epoch.
        messages: Whether pairs receive messages.
        epochs: Number of epochs.
        seed: Seed of the weights and of the order of the lakes.
    """
    torch.manual_seed(seed)
    network = TorchPairNetwork(len(PAIR_FEATURES), messages=messages)
    fit_network(network, lakes, validation, epochs=epochs, seed=seed)
    return network


def fit_network(
    network: Trainable,
    lakes: Sequence[LabelledPairs],
    validation: Sequence[LabelledPairs],
    *,
    epochs: int = 10,
    seed: int = 0,
) -> None:
    """Fit a model to lakes, and keep its weights of the best epoch.

    Args:
        network: The model, with its first weights.
        lakes: The lakes to learn from; each is one step of an epoch.
        validation: The lakes whose mean average precision chooses the epoch.
        epochs: Number of epochs.
        seed: Seed of the order of the lakes.
    """
    random = np.random.default_rng(seed)
    _set_scale(network, lakes, seed)
    optimizer = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, _RATE, total_steps=epochs * len(lakes), pct_start=_WARM_UP
    )
    best, weights = -1.0, network.state_dict()
    for epoch in range(1, epochs + 1):
        network.train()
        for number in random.permutation(len(lakes)):
            optimizer.zero_grad()
            _loss(network, lakes[number]).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        precision = mean_average_precision(validation, network.eval())
        logger.info("Epoch %d of %d: MAP %.4f on validation lakes", epoch, epochs, precision)
        if precision > best:
            best = precision
            weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    network.load_state_dict(weights)
    network.eval()
