"""Fine-tune the shipped pair network on pairs that are known to join or known not to join."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from safetensors.torch import load_file
from torch import Tensor

from benchmarks.pair_network.torch_network import PairTensors, TorchPairNetwork
from datahub_hyperjoin.model.network.pair_network import PairNetwork
from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES, log_odds
from datahub_hyperjoin.model.ranking.tree_scoring import (
    SHARE_OF_NETWORK,
    SHARE_OF_TREES,
    SHIPPED,
    SHIPPED_NETWORK,
    PairGraph,
    to_candidate_pairs,
)
from datahub_hyperjoin.model.tree_ensemble import shipped_trees

_STEPS, _RATE, _PATIENCE = 12, 2e-4, 4
"""Greatest number of steps, learning rate of Adam, and steps without gain that end the tuning."""
_TOWARDS_START, _TOWARDS_SCORES = 1.0, 1.0
"""Weights of the squared distances from the shipped weights and from the shipped corrections."""
_HELD_OUT = 0.3
"""Share of pair groups that are held out to choose the best step."""
_ODDS = 3.0
"""Greatest total weight of pairs that do not join, relative to that of pairs that join."""


@dataclass(frozen=True)
class KnownPairs:
    """Pairs of columns that are known to join, or known not to join."""

    positions: Int[np.ndarray, " pair"]
    """Position of each pair in the graph of candidate pairs."""

    joins: Bool[np.ndarray, " pair"]
    """Whether the two columns join."""

    group: Int[np.ndarray, " pair"]
    """Index of the pair's group. All pairs of a group are held out together."""

    @property
    def weight(self) -> Float[np.ndarray, " pair"]:
        """Weight of each pair in the loss. Pairs that do not join weigh less if they are many."""
        joins = self.joins.sum()
        return np.where(self.joins, 1.0, min(1.0, _ODDS * joins / max(len(self.joins) - joins, 1)))

    def held_out(self, seed: int) -> Bool[np.ndarray, " pair"]:
        """Draw held-out pairs, whose loss determines the best training step.

        Args:
            seed: Seed of the draw.
        """
        groups = np.random.default_rng(seed).permutation(np.unique(self.group))
        return np.isin(self.group, groups[: max(1, round(_HELD_OUT * len(groups)))])


def tune(graph: PairGraph, known: KnownPairs, seed: int = 0) -> tuple[PairNetwork, int]:
    """Fine-tune the shipped network; return the best step's network and the number of that step.

    Args:
        graph: The candidate pairs, measured as if nothing were known.
        known: The known pairs.
        seed: Seed of the draw of held-out pairs.
    """
    network = TorchPairNetwork(len(PAIR_FEATURES))
    network.load_state_dict(load_file(SHIPPED_NETWORK))
    start = [parameter.detach().clone() for parameter in network.parameters()]
    batch = PairTensors.of(to_candidate_pairs(graph))
    surprise, held = _Surprise(graph, known), torch.from_numpy(known.held_out(seed))
    optimizer = torch.optim.Adam(network.parameters(), lr=_RATE)
    best, step, weights = np.inf, 0, _copy(network)
    with torch.no_grad():
        shipped = network(batch)
    for taken in range(_STEPS + 1):
        corrections = network(batch)
        losses = surprise(corrections)
        if (loss := float(losses[held].detach().sum())) < best:
            best, step, weights = loss, taken, _copy(network)
        if taken - step >= _PATIENCE:
            break
        moved = sum(
            (now - before).square().sum()
            for now, before in zip(network.parameters(), start, strict=True)
        )
        changed = (SHARE_OF_NETWORK * (corrections - shipped)).square().mean()
        known_loss = losses[~held].sum() / ((1 - _HELD_OUT) * known.weight.sum())
        optimizer.zero_grad()
        (known_loss + _TOWARDS_START * moved + _TOWARDS_SCORES * changed).backward()
        optimizer.step()
    return PairNetwork(weights), step


def _copy(network: TorchPairNetwork) -> Mapping[str, np.ndarray]:
    return {name: tensor.numpy().copy() for name, tensor in network.state_dict().items()}


class _Surprise:
    """The weighted cross entropy of the known pairs, given the network's corrections."""

    def __init__(self, graph: PairGraph, known: KnownPairs) -> None:
        at = self._positions = torch.from_numpy(known.positions)
        by_trees = SHARE_OF_TREES * shipped_trees(SHIPPED)(graph.rows)
        self._log_odds = torch.from_numpy(log_odds(graph.by_evidence) + by_trees)[at]
        self._known = torch.from_numpy(graph.known)[at]
        self._joins = torch.from_numpy(known.joins)
        self._weight = torch.from_numpy(known.weight)

    def __call__(self, corrections: Float[Tensor, " pair"]) -> Float[Tensor, " known"]:
        odds = self._log_odds + SHARE_OF_NETWORK * corrections[self._positions]
        score = 1 - (1 - torch.sigmoid(odds)) * (1 - self._known)
        likelihood = torch.where(self._joins, score, 1 - score).clamp(1e-6, 1.0)
        return -self._weight * torch.log(likelihood)
