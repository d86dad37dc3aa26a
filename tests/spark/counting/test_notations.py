"""Test that converting whole columns to other forms agrees with converting single values."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from datahub_hyperjoin.arrow_bytes import bounds_of
from datahub_hyperjoin.normal_form import Hashes, hash_values, normal_form
from datahub_hyperjoin.spark.counting.notations import (
    canonical_forms,
    column_notations,
    form_sketches,
    in_notation,
)
from datahub_hyperjoin.spark.counting.sketch import DistinctValues
from datahub_hyperjoin.spark.counting.texts import TextCounts, types_of
from datahub_hyperjoin.tables import DataType
from datahub_hyperjoin.value_forms import Notation
from datahub_hyperjoin.written_in import canonical_form, notation_of

DIGITS = st.text("0123456789", max_size=9)
PUNCTUATED = st.text("0123456789.,+-/: et", max_size=14)
ZONED = st.datetimes(timezones=st.sampled_from([dt.timezone(dt.timedelta(hours=5, minutes=30))]))
VALUES = st.one_of(
    st.text(max_size=12),
    DIGITS,
    PUNCTUATED,
    st.sampled_from(["yes", "nein", "não", "t", "0", "1"]),
    st.dates().map(str),
    st.dates().map(lambda date: f"{date.day}.{date.month}.{date.year:04}"),
    st.dates().map(lambda date: f"{date:%m/%d/%Y}"),
    ZONED.map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
    st.floats().map(str),
)
READABLE = {
    notation: st.from_regex(notation.rules.pattern, fullmatch=True) for notation in Notation
}


@pytest.mark.parametrize("notation", Notation)
@given(st.lists(VALUES))
@example(["2024-02-30 10:00+01:00", "2024-01-31t09:30:00.250+01", "-0.00", ".50", "1e5"])
def test_a_column_is_written_value_by_value(notation: Notation, values: list[str]) -> None:
    normal = [normal_form(value) for value in values]
    found = canonical_forms(pa.array(normal, pa.string()), notation)
    assert found.to_pylist() == [canonical_form(value, notation) for value in normal]


@pytest.mark.parametrize("notation", Notation)
@given(st.data())
def test_a_column_of_readable_values_is_written_value_by_value(
    notation: Notation, data: st.DataObject
) -> None:
    normal = data.draw(st.lists(READABLE[notation].map(normal_form)))
    found = canonical_forms(pa.array(normal, pa.string()), notation)
    assert found.to_pylist() == [canonical_form(value, notation) for value in normal]


def types(column: list[str]) -> frozenset[DataType]:
    [found] = types_of(pa.array(column, pa.string()), np.array([0, len(column)]))
    return found


def sketch(*columns: list[str], size: int = 100) -> list[dict[Notation, Hashes]]:
    normal = pa.array([value for column in columns for value in column], pa.string())
    return form_sketches(normal, bounds_of([*map(len, columns)]), [*map(types, columns)], size)


def hashes(*values: str, size: int = 100) -> list[int]:
    return sorted(hash_values(pa.array(values, pa.string())).tolist())[:size]


def test_a_column_is_sketched_in_each_form_that_it_may_be_written_in() -> None:
    padded, words, dates = ["007", "010"], ["a", "b"], ["01.02.2024"]
    in_forms, of_words, of_dates = sketch(padded, words, dates)
    assert in_forms[Notation.PADDED].tolist() == hashes("7", "10")
    assert of_words == {}
    assert of_dates[Notation.DAY_FIRST].tolist() == hashes("2024-02-01")
    assert of_dates[Notation.MONTH_FIRST].tolist() == hashes("2024-01-02")


def test_a_sketch_keeps_the_smallest_hashes() -> None:
    [found] = sketch([f"{number:05}" for number in range(500)], size=9)
    assert found[Notation.PADDED].tolist() == hashes(*map(str, range(500)), size=9)


@pytest.mark.parametrize(
    "column",
    [
        ["7", "10"],
        ["12.50", "?"],
        ["12.50", "13.99"],
        ["true", "false"],
        ["2024-01-31"],
        ["a7"],
        ["00a"],
        [],
    ],
)
def test_columns_of_no_other_notation_are_not_sketched(column: list[str]) -> None:
    assert sketch(column) == [{}]


def test_codes_are_sketched_without_zeros_before_their_number() -> None:
    [plain, separated, unpadded] = sketch(["ab0012", "cd7"], ["ab-0012", "cd 7"], ["ab12", "cd7"])
    assert plain[Notation.LETTERED].tolist() == hashes("ab12", "cd7")
    assert separated[Notation.SEPARATED].tolist() == hashes("ab12", "cd7")
    assert unpadded == {}


def test_compact_dates_and_points_in_time_are_sketched() -> None:
    assert [*sketch(["20240131"])[0]] == [Notation.YEAR_FIRST]
    assert [*sketch(["2024-01-31t09:30:00+01:00"])[0]] == [Notation.OFFSET]
    assert sketch(["12345678"]) == [{}]


@pytest.mark.parametrize(
    ("column", "notation"),
    [
        (["007", "010"], Notation.PADDED),
        (["1,234.50", "13.99"], Notation.POINT),
        (["1.234,5", "7,25"], Notation.COMMA),
        (["31.01.2024", "01.02.2024"], Notation.DAY_FIRST),
        (["20240131", "20240201"], Notation.YEAR_FIRST),
        (["2024-01-31T09:30:00+01:00"], Notation.OFFSET),
        (["AB0012", "AB0120"], Notation.LETTERED),
        (["AB12", "AB120"], None),
        (["JA", "nein"], Notation.TRUTH_WORDS),
        (["1", "0"], Notation.TRUTH_WORDS),
        (["1", "0", "2"], None),
        (["2024-01-31"], None),
        (["Rome", "Oslo"], None),
        ([], None),
    ],
)
def test_each_column_has_the_notation_of_its_sample(
    column: list[str], notation: Notation | None
) -> None:
    normal = [normal_form(value) for value in column]
    samples = [
        DistinctValues(
            np.zeros(len(each), np.uint64),
            np.ones(len(each), np.int64),
            pa.array(each, pa.string()),
        )
        for each in (["Rome"], column, ["a", "b", "c"])
    ]
    assert column_notations(samples, [(), sketch(normal)[0], ()]) == [None, notation, None]
    assert notation_of(normal) is notation


def test_counted_texts_are_written_in_a_notation_and_keep_their_counts() -> None:
    counted = TextCounts(6, pa.array([" 007", None, "7"]), np.array([1, 2, 3]))
    found = in_notation(counted, Notation.PADDED)
    assert found.values.to_pylist() == ["7", "", "7"]
    assert (found.rows, found.counts.tolist()) == (6, [1, 2, 3])
