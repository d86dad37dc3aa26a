"""Whether shapes are what the documentation says."""

import pyarrow as pa
import pytest

from datahub_hyperjoin.spark.patterns import patterns, shapes


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


def test_only_the_beginning_of_a_long_value_tells() -> None:
    assert shapes(pa.array(["a1" * 1000])).to_pylist() == ["A9" * 20]


def test_frequent_shapes_come_first_and_ties_in_alphabetical_order() -> None:
    found = patterns(pa.array(["B6", "C7", "x", "1"]), 3)
    assert [(pattern.shape, pattern.share) for pattern in found] == [
        ("A9", 0.5),
        ("9", 0.25),
        ("A", 0.25),
    ]


def test_no_values_have_no_shape() -> None:
    assert patterns(pa.array([], pa.string()), 3) == ()
