"""Test how rivals turn scores into rankings."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.rivals.cells import Cells
from benchmarks.rivals.rival import ColumnScores, Queries, Rival
from datahub_hyperjoin.evaluate.metrics import RANKING_LENGTH
from lakes.rivalry import ask, suite


def lengths(lake: Sequence[Cells], queries: Queries) -> ColumnScores:
    """Score each column by the length of its first value."""
    first = [float(len(next(iter(cells.counts)))) for cells in lake]
    return np.tile(first, (len(queries), 1))


LENGTHS = Rival("Length of a value", lengths)


def test_answers_are_of_other_tables_and_the_best_come_first(tmp_path: Path) -> None:
    lake = suite(
        tmp_path,
        {"a": {"x": ["1"], "y": ["55555"]}, "b": {"x": ["22"]}, "c": {"x": ["333"]}},
        "a.x",
    )
    assert ask(LENGTHS, lake) == {"a.x": [("c.x", 3.0), ("b.x", 2.0)]}


def test_equal_scores_keep_the_order_of_the_lake_and_no_more_than_can_be_measured_count(
    tmp_path: Path,
) -> None:
    tables = {f"t{at:02}": {"x": ["1"]} for at in range(2 * RANKING_LENGTH)}
    found = ask(LENGTHS, suite(tmp_path, tables, "t03.x"))["t03.x"]
    expected = [f"t{at:02}.x" for at in range(RANKING_LENGTH + 1) if at != 3]
    assert [candidate for candidate, _ in found] == expected


def test_what_scores_too_low_is_no_answer(tmp_path: Path) -> None:
    lake = suite(tmp_path, {"a": {"x": ["1"]}, "b": {"x": ["22"]}, "c": {"x": ["333"]}}, "a.x")
    assert ask(replace(LENGTHS, above=2), lake) == {"a.x": [("c.x", 3.0)]}


def test_a_query_without_values_has_no_answer(tmp_path: Path) -> None:
    lake = suite(tmp_path, {"a": {"x": [""], "y": ["1"]}, "b": {"x": ["1"]}}, "a.x")
    assert ask(LENGTHS, lake) == {}
    both = suite(tmp_path, {"a": {"x": [""], "y": ["1"]}, "b": {"x": ["1"]}}, "a.x", "a.y")
    assert ask(LENGTHS, both) == {"a.y": [("b.x", 1.0)]}


def test_tables_that_a_lake_was_cut_by_are_no_answers(tmp_path: Path) -> None:
    lake = suite(tmp_path, {"a": {"x": ["1"]}, "b": {"x": ["22"]}, "c": {"x": ["333"]}}, "a.x")
    part = replace(lake, headers={table: lake.headers[table] for table in ("a", "b")})
    assert ask(LENGTHS, part) == {"a.x": [("b.x", 2.0)]}


def test_file_names_have_no_blanks() -> None:
    assert LENGTHS.slug == "length-of-a-value"
