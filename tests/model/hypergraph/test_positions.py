from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import OURS, ModelConfig, Positions
from datahub_hyperjoin.model.hypergraph import positions
from datahub_hyperjoin.model.hypergraph.join_graph import JoinGraph
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.hypergraph.positions import (
    canonical_basis,
    find_positions,
    laplacian_eigenvectors,
    return_probabilities,
)
from datahub_hyperjoin.model.lake import Lake

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
CLIQUE = list(combinations(range(5), 2))
SQUARE = [(0, 1), (1, 2), (2, 3), (0, 3)]
PATH = [(0, 1), (1, 2), (2, 3), (3, 4)]
KITE = [(0, 1), (1, 2), (2, 3), (1, 3), (3, 4)]


def graph(edges: list[tuple[int, int]], components: list[int]) -> JoinGraph:
    left, right = np.array(edges).T
    return JoinGraph(left=left, right=right, component=np.array(components))


def test_a_pair_returns_every_second_step() -> None:
    probabilities = return_probabilities(graph([(0, 2)], [0, -1, 0]), 4)
    np.testing.assert_allclose(probabilities, [[0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 1]])


def test_a_triangle_beside_a_path() -> None:
    joins = graph([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5)], [0, 0, 0, 1, 1, 1])
    probabilities = return_probabilities(joins, 3)
    np.testing.assert_allclose(probabilities[:3], np.tile([0, 0.5, 0.25], (3, 1)))
    np.testing.assert_allclose(probabilities[3:], np.array([[0, 0.5, 0], [0, 1, 0], [0, 0.5, 0]]))


@pytest.mark.parametrize("seed", range(3))
def test_positions_follow_the_columns_when_they_are_renumbered(seed: int) -> None:
    edges = [(0, 1), (1, 2), (2, 3), (1, 3), (4, 5)]
    before = return_probabilities(graph(edges, [0, 0, 0, 0, 1, 1]), 8)
    moved = np.random.default_rng(seed).permutation(6)
    component = np.empty(6, dtype=int)
    component[moved] = [0, 0, 0, 0, 1, 1]
    after = return_probabilities(
        graph([(moved[a], moved[b]) for a, b in edges], component.tolist()), 8
    )
    np.testing.assert_allclose(after[moved], before, atol=1e-6)


def laplacian(edges: list[tuple[int, int]]) -> np.ndarray:
    count = max(map(max, edges)) + 1
    linked = np.zeros((count, count))
    for one, other in edges:
        linked[one, other] = linked[other, one] = 1
    scale = 1 / np.sqrt(linked.sum(axis=1))
    return np.eye(count) - scale[:, None] * linked * scale


@pytest.mark.parametrize("edges", [CLIQUE, SQUARE, PATH, KITE])
def test_eigenvectors_are_those_of_the_laplacian_but_the_trivial_one(
    edges: list[tuple[int, int]],
) -> None:
    dense = laplacian(edges)
    count = len(dense)
    found = laplacian_eigenvectors(graph(edges, [0] * count), np.arange(count), 6)
    vectors = found[:, : count - 1].astype(float)
    assert not found[:, count - 1 :].any()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count - 1), atol=1e-6)
    smallest = np.linalg.eigvalsh(dense)[1:]
    np.testing.assert_allclose(dense @ vectors, vectors * smallest, atol=1e-6)


@pytest.mark.parametrize("edges", [CLIQUE, SQUARE, PATH, KITE])
def test_the_greatest_entry_is_positive(edges: list[tuple[int, int]]) -> None:
    count = max(map(max, edges)) + 1
    found = laplacian_eigenvectors(graph(edges, [0] * count), np.arange(count), count - 1)
    for vector in found.T:
        first = int(np.argmax(np.abs(vector) >= np.abs(vector).max() - 1e-6))
        assert vector[first] > 0


@pytest.mark.parametrize("edges", [CLIQUE, SQUARE, PATH, KITE])
@pytest.mark.parametrize("seed", range(4))
def test_eigenvectors_follow_the_columns_when_they_are_renumbered(
    edges: list[tuple[int, int]], seed: int
) -> None:
    """Check that the order of columns does not matter, even for equal eigenvalues."""
    count = max(map(max, edges)) + 1
    before = laplacian_eigenvectors(graph(edges, [0] * count), np.arange(count), 8)
    moved = np.random.default_rng(seed).permutation(count)
    renumbered = graph([(moved[a], moved[b]) for a, b in edges], [0] * count)
    after = laplacian_eigenvectors(renumbered, np.argsort(moved), 8)
    np.testing.assert_allclose(after[moved], before, atol=1e-6)


def test_the_basis_of_equal_eigenvalues_is_not_the_solver_s() -> None:
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    space = np.linalg.qr(np.random.default_rng(1).normal(size=(7, 3)))[0]
    one, other = (np.stack(list(canonical_basis(basis))) for basis in (space, space @ turn))
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_components_have_eigenvectors_of_their_own() -> None:
    apart = [(a + 5, b + 5) for a, b in PATH]
    both = laplacian_eigenvectors(graph([*KITE, *apart], [0] * 5 + [1] * 5), np.arange(10), 4)
    for edges, part in ((KITE, both[:5]), (PATH, both[5:])):
        alone = laplacian_eigenvectors(graph(edges, [0] * 5), np.arange(5), 4)
        np.testing.assert_allclose(part, alone, atol=1e-6)


def test_a_large_component_has_the_same_eigenvectors(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    tree = [(int(random.integers(node)), node) for node in range(1, 80)]
    joins = graph(tree, [0] * 80)
    whole = laplacian_eigenvectors(joins, np.arange(80), 4)
    monkeypatch.setattr(positions, "_DENSE", 8)
    np.testing.assert_allclose(laplacian_eigenvectors(joins, np.arange(80), 4), whole, atol=1e-5)


def test_a_column_without_an_edge_has_no_position() -> None:
    found = laplacian_eigenvectors(graph([(0, 2)], [0, -1, 0]), np.arange(3), 2)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(found, [[half, 0], [0, 0], [-half, 0]], atol=1e-7)


@pytest.mark.parametrize("kind", list(Positions))
def test_the_order_of_the_lake_makes_no_difference(
    make_lake: MakeLake, airline_tables: Tables, kind: Positions
) -> None:
    codes = airline_tables["airlines"]["carrier_code"]
    more = {f"codes{n}": {"carrier": [*codes[n:], *"xyz"]} for n in range(6)}
    tables = {**airline_tables, **more}
    config = ModelConfig(setting=replace(OURS, positions=kind))

    def look(of: Tables) -> dict[str, np.ndarray]:
        index = build_lake_index(make_lake(of), config, CatalogFacts())
        found = find_positions(index, config)
        return {str(column): row for column, row in zip(index.lake.ids, found, strict=True)}

    before, after = look(tables), look(dict(reversed(tables.items())))
    assert kind is Positions.NONE or any(row.any() for row in before.values())
    for name, row in before.items():
        np.testing.assert_allclose(after[name], row, atol=1e-5)


def test_the_configuration_names_the_positions(make_lake: MakeLake, airline_tables: Tables) -> None:
    config = ModelConfig()
    index = build_lake_index(make_lake(airline_tables), config, CatalogFacts())

    def look(kind: Positions) -> np.ndarray:
        return find_positions(index, replace(config, setting=replace(OURS, positions=kind)))

    np.testing.assert_array_equal(look(Positions.WALKS), return_probabilities(index.joins, 16))
    assert sorted(set(np.round(look(Positions.LAPLACIAN)[:, 0], 4))) == [-0.7071, 0, 0.7071]
    assert not look(Positions.NONE).any()
