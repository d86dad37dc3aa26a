"""Test that rows with more or fewer fields than the header are mended, and no value is shifted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.spark.files.ragged import RaggedRows

ROWS = [
    ["7", "Ann Berg", "open", "2024-01-02"],
    ["8", "Bob Stein", "closed", "2024-02-03"],
    ["9", "Cy Dorn", "open", "2024-03-04"],
]


@pytest.mark.parametrize(
    ("fields", "mended"),
    [
        (["6"], ["6", "", "", ""]),
        (["6", "Dee Roe"], ["6", "Dee Roe", "", ""]),
        (["6", "Dee Roe", "open", "2024-04-05", "", " "], ["6", "Dee Roe", "open", "2024-04-05"]),
        # No value moves to another column.
        (["6", "Dee Roe", "2024", ""], ["6", "Dee Roe", "", ""]),
        (["6", "Roe", " Dee", "open", "2024-04-05"], ["6", "Roe, Dee", "open", "2024-04-05"]),
        (["6", "Roe", "A.", "lost", "x"], ["6", "", "", ""]),
        (["6", "Roe", "Dee", "open", "2024-04-05"], ["6", "Roe,Dee", "open", "2024-04-05"]),
        (["end of report"], None),
        (["Source: City", "2024"], None),
    ],
)
def test_a_row_is_mended_as_the_others_show(fields: list[str], mended: list[str] | None) -> None:
    assert RaggedRows.beside(4, ROWS, ",").mend(fields) == mended


@pytest.mark.parametrize(
    ("rows", "mended"),
    [
        ([["7", "Main St 1", "Rome"], ["8", "Main St 2", "Bern"]], ["7", "Main St 1,Rome"]),
        ([["Roe", "Ann", "7.5"], ["Roe", "Bob", "8.5"]], ["Roe,Ann", "7.5"]),
        ([["a", "b", "c"]], None),
    ],
)
def test_one_reading_fits_all_rows(rows: list[list[str]], mended: list[str] | None) -> None:
    assert RaggedRows.beside(2, rows, ",").mend(rows[0]) == mended


@pytest.mark.parametrize(
    ("fields", "mended"),
    [
        (["6", "Roe", " Dee", "K6"], ["6", "Roe, Dee", "K6"]),
        (["6", "Roe", "Dee", "K6"], ["6", "Roe,Dee", "K6"]),
        (["6", "Roe", "Dee", "lost"], ["6", "", ""]),
    ],
)
def test_no_delimiter_divides_a_code(fields: list[str], mended: list[str]) -> None:
    rows = [[str(at), "Berg", f"K{at}"] for at in range(3)]
    assert RaggedRows.beside(3, rows, ",").mend(fields) == mended


CELLS = st.text("ab 7,", max_size=4)


@given(st.lists(st.lists(CELLS, min_size=1, max_size=6), max_size=6), st.lists(CELLS, min_size=1))
def test_a_value_keeps_its_order_and_every_row_is_counted(
    rows: list[list[str]], fields: list[str]
) -> None:
    ragged = RaggedRows.beside(3, rows, ";")
    mended = ragged.mend(fields)
    assert mended is None or len(mended) == 3
    left = ";".join(fields)
    for value in filter(None, mended or ()):
        assert value in left
        left = left.partition(value)[2]
    assert mended is not None or ragged.skipped == 1
