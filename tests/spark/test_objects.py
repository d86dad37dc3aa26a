"""Test how values that Arrow cannot convert are written as text."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.spark.counting.texts import texts_of
from datahub_hyperjoin.spark.objects import array_of, text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"\x07", "07"),
        (timedelta(hours=9, minutes=30), "09:30:00"),
        (timedelta(days=-2, microseconds=-500_000), "-48:00:00.5"),
        (Decimal("12.50"), "12.5"),
        (Decimal("1E+3"), "1000"),
        (Decimal("NaN"), "NaN"),
        (datetime(2024, 1, 31, 9, 30, tzinfo=timezone(timedelta(hours=1))), "2024-01-31 08:30:00"),
        ("0044-03-15 BC", "0044-03-15 BC"),
    ],
)
def test_each_value_has_the_text_of_equal_values(value: object, text: str) -> None:
    assert text_of(value) == text


@given(
    st.one_of(
        st.decimals(-(10**20), 10**20, places=8),
        st.datetimes(timezones=st.just(timezone(timedelta(hours=-7)))),
        st.dates(),
        st.integers(-(2**63), 2**63 - 1),
    )
)
def test_a_value_has_one_text_whether_arrow_converts_it_or_not(value: object) -> None:
    [alone] = texts_of(array_of([value])).to_pylist()
    among_others, _ = texts_of(array_of([value, "0044-03-15 BC"])).to_pylist()
    assert normal_form(alone) == normal_form(among_others)


@given(st.decimals(-(10**12), 10**12, places=4), st.integers(4, 12))
def test_a_decimal_has_one_text_whatever_its_scale(number: Decimal, scale: int) -> None:
    wider = number.quantize(Decimal(1).scaleb(-scale))
    [text], [other] = (texts_of(array_of([each])).to_pylist() for each in (number, wider))
    assert text == other
    assert Decimal(text) == number


@given(st.integers(-(10**9), 10**9), st.integers(0, 9))
def test_a_float_has_the_text_of_the_equal_decimal(digits: int, places: int) -> None:
    number = Decimal(digits).scaleb(-places)
    [text], [other] = (texts_of(array_of([each])).to_pylist() for each in (number, float(number)))
    assert normal_form(text) == normal_form(other)
