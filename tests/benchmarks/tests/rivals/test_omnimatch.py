"""Test that the graph network learns from split tables to recognise joins."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import relu

from benchmarks.errors import NoPairsError
from benchmarks.rivals.cells import Cells
from benchmarks.rivals.choose import choose_rivals
from benchmarks.rivals.omnimatch import (
    Network,
    draw_graph,
    fit_network,
    linked_columns,
    triplet_loss,
)
from benchmarks.rivals.similarity import neighbours
from benchmarks.rivals.split_tables import split_tables
from lakes.lake import codes
from lakes.rivalry import ask, named, suite

[OMNIMATCH] = choose_rivals(["OmniMatch"])
TABLES = {
    "a": {"x": codes("A", 9), "size": [f"{at}.5" for at in range(9)]},
    "b": {"y": [*codes("A", 6), *codes("B", 3)], "day": [f"2024-01-0{at + 1}" for at in range(9)]},
    "c": {"z": codes("C", 9), "name": [*"qwertzuio"]},
    "d": {"w": [*codes("C", 5), *codes("D", 4)], "note": ["same"] * 9},
}


def lake(tables: int, *, seed: int) -> list[Cells]:
    """Make tables of five columns, which share their words with columns of other tables."""
    random = np.random.default_rng(seed)
    letters = [*"aeioknrst"]
    pools = [["".join(random.choice(letters, size=5)) for _ in range(40)] for _ in range(tables)]
    return [
        Cells(named(f"t{table:02}.{column}"), dict.fromkeys(random.choice(pool, size=20), 1))
        for table in range(tables)
        for column, pool in zip(
            "vwxyz", (pools[(table // 2 + 3 * at) % tables] for at in range(5)), strict=True
        )
    ]


def test_a_layer_adds_the_means_of_neighbours_by_measure() -> None:
    columns = lake(4, seed=0)
    graph, network = draw_graph(columns), Network()
    states = graph.features.numpy()
    for layer in (network.first, network.second):
        own, others = layer.own.weight.detach().numpy(), layer.others.weight.detach().numpy()
        added = states @ own.T + layer.own.bias.detach().numpy()
        for weights, matrix in zip(
            np.split(others, len(graph.neighbours), axis=1), neighbours(columns), strict=True
        ):
            for place, row in enumerate(matrix.toarray()):
                if row.any():
                    added[place] += weights @ states[row > 0].mean(axis=0)
        states = relu(torch.from_numpy(added)).numpy() if layer is network.first else added
    expected = states / np.linalg.norm(states, axis=1, keepdims=True)
    assert network(graph).detach().numpy() == pytest.approx(expected, abs=1e-4)


def test_the_loss_is_what_lacks_to_the_margin() -> None:
    vectors = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [1.0, 0.0]])
    triplets = torch.tensor([[0, 3, 1], [0, 1, 3], [0, 1, 2]])
    # Distances of right angles are the root of 2, of opposites 2.
    expected = (0 + (2**0.5 + 0.5) + 0) / 3
    assert triplet_loss(vectors, triplets) == pytest.approx(expected, abs=1e-5)


def test_training_tells_columns_that_join_from_others_in_tables_not_seen() -> None:
    seen = split_tables(lake(16, seed=0), np.random.default_rng(0))
    unseen = split_tables(lake(16, seed=1), np.random.default_rng(1))
    graph, triplets = draw_graph(unseen.lake), torch.from_numpy(unseen.triplets)
    torch.manual_seed(0)
    network = Network()

    def loss() -> float:
        with torch.no_grad():
            return float(triplet_loss(network(graph), triplets))

    before = loss()
    fit_network(network, draw_graph(seen.lake), torch.from_numpy(seen.triplets))
    assert loss() < 0.5 * before


def test_a_seed_repeats_and_leaves_others_draws_alone() -> None:
    columns, queries = lake(8, seed=0), np.arange(4)
    state = torch.get_rng_state()
    one, same, other = (linked_columns(columns, queries, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert torch.equal(torch.get_rng_state(), state)


def test_answers_are_columns_of_other_tables_and_the_joinable_comes_first(tmp_path: Path) -> None:
    found = ask(OMNIMATCH, suite(tmp_path, TABLES, "a.x", "d.w"))
    assert found["a.x"][0][0] == "b.y"
    assert found["d.w"][0][0] == "c.z"
    assert len(found["a.x"]) == 6
    assert all(-1 <= score <= 1 for answers in found.values() for _, score in answers)


def test_tables_of_one_column_teach_nothing(tmp_path: Path) -> None:
    message = "no table has two columns, so there is no pair to learn from. Use wider tables"
    alone = suite(tmp_path, {"a": {"x": codes("A")}, "b": {"x": codes("A")}}, "a.x")
    with pytest.raises(NoPairsError, match=re.escape(message)):
        ask(OMNIMATCH, alone)
