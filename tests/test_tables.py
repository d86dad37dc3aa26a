"""Test the value types that describe tables."""

import pickle
from dataclasses import replace

import pytest

from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, Lengths, TableId
from datahub_hyperjoin.value_forms import Notation


def profile(*, rows: int, nulls: int, distinct: int) -> ColumnProfile:
    return ColumnProfile(
        id=ColumnId(TableId("file", "flights.csv"), "carrier"),
        position=0,
        type=DataType.TEXT,
        rows=rows,
        nulls=nulls,
        distinct=distinct,
        sketch=b"",
        sample=(),
        counts=(),
        lengths=Lengths(shortest=2, mean=2.0, longest=2),
        patterns=(),
    )


@pytest.mark.parametrize(
    ("counts", "completeness", "uniqueness"),
    [((10, 2, 4), 0.8, 0.5), ((0, 0, 0), 0.0, 0.0), ((5, 5, 0), 0.0, 0.0), ((4, 0, 5), 1.0, 1.0)],
)
def test_completeness_and_uniqueness_are_shares_of_rows(
    counts: tuple[int, int, int], completeness: float, uniqueness: float
) -> None:
    rows, nulls, distinct = counts
    found = profile(rows=rows, nulls=nulls, distinct=distinct)
    assert found.completeness == pytest.approx(completeness)
    assert found.uniqueness == pytest.approx(uniqueness)


@pytest.mark.parametrize(
    ("type_", "notation", "words"),
    [
        (DataType.TEXT, Notation.COMMA, "number with decimal comma"),
        (DataType.TEXT, Notation.POINT, "number"),
        (DataType.TEXT, Notation.PADDED, "text"),
        (DataType.TEXT, None, "text"),
        (DataType.INTEGER, Notation.YEAR_FIRST, "integer"),
    ],
)
def test_texts_that_are_numbers_are_called_numbers(
    type_: DataType, notation: Notation | None, words: str
) -> None:
    column = profile(rows=3, nulls=0, distinct=3)
    assert replace(column, type=type_, notation=notation).type_in_words == words


def test_a_number_of_distinct_values_is_an_estimate_where_the_sketch_lacks_some() -> None:
    exact = replace(profile(rows=9, nulls=0, distinct=3), sketch=bytes(3 * 8))
    assert not exact.distinct_is_estimated
    assert replace(exact, distinct=4).distinct_is_estimated
    assert not profile(rows=0, nulls=0, distinct=0).distinct_is_estimated


def test_identifiers_sort_print_and_pickle() -> None:
    first, second = TableId("file", "a.csv"), TableId("file", "b.csv")
    assert min(ColumnId(second, "x"), ColumnId(first, "z")) == ColumnId(first, "z")
    assert str(ColumnId(first, "z")) == "a.csv.z"
    assert pickle.loads(pickle.dumps(ColumnId(first, "z"))) == ColumnId(first, "z")  # noqa: S301
