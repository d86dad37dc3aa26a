"""Test that sheets of workbooks are read as tables."""

import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import EmptyTableError, MissingReaderError, UnreadableTableError
from datahub_hyperjoin.spark.files.header import ROWS_NAMED
from datahub_hyperjoin.spark.read import read_table, with_absolute_paths
from datahub_hyperjoin.tables import Table, TableId
from lakes.workbooks import Rows, write_workbook

CITIES: Rows = [["id", "city"], [1, "Köln"], [2, "Oslo"], [3, None]]
ROWS = [{"id": 1, "city": "Köln"}, {"id": 2, "city": "Oslo"}, {"id": 3, "city": None}]


def table_of(path: Path, sheet: str) -> Table:
    location = File(uri=str(path), format="workbook", member=(sheet,))
    return Table(id=TableId("file", f"{path.name}/{sheet}"), title=sheet, location=location, size=1)


def rows_of(table: Table, paths: set[str] | None = None) -> tuple[list[dict[str, Any]], list[str]]:
    stream = read_table(table, Databases(), max_rows=99_999, paths=paths)
    return [row for batch in stream.batches for row in batch.to_pylist()], stream.notes


def test_each_sheet_is_read_with_its_types(tmp_path: Path) -> None:
    mixed: Rows = [["code", "share"], ["0012", 0.5], [12, 1]]
    path = write_workbook(tmp_path / "book.xlsx", {"Cities": CITIES, "Ü & co": mixed})
    assert rows_of(table_of(path, "Cities")) == (ROWS, [])
    assert rows_of(table_of(path, "Cities"), {"city"})[0][1] == {"city": "Oslo"}
    assert rows_of(table_of(path, "Ü & co")) == (
        [{"code": "0012", "share": 0.5}, {"code": "12", "share": 1.0}],
        [],
    )


def test_titles_and_blank_rows_are_skipped(tmp_path: Path) -> None:
    sheet: Rows = [["Cities of the north"], [], *CITIES[:2], [], *CITIES[2:]]
    path = write_workbook(tmp_path / "book.xlsx", {"Cities": sheet})
    assert rows_of(table_of(path, "Cities")) == (ROWS, ["lines above the header were skipped: 1"])


ORDERS: Rows = [["order", "city", "sum"], *([at, at % 3, at / 2] for at in range(100, 106))]
LISTS: Rows = [["code", "label"], ["A", "Active"], ["I", "Idle"]]
LONGER: Rows = [["key", "name", "in"], *([each, f"N {each}", "EU"] for each in ("X", "Y", "Z"))]


@pytest.mark.parametrize(
    "sheet",
    [
        [*CITIES, [], *ORDERS],
        [*ORDERS, [], *CITIES],
        [["Cities"], *CITIES, [], [], ["Orders"], *ORDERS],
        [["Cities"], [], *CITIES, [], ["Orders"], [], *ORDERS],
        [*CITIES, [], *ORDERS, [], *LISTS],
    ],
)
def test_of_tables_in_a_sheet_the_longest_is_read(tmp_path: Path, sheet: Rows) -> None:
    path = write_workbook(tmp_path / "book.xlsx", {"All": sheet})
    rows, notes = rows_of(table_of(path, "All"))
    assert [[*row.values()] for row in rows] == ORDERS[1:]
    count = 2 + (LISTS[0] in sheet)
    assert notes[-1] == f"only the longest of {count} tables in the sheet is read"


def test_lists_of_texts_in_a_sheet_are_tables(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "book.xlsx", {"All": [*LISTS, [], *LONGER]})
    rows, notes = rows_of(table_of(path, "All"))
    assert [[*row.values()] for row in rows] == LONGER[1:]
    assert notes == ["only the longest of 2 tables in the sheet is read"]


@pytest.mark.parametrize(
    "rows",
    [
        [["Ann", "Oslo", 3], [], ["Bob", "Rome", 4], ["Cy", "Bari", 5]],
        [["Ann", "Oslo", 3], ["Bo", "Rome", 4], [], ["Cy", "Bari", "n/a"], ["Di", "Bonn", 5]],
        [["Ann", "Oslo", "a"], ["Bo", "Rome", "b"], [], ["Cy", "Bari", None], ["Di", "Bonn", None]],
        [["Ann", "Oslo", 3], ["Bo", "Rome", 4], [], ["South", None, None], ["Cy", "Bari", 5]],
        [["Ann", "Oslo", 3], ["Bo", "Rome", 4], [], ["Total", None, 7]],
    ],
)
def test_rows_below_a_blank_one_may_be_of_the_same_table(tmp_path: Path, rows: Rows) -> None:
    sheet: Rows = [["name", "town", "visits"], *rows]
    path = write_workbook(tmp_path / "book.xlsx", {"All": sheet})
    read, notes = rows_of(table_of(path, "All"))
    assert (len(read), notes) == (len([row for row in rows if row]), [])


def test_the_names_of_rows_are_a_column(tmp_path: Path) -> None:
    sheet: Rows = [[None, "mpg"], ["Mazda RX4", 21], ["Fiat 128", 32]]
    path = write_workbook(tmp_path / "book.xlsx", {"Cars": sheet})
    rows, notes = rows_of(table_of(path, "Cars"))
    assert rows[0] == {"row_name": "Mazda RX4", "mpg": 21}
    assert notes == [ROWS_NAMED]


def read_merged(
    path: Path, rows: list[list[Any]], *merged: str, corner: tuple[int, int] = (1, 1)
) -> tuple[list[dict[str, Any]], list[str]]:
    """Write a sheet whose cells are merged, and read it as a table."""
    book = Workbook()
    sheet = book.worksheets[0]
    for at, row in enumerate(rows, corner[0]):
        for column, value in enumerate(row, corner[1]):
            sheet.cell(at, column, value)
    for cells in merged:
        sheet.merge_cells(cells)
    book.save(path / "book.xlsx")
    return rows_of(table_of(path / "book.xlsx", "Sheet"))


def test_cells_merged_over_rows_have_their_value_in_each(tmp_path: Path) -> None:
    rows: list[list[object]] = [["id", "n"], ["A", 1], [None, 2], ["B", 3], [None, 4], [None, 5]]
    ids = ["A", "A", "B", "B", None]
    expected = [{"id": id_, "n": at} for at, id_ in enumerate(ids, 1)]
    assert read_merged(tmp_path, rows, "A2:A3", "A4:A5") == (expected, [])
    # The sheet begins below and to the right of its first cell.
    assert read_merged(tmp_path, rows, "C6:C7", "C8:C9", corner=(5, 3))[0] == expected


@pytest.mark.parametrize(
    ("header", "merged", "names"),
    [
        ([["Order", None, "Money"], ["id", "day", "sum"]], ["A1:B1"], ["id", "day", "sum"]),
        (
            [["id", "Sales", None], [None, "2023", "2024"]],
            ["A1:A2", "B1:C1"],
            ["id", "2023", "2024"],
        ),
        (
            [["id", "2023", None], [None, "sum", "sum"]],
            ["A1:A2", "B1:C1"],
            ["id", "2023 sum", "2023 sum_2"],
        ),
        (
            [["id", "day", "sum"], [None, None, None]],
            ["A1:A2", "B1:B2", "C1:C2"],
            ["id", "day", "sum"],
        ),
        ([["id", "Sum", None]], ["B1:C1"], ["id", "Sum", "column_3"]),
    ],
)
def test_a_header_of_two_rows_has_the_names_of_the_lower(
    tmp_path: Path, header: list[list[object]], merged: list[str], names: list[str]
) -> None:
    rows, _ = read_merged(tmp_path, [*header, ["A", "x", 1], ["B", "y", 2], ["C", "z", 3]], *merged)
    assert rows[0] == dict(zip(names, ["A", "x", 1], strict=True))
    assert len(rows) == 3


def test_dates_among_times_keep_the_times(tmp_path: Path) -> None:
    midnight, noon = datetime(2024, 1, 1), datetime(2024, 1, 1, 12)  # noqa: DTZ001 (as in Excel)
    rows: list[list[object]] = [["at", "on"], [midnight, midnight], [noon, midnight]]
    assert read_merged(tmp_path, rows)[0] == [
        {"at": midnight, "on": midnight.date()},
        {"at": noon, "on": midnight.date()},
    ]


def test_columns_without_a_name_of_their_own_are_kept(tmp_path: Path) -> None:
    sheet: Rows = [["id", None, "id", None], [1, "a", 2, None], [3, "b", 4, None]]
    path = write_workbook(tmp_path / "book.xlsx", {"Cars": sheet})
    rows, _ = rows_of(table_of(path, "Cars"), {"column_2", "id_2"})
    assert rows == [{"column_2": "a", "id_2": 2}, {"column_2": "b", "id_2": 4}]


def test_a_long_sheet_is_read_in_batches(tmp_path: Path) -> None:
    sheet: Rows = [["id", "name"], *[(at, f"name {at}") for at in range(20_000)]]
    table = table_of(write_workbook(tmp_path / "book.xlsx", {"Long": sheet}), "Long")
    stream = read_table(table, Databases(), max_rows=99_999)
    batches = [len(batch) for batch in stream.batches]
    assert sum(batches) == 20_000
    assert len(batches) > 1
    assert abs(stream.extent.rows - 20_000) <= 1


def test_what_is_no_sheet_is_refused(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "book.xlsx", {"Empty": [], "Blank": [[None, None]]})
    for sheet in ("Empty", "Blank"):
        with pytest.raises(EmptyTableError, match="is an empty sheet"):
            rows_of(table_of(path, sheet))
    with pytest.raises(UnreadableTableError, match="cannot be read: WorksheetNotFound: Lost"):
        rows_of(table_of(path, "Lost"))
    path.write_bytes(b"nothing")
    with pytest.raises(UnreadableTableError, match="cannot be read: CalamineError: Cannot"):
        rows_of(table_of(path, "Empty"))
    path.write_text('<table border="1">\n<tr><td>id</td></tr></table>')
    with pytest.raises(UnreadableTableError, match="it holds HTML or XML, whatever its name says"):
        rows_of(table_of(path, "Empty"))


def test_the_ending_of_a_workbook_does_not_count(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "book.xlsx", {"Cities": CITIES})
    assert rows_of(table_of(path.rename(tmp_path / "book.xls"), "Cities")) == (ROWS, [])


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_workbook(tmp_path / "book.xlsx", {"Cities": CITIES})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingReaderError, match=r"pip install 'datahub-hyperjoin\[excel\]'"):
        rows_of(table_of(path, "Cities"))


def test_workers_find_a_workbook_by_its_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = table_of(Path("book.xlsx"), "Cities")
    [absolute] = with_absolute_paths([table])
    location = File(uri=str(tmp_path / "book.xlsx"), format="workbook", member=("Cities",))
    assert absolute == replace(table, location=location)
