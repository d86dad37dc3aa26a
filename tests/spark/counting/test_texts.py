"""Test the types inferred from values."""

import re

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from datahub_hyperjoin.arrow_bytes import bounds_of
from datahub_hyperjoin.spark.counting.texts import common_type, types_of
from datahub_hyperjoin.tables import DataType

DAY = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
FORMS = {
    DataType.INTEGER: r"-?(0|[1-9]\d*)",
    DataType.DECIMAL: r"(?!-?\d+(e\d+)?$)-?((0|[1-9]\d*)(\.\d*)?|\.\d+)(e[+-]?\d+)?|-?inf",
    DataType.BOOLEAN: r"true|false",
    DataType.DATE: DAY,
    DataType.TIMESTAMP: DAY
    + r"[t ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?( ?[+-]\d{2}(:?\d{2})?)?",
}
WORDS = st.sampled_from(["12", "-3", "1.5", "2e+9", "2024-01-31", "true", "berlin", "007"])


def types(values: list[str]) -> frozenset[DataType]:
    [inferred] = types_of(pa.array(values, pa.string()), bounds_of([len(values)]))
    return inferred


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "-20"], DataType.INTEGER),
        (["1", ".5", "1e-7", "-inf"], DataType.DECIMAL),
        (["true", "false"], DataType.BOOLEAN),
        (["2024-01-31"], DataType.DATE),
        (["2024-01-31", "2024-01-31 10:00", "2024-01-31 10:00:00.5+02:00"], DataType.TIMESTAMP),
        (["2020-12-19 19:00:00-05", "2020-12-19 19:00:00.25-05"], DataType.TIMESTAMP),
        (["1", "true"], DataType.TEXT),
        (["1", "2024-01-31"], DataType.TEXT),
        (["01234"], DataType.TEXT),
        (["2024-02-32"], DataType.TEXT),
        (["10:00:00"], DataType.TEXT),
        ([], DataType.TEXT),
    ],
)
def test_the_type_is_inferred_from_the_values(values: list[str], expected: DataType) -> None:
    assert common_type(types(values)) is expected


def test_one_word_at_the_end_makes_a_column_text() -> None:
    numbers = [str(number) for number in range(1000)]
    assert types([*numbers, "n.n."]) == {DataType.TEXT}


@given(st.text("0019.-+ :einftrusal", min_size=1, max_size=12))
@example("1.5e-3")
@example("12e5")  # a code
@example("2024-01-31 10:00:00.5+02:00")
@example("2024-01-31t10:00")
@example("-inf")
@example("007")
@example(".")
def test_the_type_of_a_value_follows_from_its_form(value: str) -> None:
    [expected] = [kind for kind, form in FORMS.items() if re.fullmatch(form, value)] or [
        DataType.TEXT
    ]
    assert types([value]) == {expected}
    assert types([str(at) for at in range(50)] + [value]) - {DataType.INTEGER} <= {expected}


@given(st.lists(WORDS, max_size=40), st.lists(WORDS, max_size=40))
def test_the_types_of_a_column_are_the_union_of_those_of_its_halves(
    left: list[str], right: list[str]
) -> None:
    assert common_type(types(left) | types(right)) is common_type(types(left + right))


@given(st.lists(st.lists(WORDS, max_size=40), max_size=4))
def test_types_of_columns_together_equal_those_of_each_alone(columns: list[list[str]]) -> None:
    together = pa.array([word for words in columns for word in words], pa.string())
    inferred = types_of(together, bounds_of(list(map(len, columns))))
    assert inferred == [types(words) for words in columns]
