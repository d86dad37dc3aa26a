"""Test that LSH Ensemble finds the right columns, and estimates containment well."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.rivals.choose import choose_rivals
from benchmarks.rivals.lsh import containment, lsh_ensemble, sketch
from lakes.lake import codes
from lakes.rivalry import ask, cells, suite

[ENSEMBLE] = choose_rivals(["LSH Ensemble"])


def test_columns_that_hold_the_query_are_found_and_others_are_not(tmp_path: Path) -> None:
    tables = {
        "query": {"x": codes("A", 40)},
        "all": {"x": codes("A", 80)},
        "most": {"x": codes("A", 36) + codes("B", 4)},
        "none": {"x": codes("C", 40)},
    }
    found = ask(ENSEMBLE, suite(tmp_path, tables, "query.x"))["query.x"]
    assert [candidate for candidate, _ in found] == ["all.x", "most.x"]
    assert [score for _, score in found] == [
        pytest.approx(1, abs=0.15),
        pytest.approx(0.9, abs=0.15),
    ]


def test_fewer_answers_stay_fewer(tmp_path: Path) -> None:
    tables = {f"t{at}": {"x": codes(f"T{at}-", 20)} for at in range(30)}
    assert ask(ENSEMBLE, suite(tmp_path, tables, "t3.x")) == {"t3.x": []}


def test_estimates_are_near_the_exact_containment() -> None:
    random = np.random.default_rng(0)
    words = np.array(codes("W", 400))
    columns = {
        f"c{at}": random.choice(words, random.integers(100, 300), replace=False).tolist()
        for at in range(30)
    }
    lake = cells(**columns)
    sketches = sketch(lake)
    exact, estimated = [], []
    for at, query in enumerate(columns.values()):
        for to, candidate in enumerate(columns.values()):
            exact.append(len({*query} & {*candidate}) / len(query))
            jaccard = sketches[at].jaccard(sketches[to])
            estimated.append(containment(jaccard, len(query), len(candidate)))
    errors = np.abs(np.subtract(exact, estimated))
    # The Jaccard coefficient's standard error is at most 1 / (2 * sqrt(128)) = 0.044.
    assert errors.mean() < 0.06
    assert errors.max() < 0.3


def test_scores_are_estimates_and_nothing_that_is_found_scores_nothing() -> None:
    lake = cells(a=codes("A", 50), b=codes("A", 40), c=codes("C", 40))
    first, _, sketched = sketch(lake)
    assert first.jaccard(sketched) == 0
    [scores] = lsh_ensemble(lake, np.array([0]))
    assert scores[0] == 1
    assert scores[1] > 0
    assert scores[2] == 0


def test_every_run_draws_the_same_hashes() -> None:
    lake = cells(a=codes("A", 50), b=codes("A", 40), c=codes("A", 20))
    everyone = np.arange(3)
    assert np.array_equal(lsh_ensemble(lake, everyone), lsh_ensemble(lake, everyone))
