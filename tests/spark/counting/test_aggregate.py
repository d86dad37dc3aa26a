"""Test column profiles against a plain count of the rows."""

import datetime as dt
import decimal
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.normal_form import hash_values
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.aggregate import (
    EMPTY_AGGREGATE,
    ColumnAggregate,
    aggregate_columns,
    count_all,
    merge_aggregates,
    merge_counted,
)
from datahub_hyperjoin.spark.counting.column_profiles import CountedColumn, profile_columns
from datahub_hyperjoin.spark.counting.texts import count_texts, list_texts
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, Lengths, TableId
from datahub_hyperjoin.value_forms import Notation

CITY = ColumnId(TableId("file", "cities"), "city")
CONFIG = ProfileConfig(sketch_size=64)
SIZE = CONFIG.sketch_size + 1
WORDS = st.sampled_from(
    ["Rome", "rome ", "Oslo", "NA", "n/a", "", " ", "12", "12.0", "3.5", "2024-01-31", "köln", None]
)
COLUMNS = st.lists(WORDS, max_size=60)
PADDED = st.lists(st.integers(0, 999).map("{:05}".format), min_size=1, max_size=60)


def profile(column: pa.Array, config: ProfileConfig = CONFIG) -> ColumnProfile:
    [aggregate] = aggregate_columns([count_texts(column)], config.sketch_size + 1)
    return profile_of(aggregate, config)


def profile_of(aggregate: ColumnAggregate, config: ProfileConfig) -> ColumnProfile:
    [counted] = profile_columns([CountedColumn(CITY, 0, aggregate)], config)
    return counted


@given(COLUMNS)
def test_a_profile_equals_a_plain_count(
    plain_profile: Callable[[Sequence[str | None], DataType], dict[str, Any]],
    cells: list[str | None],
) -> None:
    counted = profile(pa.array(cells, pa.string()))
    expected = plain_profile(cells, counted.type if counted.distinct else DataType.INTEGER)
    assert {name: getattr(counted, name) for name in expected} == expected


@pytest.mark.parametrize("start", range(0, 5000, 500))
def test_a_long_key_is_unique_though_its_sketch_holds_some_values_only(start: int) -> None:
    key = [str(number) for number in range(start, start + 500)]
    assert profile(pa.array(key)).distinct == 500
    assert profile(pa.array([*key[:250], *key[:250]])).distinct < 400


@given(COLUMNS, st.integers(0, 60), st.integers(1, 4))
def test_merging_parts_equals_counting_the_whole_column(
    cells: list[str | None], cut: int, size: int
) -> None:
    config = ProfileConfig(sketch_size=size, sample_size=2)
    column = pa.array(cells, pa.string())
    parts = aggregate_columns(
        [count_texts(part) for part in (column[:cut], column[cut:])], size + 1
    )
    together = merge_aggregates([EMPTY_AGGREGATE, *parts], size=size + 1)
    merged, whole = profile_of(together, config), profile(column, config)
    if parts[0].type is not parts[1].type:
        # A part whose values are all of another type is not sketched in the notation of the whole.
        merged, whole = (replace(each, notation=None, form_sketch=b"") for each in (merged, whole))
    assert merged == whole


@given(COLUMNS, st.integers(0, 60))
def test_all_values_counted_without_texts_equal_those_with_texts(
    cells: list[str | None], cut: int
) -> None:
    column = pa.array(cells, pa.string())
    parts = count_all([list_texts(part) for part in (column[:cut], column[cut:])])
    found = merge_counted(parts).resolve_null_words()
    [whole] = aggregate_columns([count_texts(column)], len(cells) + 1, in_forms=False)
    expected = whole.resolve_null_words()
    assert (found.rows, found.nulls, found.type) == (whole.rows, expected.nulls, whole.type)
    assert found.values.hashes.tolist() == expected.values.hashes.tolist()
    assert found.values.counts.tolist() == expected.values.counts.tolist()


@given(PADDED, st.integers(0, 60), st.integers(1, 8))
def test_sketches_in_another_form_merge_like_those_of_normal_forms(
    cells: list[str], cut: int, size: int
) -> None:
    column = pa.array([*cells, "00000"], pa.string())
    parts = aggregate_columns([count_texts(part) for part in (column[:cut], column[cut:])], size)
    merged = merge_aggregates(parts, size=size)
    plain = pa.array(sorted({str(int(cell)) for cell in cells} | {"0"}), pa.string())
    assert merged.forms[Notation.PADDED].tolist() == sorted(hash_values(plain).tolist())[:size]


def test_a_part_without_another_notation_counts_as_its_normal_forms() -> None:
    parts = aggregate_columns([count_texts(pa.array(cells)) for cells in (["007"], ["12"])], SIZE)
    assert [*parts[1].forms] == []
    merged = merge_aggregates(parts, size=SIZE)
    expected = hash_values(pa.array(["7", "12"]))
    assert merged.forms[Notation.PADDED].tolist() == sorted(expected.tolist())


@given(st.lists(COLUMNS, max_size=5), st.integers(1, 4))
def test_counting_columns_together_equals_counting_each_alone(
    columns: list[list[str | None]], size: int
) -> None:
    config = ProfileConfig(sketch_size=size, sample_size=2)
    arrays = [pa.array(cells, pa.string()) for cells in columns]
    aggregates = aggregate_columns([count_texts(array) for array in arrays], size + 1)
    together = profile_columns(
        [CountedColumn(CITY, 0, aggregate) for aggregate in aggregates], config
    )
    assert together == [profile(array, config) for array in arrays]


def test_a_null_word_is_a_value_in_a_column_of_text() -> None:
    counted = profile(pa.array(["DE", "NA", "NA", "FR"]))
    assert (counted.type, counted.nulls, counted.distinct) == (DataType.TEXT, 0, 3)


@pytest.mark.parametrize("word", ["NA", "n/a", "null", "NaN", "None", "\\N"])
def test_a_null_word_is_null_in_a_column_of_numbers(word: str) -> None:
    counted = profile(pa.array(["1", word, "2.5", word]))
    assert (counted.type, counted.nulls, set(counted.sample)) == (DataType.DECIMAL, 2, {"1", "2.5"})


def test_codes_keep_their_leading_zeros() -> None:
    counted = profile(pa.array(["007", "012", "7"]))
    assert counted.type is DataType.TEXT
    assert set(counted.sample) == {"007", "012", "7"}


def test_lengths_are_those_of_the_distinct_texts() -> None:
    counted = profile(pa.array(["Ulm", "Ulm", "Köln", "Hamburg"]))
    assert counted.lengths == Lengths(shortest=3, mean=14 / 3, longest=7)


def test_long_texts_are_cut() -> None:
    counted = profile(pa.array(["x" * 5000]))
    assert (len(counted.sample[0]), counted.lengths.longest) == (1000, 5000)


@pytest.mark.parametrize(
    ("column", "type_", "sample"),
    [
        (pa.array([1, 2**40]), DataType.INTEGER, {"1", "1099511627776"}),
        (pa.array([1.0, 2e9, None]), DataType.INTEGER, {"1", "2000000000"}),
        (pa.array([1.5, float("nan")]), DataType.DECIMAL, {"1.5"}),
        (pa.array([1.5], pa.float16()), DataType.DECIMAL, {"1.5"}),
        (pa.array([decimal.Decimal("12.50")]), DataType.DECIMAL, {"12.5"}),
        (pa.array([True, False]), DataType.BOOLEAN, {"true", "false"}),
        (pa.array([dt.date(2024, 1, 31)]), DataType.DATE, {"2024-01-31"}),
        (pa.array([0], pa.timestamp("s", "Asia/Tokyo")), DataType.DATE, {"1970-01-01 00:00:00"}),
        (pa.array([60], pa.timestamp("s")), DataType.TIMESTAMP, {"1970-01-01 00:01:00"}),
        (pa.array([5], pa.duration("s")), DataType.INTEGER, {"5"}),
        (pa.array(["a", "b", "a"]).dictionary_encode(), DataType.TEXT, {"a", "b"}),
        (pa.array(["a"], pa.large_string()), DataType.TEXT, {"a"}),
        (pa.array(["a"], pa.string_view()), DataType.TEXT, {"a"}),
        (pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"])), DataType.TEXT, {"{}"}),
        (pa.nulls(2), DataType.TEXT, set()),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_typed_columns_are_read_as_their_texts(
    column: pa.Array, type_: DataType, sample: set[str]
) -> None:
    counted = profile(column)
    assert (counted.type, set(counted.sample)) == (type_, sample)


def test_equal_values_of_different_types_have_the_same_sketch() -> None:
    assert profile(pa.array([1.0, 2.0])).sketch == profile(pa.array(["2", "1"])).sketch


@pytest.mark.parametrize(
    ("name", "notation"),
    [
        ("sold_on", Notation.SERIAL_DAY),
        ("OrderDate", Notation.SERIAL_DAY),
        ("zip_code", None),
        ("location", None),
        ("order_date_id", None),
    ],
)
def test_numbers_are_days_of_spreadsheets_only_in_columns_that_are_called_so(
    name: str, notation: Notation | None
) -> None:
    numbers = pa.array([str(number) for number in range(45000, 45050)])
    [aggregate] = aggregate_columns([count_texts(numbers)], CONFIG.sketch_size + 1)
    counted = CountedColumn(ColumnId(CITY.table, name), 0, aggregate)
    assert profile_columns([counted], CONFIG)[0].notation is notation
