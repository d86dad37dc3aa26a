"""Test the options of files, by the pattern of their path."""

from pathlib import Path

import pytest

from datahub_hyperjoin.catalog.errors import UnknownSheetError
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import Dialect, File, FileOptions
from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.files.formats import read_file
from datahub_hyperjoin.tables import Table
from lakes.workbooks import Rows, write_workbook


def scan(folder: Path, *options: FileOptions) -> tuple[dict[str, Table], list[str]]:
    told: list[str] = []
    tables = scan_folder(
        folder,
        TableSelection(platform="file", env="DEV", dialect=Dialect(escape="\\"), options=options),
        warn=lambda title, _, context: told.append(f"{title}: {context}"),
    )
    return {table.id.name: table for table in tables}, told


def rows_of(table: Table) -> list[dict[str, object]]:
    assert isinstance(table.location, File)
    stream = read_file(table.location, None)
    assert readable_paths(stream.columns)
    return [row for batch in stream.batches for row in batch.to_pylist()]


def test_the_first_pattern_that_fits_holds(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        tmp_path.joinpath(name).mkdir()
        tmp_path.joinpath(name, "x.csv").write_text("id,n\n1,2\n")
    tables, told = scan(
        tmp_path,
        FileOptions(pattern="a/*.csv", delimiter=";", header=False),
        FileOptions(pattern="a", delimiter="|"),
        FileOptions(pattern="b", encoding="cp1251"),
        FileOptions(pattern="B*"),
    )
    assert {
        name: table.location.dialect
        for name, table in tables.items()
        if isinstance(table.location, File)
    } == {
        "a/x.csv": Dialect(escape="\\", delimiter=";", header=False),
        "b/x.csv": Dialect(escape="\\", encoding="cp1251"),
        "c/x.csv": Dialect(escape="\\"),
    }
    assert told == ["Options of no file: no file fits 'B*'"]


def test_files_without_a_header_have_numbered_columns(tmp_path: Path) -> None:
    tmp_path.joinpath("x.csv").write_text("1,Oslo\n2,Bergen\n")
    write_workbook(tmp_path / "y.xlsx", {"S": [[1, "Oslo"], [2, "Bergen"]]})
    tables, _ = scan(tmp_path, FileOptions(header=False))
    assert rows_of(tables["x.csv"]) == [
        {"column0": "1", "column1": "Oslo"},
        {"column0": "2", "column1": "Bergen"},
    ]
    assert rows_of(tables["y.xlsx/S"]) == [
        {"column0": 1, "column1": "Oslo"},
        {"column0": 2, "column1": "Bergen"},
    ]


def test_a_sheet_is_chosen_by_a_pattern_of_its_name(tmp_path: Path) -> None:
    sheet: Rows = [["id"], [1]]
    write_workbook(tmp_path / "a.xlsx", {"2023 plan": sheet, "2023 sum": sheet, "Notes": sheet})
    write_workbook(tmp_path / "b.xlsx", {"Main": sheet})
    tables, told = scan(tmp_path, FileOptions(sheet="20*"))
    assert [*tables] == ["a.xlsx/2023 plan", "a.xlsx/2023 sum"]
    assert told == ["Workbook without the sheet: b.xlsx has no sheet '20*', only Main"]
    with pytest.raises(UnknownSheetError) as error:
        scan(tmp_path, FileOptions(sheet="2025"))
    assert str(error.value) == (
        "no workbook has a sheet '2025'; a.xlsx has 2023 plan, 2023 sum, Notes, b.xlsx has Main. "
        "Correct `sheet`, or `--sheet`"
    )


def test_a_sheet_needs_a_workbook(tmp_path: Path) -> None:
    tmp_path.joinpath("x.csv").write_text("id,n\n1,2\n")
    assert scan(tmp_path, FileOptions(sheet="S"))[1] == [
        "Options of no file: no workbook fits '*', of which sheet 'S' was asked for"
    ]


def test_impossible_options_are_refused() -> None:
    with pytest.raises(ValueError, match="`encoding` is 'latin-99', which Python does not know"):
        FileOptions(encoding="latin-99")
    with pytest.raises(ValueError, match="`delimiter` is ', '; it must be one ASCII character"):
        FileOptions(delimiter=", ")
