"""Test the network, its layers and its optimizers."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils import clip_grad_norm_

from datahub_hyperjoin.model.config import OURS, ModelConfig, NetworkConfig, Precision
from datahub_hyperjoin.model.hypergraph.hyperedges import Hypergraph
from datahub_hyperjoin.model.network.features import Features, Names
from datahub_hyperjoin.model.network.hin import (
    HIN,
    UNSEEN,
    Batch,
    MixerLayer,
    NetworkSizes,
    NodeLayer,
    build_optimizers,
    set_rate,
    take_step,
    to_column,
    to_device,
    to_hyperedge,
)

COLUMNS = 7
CONFIG = ModelConfig(setting=replace(OURS, heads=4), network=NetworkConfig(width=16))
SIZES = NetworkSizes(vocabulary=9, dimension=4, content=12, tables=3, steps=5)
TABLES = torch.tensor([1, 1, 1, 2, 2, 3, 3])
WITHIN = [np.array([0, 1, 2]), np.array([3, 4]), np.array([5, 6])]
ACROSS = [np.array([0, 3, 5]), np.array([1, 4])]


def names(random: torch.Generator, count: int) -> Names:
    return Names(
        tokens=torch.randint(0, 10, (2 * count,), generator=random),
        starts=torch.arange(0, 2 * count, 2),
        vectors=torch.randn(count, 4, generator=random),
    )


def batch() -> Batch:
    random = torch.Generator().manual_seed(1)
    return Batch(
        features=Features(
            tables=names(random, COLUMNS),
            names=names(random, COLUMNS),
            content=torch.randn(COLUMNS, 12, generator=random),
        ),
        graph=Hypergraph.from_groups(COLUMNS, within=WITHIN, across=ACROSS),
        tables=TABLES,
        positions=torch.rand(COLUMNS, 5, generator=random),
    )


@pytest.fixture(scope="module")
def network() -> Iterator[HIN]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield HIN(CONFIG, SIZES).eval()


def permute_names(value: Names, order: torch.Tensor) -> Names:
    tokens = value.tokens.view(-1, 2)[order].reshape(-1)
    return Names(tokens=tokens, starts=value.starts, vectors=value.vectors[order])


def test_embeddings_are_unit_vectors(network: HIN) -> None:
    embeddings = network(batch())
    assert embeddings.shape == (COLUMNS, 16)
    torch.testing.assert_close(embeddings.norm(dim=1), torch.ones(COLUMNS))


@settings(max_examples=15)
@given(order=st.permutations(range(COLUMNS)), edges=st.permutations(range(3)))
def test_order_of_columns_and_hyperedges_makes_no_difference(
    network: HIN, order: list[int], edges: list[int]
) -> None:
    one = batch()
    moved = torch.tensor(order)
    place = np.argsort(order)
    other = Batch(
        features=Features(
            tables=permute_names(one.features.tables, moved),
            names=permute_names(one.features.names, moved),
            content=one.features.content[moved],
        ),
        graph=Hypergraph.from_groups(
            COLUMNS,
            within=[place[WITHIN[edge]] for edge in edges],
            across=[place[group] for group in reversed(ACROSS)],
        ),
        tables=one.tables[moved],
        positions=one.positions[moved],
    )
    torch.testing.assert_close(network(other), network(one)[moved], atol=1e-5, rtol=1e-5)


def test_context_reaches_a_column_through_its_hyperedges(network: HIN) -> None:
    one = batch()
    bare = Hypergraph.from_groups(COLUMNS, within=WITHIN, across=[])
    without = network(Batch(one.features, bare, one.tables, one.positions))
    assert not torch.allclose(network(one), without, atol=1e-3)


def test_both_kinds_of_hyperedge_have_weights_of_their_own(network: HIN) -> None:
    one = batch()
    swapped = Hypergraph(COLUMNS, one.graph.incidence, ~one.graph.across)
    other = network(Batch(one.features, swapped, one.tables, one.positions))
    assert not torch.allclose(network(one), other, atol=1e-3)


def test_an_unseen_table_has_no_vector(network: HIN) -> None:
    unseen = torch.full((COLUMNS,), UNSEEN)
    assert not network.table_position(unseen).any()


def test_every_parameter_learns(network: HIN) -> None:
    network.zero_grad()
    network(batch())[:, 0].sum().backward()
    learnt = {
        name: p.grad.to_dense() for name, p in network.named_parameters() if p.grad is not None
    }
    silent = [name for name, _ in network.named_parameters() if not learnt[name].any()]
    assert silent == []


def test_a_batch_moves_with_everything_it_holds() -> None:
    moved = to_device(batch(), torch.device("meta"))
    assert moved.features.names.vectors.is_meta
    assert moved.graph.incidence.is_meta
    assert moved.graph.columns == COLUMNS


def test_half_precision_is_near_single_precision(network: HIN) -> None:
    half = NetworkConfig(width=16, precision=Precision.BFLOAT16)
    halved = HIN(replace(CONFIG, network=half), SIZES).eval()
    halved.load_state_dict(network.state_dict())
    rough, exact = halved(batch()), network(batch())
    assert rough.dtype is torch.float32
    assert not torch.equal(rough, exact)
    assert (rough * exact).sum(dim=1).min() > 0.999
    rough[:, 0].sum().backward()
    gradients = [weight.grad for weight in halved.parameters()]
    assert all(one is not None and one.to_dense().isfinite().all() for one in gradients)


def gradients_of_a_step() -> dict[str, torch.Tensor]:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        dropping = replace(CONFIG, setting=replace(CONFIG.setting, dropout=0.3))
        network = HIN(dropping, SIZES).train()
        network(batch())[:, :8].sum().backward()
    return {
        name: weight.grad.to_dense()
        for name, weight in network.named_parameters()
        if weight.grad is not None
    }


def test_a_large_batch_computes_its_layers_again_and_finds_the_same_gradients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = gradients_of_a_step()
    calls: list[str] = []
    handle = torch.nn.modules.module.register_module_forward_pre_hook(
        lambda module, *_: calls.append(type(module).__name__)
    )
    monkeypatch.setattr("datahub_hyperjoin.model.network.hin._LARGE", COLUMNS - 1)
    with handle:
        again = gradients_of_a_step()
    assert calls.count("ColumnEncoder") == 2
    assert calls.count("NodeLayer") == calls.count("MixerLayer") == 4
    assert kept.keys() == again.keys()
    for name, gradient in kept.items():
        assert torch.equal(gradient, again[name]), name


def test_encoding_computes_nothing_twice(network: HIN, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datahub_hyperjoin.model.network.hin._LARGE", 0)
    monkeypatch.setattr("datahub_hyperjoin.model.network.hin.checkpoint", None)
    with torch.inference_mode():
        assert network(batch()).shape == (COLUMNS, 16)


GRAPH = Hypergraph.from_groups(
    4, within=[np.array([0, 1]), np.array([2])], across=[np.array([1, 2])]
)


def test_a_hyperedge_is_the_mean_of_its_columns() -> None:
    columns = torch.tensor([[0.0, 2.0], [4.0, 2.0], [8.0, 0.0], [99.0, 99.0]])
    expected = torch.tensor([[2.0, 2.0], [8.0, 0.0], [6.0, 1.0]])
    torch.testing.assert_close(to_hyperedge(columns, GRAPH), expected)


def test_a_column_is_the_mean_of_its_hyperedges() -> None:
    hyperedges = torch.tensor([[2.0], [8.0], [6.0]])
    expected = torch.tensor([[2.0], [4.0], [7.0], [0.0]])
    torch.testing.assert_close(to_column(hyperedges, GRAPH), expected)


def test_the_mixer_lets_every_hyperedge_reach_every_other() -> None:
    torch.manual_seed(0)
    mixer = MixerLayer(16, replace(OURS, heads=4, dropout=0.0)).eval()
    hyperedges = torch.randn(3, 16, requires_grad=True)
    mixer(hyperedges, GRAPH.adjacency)[0].sum().backward()
    assert hyperedges.grad is not None
    assert (hyperedges.grad.abs().sum(dim=1) > 0).all()


def test_a_node_layer_keeps_columns_apart() -> None:
    torch.manual_seed(0)
    layer = NodeLayer(width=16, dropout=0.0).eval()
    columns = torch.randn(3, 16)
    torch.testing.assert_close(layer(columns)[1:2], layer(columns[1:2]))


ROWS, WIDTH = 6, 4


class Small(nn.Module):
    def __init__(self, rows: int = ROWS, *, sparse: bool = True) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, WIDTH, padding_idx=0, sparse=sparse)
        self.linear = nn.Linear(WIDTH, 1)

    def forward(self, places: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.tanh(self.table(places))).pow(2).sum()


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def test_both_halves_take_the_steps_of_adam() -> None:
    ours, plain = Small(), Small(sparse=False)
    plain.load_state_dict(ours.state_dict())
    optimizers = build_optimizers(ours)
    set_rate(optimizers, 0.1)
    adam = torch.optim.Adam(plain.parameters(), lr=0.1)
    every = torch.arange(ROWS)
    for _ in range(5):
        take_step(ours, optimizers, ours(every), clip=1.0)
        adam.zero_grad()
        plain(every).backward()
        clip_grad_norm_(plain.parameters(), 1.0)
        adam.step()
    for one, other in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_a_gradient_is_clipped_over_both_halves() -> None:
    network = Small()
    optimizers = build_optimizers(network)
    set_rate(optimizers, 0.0)
    for clip, expected in ((1e-3, 1e-3), (1e9, None)):
        take_step(network, optimizers, 100 * network(torch.tensor([1, 1, 3])), clip=clip)
        norm = float(
            torch.stack(
                [p.grad.to_dense().norm() for p in network.parameters() if p.grad is not None]
            ).norm()
        )
        assert norm == pytest.approx(expected, rel=1e-3) if expected else norm > 1.0


def test_tables_out_of_the_batch_stay_as_they_are() -> None:
    network = Small()
    optimizers = build_optimizers(network)
    set_rate(optimizers, 0.1)
    before = network.table.weight.detach().clone()
    take_step(network, optimizers, network(torch.tensor([1, 3, 0])), clip=1.0)
    take_step(network, optimizers, network(torch.tensor([3])), clip=1.0)
    moved = (network.table.weight != before).any(dim=1)
    assert moved.tolist() == [False, True, False, True, False, False]


def test_a_network_without_sparse_parts_has_one_optimizer() -> None:
    network = nn.Linear(2, 1)
    optimizers = build_optimizers(network)
    assert len(optimizers) == 1
    set_rate(optimizers, 0.1)
    before = network.weight.detach().clone()
    take_step(network, optimizers, network(torch.ones(1, 2)).sum(), clip=1.0)
    assert not network.weight.equal(before)
