"""Test which tables are in one group, and what groups do to references."""

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest

from datahub_hyperjoin.model.roles import references
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates
from datahub_hyperjoin.model.roles.context import group_tables
from datahub_hyperjoin.model.roles.pair_scores import DEFAULT_WEIGHTS, TablePairs
from lakes.handmade import Tables, draw, lake_of, numbers
from lakes.referring import name, references_of

Edges = Sequence[tuple[int, int]]
SHOP, KEY = "shop/order.customer_id", "shop/customer.customer_id"


def partitions(tables: int, edges: Edges) -> np.ndarray:
    """Group tables of one column each, of which some surely refer to others."""
    lake = lake_of({f"t{at:03}": {"c": numbers(at, at + 3)} for at in range(tables)})
    referring, referenced = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    sure, none = np.ones(len(edges)), np.zeros(0)
    pairs = TablePairs(np.zeros(len(edges), dtype=bool), none.astype(np.int64), none)
    candidates = ReferenceCandidates(referring, referenced, sure, np.ones(tables, dtype=bool), sure)
    return group_tables(lake, candidates, pairs, sure)


def circles(count: int, size: int) -> list[tuple[int, int]]:
    """Return the edges of groups in which every table refers to every later one."""
    return [
        (first + one, first + other)
        for first in range(0, count * size, size)
        for other in range(size)
        for one in range(other)
    ]


def test_tables_that_refer_to_each_other_are_together_in_all_partitions() -> None:
    groups = partitions(12, [*circles(3, 4), (0, 4)])
    assert len(groups) > 1
    for partition in groups:
        assert [len({*partition[at : at + 4].tolist()}) for at in (0, 4, 8)] == [1, 1, 1]
        assert len({*partition.tolist()}) == 3


def test_tables_without_references_are_groups_of_their_own() -> None:
    assert partitions(3, []).tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("more", [[], [(2, 4)]])
def test_a_reference_groups_two_tables_whether_or_not_it_is_the_only_one(more: Edges) -> None:
    for partition in partitions(5, [(1, 3), *more]):
        groups = {frozenset(np.flatnonzero(partition == each).tolist()) for each in partition}
        assert groups - {frozenset(edge) for edge in more} >= {frozenset({0}), frozenset({1, 3})}
        assert len(groups) == 4 - len(more)


def test_partitions_are_as_modular_as_those_of_networkx() -> None:
    random = np.random.default_rng(0)
    edges = [*circles(8, 5), *((a, b) for a, b in random.integers(40, size=(30, 2)) if a != b)]
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(40))
    known = nx.community.louvain_communities(graph, seed=0, resolution=0.5)
    least = nx.community.modularity(graph, known, resolution=0.5) - 0.02
    for partition in partitions(40, edges):
        groups = [{*np.flatnonzero(partition == each).tolist()} for each in np.unique(partition)]
        assert nx.community.modularity(graph, groups, resolution=0.5) >= least


def log_odds(tables: Tables) -> float:
    lake = lake_of(tables)
    found = name(lake, references_of(lake))
    # Other candidates compete for the column, too.
    rest = 1 - sum(p for (column, _), p in found.items() if column == SHOP)
    return float(np.log(found[SHOP, KEY] / rest))


def test_a_table_without_references_changes_no_group() -> None:
    random = np.random.default_rng(1)
    edges = [*circles(8, 5), *((a, b) for a, b in random.integers(40, size=(60, 2)) if a != b)]
    # The added table comes last.
    assert partitions(41, edges)[:, :40].tolist() == partitions(40, edges).tolist()


@pytest.mark.parametrize(
    ("parts", "stock", "share"),
    [("shop", "shop", 1.0), ("shop", "mart", 0.75), ("mart", "mart", 0.5), ("mart", "yard", 0.5)],
)
def test_groups_count_by_the_share_of_the_folder_and_at_least_half(
    parts: str, stock: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables: Tables = {
        "shop/customer": {"customer_id": numbers(1, 61)},
        "shop/order": {"code": numbers(500, 600), "customer_id": draw(numbers(1, 61), 100)},
        f"{parts}/parts": {"part": [f"p{at}" for at in range(50)]},
        f"{stock}/stock": {"part": [f"p{at}" for at in range(50)]},
    }

    def find(groups: Sequence[int]) -> float:
        monkeypatch.setattr(references, "group_tables", lambda *_: np.array([groups]))
        return log_odds(tables)

    apart, together = find([0, 1, 2, 3]), find([0, 0, 0, 0])
    assert apart - together == pytest.approx(share * DEFAULT_WEIGHTS.other_group)
