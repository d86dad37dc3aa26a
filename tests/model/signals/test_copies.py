"""Test which tables are copies of others, and which of them other tables join."""

import random
import sqlite3
from pathlib import Path

import duckdb
import pytest
from openpyxl import Workbook

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.discovery.result import FoundJoins
from datahub_hyperjoin.model.signals.copies import strip_marks

DRAW = random.Random(5)  # noqa: S311
IDS = DRAW.sample(range(1_000, 9_999), 60)
FIRMS = "id,name\n" + "".join(f"{at},Firm {at % 97} {at}\n" for at in IDS)
DEALS = "deal_no,firm,amount\n" + "".join(
    f"{500_000 + at},{DRAW.choice(IDS)},{DRAW.random() * 900:.2f}\n" for at in range(200)
)


def find(folder: Path, files: dict[str, str]) -> tuple[FoundJoins, set[tuple[str, str]], set[str]]:
    for name, text in files.items():
        folder.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        folder.joinpath(name).write_text(text)
    found = find_joins(folder, sql=False)
    told = {each.context for each in found.warnings if each.title == "Copy of a table"}
    return found, {(each["left"], each["right"]) for each in found.records()}, told


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("orders", "orders"),
        ("orders (1)", "orders"),
        ("Orders - Copy (2)", "orders"),
        ("Copy of Orders", "orders"),
        ("stg_orders", "orders"),
        ("orders_2024-01-15", "orders"),
        ("orders_backup_20240115", "orders"),
        ("orders.bak", "orders"),
        ("v_orders", "orders"),
        ("orders_2024", "orders_2024"),
        ("copy", "copy"),
        ("old_orders_v2", "orders"),
        ("orders_sample", "orders"),
        ("src_orders_new", "orders"),
    ],
)
def test_marks_of_copies_are_no_part_of_a_name(title: str, stem: str) -> None:
    assert strip_marks(title)[0] == stem


def test_others_join_the_original_in_their_folder(tmp_path: Path) -> None:
    half = "\n".join(FIRMS.splitlines()[:50]) + "\n"
    files = {"firms.csv": FIRMS, "deals.csv": DEALS, "stg_firms.csv": FIRMS, "firms_bak.csv": half}
    found, joins, told = find(tmp_path, files)
    assert joins == {("deals.csv.firm", "firms.csv.id")}
    assert told == {
        "firms_bak.csv has the content of firms.csv",
        "stg_firms.csv has the content of firms.csv",
    }
    page = tmp_path / "joins.html"
    found.to_html(page)
    assert "stg_firms.csv has the content of firms.csv" in page.read_text()


def test_a_marked_copy_may_hold_nothing_but_numbers_that_count(tmp_path: Path) -> None:
    rows = [f"{at},{3 + at % 2}\n" for at in range(1, 401)]
    whole, part, other = (
        "order_id,order_status\n" + "".join(own) for own in (rows, rows[:300], rows[200:])
    )
    _, joins, told = find(tmp_path, {"orders.csv": whole, "orders (1).csv": part, "x.csv": other})
    assert told == {"orders (1).csv has the content of orders.csv"}
    assert not {pair for pair in joins if "orders (1).csv.order_status" in pair}


def test_a_copy_alone_in_a_folder_joins_nothing(tmp_path: Path) -> None:
    files = {"a/firms.csv": FIRMS, "b/firms.csv": FIRMS, "b/deals.csv": DEALS, "c/all.csv": FIRMS}
    found, joins, told = find(tmp_path, files)
    across = {(left, right) for left, right in joins if left.split("/")[0] != right.split("/")[0]}
    assert not across
    assert ("b/deals.csv.firm", "b/firms.csv.id") in joins
    assert not found.crosswalks
    assert told == {
        "a/firms.csv has the content of b/firms.csv",
        "c/all.csv has the content of b/firms.csv",
    }


def test_a_database_that_stands_twice_keeps_its_joins(tmp_path: Path) -> None:
    files = {
        f"{place}/{name}": text
        for place in ("dev", "prod")
        for name, text in {"crm/firms.csv": FIRMS, "sales/deals.csv": DEALS}.items()
    }
    _, joins, told = find(tmp_path, files)
    assert {each for each in joins if "deals" in each[0]} == {
        (f"{place}/sales/deals.csv.firm", f"{place}/crm/firms.csv.id") for place in ("dev", "prod")
    }
    assert len(told) == 2


def test_a_copy_may_lack_columns_or_have_more(tmp_path: Path) -> None:
    regions = [f"R{at * 37 % 1009}" for at in range(30)]
    sized = [f"{line},{len(line) * 7}" for line in FIRMS.splitlines()[1:]]
    wider = [f"{line},{regions[at % 30]}" for at, line in enumerate(sized)]
    files = {
        "firms.csv": "\n".join(["id,name,size", *sized]),
        "firms_bak.csv": FIRMS,
        "stg_firms.csv": "\n".join(["id,name,size,region", *wider]),
        "regions.csv": "\n".join(["region,title", *(f"{each},Title {each}" for each in regions)]),
        "deals.csv": DEALS,
    }
    _, joins, told = find(tmp_path, files)
    # What the original lacks may be joined in a copy.
    own = ("stg_firms.csv.region", "regions.csv.region")
    assert joins == {("deals.csv.firm", "firms.csv.id"), own}
    assert told == {
        "firms_bak.csv has the content of firms.csv",
        "stg_firms.csv has the content of firms.csv",
    }


_TYPES = {"name": "TEXT", "amount": "DOUBLE"}


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_views_of_some_rows_or_columns_are_copies(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / "shop.db")
    connection = sqlite3.connect(path) if kind == "sqlite" else duckdb.connect(path)
    for name, text in (("firms", FIRMS), ("deals", DEALS)):
        header, *lines = text.splitlines()
        columns = ", ".join(f"{each} {_TYPES.get(each, 'INTEGER')}" for each in header.split(","))
        rows = ", ".join("('" + line.replace(",", "', '") + "')" for line in lines)
        connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.execute(f"INSERT INTO {name} VALUES {rows}")
    connection.execute("CREATE VIEW names AS SELECT name, id FROM firms")
    connection.execute("CREATE VIEW large AS SELECT * FROM deals WHERE amount > 300")
    connection.execute("CREATE TABLE days (no INTEGER, week INTEGER)")
    counted = ", ".join(f"({at}, {at // 7})" for at in range(1, 71))
    connection.execute(f"INSERT INTO days VALUES {counted}")
    connection.execute("CREATE VIEW all_days AS SELECT no, week FROM days")
    connection.commit()
    connection.close()
    _, joins, told = find(tmp_path, {})
    assert ("shop.db/deals.firm", "shop.db/firms.id") in joins
    assert not any("large" in pair[0] + pair[1] or "names" in pair[0] + pair[1] for pair in joins)
    # Numbers that only count tell no copy.
    assert told == {
        "shop.db/large has the content of shop.db/deals",
        "shop.db/names has the content of shop.db/firms",
    }


@pytest.mark.parametrize("book", ["Copy of firms.xlsx", "firms (1).xlsx"])
def test_the_name_of_a_workbook_says_that_it_is_a_copy(tmp_path: Path, book: str) -> None:
    workbook = Workbook()
    sheet = workbook.create_sheet("firms", 0)
    for line in FIRMS.splitlines():
        sheet.append([int(each) if each.isdigit() else each for each in line.split(",")])
    workbook.save(tmp_path / book)
    _, joins, _ = find(tmp_path, {"firms.csv": FIRMS, "deals.csv": DEALS})
    assert joins == {("deals.csv.firm", "firms.csv.id")}


def test_people_may_join_a_copy(tmp_path: Path) -> None:
    files = {"firms.csv": FIRMS, "firms_old.csv": FIRMS, "deals.csv": DEALS}
    find(tmp_path / "lake", files)
    decisions = tmp_path / "decisions.csv"
    decisions.write_text(
        "left_table,left_column,right_table,right_column,decision\n"
        "deals.csv,firm,firms_old.csv,id,accepted\n"
    )
    found = find_joins(tmp_path / "lake", sql=False, decisions=decisions)
    assert ("deals.csv.firm", "firms_old.csv.id") in {
        (e["left"], e["right"]) for e in found.records()
    }


def test_equal_code_lists_and_unlike_tables_are_told_apart(tmp_path: Path) -> None:
    other = "id,name\n" + "".join(f"{at + 9_000},Firm {at}\n" for at in range(60))
    _, _, told = find(tmp_path, {"a/firms.csv": FIRMS, "b/firms.csv": other, "deals.csv": DEALS})
    assert not told
