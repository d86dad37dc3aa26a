"""Test that numbers of shared values agree with manual counts and with Python's sets."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.rivals.choose import choose_rivals
from benchmarks.rivals.overlap import (
    normalise,
    normalised_overlap,
    occurrences,
    overlap,
)
from lakes.rivalry import ask, cells, suite

[JOSIE, NORMALISED] = choose_rivals(["JOSIE", "overlap on normalised values"])
TABLES = {
    "orders": {"state": ["New York", "Ohio", "Utah", "Utah"]},
    "clean": {"place": ["Ohio", "Utah", "Utah", "Iowa"]},
    "shouted": {"place": ["NEW-YORK", "OHIO", "UTAH", "IOWA"]},
    "often": {"place": ["Ohio", "Ohio", "Ohio", "Ohio"]},
    "other": {"place": ["Rome", "Bern", "Oslo", "Kiev"]},
}


def test_distinct_values_are_counted_as_they_are_written(tmp_path: Path) -> None:
    found = ask(JOSIE, suite(tmp_path, TABLES, "orders.state"))
    assert found == {"orders.state": [("clean.place", 2), ("often.place", 1)]}


def test_normalised_values_are_found_however_they_are_written(tmp_path: Path) -> None:
    found = ask(NORMALISED, suite(tmp_path, TABLES, "orders.state"))
    assert found == {"orders.state": [("shouted.place", 3), ("clean.place", 2), ("often.place", 1)]}


def test_what_is_normalised_to_nothing_is_shared_by_none(tmp_path: Path) -> None:
    lake = suite(tmp_path, {"a": {"x": ["-", "?"]}, "b": {"x": ["-", "!"]}}, "a.x")
    assert ask(JOSIE, lake) == {"a.x": [("b.x", 1)]}
    assert ask(NORMALISED, lake) == {"a.x": []}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("O'Neil, J.", "oneilj"),
        ("Москва", "москва"),
        ("東京-1", "東京1"),
        ("_", ""),
        ("0.50", "050"),
    ],
)
def test_letters_of_any_script_are_kept(value: str, expected: str) -> None:
    assert normalise(value) == expected


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "A", "b-", "B", "c", "?", "ä"]), min_size=1), min_size=1
    )
)
def test_products_count_what_sets_hold(columns: list[list[str]]) -> None:
    lake = cells(**{f"c{at}": values for at, values in enumerate(columns)})
    everyone = np.arange(len(lake))
    raw = [set(column) for column in columns]
    normal = [{normalise(value) for value in column} - {""} for column in columns]
    assert overlap(lake, everyone).tolist() == [[len(q & c) for c in raw] for q in raw]
    assert normalised_overlap(lake, everyone).tolist() == [
        [len(q & c) for c in normal] for q in normal
    ]


def test_values_are_counted_whatever_their_order() -> None:
    columns = [{"a": 1, "b": 2, "c": 3}, {"c": 4, "a": 5}, {}, {"d": 6, "b": 7}]
    values, has = occurrences(columns)
    assert has.toarray().tolist() == [
        [column.get(value, 0) for value in values] for column in columns
    ]
