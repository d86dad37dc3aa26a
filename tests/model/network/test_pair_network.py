"""Test the pair network against the one in torch that was trained."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks.pair_network.torch_network import PairTensors, TorchPairNetwork
from datahub_hyperjoin.model.network import pair_network
from datahub_hyperjoin.model.network.pair_network import CandidatePairs, PairNetwork
from datahub_hyperjoin.model.ranking.pair_correction import to_candidate_pairs
from datahub_hyperjoin.model.ranking.pair_graph import PairGraph

FEATURES = 7
TABLE_OF = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 4])


def made_pairs(seed: int, count: int = 60) -> CandidatePairs:
    """Draw candidate pairs; some columns have none, and some pairs no reverse."""
    random = np.random.default_rng(seed)
    drawn = {tuple(random.integers(11, size=2).tolist()) for _ in range(count)}
    kept = sorted((a, b) for a, b in drawn if TABLE_OF[a] != TABLE_OF[b])
    left, right = np.array(kept, dtype=np.int64).T
    rows = random.normal(size=(len(kept), FEATURES), scale=4).astype(np.float32)
    evidence = random.random(len(kept))
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
    np.testing.assert_allclose(network.correct(pairs), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [1, 7, 20])
def test_chunks_change_nothing(
    size: int, network: PairNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = network.correct(made_pairs(0))
    monkeypatch.setattr(pair_network, "_CHUNK", size)
    np.testing.assert_allclose(network.correct(made_pairs(0)), whole, rtol=1e-4, atol=1e-4)


def test_features_are_bounded(network: PairNetwork) -> None:
    pairs = made_pairs(0)
    first, second = (
        network.correct(replace(pairs, rows=np.full_like(pairs.rows, extreme)))
        for extreme in (1e9, 1e12)
    )
    assert np.isfinite(first).all()
    assert np.array_equal(first, second)


def test_a_lake_without_candidates_has_no_corrections(network: PairNetwork) -> None:
    empty = {name: array[:0] for name, array in vars(made_pairs(0)).items()}
    assert network.correct(CandidatePairs(**empty | {"table_of": TABLE_OF})).shape == (0,)
