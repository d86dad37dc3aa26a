"""Test the augmented views, and the changes of values in them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.hin import UNSEEN
from datahub_hyperjoin.model.training import augmented_views as corruption
from datahub_hyperjoin.model.training.augmented_views import (
    PairBatch,
    ViewSource,
    corrupt,
    move_columns,
    sample_pairs,
    split_columns,
    split_values,
)
from datahub_hyperjoin.tables import pair_of
from lakes.switching import SHORT, SMALL, data_from, switched

Tables = Mapping[str, Mapping[str, Sequence[str]]]
KEYS = [0, 1, 3, 5, 7, 9]
MakeLake = Callable[[Tables], Lake]
Know = Callable[[Mapping[tuple[str, str], CatalogEvidence]], CatalogFacts]
NOTHING = CatalogFacts()
REJECTED = CatalogEvidence(verdict=Verdict.REJECTED)


def cut(lake: Lake, folder: Path, knowledge: CatalogFacts = NOTHING) -> ViewSource:
    return data_from(build_lake_index(lake, SHORT, knowledge), SHORT, folder)


@pytest.fixture
def data(make_lake: MakeLake, airline_tables: Tables, tmp_path: Path) -> ViewSource:
    return cut(make_lake(airline_tables), tmp_path)


def draw(data: ViewSource, seed: int) -> PairBatch:
    return sample_pairs(data, np.array(KEYS), np.random.default_rng(seed))


@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    keys=st.sets(st.sampled_from(KEYS), min_size=1),
    pair=st.sets(st.sampled_from(KEYS), min_size=2, max_size=2),
    verdict=st.sampled_from([None, *Verdict]),
    seed=st.integers(0, 2**16),
)
def test_nothing_passes_from_one_view_to_the_other(
    data: ViewSource, keys: set[int], pair: set[int], verdict: Verdict | None, seed: int
) -> None:
    ids = data.lake.ids
    said = {pair_of(*(ids[key] for key in pair)): CatalogEvidence(verdict=verdict)}
    index = build_lake_index(data.lake, ModelConfig(), CatalogFacts(pairs=said))
    told = replace(data, index=index)
    pairs = sample_pairs(told, np.array(sorted(keys)), np.random.default_rng(seed))
    graph, first_right = pairs.batch.graph, int(pairs.candidates[0])
    column, edge = graph.incidence.numpy()
    on_right = np.zeros(len(graph.across), dtype=bool)
    on_right[edge[column >= first_right]] = True
    assert not on_right[edge[column < first_right]].any()
    reader, read = graph.adjacency.row.numpy(), graph.adjacency.lists.members.numpy()
    assert (on_right[reader] == on_right[read]).all()
    assert (pairs.queries < first_right).all()
    assert (pairs.batch.tables[first_right:] == UNSEEN).all()
    assert not pairs.negative.gather(1, pairs.positive[:, None]).any()


def test_domains_connect_tables_within_a_view(data: ViewSource) -> None:
    config = switched(SMALL, setting__context_dropout_rate=0.0)
    assert int(draw(replace(data, config=config), 0).batch.graph.across.sum()) >= 4


@pytest.mark.parametrize("seed", range(5))
def test_a_pair_is_the_same_column_on_both_sides(data: ViewSource, seed: int) -> None:
    still = replace(data, config=switched(SMALL, setting__corruption=False))
    pairs = draw(replace(still, config=switched(still.config, setting__name_variants=False)), seed)
    names = pairs.batch.features.names.vectors
    assert torch.equal(names[pairs.queries], names[pairs.candidates[pairs.positive]])
    assert not pairs.negative.gather(1, pairs.positive[:, None]).any()


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_positive_stands_in_another_table_as_often_as_asked(
    data: ViewSource, share: float
) -> None:
    config = switched(SMALL, setting__table_swap_rate=share, setting__corruption=False)
    config = switched(config, setting__name_variants=False)
    stayed = []
    for seed in range(10):
        pairs = draw(replace(data, config=config), seed)
        titles = pairs.batch.features.tables.vectors
        alike = titles[pairs.queries] == titles[pairs.candidates[pairs.positive]]
        stayed += alike.all(dim=1).tolist()
        column, edge = pairs.batch.graph.incidence
        for number in edge[~pairs.batch.graph.across[edge]].unique():
            assert len(titles[column[edge == number]].unique(dim=0)) == 1
    # A table drawn for a column may be its own.
    assert np.mean(stayed) == 1 if share == 0 else 0.05 < np.mean(stayed) < 0.5


def test_joinable_columns_are_no_negatives(
    data: ViewSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datahub_hyperjoin.model.training.augmented_views._COMPANIONS", 0)
    names = [str(data.lake.ids[key]) for key in KEYS]
    of_carrier = draw(data, 0).negative[names.index("flights.carrier")]
    assert not of_carrier[names.index("airlines.carrier_code")]
    assert of_carrier[names.index("planes.tailnum")]
    assert of_carrier[names.index("flights.tailnum")]


def test_the_right_view_is_of_tables_never_seen(data: ViewSource) -> None:
    pairs = draw(data, 3)
    left, right = pairs.batch.tables.tensor_split([int(pairs.candidates[0])])
    assert (right == UNSEEN).all()
    assert (left != UNSEEN).any()
    assert (left == UNSEEN).any()


def test_the_same_generator_draws_the_same_pairs(data: ViewSource) -> None:
    one, other = draw(data, 5), draw(data, 5)
    assert one.batch.features.content.equal(other.batch.features.content)
    assert one.batch.features.names.tokens.equal(other.batch.features.names.tokens)
    assert not one.batch.features.content.equal(draw(data, 6).batch.features.content)


def place_of(lake: Lake, name: str) -> int:
    return [str(column) for column in lake.ids].index(name)


def test_a_confirmed_partner_is_the_positive_every_other_time(
    make_lake: MakeLake,
    airline_tables: Tables,
    know: Know,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("datahub_hyperjoin.model.training.augmented_views._COMPANIONS", 0)
    lake = make_lake(airline_tables)
    odd = ("airlines.carrier_code", "trees.family")
    data = cut(lake, tmp_path, know({odd: CatalogEvidence(verdict=Verdict.ACCEPTED)}))
    code, family = (place_of(lake, name) for name in odd)
    random = np.random.default_rng(0)
    drawn = [sample_pairs(data, np.array([code]), random) for _ in range(60)]
    swapped = [pairs for pairs in drawn if int(pairs.positive[0]) != int(pairs.queries[0])]
    assert 20 <= len(swapped) <= 40
    for pairs in swapped:
        view = len(pairs.candidates)
        tables = pairs.batch.tables[:view]
        found = int(tables[pairs.positive[0]])
        assert found in (UNSEEN, lake.table_of[family] + 1)
        assert not pairs.negative[0, pairs.positive[0]]
        assert not pairs.negative[0, pairs.queries[0]]
        column, edge = pairs.batch.graph.incidence.numpy()
        asked = set(edge[column == int(pairs.queries[0])])
        assert asked.isdisjoint(edge[column == view + int(pairs.positive[0])])


def test_connected_columns_are_no_negatives_and_rejected_ones_are(
    make_lake: MakeLake,
    airline_tables: Tables,
    know: Know,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("datahub_hyperjoin.model.training.augmented_views._COMPANIONS", 0)
    lake = make_lake(airline_tables)
    names = [str(lake.ids[key]) for key in KEYS]
    carrier = names.index("flights.carrier")
    data = cut(
        lake,
        tmp_path,
        know(
            {
                ("flights.carrier", "herbarium.genus"): CatalogEvidence(related="urn"),
                ("flights.carrier", "airlines.carrier_code"): REJECTED,
            }
        ),
    )
    negative = draw(data, 0).negative
    assert not negative[carrier, names.index("herbarium.genus")]
    assert not negative[names.index("herbarium.genus"), carrier]
    assert negative[carrier, names.index("airlines.carrier_code")]
    assert negative[names.index("airlines.carrier_code"), carrier]


def test_a_rejected_partner_is_in_the_batch(
    make_lake: MakeLake,
    airline_tables: Tables,
    know: Know,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("datahub_hyperjoin.model.training.augmented_views._COMPANIONS", 0)
    lake = make_lake(airline_tables)
    knowledge = know({("planes.tailnum", "flights.tailnum"): REJECTED})
    data = cut(lake, tmp_path, knowledge)
    for seed in range(5):
        key = np.array([place_of(lake, "planes.tailnum")])
        pairs = sample_pairs(data, key, np.random.default_rng(seed))
        assert bool(pairs.negative.any())
        assert pairs.positive.tolist() == pairs.queries.tolist()


def test_knowledge_of_other_columns_changes_no_batch(
    data: ViewSource, make_lake: MakeLake, airline_tables: Tables, know: Know, tmp_path: Path
) -> None:
    knowledge = know({("lost.x", "flights.carrier"): REJECTED, ("lost.x", "lost.y"): REJECTED})
    other = draw(cut(make_lake(airline_tables), tmp_path, knowledge), 5)
    assert other.batch.features.content.equal(draw(data, 5).batch.features.content)


VALUES = ["Newark Liberty", "JFK", "00123", "2013-01-31", "42", ""]


@pytest.mark.parametrize("seed", range(30))
def test_every_cell_stays_a_cell(seed: int) -> None:
    changed = corrupt(VALUES, np.random.default_rng(seed))
    assert len(changed) == len(VALUES)


def test_every_corruption_changes_some_cell() -> None:
    random = np.random.default_rng(1)
    for corruption_ in corruption._CORRUPTIONS:  # noqa: SLF001 - each one must do something
        changed = [corruption_(VALUES * 5, random) for _ in range(5)]
        assert any(cells != VALUES * 5 for cells in changed), corruption_


def test_dates_and_numbers_are_written_otherwise() -> None:
    written = {
        cell
        for seed in range(200)
        for cell in corrupt(["2013-01-31", "42"], np.random.default_rng(seed))
    }
    assert {"31/01/2013", "01/31/2013", "20130131", "42.0", "00042"} <= written


@given(counts=st.lists(st.integers(1, 50), min_size=1, max_size=30), seed=st.integers(0, 2**16))
def test_each_half_of_the_rows_holds_some_value(counts: list[int], seed: int) -> None:
    for half in split_values(counts, np.random.default_rng(seed)):
        assert half.shape == (len(counts),)
        assert half.any()


def test_frequent_values_stand_in_both_halves_and_rare_ones_need_not() -> None:
    random = np.random.default_rng(0)
    halves = [split_values([1] * 20 + [1000], random) for _ in range(50)]
    assert all(left[-1] and right[-1] for left, right in halves)
    shared = [(left & right)[:-1].mean() for left, right in halves]
    assert min(shared) < 0.1 < max(shared)


def test_both_halves_hold_what_is_needed_and_overlap_in_the_rest(make_lake: MakeLake) -> None:
    lake = make_lake(
        {"wide": {f"c{number:02}": ["a", "b"] for number in range(40)}, "t": {"x": ["a"]}}
    )
    needed, random = np.array([3, 7]), np.random.default_rng(0)
    seen = [split_columns(lake, needed, random) for _ in range(300)]
    sizes = np.array([(len(left), len(right)) for left, right in seen]) - 2
    assert all(np.isin(needed, half).all() for pair in seen for half in pair)
    assert all((lake.table_of[half] == 0).all() for pair in seen for half in pair)
    both = np.array([len(np.intersect1d(*pair)) - 2 for pair in seen])
    # 0.6 of 8 companions on average in each half, and 0.2 of them in both.
    assert np.abs(sizes.mean(axis=0) - 4.8).max() < 0.5
    assert abs(both.mean() - 1.6) < 0.3


def test_a_column_moves_only_if_it_may_and_only_into_a_table_that_is_there() -> None:
    tables, random = np.repeat(np.arange(10), 10), np.random.default_rng(0)
    movable = np.arange(100) % 2 == 0
    moved = move_columns(tables, movable, 1.0, random)
    assert (moved[~movable] == tables[~movable]).all()
    assert 0.7 < (moved[movable] != tables[movable]).mean() <= 1
    assert np.isin(moved, tables).all()
    assert (move_columns(tables, movable, 0.0, random) == tables).all()
    half = move_columns(tables, movable, 0.5, random)
    assert 0.25 < (half[movable] != tables[movable]).mean() < 0.65
