"""Test that the defects of the paper's released code do not occur here.

Defects with tests in other files:

* names split on `_` only, case kept: `test_names_split_on_separators_case_and_digits`
* shared columns divided by their greatest count instead of their sum:
  `test_it_is_the_row_normalised_count_of_shared_columns`
* a supervised pair in one hyperedge: `test_nothing_passes_from_one_view_to_the_other`
* joinable columns as negatives: `test_joinable_columns_are_no_negatives`
* collapsed embeddings that nobody notices: `test_collapse_is_named`

Defects with tests in this file:

* one vector for every token outside the vocabulary: `test_unknown_tokens_differ`
* dense matrices of columns or hyperedges:
  `test_nothing_dense_of_columns_or_hyperedges_is_built`
* noise for a position that cannot be computed: `test_a_position_is_never_noise`
* the vector of another table for a new table: `test_a_new_table_has_no_other_table_s_vector`
* separate passes for anchor and positive: `test_a_step_is_one_pass_over_both_views`
* kinds of hyperedges confused: `test_kinds_of_hyperedges_are_told_apart`
* selection of the epoch with the least training loss:
  `test_the_epoch_kept_is_the_one_of_best_recall`
* no hyperedge at inference: `test_inference_sees_the_hyperedges_that_training_saw`
* a tree without the query: `test_the_tree_grows_from_the_query`
"""

import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from datahub_hyperjoin.model.config import OURS, ModelConfig, NetworkConfig, Positions, Reuse
from datahub_hyperjoin.model.hypergraph.hyperedges import Hypergraph, build_hypergraph
from datahub_hyperjoin.model.hypergraph.join_graph import JoinGraph
from datahub_hyperjoin.model.hypergraph.positions import find_positions
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.features import Features, Names
from datahub_hyperjoin.model.network.hin import HIN, UNSEEN, Batch, NameEncoder, NetworkSizes
from datahub_hyperjoin.model.ranking.rank import select_coherent
from lakes.switching import SMALL, build, draw, report, run, switched

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]


@pytest.fixture
def lake(make_lake: MakeLake, airline_tables: Tables) -> Lake:
    return make_lake(airline_tables)


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[Batch]:
    """Record the batches that a network receives during a test."""
    seen: list[Batch] = []
    forward = HIN.forward

    def watch(network: HIN, batch: Batch) -> torch.Tensor:
        seen.append(batch)
        return forward(network, batch)

    monkeypatch.setattr(HIN, "forward", watch)
    return seen


@torch.no_grad()
def test_unknown_tokens_differ() -> None:
    torch.manual_seed(0)
    encoder = NameEncoder(NetworkSizes(3, 4, content=1, tables=1, steps=1), 8, name_vectors=True)
    unknown = torch.zeros(2, dtype=torch.int64)
    names = Names(tokens=unknown, starts=torch.arange(2), vectors=torch.eye(4)[:2])
    zebra, quagga = encoder(names)
    assert not torch.allclose(zebra, quagga, atol=1e-3)


class Largest(TorchDispatchMode):
    """Measure the number of elements in the largest tensor that any operation creates."""

    elements = 0

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        made = func(*args, **(kwargs or {}))
        sizes = [leaf.numel() for leaf in tree_leaves(made) if isinstance(leaf, torch.Tensor)]
        self.elements = max(self.elements, *sizes, 0)
        return made


def wide_graph(columns: int, tables: int) -> Batch:
    """Make the network's input for many tables of a few columns each.

    The first table joins the second, the third the fourth, and so on.
    """
    of = np.arange(columns) * tables // columns
    within = [np.flatnonzero(of == table) for table in range(tables)]
    pairs = zip(within[::2], within[1::2], strict=True)
    across = [np.array([one[0], other[1]]) for one, other in pairs]
    names = Names(
        tokens=torch.ones(columns, dtype=torch.int64),
        starts=torch.arange(columns),
        vectors=torch.ones(columns, 2),
    )
    return Batch(
        features=Features(tables=names, names=names, content=torch.ones(columns, 8)),
        graph=Hypergraph.from_groups(columns, within=within, across=across),
        tables=torch.from_numpy(of + 1),
        positions=torch.ones(columns, 2),
    )


def test_nothing_dense_of_columns_or_hyperedges_is_built() -> None:
    columns, tables = 8000, 2400
    batch = wide_graph(columns, tables)
    edges = len(batch.graph.across)
    sizes = NetworkSizes(vocabulary=2, dimension=2, content=8, tables=tables, steps=2)
    method = replace(OURS, heads=2, node_layers=1, mixer_layers=1)
    network = HIN(ModelConfig(setting=method, network=NetworkConfig(width=8)), sizes)
    largest = Largest()  # type: ignore[no-untyped-call]
    with largest:  # a first pass, since torch imports modules that allocate memory
        network(wide_graph(40, 12)).sum().backward()
    tracemalloc.start()
    with largest:
        network(batch).sum().backward()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert edges * edges < edges * columns < columns * columns
    assert largest.elements < edges * edges / 2
    assert peak < edges * edges, "NumPy and SciPy hold less than a byte per pair of hyperedges"


def test_a_position_is_never_noise(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = np.full(len(lake), -1)
    none = np.zeros(0, dtype=np.int64)
    for kind in Positions:
        config = switched(SMALL, setting__positions=kind)
        bare = replace(build(lake, config), joins=JoinGraph(none, none, alone))
        assert not find_positions(bare, config).any()

    def fail(_: np.ndarray) -> None:
        raise np.linalg.LinAlgError

    monkeypatch.setattr(np.linalg, "eigh", fail)
    config = switched(SMALL, setting__positions=Positions.LAPLACIAN)
    with pytest.raises(np.linalg.LinAlgError):
        find_positions(build(lake, config), config)


def test_a_new_table_has_no_other_table_s_vector(
    make_lake: MakeLake, airline_tables: Tables, batches: list[Batch], tmp_path: Path
) -> None:
    config = replace(SMALL, path=tmp_path / "model", reuse=Reuse.ALWAYS)
    run(make_lake(airline_tables), config)
    assert (batches[-1].tables != UNSEEN).all()
    grown = make_lake({"airports": {"city": ["Oslo", "Rome", "Bonn"]}, **airline_tables})
    _, epochs = run(grown, config)
    assert not epochs
    of_new = torch.from_numpy(grown.table_of == 0)
    assert torch.equal(batches[-1].tables == UNSEEN, of_new)
    network = HIN(SMALL, NetworkSizes(vocabulary=1, dimension=1, content=4, tables=3, steps=2))
    assert not network.table_position(torch.tensor([UNSEEN])).any()


def test_a_step_is_one_pass_over_both_views(lake: Lake, batches: list[Batch]) -> None:
    config = switched(SMALL, training__epochs=2)
    run(lake, config)
    # Each epoch has one step and one validation; a final check and inference follow.
    assert len(batches) == 2 * 2 + 2
    for batch in batches[:-1]:
        assert len(batch.tables) >= 2 * len(build(lake, config).keys)
        assert batch.tables[-1] == UNSEEN


def test_kinds_of_hyperedges_are_told_apart(lake: Lake, tmp_path: Path) -> None:
    same = switched(SMALL, setting__corruption=False, setting__name_variants=False)
    training = draw(lake, same, tmp_path).batch
    inference = build_hypergraph(lake, build(lake, SMALL).joins, SMALL.setting)
    everywhere = torch.from_numpy(lake.table_of + 1)
    # Context dropout and table swaps change table positions, so titles identify tables.
    titles = training.features.tables.vectors
    tables = torch.unique(titles, dim=0, return_inverse=True)[1]
    for graph, of in ((training.graph, tables), (inference, everywhere)):
        column, edge = graph.incidence
        assert set(graph.across.tolist()) == {True, False}
        for number, across in enumerate(graph.across.tolist()):
            spanned = len(of[column[edge == number]].unique())
            assert (spanned > 1) is across


def test_the_epoch_kept_is_the_one_of_best_recall(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = run(lake, switched(SMALL, training__epochs=1))
    report([(3.0, 0.9), (2.0, 0.5), (1.0, 0.1)], monkeypatch)
    kept, _ = run(lake, SMALL)
    np.testing.assert_array_equal(kept, first)


def test_inference_sees_the_hyperedges_that_training_saw(lake: Lake, batches: list[Batch]) -> None:
    run(lake, SMALL)
    last = batches[-1].graph
    graph = build_hypergraph(lake, build(lake, SMALL).joins, SMALL.setting)
    assert torch.equal(last.incidence, graph.incidence)
    assert torch.equal(last.across, graph.across)
    assert set(last.across.tolist()) == {True, False}
    assert len(last.across.unique()) == len(batches[0].graph.across.unique())
    assert last.incidence[0].unique().numel() == len(lake)


def test_the_tree_grows_from_the_query() -> None:
    """Check that a second candidate may be chosen because it joins with the query column itself."""
    relevance = np.array([[0.9, 0.5, 0.3]])
    among = np.zeros((1, 3, 3))
    among[0, 0, 2] = among[0, 2, 0] = 0.6
    # With the query in the tree 0.5 + 0.5 beats 0.3 + 0.6; without it 0.5 + 0 loses.
    found = select_coherent(relevance, lambda *pairs: among[pairs], count=2, coherence=1.0)
    assert found.tolist() == [[0, 1]]
