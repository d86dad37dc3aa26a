"""Test that the pair network learns, and that messages between pairs improve its rankings."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.measured_lakes import Guise
from benchmarks.pair_network.examples import LabelledPairs, collect_pairs
from benchmarks.pair_network.training import mean_average_precision, score, train
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.model.ranking.tree_scoring import PairGraph
from lakes.handmade import numbers, profile_lake
from lakes.made_pairs import made_lake


@pytest.fixture(scope="module")
def lakes() -> list[LabelledPairs]:
    return [made_lake(seed) for seed in range(14)]


def test_messages_carry_what_a_pair_alone_lacks(lakes: list[LabelledPairs]) -> None:
    training, validation = lakes[:10], lakes[10:]
    with_messages, without = (
        mean_average_precision(validation, train(training, validation, messages=messages, epochs=6))
        for messages in (True, False)
    )
    assert with_messages > without + 0.2


def test_a_seed_decides_everything(lakes: list[LabelledPairs]) -> None:
    first, second = (train(lakes[:2], lakes[2:3], epochs=1, seed=3) for _ in range(2))
    pairs = zip(first.parameters(), second.parameters(), strict=True)
    assert all((one == other).all() for one, other in pairs)


def test_what_is_known_of_a_pair_is_added_to_its_corrected_score(
    lakes: list[LabelledPairs],
) -> None:
    lake = lakes[0]
    known = LabelledPairs(
        lake.name,
        PairGraph(**{**vars(lake.graph), "known": np.full(len(lake.joins), 0.5)}),
        lake.joins,
        lake.queries,
        lake.answers,
    )
    assert np.allclose(score(known, np.full(len(lake.joins), -30.0)), 0.5)
    assert not known.taught[~known.joins].any()


def test_pairs_of_a_lake_are_labelled_and_come_back_from_a_file(tmp_path: Path) -> None:
    tables = {"orders": {"customer": numbers(1, 40)}, "customers": {"id": numbers(1, 40)}}
    query, answer = ColumnName("orders", "customer"), ColumnName("customers", "id")
    headers = {table: frozenset(columns) for table, columns in tables.items()}
    labelled = LabelledLake(tmp_path, headers, {query: frozenset({answer})})
    profiled = ProfiledLake(labelled, tuple(profile_lake(tables)), 0.0)
    pairs = collect_pairs(profiled, Guise.WHOLE)
    pairs.save(tmp_path / "pairs.npz")
    again = LabelledPairs.load(tmp_path / "pairs.npz")
    assert pairs.ranked.joins.tolist() == again.ranked.joins.tolist() == [True]
    assert again.answers.tolist() == [1]
    assert np.array_equal(again.graph.rows, pairs.graph.rows)
