"""Test the normalisation of whole columns against `normal_form` for single values."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from datahub_hyperjoin.normal_form import Synonyms, hash_values, normal_form, normal_forms
from datahub_hyperjoin.tables import ValueHash

DATES = st.dates().map(str)
TIMESTAMPS = st.datetimes().map(lambda timestamp: timestamp.isoformat(" "))
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=2).map(str)
VALUES = st.one_of(st.text(), DATES, TIMESTAMPS, DECIMALS, st.floats().map(str))


@given(st.lists(VALUES))
@example(["-0.0", "2024-01-31T00:00Z", " a\x1cb ", "\u0130stanbul", "Ⅷ", "\uff12.0"])
def test_a_column_is_normalised_value_by_value(values: list[str]) -> None:
    found = normal_forms(pa.array(values, pa.string()))
    assert found.to_pylist() == [normal_form(value) for value in values]


@given(VALUES)
def test_the_normal_form_of_a_normal_form_is_itself(value: str) -> None:
    assert normal_form(normal_form(value)) == normal_form(value)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Köln", "KO\u0308LN"),
        ("New York", " new\u00a0 york\n"),
        ("12", "12.000"),
        ("0", "-0.0"),
        ("2024-01-31", "2024-01-31T00:00:00.000+00:00"),
        ("2024-01-31 09:30", "2024-01-31T09:30:00Z"),
        ("2024-01-31 09:30", "2024-01-31 09:30:00+00"),
        ("2024-01-31 09:30:00.25", "2024-01-31 09:30:00.250000"),
    ],
)
def test_spellings_of_one_value_are_equal(left: str, right: str) -> None:
    assert normal_form(left) == normal_form(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("7", "007"),
        ("007", "007.0"),
        ("1.5", "1.50"),
        ("+12", "12"),
        ("E11.0", "E11"),
        ("2024-13-01 00:00:00", "2024-13-01"),
        ("2024-01-31 09:30:00+02:00", "2024-01-31 09:30:00"),
    ],
)
def test_different_values_stay_different(left: str, right: str) -> None:
    assert normal_form(left) != normal_form(right)


def test_hashes_never_change() -> None:
    found = hash_values(pa.array(["germany", "na", "köln"]))
    assert found.tolist() == [12672609204639645099, 7803350511979794512, 1384729298524328262]


def test_synonyms_get_one_hash_and_other_values_keep_theirs() -> None:
    names, meanings = np.array([3, 5, 9], np.uint64), np.array([70, 71, 70], np.uint64)
    found = Synonyms(names, meanings).translate(np.array([2, 3, 5, 6, 9, 10, 2**64 - 1], np.uint64))
    assert found.tolist() == [2, 70, 71, 6, 70, 10, 2**64 - 1]


def test_md5_hashes_are_the_first_eight_bytes_of_the_digest() -> None:
    # From `SELECT ('x' || left(md5('köln'), 16))::bit(64)` in PostgreSQL 15.
    found = hash_values(pa.array(["germany", "na", "köln"]), ValueHash.MD5)
    assert [f"{hash_:016x}" for hash_ in found.tolist()] == [
        "28ef36b35ae8cb1f",
        "6ec66e124fb93c19",
        "4a15ea49865fefdd",
    ]
    assert hash_values(pa.array([], pa.string()), ValueHash.MD5).tolist() == []
