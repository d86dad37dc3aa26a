import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.catalog.statistics import statistics_of

VALUES = st.lists(st.none() | st.integers(0, 9), min_size=1, max_size=40)
NUMBERS = st.none() | st.integers(-5, 50)
SHARES = st.none() | st.floats(-1, 2)


def counted(values: list[int | None]) -> tuple[int, int, int]:
    """Rows, rows with a value, and different values."""
    filled = [value for value in values if value is not None]
    return len(values), len(filled), len(set(filled))


@given(values=VALUES)
def test_counts_say_what_counting_the_values_says(values: list[int | None]) -> None:
    rows, filled, distinct = counted(values)
    said = statistics_of(rows, {"uniqueCount": distinct, "nullCount": rows - filled})
    assert said is not None
    assert said.completeness == pytest.approx(filled / rows)
    assert said.uniqueness == pytest.approx(distinct / filled if filled else 0.0)


@given(values=VALUES.filter(any))
def test_proportions_stand_in_for_counts(values: list[int | None]) -> None:
    rows, filled, distinct = counted(values)
    shares = {"uniqueProportion": distinct / filled, "nullProportion": 1 - filled / rows}
    counts = {"uniqueCount": distinct, "nullCount": rows - filled}
    by_shares, by_counts = statistics_of(None, shares), statistics_of(rows, counts)
    assert by_shares is not None
    assert by_counts is not None
    assert math.isclose(by_shares.uniqueness, by_counts.uniqueness)
    assert math.isclose(by_shares.completeness, by_counts.completeness, abs_tol=1e-12)


@given(
    rows=NUMBERS,
    field=st.fixed_dictionaries(
        {
            "uniqueCount": NUMBERS,
            "nullCount": NUMBERS,
            "uniqueProportion": SHARES,
            "nullProportion": SHARES,
        }
    ),
)
def test_whatever_a_profile_holds_shares_stay_shares(
    rows: int | None, field: dict[str, Any]
) -> None:
    said = statistics_of(rows, field)
    if said is not None:
        assert 0 <= said.uniqueness <= 1
        assert 0 <= said.completeness <= 1


@pytest.mark.parametrize(
    ("rows", "field"),
    [
        (None, {"uniqueCount": 5, "nullCount": 0}),
        (10, {"uniqueCount": 5}),
        (10, {"nullCount": 5}),
        (10, {"uniqueProportion": 0.5}),
        (0, {"uniqueCount": 0, "nullCount": 0, "uniqueProportion": 0.0, "nullProportion": 0.0}),
        (10, {}),
    ],
)
def test_a_profile_that_says_too_little_says_nothing(
    rows: int | None, field: dict[str, Any]
) -> None:
    assert statistics_of(rows, field) is None


def test_counts_come_before_proportions() -> None:
    field = {"uniqueCount": 8, "nullCount": 2, "uniqueProportion": 0.1, "nullProportion": 0.1}
    said = statistics_of(10, field)
    assert said is not None
    assert (said.uniqueness, said.completeness) == (1.0, 0.8)
