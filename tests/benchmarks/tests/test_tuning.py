"""Test the fine-tuning of the shipped pair network on known pairs."""

import numpy as np
import pytest
from jaxtyping import Bool, Int
from scipy.special import expit

from benchmarks.bench_tuning import describe
from benchmarks.pair_network.tuning import KnownPairs, tune
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from datahub_hyperjoin.model.network.pair_network import PairNetwork
from datahub_hyperjoin.model.ranking.pair_features import log_odds
from datahub_hyperjoin.model.ranking.tree_scoring import (
    SHARE_OF_NETWORK,
    SHARE_OF_TREES,
    SHIPPED,
    PairGraph,
    correct_pairs,
    shipped_network,
)
from datahub_hyperjoin.model.tree_ensemble import shipped_trees
from lakes.made_pairs import made_lake


def separation(
    graph: PairGraph,
    network: PairNetwork,
    joins: Bool[np.ndarray, " pair"],
    at: Int[np.ndarray, " pair"],
) -> float:
    """Return the mean correction of joining pairs minus the mean correction of other pairs."""
    corrections = correct_pairs([graph], network)[2][at]
    return float(corrections[joins].mean() - corrections[~joins].mean())


def known_of(seed: int, share: float) -> tuple[PairGraph, KnownPairs, Int[np.ndarray, " rest"]]:
    """Return a graph of made-up pairs, its known pairs, and the positions of its unknown pairs."""
    lake = made_lake(seed)
    is_known = np.random.default_rng(0).random(len(lake.joins)) < share
    at = np.flatnonzero(is_known & lake.asked)
    return (
        lake.graph,
        KnownPairs(at, lake.joins[at], lake.graph.left[at]),
        np.flatnonzero(~is_known & lake.asked),
    )


def test_known_pairs_teach_the_network_about_other_pairs() -> None:
    graph, known, rest = known_of(0, 0.5)
    joins = made_lake(0).joins[rest]
    network, steps = tune(graph, known)
    assert steps > 0
    before, after = (separation(graph, each, joins, rest) for each in (shipped_network(), network))
    assert after > before


def test_the_step_with_the_least_loss_on_held_out_pairs_is_kept() -> None:
    graph, known, _ = known_of(0, 0.5)
    held = known.held_out(0)
    believed = correct_pairs([graph], shipped_network())[2][known.positions] > 0
    # What the network learns from the other pairs is wrong for the held-out ones.
    joins = np.where(held, believed, ~believed)
    network, steps = tune(graph, KnownPairs(known.positions, joins, known.group))

    def loss(network: PairNetwork) -> float:
        corrections = correct_pairs([graph], network)[2][known.positions]
        by_trees = SHARE_OF_TREES * shipped_trees(SHIPPED)(graph.rows)[known.positions]
        odds = log_odds(graph.by_evidence)[known.positions] + by_trees
        score = expit(odds + SHARE_OF_NETWORK * corrections)
        weight = KnownPairs(known.positions, joins, known.group).weight
        return float(-(weight * np.log(np.where(joins, score, 1 - score)))[held].sum())

    assert steps < 12
    assert loss(network) <= loss(shipped_network()) + 1e-6


def test_tuning_repeats_exactly() -> None:
    graph, known, _ = known_of(1, 0.4)
    first, second = (correct_pairs([graph], tune(graph, known)[0])[2] for _ in range(2))
    assert np.array_equal(first, second)


def test_many_pairs_that_do_not_join_weigh_three_times_those_that_do() -> None:
    joins = np.arange(100) < 10
    weight = KnownPairs(np.arange(100), joins, np.arange(100)).weight
    assert weight[joins].tolist() == [1.0] * 10
    assert weight[~joins].sum() == pytest.approx(30)


def test_groups_are_held_out_whole() -> None:
    group = np.repeat(np.arange(10), 4)
    held = KnownPairs(np.arange(40), np.ones(40, dtype=bool), group).held_out(0)
    assert held.sum() == 12
    assert all(len({*held[group == each].tolist()}) == 1 for each in range(10))


def test_gains_are_averaged_over_draws_before_queries() -> None:
    one, other = ColumnName("a", "x"), ColumnName("b", "y")
    gains = {one: [np.array([4.0, 1.0]), np.array([2.0, 1.0])], other: [np.array([1.0, 1.0])]}
    assert describe(gains).startswith("MAP +2.0 (+1.0 to +3.0), R@15 +1.0 (+1.0 to +1.0)")
