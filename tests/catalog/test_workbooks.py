"""Test that each sheet of a workbook is listed as a table."""

from pathlib import Path

import pytest
from datahub.configuration.common import AllowDenyPattern
from datahub.ingestion.source.excel.util import gen_dataset_name

from datahub_hyperjoin.catalog import files
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.tables import Table
from lakes.workbooks import Rows, write_workbook

SHEET: Rows = [["id"], [1]]


def scan(folder: Path, deny: str = "^$") -> tuple[list[Table], list[tuple[str, ...]], float]:
    warnings: list[tuple[str, ...]] = []
    counts: list[float] = []
    selection = TableSelection(platform="file", env="DEV", tables=AllowDenyPattern(deny=[deny]))
    tables = scan_folder(
        folder,
        selection,
        warn=lambda *warning: warnings.append(warning),
        count=lambda _, by: counts.append(by),
    )
    return tables, warnings, sum(counts)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    tmp_path.joinpath("b.csv").write_text("id\n1\n")
    tmp_path.joinpath("~$c.xlsx").write_text("open")
    write_workbook(tmp_path / "a.xlsx", {"Orders": SHEET, "People": SHEET})
    write_workbook(tmp_path / "c.xlsx", {"Sheet1": SHEET})
    return tmp_path


def test_each_sheet_is_a_table(lake: Path) -> None:
    tables, warnings, unread = scan(lake)
    names = [table.id.name for table in tables]
    assert names == ["a.xlsx/Orders", "a.xlsx/People", "b.csv", "c.xlsx/Sheet1"]
    assert (tables[0].title, tables[3].title) == ("Orders", "Sheet1")
    uri = str(lake.resolve() / "a.xlsx")
    assert tables[1].location == File(uri=uri, format="workbook", member=("People",))
    assert (warnings, unread) == ([], 0)
    write_workbook(lake / "a.xlsx", {"Orders": SHEET, "People": [*SHEET, [12345]]})
    assert scan(lake)[0][0].state != tables[0].state


def test_sheets_have_the_names_of_datahubs_source(tmp_path: Path) -> None:
    tmp_path.joinpath("sales").mkdir()
    write_workbook(tmp_path / "sales" / "a.xlsx", {" Orders ": SHEET})
    selection = TableSelection(platform="excel", env="DEV")
    [table] = scan_folder(tmp_path, selection, warn=lambda *_: None)
    assert table.id.name == gen_dataset_name("sales/a.xlsx", " Orders ", lower_case=False)


def test_patterns_choose_sheets(lake: Path) -> None:
    assert [table.id.name for table in scan(lake, deny=r"c|a\.xlsx/Ord")[0]] == [
        "a.xlsx/People",
        "b.csv",
    ]


def test_a_damaged_workbook_costs_no_other(lake: Path) -> None:
    lake.joinpath("c.xlsx").write_bytes(b"nothing")
    tables, [(title, message, context)], unread = scan(lake)
    assert len(tables) == 3
    assert (title, unread) == ("Workbook not read", 1)
    assert "Leave it out with `tables.deny`" in message
    assert context.startswith("c.xlsx cannot be read: ")


def test_a_missing_package_is_told_once(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "can_read_workbooks", lambda: False)
    tables, [(title, message, context)], unread = scan(lake)
    assert [table.id.name for table in tables] == ["b.csv"]
    assert (title, unread) == ("Excel files not read", 2)
    assert "the package that reads them is missing" in message
    # `hyperjoin find` shows only the context.
    install = "pip install 'datahub-hyperjoin[excel]'"
    assert context == f"2 files, for example a.xlsx; run `{install}`"
