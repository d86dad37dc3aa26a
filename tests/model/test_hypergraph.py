from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from datahub_hyperjoin.knowledge import Knowledge
from datahub_hyperjoin.model.config import HypergraphConfig
from datahub_hyperjoin.model.hypergraph import (
    Hypergraph,
    JoinGraph,
    build_hypergraph,
    build_join_graph,
)
from datahub_hyperjoin.model.known import Known
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.overlap import measure_overlap

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
NOTHING = Knowledge()


def connect(
    lake: Lake, keys: np.ndarray, config: HypergraphConfig, knowledge: Knowledge = NOTHING
) -> JoinGraph:
    known = Known.from_knowledge(lake, knowledge)
    overlap = measure_overlap(lake)
    return build_join_graph(lake, keys, overlap=overlap, known=known, config=config)


def test_adjacency_is_the_row_normalised_count_of_shared_columns() -> None:
    within = [np.array([0, 1, 2]), np.array([3, 4])]
    across = [np.array([0, 3]), np.array([1, 2])]
    graph = Hypergraph.from_groups(5, within=within, across=across)
    holds = np.zeros((5, 4))
    column, edge = graph.incidence.numpy()
    holds[column, edge] = 1
    dense = holds.T @ holds
    np.fill_diagonal(dense, 0)
    dense /= np.maximum(dense.sum(axis=1, keepdims=True), 1)
    np.testing.assert_allclose(graph.adjacency.toarray(), dense, rtol=1e-6)
    assert graph.across.tolist() == [False, False, True, True]


def test_domains_connect_tables(make_lake: MakeLake, airline_tables: Tables) -> None:
    lake = make_lake(airline_tables)
    keys = np.arange(len(lake))
    joins = connect(lake, keys, HypergraphConfig())
    names = [{str(lake.ids[column]) for column in part} for part in joins.components]
    assert names == [
        {"flights.carrier", "airlines.carrier_code"},
        {"flights.tailnum", "planes.tailnum"},
        {"trees.genus", "herbarium.genus"},
    ]
    graph = build_hypergraph(lake, joins)
    assert int(graph.across.sum()) == 3
    assert int((~graph.across).sum()) == 5


def test_no_component_outgrows_its_bound(make_lake: MakeLake) -> None:
    chain = {f"t{i}": {"word": [f"w{n}" for n in range(10 * i, 10 * i + 60)]} for i in range(30)}
    lake = make_lake(chain)
    config = HypergraphConfig(max_size=7, min_containment=0.5)
    joins = connect(lake, np.arange(30), config)
    assert max(map(len, joins.components)) <= 7
    assert (joins.component[joins.left] == joins.component[joins.right]).all()


def test_the_strongest_pair_is_kept_when_the_bound_bites(make_lake: MakeLake) -> None:
    words = [f"w{n}" for n in range(20)]
    lake = make_lake({"a": {"x": words}, "b": {"x": words}, "c": {"x": [*words[:17], "u", "v"]}})
    config = HypergraphConfig(max_size=2, min_containment=0.4)
    joins = connect(lake, np.arange(3), config)
    assert [part.tolist() for part in joins.components] == [[0, 1]]


def test_a_lake_without_overlap_has_no_domain(make_lake: MakeLake) -> None:
    lake = make_lake({"a": {"x": ["one", "two"]}, "b": {"y": ["three", "four"]}})
    joins = connect(lake, np.arange(2), HypergraphConfig())
    assert joins.components == ()
    assert build_hypergraph(lake, joins).incidence.dtype == torch.int64
