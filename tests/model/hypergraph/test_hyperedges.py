"""Test the hypergraph of a lake's columns, and its adjacency matrix."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.model.config import OURS, HypergraphConfig, ModelConfig
from datahub_hyperjoin.model.hypergraph import join_graph
from datahub_hyperjoin.model.hypergraph.hyperedges import (
    Adjacency,
    Hypergraph,
    Lists,
    build_hypergraph,
    mean_of_members,
)
from datahub_hyperjoin.model.hypergraph.join_graph import (
    JoinGraph,
    build_join_graph,
)
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.overlap import measure_overlap
from datahub_hyperjoin.model.signals.priors import CatalogPriors

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
Know = Callable[[Mapping[tuple[str, str], CatalogEvidence]], CatalogFacts]
NOTHING = CatalogFacts()


def connect(
    lake: Lake, keys: np.ndarray, config: ModelConfig, knowledge: CatalogFacts = NOTHING
) -> JoinGraph:
    priors = CatalogPriors.from_facts(lake, knowledge)
    overlap = measure_overlap(lake)
    return build_join_graph(lake, keys, overlap=overlap, priors=priors, config=config)


def test_hyperedges_within_tables_come_first() -> None:
    within = [np.array([0, 1, 2]), np.array([3, 4])]
    across = [np.array([0, 3]), np.array([1, 2])]
    graph = Hypergraph.from_groups(6, within=within, across=across)
    assert graph.across.tolist() == [False, False, True, True]
    assert graph.by_hyperedge.sizes.tolist() == [3, 2, 2, 2]
    assert graph.by_column.sizes.tolist() == [2, 2, 2, 2, 1, 0]
    neighbours = graph.adjacency.lists
    assert [part.tolist() for part in neighbours.members.split(neighbours.sizes.tolist())] == [
        [2, 3],
        [2],
        [0, 1],
        [0],
    ]


def test_domains_connect_tables(make_lake: MakeLake, airline_tables: Tables) -> None:
    lake = make_lake(airline_tables)
    keys = np.arange(len(lake))
    joins = connect(lake, keys, ModelConfig())
    names = [{str(lake.ids[column]) for column in part} for part in joins.components]
    assert names == [
        {"flights.carrier", "airlines.carrier_code"},
        {"flights.tailnum", "planes.tailnum"},
        {"trees.genus", "herbarium.genus"},
    ]
    graph = build_hypergraph(lake, joins, OURS)
    assert int(graph.across.sum()) == 3
    assert int((~graph.across).sum()) == 5


def test_no_component_outgrows_its_bound(make_lake: MakeLake) -> None:
    chain = {f"t{i}": {"word": [f"w{n}" for n in range(10 * i, 10 * i + 60)]} for i in range(30)}
    lake = make_lake(chain)
    config = ModelConfig(hypergraph=HypergraphConfig(max_size=7, min_containment=0.5))
    joins = connect(lake, np.arange(30), config)
    assert max(map(len, joins.components)) <= 7
    assert (joins.component[joins.left] == joins.component[joins.right]).all()


def test_the_strongest_pair_is_kept_when_the_bound_bites(make_lake: MakeLake) -> None:
    words = [f"w{n}" for n in range(20)]
    lake = make_lake({"a": {"x": words}, "b": {"x": words}, "c": {"x": [*words[:17], "u", "v"]}})
    config = ModelConfig(hypergraph=HypergraphConfig(max_size=2, min_containment=0.4))
    joins = connect(lake, np.arange(3), config)
    assert [part.tolist() for part in joins.components] == [[0, 1]]


def test_a_lake_without_overlap_has_no_domain(make_lake: MakeLake) -> None:
    lake = make_lake({"a": {"x": ["one", "two"]}, "b": {"y": ["three", "four"]}})
    joins = connect(lake, np.arange(2), ModelConfig())
    assert joins.components == ()
    assert build_hypergraph(lake, joins, OURS).incidence.dtype == torch.int64


def groups(lake: Lake, joins: JoinGraph) -> list[set[str]]:
    return [{str(lake.ids[column]) for column in part} for part in joins.components]


def test_a_connected_pair_shares_a_hyperedge_whatever_its_values(
    make_lake: MakeLake, airline_tables: Tables, know: Know
) -> None:
    lake = make_lake(airline_tables)
    declared = {("planes.seats", "trees.family"): CatalogEvidence(declared="fk")}
    joins = connect(lake, np.arange(len(lake)), ModelConfig(), know(declared))
    assert {"planes.seats", "trees.family"} in groups(lake, joins)
    graph = build_hypergraph(lake, joins, OURS)
    column, edge = graph.incidence.numpy()
    held = {frozenset(column[edge == e].tolist()) for e in np.flatnonzero(graph.across.numpy())}
    assert held == {frozenset(part.tolist()) for part in joins.components}


def test_a_pair_that_overlaps_and_is_connected_is_one_edge(
    make_lake: MakeLake, airline_tables: Tables, know: Know
) -> None:
    lake = make_lake(airline_tables)
    keys, config = np.arange(len(lake)), ModelConfig()
    alone = connect(lake, keys, config)
    declared = {("flights.tailnum", "planes.tailnum"): CatalogEvidence(declared="fk")}
    joins = connect(lake, keys, config, know(declared))
    assert len(joins.left) == len(alone.left)
    assert str(lake.ids[joins.left[0]]) == "flights.tailnum"


def test_a_rejected_pair_is_no_edge(
    make_lake: MakeLake, airline_tables: Tables, know: Know
) -> None:
    lake = make_lake(airline_tables)
    said = CatalogEvidence(declared="fk", verdict=Verdict.REJECTED)
    knowledge = know({("flights.tailnum", "planes.tailnum"): said})
    joins = connect(lake, np.arange(len(lake)), ModelConfig(), knowledge)
    assert groups(lake, joins) == [
        {"flights.carrier", "airlines.carrier_code"},
        {"trees.genus", "herbarium.genus"},
    ]


def test_connected_pairs_come_first_and_keep_to_the_bound(make_lake: MakeLake, know: Know) -> None:
    words = [f"w{n}" for n in range(20)]
    lake = make_lake({"a": {"x": words}, "b": {"x": words}, "c": {"y": ["1"]}, "d": {"z": ["2"]}})
    declared = CatalogEvidence(declared="fk")
    knowledge = know({("a.x", "c.y"): declared, ("b.x", "d.z"): declared, ("c.y", "d.z"): declared})
    config = ModelConfig(hypergraph=HypergraphConfig(max_size=2))
    joins = connect(lake, np.arange(4), config, knowledge)
    assert groups(lake, joins) == [{"a.x", "c.y"}, {"b.x", "d.z"}]


def test_a_pair_within_a_table_is_no_edge_across_tables(make_lake: MakeLake, know: Know) -> None:
    lake = make_lake({"staff": {"id": ["1", "2"], "manager": ["1", "1"]}})
    knowledge = know({("staff.id", "staff.manager"): CatalogEvidence(declared="fk")})
    assert connect(lake, np.arange(2), ModelConfig(), knowledge).components == ()


def test_pairs_are_connected_alike_whatever_their_number_at_once(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = make_lake(
        {f"t{n}": {"id": [f"{row}" for row in range(n % 3, 20 + n % 3)]} for n in range(9)}
    )
    config, keys = ModelConfig(hypergraph=HypergraphConfig(max_size=4)), np.arange(9)
    whole = connect(lake, keys, config)
    monkeypatch.setattr(join_graph, "_AT_ONCE", 2)
    monkeypatch.setattr(join_graph, "_COMPARED", 2)
    parts = connect(lake, keys, config)
    assert len(whole.left) > 2
    assert np.array_equal(parts.left, whole.left)
    assert np.array_equal(parts.component, whole.component)


INCIDENCE = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), unique=True, max_size=30)


def adjacency_of(pairs: list[tuple[int, int]]) -> Adjacency:
    incidence = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T.contiguous()
    return Adjacency.from_incidence(10, 6, incidence)


@given(INCIDENCE)
def test_it_is_the_row_normalised_count_of_shared_columns(pairs: list[tuple[int, int]]) -> None:
    found = adjacency_of(pairs)
    incidence = np.zeros((10, 6))
    incidence[tuple(np.array(pairs, dtype=int).reshape(-1, 2).T)] = 1
    shared = incidence.T @ incidence
    np.fill_diagonal(shared, 0)
    dense = np.zeros((6, 6))
    dense[found.row, found.lists.members] = found.share
    np.testing.assert_allclose(dense, shared / np.maximum(shared.sum(1, keepdims=True), 1))


@given(INCIDENCE)
def test_the_mirror_of_an_entry_is_the_other_way_round(pairs: list[tuple[int, int]]) -> None:
    found = adjacency_of(pairs)
    assert torch.equal(found.row[found.mirror], found.lists.members)
    assert torch.equal(found.lists.members[found.mirror], found.row)


@given(INCIDENCE)
def test_entries_are_numbered_row_by_row(pairs: list[tuple[int, int]]) -> None:
    found = adjacency_of(pairs)
    assert found.entries.members.tolist() == list(range(len(found.row)))
    assert torch.equal(torch.repeat_interleave(torch.arange(6), found.entries.sizes), found.row)


PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), unique=True, max_size=20)


def both_ways(pairs: list[tuple[int, int]]) -> tuple[Lists, Lists, torch.Tensor]:
    """Convert pairs of an owner and a member to lists, inverse lists and a dense matrix."""
    owner, member = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    dense = torch.zeros(5, 7, dtype=torch.float64)
    dense[owner, member] = 1
    return Lists.from_pairs(owner, member, 5), Lists.from_pairs(member, owner, 7), dense


@given(PAIRS)
def test_a_sum_is_the_product_with_the_dense_matrix(pairs: list[tuple[int, int]]) -> None:
    lists, _, dense = both_ways(pairs)
    values = torch.arange(21, dtype=torch.float64).reshape(7, 3)
    weights = torch.arange(1, len(pairs) + 1, dtype=torch.float64)
    torch.testing.assert_close(lists.sum(values), dense @ values)
    weighed = dense.clone()
    weighed[dense > 0] = weights  # both go list by list, members in order
    torch.testing.assert_close(lists.sum(values, weights), weighed @ values)


@given(PAIRS)
def test_a_mean_is_that_of_the_dense_matrix(pairs: list[tuple[int, int]]) -> None:
    lists, inverse, dense = both_ways(pairs)
    values = torch.arange(21, dtype=torch.float64).reshape(7, 3)
    expected = dense @ values / dense.sum(dim=1).clamp(min=1)[:, None]
    torch.testing.assert_close(mean_of_members(values, lists, inverse), expected)


def test_the_gradient_of_a_mean_is_exact() -> None:
    lists, inverse, _ = both_ways([(0, 0), (0, 3), (1, 3), (3, 2), (3, 3), (3, 6)])
    values = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda rows: mean_of_members(rows, lists, inverse), (values,))


def test_lists_tell_their_lengths() -> None:
    lists, _, _ = both_ways([(3, 1), (0, 2), (3, 0)])
    assert lists.sizes.tolist() == [1, 0, 0, 2, 0]
    assert lists.members.tolist() == [2, 0, 1]
