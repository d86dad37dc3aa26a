"""Test which files are one table, and which are tables of their own."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook, load_workbook
from pyarrow import csv

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.catalog import series
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import File, FileOptions, Folder
from datahub_hyperjoin.spark.columns import Paths, TableStream
from datahub_hyperjoin.spark.files.formats import read_file
from datahub_hyperjoin.tables import Table

GUIDS = ("0b0f4b5e-3d5d-4c1c-9a53-1a2b3c4d5e6f", "9c1d4b5e-3d5d-4c1c-9a53-1a2b3c4d5e6f")


def scan(folder: Path, *, separate: bool = False) -> tuple[dict[str, Table], list[str]]:
    told: list[str] = []
    selection = TableSelection(platform="file", env="DEV", separate_files=separate)
    tables = scan_folder(
        folder, selection, warn=lambda title, _, context: told.append(f"{title}: {context}")
    )
    return {table.id.name: table for table in tables}, told


def rows(first: int, count: int = 8) -> str:
    return "id,label\n" + "".join(f"{at},item {at * 7}\n" for at in range(first, first + count))


def write(folder: Path, *names: str) -> None:
    for at, name in enumerate(names):
        folder.joinpath(name).parent.mkdir(exist_ok=True, parents=True)
        folder.joinpath(name).write_text(rows(100 * at))


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (("sales_jan.csv", "sales_feb.csv", "sales_mar.csv"), "sales"),
        (("sales-2023-december.csv", "sales-2024-january.csv"), "sales"),
        (("q3_2023.csv", "q4_2023.csv", "q1_2024.csv"), "q1_2024"),
        (("lake/2023.csv", "lake/2024.csv"), "lake"),
        (("orders_2024_05.csv", "orders_2024_06.csv"), "orders"),
        (("orders_31-12-2023.csv", "orders_01-01-2024.csv"), "orders"),
        (tuple(f"orders-{at:04}-of-0010.csv" for at in range(1, 11)), "orders"),
        (tuple(f"{guid}.csv" for guid in GUIDS), GUIDS[1]),
        (tuple(f"orders ({at}).csv" for at in range(1, 12)), "orders"),
        (("2023/11/sales.csv", "2024/01/sales.csv"), "sales"),
        (("sales/2023/11.csv", "sales/2024/01.csv"), "sales"),
        (("2023-12-31/sales.csv", "2024-01-01/sales.csv"), "sales"),
        (("Sales_2021.csv", "sales-2022.csv", "SALES 2023.CSV"), "SALES"),
        (("umsatz_februar.csv", "umsatz_märz.csv"), "umsatz"),
        (("log_monday.csv", "log_tuesday.csv", "log_wed.csv"), "log"),
        (("sales FY22.csv", "sales FY24.csv"), "sales FY"),
        (("sales_week31.csv", "sales_week40.csv"), "sales_week"),
        (("sales_21.csv", "sales_22.csv", "sales_23.csv"), "sales"),
        (("census_1850.csv", "census_1860.csv"), "census"),
        (("log_2024-01-31_0100.csv", "log_2024-01-31_0200.csv"), "log"),
        (("log_2024013101.csv", "log_2024013102.csv"), "log"),
        (("log_1672617600.csv", "log_1672704000.csv"), "log"),
        (("orders/0.csv", "orders/1.csv"), "orders"),
        (("topic+0+0000000000.csv", "topic+0+0000000100.csv"), "topic"),
        (("orders/0cc175b9c0f1b6a831c399e269772661.csv", f"orders/{'9' * 32}.csv"), "orders"),
    ],
)
def test_names_tell_a_series(tmp_path: Path, names: tuple[str, ...], title: str) -> None:
    lake = tmp_path / "lake"
    write(lake, *names, "other.csv")
    tables, told = scan(lake)
    assert [*tables] == sorted([names[-1], "other.csv"])
    table = tables[names[-1]]
    assert isinstance(table.location, Folder)
    files = {Path(table.location.uri, part) for part in table.location.parts}
    assert files == {lake / name for name in names}
    if not table.location.has_others:
        assert {*Path(table.location.uri).glob(table.location.pattern)} == files
    assert table.title == title
    assert told[0].startswith(f"Files read as one table: {len(names)} files, ")
    assert len(scan(lake, separate=True)[0]) == len(names) + 1


@pytest.mark.parametrize(
    "names",
    [
        ("a_2.csv", "a_3.csv"),
        ("s10005.csv", "s99024.csv"),
        ("1.csv", "2.csv"),
        ("a.csv", "b.csv"),
        ("a_de.csv", "a_fr.csv"),
        ("shop1/a.csv", "shop2/a.csv"),
    ],
)
def test_other_names_are_tables_of_their_own(tmp_path: Path, names: tuple[str, ...]) -> None:
    write(tmp_path, *names)
    assert [*scan(tmp_path)[0]] == [*names]


def test_numbered_tables_of_the_same_keys_and_other_values_are_apart(tmp_path: Path) -> None:
    for name in ("table1.csv", "table2.csv", "price_2023.csv", "price_2024.csv"):
        values = "".join(f"{at},{name} {at}\n" for at in range(20))
        tmp_path.joinpath(name).write_text("id,label\n" + values)
    assert [*scan(tmp_path)[0]] == ["price_2024.csv", "table1.csv", "table2.csv"]


def test_of_states_of_a_table_the_newest_is_read(tmp_path: Path) -> None:
    for at, name in enumerate(("firms_dec_2023.csv", "firms_jan_2024.csv")):
        tmp_path.joinpath(name).write_text(rows(0, 20 + at))
    tables, told = scan(tmp_path)
    assert [*tables] == ["firms_jan_2024.csv"]
    assert told == [
        "Older states of a table not read: 2 files, firms_dec_2023.csv to firms_jan_2024.csv"
    ]


def test_members_with_other_columns_are_another_table(tmp_path: Path) -> None:
    write(tmp_path, "a_2021.csv", "a_2022.csv", "a_2023.csv")
    for year in (2024, 2025):
        tmp_path.joinpath(f"a_{year}.csv").write_text(f"id,other\n{year},x\n")
    tables, told = scan(tmp_path)
    assert [*tables] == ["a_2023.csv", "a_2025.csv"]
    assert sorted(line.partition(": ")[2] for line in told) == [
        "2 files, a_2024.csv to a_2025.csv",
        "3 files, a_2021.csv to a_2023.csv",
    ]


def test_numbered_tables_that_refer_to_each_other_are_apart(tmp_path: Path) -> None:
    tmp_path.joinpath("t1.csv").write_text(rows(100, 40))
    values = "".join(f"{100 + at * 7 % 40},no {at}\n" for at in range(120))
    tmp_path.joinpath("t2.csv").write_text("id,label\n" + values)
    assert [*scan(tmp_path)[0]] == ["t1.csv", "t2.csv"]


def test_numbered_tables_with_unlike_ones_among_them_are_apart(tmp_path: Path) -> None:
    write(tmp_path, "T100.csv", "T101.csv", "T103.csv")
    tmp_path.joinpath("T102.csv").write_text("a,b\n1,2\n")
    assert len(scan(tmp_path)[0]) == 4


def test_folders_whose_keys_begin_anew_are_apart(tmp_path: Path) -> None:
    for year in (2023, 2024):
        path = tmp_path / f"{year}/people.csv"
        path.parent.mkdir()
        path.write_text("id,name\n" + "".join(f"{at},N{at * year}\n" for at in range(20)))
    assert len(scan(tmp_path)[0]) == 2


def test_columns_may_be_added_and_moved(tmp_path: Path) -> None:
    promos = [f"P{at * 37 % 1009}" for at in range(40)]
    tmp_path.joinpath("promos.csv").write_text("promo\n" + "".join(f"{p}\n" for p in promos))
    headers = ("no,item", "ITEM,NO", "no,item,promo")
    for at, header in enumerate(headers):
        lines = "".join(f"{at * 50 + row},{at * 70 + row * 3}" + "\n" for row in range(50))
        if at == 2:
            lines = "".join(
                f"{line},{promos[row % 40]}\n" for row, line in enumerate(lines.split())
            )
        tmp_path.joinpath(f"sales_{2020 + at}.csv").write_text(f"{header}\n{lines}")
    [record] = find_joins(tmp_path).records()
    assert (record["left"], record["right"]) == ("sales_2022.csv.promo", "promos.csv.promo")
    assert (record["rows"], record["sql_was_run"]) == (50, True)


def test_decisions_about_an_older_file_hold_for_the_newest(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    keys = [f"K{at * 37 % 1009}" for at in range(40)]
    lake.joinpath("items.csv").write_text("item\n" + "".join(f"{key}\n" for key in keys))
    for year in (2023, 2024):
        values = "".join(f"{year}{at},{keys[at % 40]}\n" for at in range(60))
        lake.joinpath(f"sales_{year}.csv").write_text(f"no,item\n{values}")
    assert find_joins(lake).records()
    decisions = tmp_path / "decisions.csv"
    decisions.write_text(
        "left_table,left_column,right_table,right_column,decision\n"
        "sales_2023.csv,item,items.csv,item,rejected\n"
    )
    found = find_joins(lake, decisions=decisions)
    assert (found.records(), len(found.warnings)) == ([], 1)


@pytest.mark.parametrize("year", [2022, 2024])
def test_an_excluded_file_is_no_part_of_a_table(tmp_path: Path, year: int) -> None:
    keys = [f"K{at * 37 % 1009}" for at in range(40)]
    tmp_path.joinpath("items.csv").write_text("item\n" + "".join(f"{key}\n" for key in keys))
    for each in (2022, 2023, 2024):
        values = "".join(f"{each}{at},{keys[at % 40]}\n" for at in range(60))
        tmp_path.joinpath(f"sales_{each}.csv").write_text(f"no,item\n{values}")
    found = find_joins(tmp_path, exclude=[f"sales_{year}.csv"])
    [record] = found.records()
    assert (record["rows"], record["sql_was_run"], "202[0-9]" in record["sql"]) == (
        120,
        True,
        False,
    )


LISTS = {
    "letters": (["A,Active", "I,Inactive"], ["DE,Germany", "FR,France", "IT,Italy"]),
    "as long": (["NEW,New", "PAY,Paid"], ["EUR,Euro", "USD,US Dollar", "CHF,Swiss Franc"]),
    "prefixes": ([f"S{at:02},Step {'abc'[at]}" for at in range(3)], ["C01,Red", "C02,Blue"]),
    "far numbers": (["10,Low", "20,High", "30,Top"], ["200,North", "210,South"]),
    "with flags": (["A,Active,Y", "I,Idle,N", "B,Busy,Y"], ["DE,Germany,N", "FR,France,Y"]),
    "with an order": (["A,Active,1", "I,Idle,2"], ["DE,Germany,1", "FR,France,2"]),
    "with one date": (["A,Active,2020-01-01", "I,Idle,2020-01-01"], ["DE,Germany,2020-01-01"]),
}
PARTS = {
    "numbers": (["1,Ada", "2,Bob", "3,Eve"], ["4,Ian", "6,Joe"], ["7,Max"]),
    "prefixes": (["C-01,Ada", "C-02,Bob"], ["C-73,Ian", "C-90,Joe"]),
    "codes": (["A1X9,Ada", "Q7B2,Bob"], ["P4L1,Ian", "B9Z8,Joe"]),
    "addresses": (["ada@x.org,Ada", "bob@y.org,Bob"], ["ian@x.org,Ian"]),
    "measures": (["Rome,2800.5", "Oslo,700.25"], ["Bonn,331.5", "Lima,10009"]),
    "dates": (["Ada,1815-12-10", "Bob,1920-03-04"], ["Ian,1954-11-30"]),
    "groups": (
        ["Ada,red", "Bob,blue", "Eve,red", "Kim,green"],
        ["Ian,blue", "Joe,blue", "Max,red"],
    ),
    "sizes": [
        [f"{'abcdefghijkl'[at]}{each},{each}" for at in range(12)] for each in ("xy", "pq", "rs")
    ],
}


def write_lists(folder: Path, stem: str, lists: Sequence[Sequence[str]]) -> None:
    header = ",".join(("code", "label", "other")[: 1 + lists[0][0].count(",")])
    for at, lines in enumerate(lists):
        folder.joinpath(f"{stem}{at + 1}.csv").write_text("\n".join((header, *lines, "")))


@pytest.mark.parametrize("lists", LISTS.values(), ids=LISTS)
def test_numbered_lists_of_codes_are_apart(tmp_path: Path, lists: Sequence[Sequence[str]]) -> None:
    write_lists(tmp_path, "lookup", lists)
    assert len(scan(tmp_path)[0]) == len(lists)


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_numbered_files_that_continue_are_one_table(
    tmp_path: Path, parts: Sequence[Sequence[str]]
) -> None:
    write_lists(tmp_path, "list", parts)
    assert [*scan(tmp_path)[0]] == [f"list{len(parts)}.csv"]


@pytest.mark.parametrize("lists", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("stem", ["names_part", "names-chunk-"])
def test_names_may_say_that_files_are_parts(
    tmp_path: Path, lists: Sequence[Sequence[str]], stem: str
) -> None:
    write_lists(tmp_path, stem, lists)
    assert len(scan(tmp_path)[0]) == 1


@pytest.mark.parametrize(
    "names",
    [
        ("rain_2022.csv", "rain_2023.csv", "rain_2024.csv"),
        ("2022/rain.csv", "2023/rain.csv", "2024/rain.csv"),
        ("rain_22.csv", "rain_23.csv", "rain_24.csv"),
    ],
)
@pytest.mark.parametrize("is_measured", [True, False])
def test_labels_with_a_measure_of_each_year_are_one_table(
    tmp_path: Path, names: Sequence[str], *, is_measured: bool
) -> None:
    for at, name in enumerate(names):
        tmp_path.joinpath(name).parent.mkdir(exist_ok=True)
        values = [str(place * 7 % 11 + 13 * at) for place in range(9)]
        lines = (
            f"Place {'abcdefghi'[place]},{value if is_measured else f'Team {value}'}\n"
            for place, value in enumerate(values)
        )
        tmp_path.joinpath(name).write_text("place,value\n" + "".join(lines))
    is_one = is_measured or names[0] == "rain_2022.csv"
    assert len(scan(tmp_path)[0]) == (1 if is_one else 3)


@pytest.mark.parametrize("first", [1, 100])
def test_numbered_measures_of_the_same_labels_are_apart(tmp_path: Path, first: int) -> None:
    for at in range(first, first + 4):
        lines = (f"{place},{len(place) * at}\n" for place in ("Rome", "Bonn", "Utrecht", "Lima"))
        tmp_path.joinpath(f"B{at}.csv").write_text("place,value\n" + "".join(lines))
    assert len(scan(tmp_path)[0]) == 4


KEYS = [f"K{at * 37 % 1009}" for at in range(40)]


def sales(year: int) -> pa.Table:
    return pa.table(
        {
            "no": [year * 1000 + row for row in range(50)],
            "item": [KEYS[(row * 7 + year) % 40] for row in range(50)],
            "price": [(row * 13 + year) % 23 + 0.5 for row in range(50)],
        }
    )


def write_in_format(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".xlsx":
        book = Workbook()
        rows = ([*row.values()] for row in table.to_pylist())
        for row in (table.column_names, *rows):
            book.worksheets[0].append(row)
        book.save(path)
    else:
        with (
            pa.CompressedOutputStream(path, "gzip")
            if path.suffix == ".gz"
            else path.open("wb") as file
        ):
            csv.write_csv(table, file)


@pytest.mark.parametrize(
    "names",
    [
        ("2021.csv", "2022.parquet", "2023.xlsx"),
        ("sales_2021.xlsx", "sales_2022.csv.gz", "sales_2023.parquet"),
        ("2021/sales.csv", "2022/sales.parquet", "2023/sales.csv"),
        ("sales_1.csv", "sales_2.parquet", "sales_3.csv"),
    ],
)
def test_files_of_several_formats_are_a_series(tmp_path: Path, names: Sequence[str]) -> None:
    tmp_path.joinpath("items.csv").write_text("\n".join(("item", *KEYS, "")))
    for at, name in enumerate(names):
        write_in_format(tmp_path / name, sales(2021 + at))
    found = find_joins(tmp_path)
    assert len(found.tables) == 2
    [record] = found.records()
    assert (record["left"].startswith(names[-1]), record["right"]) == (True, "items.csv.item")
    assert (record["rows"], record["role"], record["sql"]) == (150, "reference", "")
    assert "files of several formats" in record["no_sql"]


def test_a_file_of_other_columns_leaves_a_series_its_format(tmp_path: Path) -> None:
    for year in (2021, 2022):
        write_in_format(tmp_path / f"sales_{year}.csv", sales(year))
    write_in_format(tmp_path / "sales_2023.parquet", sales(2023).rename_columns(["a", "b", "c"]))
    tables, _ = scan(tmp_path)
    assert [*tables] == ["sales_2022.csv", "sales_2023.parquet"]
    location = tables["sales_2022.csv"].location
    assert isinstance(location, Folder)
    assert (location.format, location.pattern) == ("csv", "sales_202*.csv")


def test_files_in_two_formats_are_two_series(tmp_path: Path) -> None:
    for year in (2021, 2022):
        for suffix in (".csv", ".parquet"):
            write_in_format(tmp_path / f"sales_{year}{suffix}", sales(year))
    assert [*scan(tmp_path)[0]] == ["sales_2022.csv", "sales_2022.parquet"]


def test_only_the_first_sheet_is_of_a_series_in_several_formats(tmp_path: Path) -> None:
    write_in_format(tmp_path / "sales_2021.csv", sales(2021))
    write_in_format(tmp_path / "sales_2022.xlsx", sales(2022))
    book = load_workbook(tmp_path / "sales_2022.xlsx")
    book.create_sheet("Notes", 0)
    book.save(tmp_path / "sales_2022.xlsx")
    selection = TableSelection(
        platform="file", env="DEV", options=(FileOptions(pattern="*.xlsx", sheet="Sheet"),)
    )
    tables = scan_folder(tmp_path, selection, warn=lambda *_: None)
    assert [table.id.name for table in tables] == ["sales_2021.csv", "sales_2022.xlsx/Sheet"]


@pytest.mark.parametrize(
    "revision", ["_v2", " v2", "-version2", "_final", "_corrected", " (1)", "_rev", ".v02"]
)
def test_a_revision_replaces_its_file(tmp_path: Path, revision: str) -> None:
    for year in (2022, 2023, 2024):
        write_in_format(tmp_path / f"sales_{year}.csv", sales(year))
    prices = pa.array([1.5] * 50)
    write_in_format(
        tmp_path / f"sales_2023{revision}.csv", sales(2023).set_column(2, "price", prices)
    )
    [table] = scan(tmp_path)[0].values()
    assert isinstance(table.location, Folder)
    parts = ("sales_2022.csv", f"sales_2023{revision}.csv", "sales_2024.csv")
    assert (table.id.name, table.location.parts) == (parts[-1], parts)
    assert {each.name for each in table.members} == {*parts[:2], "sales_2023.csv"}


def test_a_file_called_as_a_revision_with_other_keys_is_a_part(tmp_path: Path) -> None:
    for name, year in (("2022_v1", 2022), ("2023_v1", 2023), ("2023_v2", 2030)):
        write_in_format(tmp_path / f"sales_{name}.csv", sales(year))
    [table] = scan(tmp_path)[0].values()
    assert isinstance(table.location, Folder)
    assert len(table.location.parts) == 3


def test_of_revisions_of_one_year_the_last_is_read(tmp_path: Path) -> None:
    for name in ("sales_2023_v1.csv", "sales_2023_v2.csv"):
        write_in_format(tmp_path / name, sales(2023))
    assert [*scan(tmp_path)[0]] == ["sales_2023_v2.csv"]


def test_folders_that_spark_wrote_are_a_series(tmp_path: Path) -> None:
    for year in (2023, 2024):
        write(tmp_path, f"orders/{year}/part-00000.csv")
        tmp_path.joinpath(f"orders/{year}/part-00000.csv").write_text(rows(year * 100))
    [table] = scan(tmp_path)[0].values()
    assert isinstance(table.location, Folder)
    assert (table.id.name, table.title) == ("orders/2024", "orders")
    assert table.location.parts == ("2023/part-00000.csv", "2024/part-00000.csv")


@pytest.mark.parametrize("names", [("a.xlsx", "a.xlsx"), ("a_2023.xlsx", "a_2024.xlsx")])
def test_sheets_are_a_series(tmp_path: Path, names: tuple[str, str]) -> None:
    keys = [f"K{at * 37 % 1009}" for at in range(40)]
    tmp_path.joinpath("items.csv").write_text("item\n" + "".join(f"{key}\n" for key in keys))
    books = {name: Workbook() for name in names}
    for at, (name, title) in enumerate(zip(names, ("Jan", "Feb"), strict=True)):
        sheet = books[name].create_sheet(title if len(books) == 1 else "Data")
        sheet.append(["no", "item"])
        for row in range(50):
            sheet.append([at * 50 + row, keys[row % 40]])
    for name, book in books.items():
        book.remove(book.worksheets[0])
        book.save(tmp_path / name)
    found = find_joins(tmp_path)
    assert len(found.tables) == 2
    [record] = found.records()
    assert (record["right"], record["rows"]) == ("items.csv.item", 100)


def test_of_many_files_few_headers_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, *(f"log_{at:04}.csv" for at in range(500)))
    read = list[File]()

    def note(file: File, paths: Paths) -> TableStream:
        read.append(file)
        return read_file(file, paths)

    monkeypatch.setattr(series, "read_file", note)
    assert [*scan(tmp_path)[0]] == ["log_0499.csv"]
    assert len(read) <= 40


@pytest.mark.parametrize("start", ["", "[v1] it's "])
def test_the_sql_of_a_series_reads_its_files_alone(tmp_path: Path, start: str) -> None:
    keys = [f"K{at * 37 % 1009}" for at in range(40)]
    tmp_path.joinpath("items.csv").write_text("item\n" + "".join(f"{key}\n" for key in keys))
    for at, name in enumerate(("a_jan.csv", "a_feb.csv", "a_x.csv", "a_[y].csv")):
        values = "".join(f"{at * 50 + row},{keys[row % 40]}\n" for row in range(50))
        header = "no,item\n" if at < 2 else "no,item,other\n"
        tmp_path.joinpath(start + name).write_text(
            header + (values if at < 2 else values.replace("\n", ",1\n"))
        )
    found = find_joins(tmp_path)
    [record] = [
        each
        for each in found.records()
        if (each["left"], each["right"]) == (f"{start}a_feb.csv.item", "items.csv.item")
    ]
    assert (record["rows"], record["sql_was_run"]) == (100, True)
    assert "a_jan.csv" in record["sql"]
    assert "a_x.csv" not in record["sql"]


def test_of_files_of_hudi_the_newest_versions_are_one_table(tmp_path: Path) -> None:
    groups = [f"{guid}-0" for guid in GUIDS]
    commits = ("20240101120000123", "20240102120000123")
    names = [f"{groups[0]}_0-22-31_{commits[0]}", f"{groups[0]}_0-23-32_{commits[1]}"]
    names.append(f"{groups[1]}_0-22-31_{commits[0]}")
    tmp_path.joinpath("orders").mkdir()
    for at, name in enumerate(names):
        column = [f"K{at * 100 + row}" for row in range(20)]
        pq.write_table(pa.table({"order": column}), tmp_path / f"orders/{name}.parquet")
    tables, told = scan(tmp_path)
    [table] = tables.values()
    assert (table.id.name, told) == ("orders", [])
    assert isinstance(table.location, Folder)
    assert {*table.location.parts} == {f"{name}.parquet" for name in names[1:]}


def test_all_folders_of_a_table_of_hudi_are_one_table(tmp_path: Path) -> None:
    for place in ("asia", "europe"):
        path = tmp_path / f"orders/{place}/{GUIDS[0]}-0_0-22-31_20240101120000123.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"order": [place]}), path)
    hidden = (".hoodie/hoodie.properties", f"asia/.{GUIDS[0]}-0_20240101120000123.log.1_0-22-33")
    for name in (*hidden, ".hoodie/20240101120000123.commit"):
        tmp_path.joinpath("orders", name).parent.mkdir(exist_ok=True)
        tmp_path.joinpath("orders", name).write_text("hoodie.table.name=orders")
    told: list[str] = []
    selection = TableSelection(platform="file", env="DEV")
    [table] = scan_folder(tmp_path, selection, warn=lambda *each: told.append(": ".join(each)))
    assert (table.id.name, len(told)) == ("orders", 1)
    assert told[0] == (
        "Log files of Hudi not read: Rows changed since the last compaction are read as they were. "
        "Compact the table, or read it with Spark through `connections`: 1 file, for example "
        f"orders/{hidden[1]}"
    )
