"""Correct the scores of candidate pairs with the pair network that comes with the package."""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from safetensors.numpy import load_file

from datahub_hyperjoin.model.network.pair_network import CandidatePairs, PairNetwork
from datahub_hyperjoin.model.ranking.pair_features import log_odds
from datahub_hyperjoin.model.ranking.pair_graph import PairGraph, number_table_pairs
from datahub_hyperjoin.model.signals.pairs import SparsePairs, number_pairs

SHIPPED_NETWORK = Path(__file__).with_name("pair_network.safetensors")
"""The network that comes with the package; `pair_network.md` describes it."""


def to_candidate_pairs(graph: PairGraph) -> CandidatePairs:
    """Convert the candidate pairs of a lake to the input of the pair network.

    Args:
        graph: The candidate pairs, or a part of them that has all pairs between two tables; sorted
            by key column, then candidate.
    """
    count = len(graph.table_of)
    left, right = graph.left.astype(np.int32), graph.right.astype(np.int32)
    between = number_table_pairs(graph.table_of, left, right)
    towards = number_pairs(left, graph.table_of[right], count)
    return CandidatePairs(
        rows=graph.rows,
        log_odds=log_odds(graph.by_evidence).astype(np.float32),
        left=left,
        right=right,
        reverse=SparsePairs(count, left, right).locate(right, left).astype(np.int32),
        table_of=graph.table_of,
        tables=np.unique(between, return_inverse=True)[1].astype(np.int32),
        towards=np.unique(towards, return_inverse=True)[1].astype(np.int32),
    )


@cache
def shipped_network() -> PairNetwork:
    """Load the pair network that comes with the package."""
    return PairNetwork(load_file(SHIPPED_NETWORK))


def correct_pairs(
    graphs: Iterable[PairGraph], network: PairNetwork
) -> tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"], Float[np.ndarray, " pair"]]:
    """Return the correction to add to each pair's log-odds of a join.

    Args:
        graphs: The candidate pairs of a lake, whole or in parts. All pairs between the same two
            tables are in one part.

    Returns:
        The pairs, sorted by key column, then candidate, and their corrections.
    """
    none = np.zeros(0, dtype=np.int32)
    ends = [(none, none)]

    def parts() -> Iterator[CandidatePairs]:
        for graph in graphs:
            pairs = to_candidate_pairs(graph)
            ends.append((pairs.left, pairs.right))
            yield pairs

    corrections = np.concatenate([np.zeros(0), *network.correct_parts(parts())])
    left, right = map(np.concatenate, zip(*ends, strict=True))
    order = np.lexsort((right, left))
    return left[order], right[order], corrections[order]
