"""Test that all measures of an ensemble have equal weight, whatever their scales."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.rivals.choose import choose_rivals
from benchmarks.rivals.fusion import Fusion
from benchmarks.rivals.rival import ColumnScores
from lakes.rivalry import ask, cells, suite


def given(*rows: Sequence[float]) -> ColumnScores:
    return np.array(rows, dtype=np.float64)


def test_scores_are_scaled_for_each_query_and_averaged() -> None:
    def many(*_: object) -> ColumnScores:
        return given([900, 100, 300, 200], [0, 0, 0, 0])

    def few(*_: object) -> ColumnScores:
        return given([9, 0.25, 0.5, 0.75], [-1, 9, 1, 0])

    lake = cells(a=["1"], b=["1"], c=["1"], d=["1"])
    # A query's own column scores beyond the others', which must not squeeze them together.
    expected = given([0, (1 + 0.5) / 2, (0.5 + 1) / 2], [0, 1 / 2, 0.5 / 2])
    found = Fusion((many, few))(lake, np.array([0, 1]))
    assert found[0, 1:] == pytest.approx(expected[0])
    assert found[1, [0, 2, 3]] == pytest.approx(expected[1])


def test_a_lake_of_one_table_has_no_scale() -> None:
    def one(*_: object) -> ColumnScores:
        return given([3])

    assert Fusion((one,))(cells(a=["1"]), np.array([0])).tolist() == [[0]]


def test_values_meaning_and_names_are_taken_together(tmp_path: Path) -> None:
    [ensemble] = choose_rivals(["ensemble"])
    tables = {
        "a": {"country": ["France", "Germany", "Italy"]},
        "b": {"country": ["FRANCE", "GERMANY", "SPAIN"]},
        "c": {"nation": ["Spain", "Portugal", "Greece"]},
        "d": {"amount": ["12.5", "7.25", "0.125"]},
    }
    found = ask(ensemble, suite(tmp_path, tables, "a.country"))["a.country"]
    assert [candidate for candidate, _ in found[:2]] == ["b.country", "c.nation"]
    assert found[0][1] == pytest.approx(1)
    assert all(0 < score <= 1 for _, score in found)
