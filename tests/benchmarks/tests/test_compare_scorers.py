"""Test the comparison of scorers: the context of pairs, the models, and the printed tables."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.compare_scorers.__main__ import main
from benchmarks.compare_scorers.context import measure_context
from benchmarks.compare_scorers.models import SHARES, Kind, School, obtain
from benchmarks.compare_scorers.results import Measured, as_text, measure
from benchmarks.measured_lakes import Guise, guise_file
from benchmarks.pair_network.examples import LabelledPairs, collect_pairs
from benchmarks.trees.examples import Examples
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES, log_odds
from datahub_hyperjoin.model.ranking.tree_scoring import PairGraph
from lakes.handmade import numbers, profile_lake
from lakes.made_pairs import made_lake


def graph_of(pairs: dict[tuple[int, int], float], table_of: list[int]) -> PairGraph:
    ends, evidence = np.array(sorted(pairs)), np.array([pairs[pair] for pair in sorted(pairs)])
    rows = np.zeros((len(ends), len(PAIR_FEATURES)), dtype=np.float32)
    left, right = ends.T
    return PairGraph(left, right, rows, evidence, np.zeros(len(ends)), np.array(table_of))


def test_context_tells_the_lead_the_reverse_and_the_other_columns_of_both_tables() -> None:
    # Columns 0 and 1 are of one table, 2 and 3 of another, 4 of a third.
    pairs = {(0, 2): 0.8, (0, 4): 0.5, (1, 3): 0.9, (2, 0): 0.6}
    graph = graph_of(pairs, [0, 0, 1, 1, 2])
    odds = dict(zip(sorted(pairs), log_odds(graph.by_evidence), strict=True))
    first = measure_context(graph)[0]
    assert first[0] == pytest.approx(odds[0, 2] - odds[0, 4], abs=1e-5)
    assert first[20] == pytest.approx(odds[2, 0], abs=1e-5)
    # The pair of other columns, not the same pair in the other order.
    assert first[23] == pytest.approx(odds[1, 3], abs=1e-5)


def test_context_counts_competitors_that_are_hardly_worse() -> None:
    pairs = {(0, 1): 0.6, (0, 2): 0.5, (0, 3): 0.1}
    near = np.expm1(measure_context(graph_of(pairs, [0, 1, 2, 3]))[:, 2])
    assert near.round().tolist() == [1, 1, 2]


def test_common_neighbours_have_the_cosine_of_both_columns() -> None:
    pairs = {(0, 1): 1e-9, (0, 2): 0.8, (1, 2): 0.8}
    total, cosine = measure_context(graph_of(pairs, [0, 1, 2]))[0, -2:]
    assert total == pytest.approx(0.64)
    assert cosine == pytest.approx(1.0)


@pytest.fixture(scope="module")
def lakes() -> list[LabelledPairs]:
    return [made_lake(seed) for seed in range(14)]


def test_trees_with_context_find_what_a_pair_alone_does_not_tell(
    lakes: list[LabelledPairs], tmp_path: Path
) -> None:
    splits = {"train": lakes[:10], "validation": lakes[10:]}
    school = School(splits.__getitem__)
    found = {}
    for kind in (Kind.TREES, Kind.TREES_WITH_CONTEXT):
        model = obtain(kind, 0, school, tmp_path / kind.slug, 1)
        found[kind] = np.mean([measure(x.ranked, model.score(x))[0].mean() for x in lakes[10:]])
        assert model.share in SHARES
    assert found[Kind.TREES_WITH_CONTEXT] > found[Kind.TREES] + 0.2


def test_metrics_are_those_of_the_first_candidates() -> None:
    joins = np.array([True, False, True, False])
    examples = Examples(
        rows=np.zeros((4, 1), dtype=np.float32),
        noisy_or=np.zeros(4),
        known=np.zeros(4),
        query=np.array([0, 0, 0, 1]),
        joins=joins,
        answers=np.array([2, 1]),
    )
    average, precision = measure(examples, np.array([0.9, 0.8, 0.7, 0.5]))
    assert average.tolist() == pytest.approx([(1 + 2 / 3) / 2, 0.0])
    assert precision.tolist() == pytest.approx([2 / 15, 0.0])


def test_differences_to_the_last_scorer_have_intervals() -> None:
    worse, better = np.full((1, 2, 40), 0.2), np.full((3, 2, 40), 0.5)
    text = as_text("lake, whole", {"noisy-or": Measured(worse), "network": Measured(better)})
    assert "+30.0 (+30.0 to +30.0) *" in text
    assert "50.0 (50.0 to 50.0)" in text


def test_guises_without_values_have_the_scores_of_names() -> None:
    tables = {
        "orders": {"customer_id": numbers(1, 40), "amount": numbers(50, 90)},
        "customers": {"id": numbers(1, 40)},
    }
    query, answer = ColumnName("orders", "customer_id"), ColumnName("customers", "id")
    headers = {table: frozenset(columns) for table, columns in tables.items()}
    labelled = LabelledLake(Path("lake"), headers, {query: frozenset({answer})})
    profiled = ProfiledLake(labelled, tuple(profile_lake(tables)), 0.0)
    by_guise = {guise: collect_pairs(profiled, guise) for guise in Guise}
    overlap = PAIR_FEATURES.index("containment beyond chance")
    for guise, pairs in by_guise.items():
        assert pairs.answers.tolist() == [1]
        assert pairs.ranked.joins.tolist() == [True], guise
        assert (pairs.ranked.rows[0, overlap] > 0) == guise.values
        assert np.allclose(pairs.graph.rows[:, 0], log_odds(pairs.graph.by_evidence), atol=1e-5)
    by_names, bare = by_guise[Guise.VALUELESS].ranked, by_guise[Guise.BARE].ranked
    assert by_names.noisy_or[0] > bare.noisy_or[0]


def test_the_command_prints_every_guise_and_trains_each_model_once(
    lakes: list[LabelledPairs], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    school, pairs, out = tmp_path / "school", tmp_path / "pairs", tmp_path / "out"
    pairs.mkdir()
    folders = [school / "train" / str(n) for n in range(3)]
    folders += [school / "validation" / "0", tmp_path / "shared" / "lake"]
    for folder, lake in zip(folders, lakes, strict=False):
        (folder / "tables").mkdir(parents=True)
        for guise in Guise:
            lake.save(guise_file(folder, pairs, guise))
    arguments = [str(school), str(folders[-1]), "--out", str(out), "--cache", str(pairs)]
    printed = []
    for _ in range(2):
        main([*arguments, "--seeds", "2", "--epochs", "1"])
        printed.append(capsys.readouterr().out)
        kept = {file.name: file.stat().st_mtime_ns for file in out.iterdir()}
        assert len(kept) == 2 * 2 * len(Kind)
    assert printed[0] == printed[1]
    for title in ("whole", "names hidden", "values hidden", "names and values hidden"):
        assert f"lake, {title}\n" in printed[0]
    assert all(f"\n{kind.value} " in printed[0] for kind in Kind)
