"""Test that the benchmark's searches are as approximate as those of large lakes."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import bench_approximate
from benchmarks.bench_approximate import compare, searching_as_in
from benchmarks.bench_merged import METRICS
from datahub_hyperjoin.evaluate import EvaluationProgress
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.model.ranking.nearest import ColumnIndex, InvertedFile
from datahub_hyperjoin.model.signals.cells import StoredVectors
from lakes.handmade import profile_lake


def test_a_query_is_compared_with_the_share_of_a_larger_lake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[float] = []

    def build(vectors: StoredVectors, times: int) -> InvertedFile:
        compared.append(times * len(vectors) ** 0.5 / len(vectors))
        return InvertedFile(vectors, times)

    monkeypatch.setattr(bench_approximate, "InvertedFile", build)
    vectors = np.random.default_rng(0).standard_normal((400, 8), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with searching_as_in(1 << 18):
        index = ColumnIndex(StoredVectors.of(vectors), np.arange(400), 128)
        assert not index.is_exact
        index.neighbours(np.arange(400), 3)
    # Of 2^18 vectors, 128 √N are a quarter.
    assert compared == [pytest.approx(0.25)]


def test_searches_are_compared_by_the_rankings() -> None:
    values = [f"a{number}" for number in range(40)]
    tables = {"orders": values, "customers": [*values, "a40"], "colours": ["blue", "red"]}
    query, gold = ColumnName("orders", "x"), ColumnName("customers", "x")
    labelled = LabelledLake(
        Path("shop"), dict.fromkeys(tables, frozenset("x")), {query: frozenset({gold})}
    )
    profiles = profile_lake({table: {"x": cells} for table, cells in tables.items()})
    lake = ProfiledLake(labelled, tuple(profiles), 1.0)
    rows = [*compare([lake], (1 << 18,), EvaluationProgress(lambda _: None))]
    assert [row[:2] for row in rows] == [["shop", metric] for metric in METRICS]
    assert rows[-1][2:] == ["100.0", "+0.00 (0.00 to 0.00)"]
