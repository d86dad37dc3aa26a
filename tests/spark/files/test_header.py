"""Test that the header of a table is found below title lines."""

import pytest

from datahub_hyperjoin.spark.files.header import (
    ROW_AS_HEADER,
    find_header,
    is_plain_row,
    note_names,
)

NAMES = ["name", "country", "people"]
BODY = [["Oslo", "NO", "0.7"], ["Bergen", "NO", "0.3"], ["Malmö", "SE", "0.4"]]


def padded(*rows: list[str]) -> list[list[str]]:
    return [[*row, *[""] * (3 - len(row))] for row in rows]


@pytest.mark.parametrize(
    "titles",
    [
        [["Cities of the north"], []],
        [["Cities of the north"], ["2024"], []],
        padded(["Cities of the north"], [], ["as of 2024"]),
    ],
)
def test_title_lines_are_told_from_the_header(titles: list[list[str]]) -> None:
    assert find_header([*titles, NAMES, *BODY]) == len(titles)


def test_titles_may_have_several_fields_if_the_table_is_wide() -> None:
    titles = [["Data Source", "Indicators"], [], ["Last Updated", "2024-01-01"], []]
    years = ["Country", "Code", "Indicator", "Unit", "1960", "1961"]
    rows = [["Norway", "NOR", "Area", "ha", "1.5", ""], ["Oman", "OMN", "Area", "ha", "2", "3"]]
    assert find_header([*titles, years, *rows]) == 4
    assert find_header([titles[0], years, *rows]) == 0


CODED = [[f"K{at}", "Oslo", "Norway"] for at in range(3)]


@pytest.mark.parametrize(
    "title",
    [
        ["Cities"],
        ["HDR", "2024"],
        ["City", "", "Place"],
        ["City", "City", "Place"],
        ["", "city", "country"],
    ],
)
def test_a_column_of_codes_shows_the_header(title: list[str]) -> None:
    names = ["code", "city", "country"]
    assert find_header([title, names, *CODED]) == 1
    assert find_header([title, names, *CODED], in_cells=True) == 1
    assert find_header([title, *CODED]) == 0


def test_a_column_of_numbers_shows_the_header() -> None:
    titles = [["Report", "of 2024"]]
    names = ["name", "country", "people", "area"]
    rows = [[*row, "9"] for row in BODY]
    assert find_header([*titles, names, *rows]) == 1
    words = [[*row[:2], "some", "many"] for row in BODY]
    assert find_header([*titles, names, *words]) == 0


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [NAMES],
        [NAMES, *BODY],
        [["Cities of the north"], *BODY],
        [["Cities of the north"], [], *BODY],
        [["address"], *[[f"Main St {at}", "Salem", "Oregon"] for at in range(9)]],
        [["Cities of the north"], NAMES, BODY[0]],
        [["city"], ["New York", "NY"], ["Boston", "MA"], ["Salem", "OR"]],
        [["Cities"], [], ["name", "name", "people"], *BODY],
        [["Cities"], [], ["1", "name", "people"], *BODY],
        [["Cities"], [], NAMES, ["a"], ["b"], *BODY],
        [["", "a", ""], *BODY, ["", "", ""]],
    ],
)
def test_other_tables_begin_with_their_header(rows: list[list[str]]) -> None:
    assert find_header(rows) == 0


def test_a_sheet_of_two_columns_may_have_a_title() -> None:
    rows = [["Cities", ""], ["", ""], ["name", "people"], ["Oslo", "0.7"], ["Bergen", "0.3"]]
    assert find_header(rows, in_cells=True) == 2
    assert find_header([rows[0], *rows[2:]], in_cells=True) == 1
    assert find_header(rows) == 0


ROW, ROWS = ["7", "Oslo", "0.7"], [["9", "Bergen", "0.3"], ["9", "Malmö", ""]]


@pytest.mark.parametrize(
    ("first", "rows"),
    [
        (ROW, ROWS),
        (["5.1", "3.5", "Iris-setosa"], [["4.9", "3.0", "Iris-setosa"]]),
        ([*ROW, ""], [[*row, ""] for row in ROWS]),
        (["9" * 5000, "Oslo", "0.7"], ROWS),
    ],
)
def test_a_first_row_in_place_of_names_is_noted(first: list[str], rows: list[list[str]]) -> None:
    assert note_names(first, first, rows) == [ROW_AS_HEADER]


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (["rank", "city", "0.7"], ROWS),  # a name above numbers
        (["", "city", "0.7"], ROWS),  # row numbers
        (["country", "2020"], [["Norway", "5.4"], ["Oman", "5.1"]]),  # a year
        (["day", "1", "2", "3"], [["a", "5", "9", "2"], ["b", "1", "1", "7"]]),  # days
        (["0"], [["5"], ["9"]]),  # a single column
        (["city", "7"], [["Oslo", "x"], ["Bergen", "y"]]),  # no column of numbers
        (ROW, []),
    ],
)
def test_numbers_may_be_names(header: list[str], rows: list[list[str]]) -> None:
    assert note_names(header, header, rows) == []


@pytest.mark.parametrize(
    ("first", "rows"),
    [
        (ROW, ROWS),
        (["500001", "1950", "869.27", "2023-06-08"], [["500002", "17", "1.5", "2023-01-01"]] * 2),
        (["Oslo", "31.12.2024"], [["Bergen", "01.02.2023"], ["Malmö", "02.03.2023"]]),
        (["K-0417", "Oslo"], [[f"K-1{at}", "Bergen"] for at in range(100, 109)]),
        (["1", "4711", "12,5", ""], [["2", "4712", "0,5", ""], ["3", "9", "8,25", ""]]),
    ],
)
def test_a_first_line_that_is_plainly_a_row_is_no_header(
    first: list[str], rows: list[list[str]]
) -> None:
    assert is_plain_row(first, rows)


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (NAMES, BODY),
        (["country", "1960", "1961"], [["Norway", "1.5", "2"], ["Oman", "3", "4"]]),
        (["name", "1", "2", "3"], [["Ann", "7", "8", "9"], ["Bob", "7", "8", "9"]]),
        (["store", "101", "205", "310"], [["Oslo", "7", "8", "9"], ["Rome", "7", "8", "9"]]),
        (["", "0"], [["a", "7"], ["b", "8"]]),
        (["id", "2020-01-01"], [["7", "8"], ["8", "9"]]),
        (["id", "q1"], [["7", "8"], ["8", "9"]]),
        (["name", "2024-01-01"], [["a", "2024-02-02"]]),
        (["Q12024", "city"], [["X12024", "Bergen"]] * 20),
        (["H1", "city"], [[f"K{at}", "Bergen"] for at in range(9)]),
        (["Q2024", "city"], [[f"K{at}", "Bergen"] for at in range(100, 109)]),
        (["K-0417", "city"], [[f"K-{at}", "Bergen"] for at in range(9992, 10001)]),
    ],
)
def test_a_header_with_numbers_is_no_row(header: list[str], rows: list[list[str]]) -> None:
    assert not is_plain_row(header, rows)
