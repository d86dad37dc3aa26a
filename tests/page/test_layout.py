"""Test that labels in the picture do not overlap."""

from collections.abc import Iterator
from itertools import combinations

import networkx as nx
import pytest

from datahub_hyperjoin.page.layout import place_nodes


def clashes(places: dict[int, tuple[float, float]], size: tuple[float, float]) -> Iterator[object]:
    for one, other in combinations(places.values(), 2):
        if abs(one[0] - other[0]) < size[0] - 1 and abs(one[1] - other[1]) < size[1] - 1:
            yield one, other


@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(2),
        nx.star_graph(30),
        nx.balanced_tree(3, 3),
        nx.Graph([(0, 1), (2, 3), (3, 4)]),
    ],
    ids=["pair", "star", "tree", "parts"],
)
def test_labels_do_not_overlap(graph: nx.Graph) -> None:
    size = (90.0, 40.0)
    places, width, height = place_nodes(graph, dict.fromkeys(graph, size))
    assert list(clashes(places, size)) == []
    assert all(44 < x < width - 44 and 19 < y < height - 19 for x, y in places.values())
