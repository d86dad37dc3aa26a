"""Test which files are one table, and which are tables of their own."""

from fnmatch import fnmatchcase
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.catalog import series
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import File, Folder
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
    ],
)
def test_names_tell_a_series(tmp_path: Path, names: tuple[str, ...], title: str) -> None:
    lake = tmp_path / "lake"
    write(lake, *names, "other.csv")
    tables, told = scan(lake)
    assert [*tables] == sorted([names[-1], "other.csv"])
    table = tables[names[-1]]
    assert isinstance(table.location, Folder)
    assert {*table.location.parts} == {Path(name).name for name in names}
    assert table.location.pattern
    assert not fnmatchcase("other.csv", table.location.pattern)
    assert table.title == title
    assert told[0].startswith(f"Files read as one table: {len(names)} files, ")
    assert len(scan(lake, separate=True)[0]) == len(names) + 1


@pytest.mark.parametrize(
    "names",
    [("a_2.csv", "a_3.csv"), ("s10005.csv", "s99024.csv"), ("1.csv", "2.csv"), ("a.csv", "b.csv")],
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
        tmp_path.joinpath(f"a_{year}.csv").write_text(f"id,label,more\n{year},x,y\n")
    tables, told = scan(tmp_path)
    assert [*tables] == ["a_2023.csv", "a_2025.csv"]
    assert [line.partition(": ")[2] for line in told] == [
        "3 files, a_2021.csv to a_2023.csv",
        "2 files, a_2024.csv to a_2025.csv",
    ]


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


def test_the_sql_of_a_series_reads_its_files_alone(tmp_path: Path) -> None:
    keys = [f"K{at * 37 % 1009}" for at in range(40)]
    tmp_path.joinpath("items.csv").write_text("item\n" + "".join(f"{key}\n" for key in keys))
    for at, name in enumerate(("a_jan.csv", "a_feb.csv", "a_x.csv", "a_[y].csv")):
        values = "".join(f"{at * 50 + row},{keys[row % 40]}\n" for row in range(50))
        header = "no,item\n" if at < 2 else "no,item,other\n"
        tmp_path.joinpath(name).write_text(
            header + (values if at < 2 else values.replace("\n", ",1\n"))
        )
    found = find_joins(tmp_path)
    [record] = [
        each
        for each in found.records()
        if (each["left"], each["right"]) == ("a_feb.csv.item", "items.csv.item")
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
