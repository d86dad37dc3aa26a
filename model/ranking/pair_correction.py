"""Correct the scores of candidate pairs with the pair network that comes with the package.

This needs torch, which takes seconds to import.
"""

from functools import cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from safetensors.torch import load_file

from datahub_hyperjoin.model.network.pair_network import CandidatePairs, PairNetwork
from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES, log_odds
from datahub_hyperjoin.model.ranking.pair_graph import PairGraph

SHIPPED_NETWORK = Path(__file__).with_name("pair_network.safetensors")
"""The network that comes with the package; `pair_network.md` describes it."""


def to_batch(graph: PairGraph) -> CandidatePairs:
    """Convert the candidate pairs of a lake to the input of the pair network.

    Args:
        graph: The candidate pairs, sorted by key column, then candidate.
    """
    left, right, count = graph.left, graph.right, len(graph.table_of)
    first, second = graph.table_of[left], graph.table_of[right]
    stored, wanted = left * count + right, right * count + left
    position = np.minimum(np.searchsorted(stored, wanted), max(len(stored) - 1, 0))
    reverse = np.where(stored[position] == wanted, position, -1)
    between = np.minimum(first, second) * count + np.maximum(first, second)
    return CandidatePairs(
        rows=torch.from_numpy(graph.rows),
        log_odds=torch.from_numpy(log_odds(graph.by_evidence).astype(np.float32)),
        left=torch.from_numpy(left),
        right=torch.from_numpy(right),
        reverse=torch.from_numpy(reverse),
        table_of=torch.from_numpy(graph.table_of),
        tables=torch.from_numpy(np.unique(between, return_inverse=True)[1]),
        towards=torch.from_numpy(np.unique(left * count + second, return_inverse=True)[1]),
    )


@cache
def shipped_network() -> PairNetwork:
    """Load the pair network that comes with the package, onto the GPU if there is one."""
    network = PairNetwork(len(PAIR_FEATURES))
    network.load_state_dict(load_file(SHIPPED_NETWORK))
    return network.eval().to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))


@torch.inference_mode()
def correct_pairs(graph: PairGraph, network: PairNetwork) -> Float[np.ndarray, " pair"]:
    """Return the correction to add to each pair's log-odds of a join.

    Args:
        graph: The candidate pairs of a lake.
        network: The trained network.
    """
    device = network.mean.device
    corrections: torch.Tensor = network(to_batch(graph).to(device))
    return corrections.cpu().numpy().astype(np.float64)
