"""Test the shapes and patterns of values against examples and regular expressions."""

import re
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from datahub_hyperjoin.arrow_bytes import bounds_of
from datahub_hyperjoin.spark.counting.column_profiles import patterns, shapes

REWRITES = (
    (r"[^\W\d_]{2,}", "A+"),
    (r"[^\W\d_]", "A"),
    (r"\d{5,}", "9+"),
    (r"\d", "9"),
    (r"\s+", " "),
)


def rewritten(value: str) -> str:
    """Compute the shape of a value with regular expressions."""
    shape = value.strip()[:40]
    for pattern, replacement in REWRITES:
        shape = re.sub(pattern, replacement, shape)
    return shape


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ("N", "A"),
        ("Tokyo", "A+"),
        ("1234", "9999"),
        ("12345", "9+"),
        ("2024-01-31", "9999-99-99"),
        ("São Paulo", "A+ A+"),
        ("東京１２", "A+99"),
        ("Å\u0308rhus-5", "A+-9"),
        ("anna@example.org", "A+@A+.A+"),
        (" a\t b ", "A A"),
    ],
)
def test_letters_and_digits_become_a_shape(value: str, shape: str) -> None:
    assert shapes(pa.array([value])).to_pylist() == [shape]


def test_shapes_cover_only_the_beginning_of_a_long_value() -> None:
    assert shapes(pa.array(["a1" * 1000])).to_pylist() == ["A9" * 20]


def test_shapes_are_sorted_by_frequency_and_then_alphabetically() -> None:
    [result] = patterns(pa.array(["B6", "C7", "x", "1"]), bounds_of([4]), 3)
    assert [(pattern.shape, pattern.share) for pattern in result] == [
        ("A9", 0.5),
        ("9", 0.25),
        ("A", 0.25),
    ]


def test_columns_without_values_have_no_shapes() -> None:
    assert patterns(pa.array([], pa.string()), bounds_of([0, 0]), 3) == [(), ()]


@given(st.lists(st.text("aZ19 \t\n-+.é–東", max_size=50), max_size=20))
@example(["12345", "1234", "12345a", "123456 7", "a1b22", "--", "A+", "9+", "", "a b  c"])
def test_shapes_equal_those_of_regular_expressions(values: list[str]) -> None:
    assert shapes(pa.array(values, pa.string())).to_pylist() == [*map(rewritten, values)]


@given(
    st.lists(st.sampled_from(["a1", "b2", "7", "x", "-", "é9", "77"]), min_size=1),
    st.integers(1, 4),
)
def test_shares_equal_those_of_a_plain_count(values: list[str], most: int) -> None:
    [result] = patterns(pa.array(values), bounds_of([len(values)]), most)
    times = Counter(map(rewritten, values))
    expected = sorted(times, key=lambda shape: (-times[shape], shape))[:most]
    assert [(pattern.shape, pattern.share) for pattern in result] == [
        (shape, times[shape] / len(values)) for shape in expected
    ]


@given(st.lists(st.lists(st.sampled_from(["a1", "b2", "7", "é"]), max_size=5), max_size=4))
def test_patterns_of_columns_together_equal_those_of_each_alone(columns: list[list[str]]) -> None:
    arrays = [pa.array(values, pa.string()) for values in columns]
    together = pa.array([value for values in columns for value in values], pa.string())
    result = patterns(together, bounds_of(list(map(len, columns))), 2)
    assert result == [
        alone for array in arrays for alone in patterns(array, bounds_of([len(array)]), 2)
    ]
