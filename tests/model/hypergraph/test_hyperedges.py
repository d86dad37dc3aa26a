from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
import torch

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.model.config import OURS, HypergraphConfig, ModelConfig
from datahub_hyperjoin.model.hypergraph import join_graph
from datahub_hyperjoin.model.hypergraph.hyperedge_groups import build_hyperedge_groups
from datahub_hyperjoin.model.hypergraph.hyperedges import Hypergraph, build_hypergraph
from datahub_hyperjoin.model.hypergraph.join_graph import JoinGraph, build_join_graph
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
    graph = build_hypergraph(build_hyperedge_groups(lake, joins, OURS), len(lake))
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
    assert (
        build_hypergraph(build_hyperedge_groups(lake, joins, OURS), len(lake)).incidence.dtype
        == torch.int64
    )


def groups(lake: Lake, joins: JoinGraph) -> list[set[str]]:
    return [{str(lake.ids[column]) for column in part} for part in joins.components]


def test_a_connected_pair_shares_a_hyperedge_whatever_its_values(
    make_lake: MakeLake, airline_tables: Tables, know: Know
) -> None:
    lake = make_lake(airline_tables)
    declared = {("planes.seats", "trees.family"): CatalogEvidence(declared="fk")}
    joins = connect(lake, np.arange(len(lake)), ModelConfig(), know(declared))
    assert {"planes.seats", "trees.family"} in groups(lake, joins)
    graph = build_hypergraph(build_hyperedge_groups(lake, joins, OURS), len(lake))
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
