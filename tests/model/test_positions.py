import numpy as np
import pytest

from datahub_hyperjoin.model.hypergraph import JoinGraph
from datahub_hyperjoin.model.positions import return_probabilities


def graph(edges: list[tuple[int, int]], components: list[int]) -> JoinGraph:
    left, right = np.array(edges).T
    return JoinGraph(left=left, right=right, component=np.array(components))


def test_a_pair_returns_every_second_step() -> None:
    walks = return_probabilities(graph([(0, 2)], [0, -1, 0]), 4)
    np.testing.assert_allclose(walks, [[0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 1]])


def test_a_triangle_beside_a_path() -> None:
    joins = graph([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5)], [0, 0, 0, 1, 1, 1])
    walks = return_probabilities(joins, 3)
    np.testing.assert_allclose(walks[:3], np.tile([0, 0.5, 0.25], (3, 1)))
    np.testing.assert_allclose(walks[3:], np.array([[0, 0.5, 0], [0, 1, 0], [0, 0.5, 0]]))


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
