"""Test that the package's pair network agrees with the torch network that is trained."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks.pair_network.torch_network import PairTensors, TorchPairNetwork
from datahub_hyperjoin.model.network import pair_network
from datahub_hyperjoin.model.network.pair_network import CandidatePairs, PairNetwork
from datahub_hyperjoin.model.ranking.tree_scoring import PairGraph, to_candidate_pairs

FEATURES = 7
TABLE_OF = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 4])


def made_pairs(seed: int, count: int = 60) -> CandidatePairs:
    """Draw candidate pairs: some columns are in no pair, and some pairs lack the reverse pair."""
    random = np.random.default_rng(seed)
    drawn = {tuple(random.integers(11, size=2).tolist()) for _ in range(count)}
    kept = sorted((a, b) for a, b in drawn if TABLE_OF[a] != TABLE_OF[b])
    left, right = np.array(kept, dtype=np.int64).T
    rows = random.normal(size=(len(kept), FEATURES), scale=4).astype(np.float32)
    return made_part(left, right, rows, random.normal(size=len(kept)).astype(np.float32))


def made_part(
    left: np.ndarray, right: np.ndarray, rows: np.ndarray, odds: np.ndarray
) -> CandidatePairs:
    evidence = 1 / (1 + np.exp(-odds.astype(np.float64)))
    return to_candidate_pairs(PairGraph(left, right, rows, evidence, evidence * 0, TABLE_OF))


@pytest.fixture
def trained() -> TorchPairNetwork:
    torch.manual_seed(1)
    network = TorchPairNetwork(FEATURES).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.25)
    network.mean.normal_()
    network.scale.uniform_(0.5, 2.0)
    return network


@pytest.fixture
def network(trained: TorchPairNetwork) -> PairNetwork:
    return PairNetwork({name: each.numpy() for name, each in trained.state_dict().items()})


@pytest.mark.parametrize("seed", range(5))
def test_it_equals_the_network_in_torch(
    seed: int, network: PairNetwork, trained: TorchPairNetwork
) -> None:
    pairs = made_pairs(seed)
    with torch.inference_mode():
        expected = trained(PairTensors.of(pairs)).numpy()
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(network.correct_parts([pairs])[0], expected, rtol=1e-4, atol=1e-4)


def test_parts_of_a_lake_are_corrected_like_the_whole(network: PairNetwork) -> None:
    pairs = made_pairs(0)
    first, second = TABLE_OF[pairs.left], TABLE_OF[pairs.right]
    is_first = np.minimum(first, second) == 0
    numbers = [np.flatnonzero(is_first), np.flatnonzero(~is_first)]
    parts = [
        made_part(pairs.left[at], pairs.right[at], pairs.rows[at], pairs.log_odds[at])
        for at in numbers
    ]
    found = np.concatenate(network.correct_parts(parts))
    [whole] = network.correct_parts([pairs])
    np.testing.assert_allclose(found, whole[np.concatenate(numbers)], rtol=1e-4, atol=1e-4)


def test_half_precision_changes_log_odds_little(
    network: PairNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [made_pairs(0), made_pairs(1)]
    exact = np.concatenate(network.correct_parts(parts))
    for most in (0, len(parts[0].left)):
        monkeypatch.setattr(pair_network, "_MOST_IN_SINGLE", most)
        found = np.concatenate(network.correct_parts(parts))
        assert 0 < np.abs(found - exact).max() < 0.01 * np.ptp(exact)


def test_features_are_bounded(network: PairNetwork) -> None:
    pairs = made_pairs(0)
    first, second = (
        network.correct_parts([replace(pairs, rows=np.full_like(pairs.rows, extreme))])[0]
        for extreme in (1e9, 1e12)
    )
    assert np.isfinite(first).all()
    assert np.array_equal(first, second)


def test_a_lake_without_candidates_has_no_corrections(network: PairNetwork) -> None:
    assert network.correct_parts([]) == []
