"""Test that each kind of messy file is read well enough for its join to be found."""

import gzip
import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from datahub_hyperjoin import FoundJoins, find_joins
from lakes.workbooks import write_workbook

CITIES = (
    ("00501", "Łódź", 12.5),
    ("00602", "Kraków", 7.25),
    ("01003", "Poznań", 3.5),
    ("02108", "Gdańsk", 4.75),
    ("03301", "Wrocław", 6.5),
    ("04101", "Białystok", 2.25),
    ("05401", "Rzeszów", 1.5),
    ("06103", "Częstochowa", 9.75),
    ("07102", "Toruń", 8.25),
    ("08608", "Płock", 5.5),
    ("09103", "Świdnica", 10.25),
    ("10001", "Zamość", 11.75),
)
"""Codes with leading zeros, names that Windows-1252 cannot encode, and decimal numbers."""
LINES = [f"{code},{name},{share}\n" for code, name, share in CITIES]
CSV = "zip,city,share\n" + "".join(LINES)


def write(text: str, name: str, encoding: str = "utf-8") -> Callable[[Path], None]:
    def into(folder: Path) -> None:
        folder.joinpath(name).write_bytes(text.encode(encoding))

    return into


def _array(folder: Path) -> None:
    rows = [{"zip": code, "place": {"city": city}} for code, city, _ in CITIES]
    folder.joinpath("cities.json").write_text(json.dumps(rows, indent=1))


def _arrays(folder: Path) -> None:
    codes, names, shares = zip(*CITIES, strict=True)
    columns = {"zip": codes, "city": names, "share": shares}
    folder.joinpath("cities.json").write_text(json.dumps(columns))


def _workbook(folder: Path) -> None:
    rows: list[Sequence[str | float | None]] = [[*city] for city in CITIES]
    sheets: dict[str, Sequence[Sequence[str | float | None]]] = {
        "Notes": [["note"], ["made by hand"]],
        "Cities": [["zip", "city", "share"], *rows],
    }
    write_workbook(folder / "places.xlsx", sheets)


def _frame() -> pd.DataFrame:
    return pd.DataFrame(CITIES, columns=["zip", "city", "share"])


def _sqlite(folder: Path) -> None:
    connection = sqlite3.connect(folder / "places.db")
    _frame().to_sql("cities", connection, index=False)
    connection.commit()
    connection.close()


def _duckdb(folder: Path) -> None:
    with duckdb.connect(str(folder / "places.duckdb")) as connection:
        connection.from_df(_frame()).create("cities")


def _fixed_widths(folder: Path) -> None:
    lines = [f"{code:<6}{name:<14}{share:>6}\n" for code, name, share in CITIES]
    folder.joinpath("cities.fwf").write_text("".join(lines))
    schema = "column,start,length\nzip,1,6\ncity,7,14\nshare,21,6\n"
    folder.joinpath("cities.fwf.schema").write_text(schema)


def _compressed(folder: Path) -> None:
    folder.joinpath("cities.csv.gz").write_bytes(gzip.compress(CSV.encode()))


def _parts(folder: Path) -> None:
    for part in range(2):
        path = folder / "cities" / f"half={part}" / "part-0.csv"
        path.parent.mkdir(parents=True)
        path.write_text("zip,city,share\n" + "".join(LINES[part::2]))


SEMICOLONS = "zip;city;share\n" + "".join(
    f"{code};{name};{share}\n".replace(".", ",") for code, name, share in CITIES
)
KINDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "JSON array": (_array, "cities.json.zip"),
    "object of arrays": (_arrays, "cities.json.zip"),
    "workbook of several sheets": (_workbook, "places.xlsx/Cities.zip"),
    "SQLite": (_sqlite, "places.db/cities.zip"),
    "DuckDB": (_duckdb, "places.duckdb/cities.zip"),
    "fixed widths": (_fixed_widths, "cities.fwf.zip"),
    "unnamed first column": (
        write(CSV.removeprefix("zip"), "cities.csv"),
        "cities.csv.row_name",
    ),
    "row names without a field": (
        write(CSV.removeprefix("zip,"), "cities.csv"),
        "cities.csv.row_name",
    ),
    "title lines": (
        write(f"Cities of Poland\nSource: own survey\n\n{CSV}", "cities.csv"),
        "cities.csv.zip",
    ),
    "UTF-16": (write(CSV, "cities.csv", "utf-16"), "cities.csv.zip"),
    "byte order mark": (write(CSV, "cities.csv", "utf-8-sig"), "cities.csv.zip"),
    "text": (write(CSV.replace(",", "|"), "cities.txt"), "cities.txt.zip"),
    "tabs": (write(CSV.replace(",", "\t"), "cities.csv"), "cities.csv.zip"),
    "semicolons and decimal commas": (write(SEMICOLONS, "cities.csv"), "cities.csv.zip"),
    "gzip": (_compressed, "cities.csv.gz.zip"),
    "folder of parts": (_parts, "cities.zip"),
}


def orders(folder: Path, column: str, values: Sequence[object]) -> None:
    lines = [f"{9000 + at},{values[at * 7 % len(values)]}\n" for at in range(90)]
    folder.joinpath("orders.csv").write_text(f"order_id,{column}\n" + "".join(lines))


def references(found: FoundJoins) -> set[tuple[str, str]]:
    return {(str(join.referring), str(join.referenced)) for join in found if join.referenced}


@pytest.mark.parametrize("kind", KINDS)
def test_the_join_is_found_through_each_kind_of_file(kind: str, tmp_path: Path) -> None:
    write_messy, key = KINDS[kind]
    write_messy(tmp_path)
    orders(tmp_path, "zip_code", [code for code, *_ in CITIES])
    found = find_joins(tmp_path, sql=False)
    assert ("orders.csv.zip_code", key) in references(found)
    assert not found.not_read
    assert not [each for each in found.warnings if each.title == "Files not read"]
    # A number would have lost the leading zeros, on both sides alike; so the samples are compared.
    [profile] = [each for each in found.findings.profiles if "cities" in str(each.table.id).lower()]
    [column] = [each for each in profile.columns if str(each.id) == key]
    assert "00501" in column.sample


@pytest.mark.parametrize("encoding", ["cp1250", "iso8859-2", "cp852"])
def test_names_join_across_encodings(encoding: str, tmp_path: Path) -> None:
    write(CSV, "cities.csv", encoding)(tmp_path)
    orders(tmp_path, "city", [name for _, name, _ in CITIES])
    found = find_joins(tmp_path, sql=False)
    assert ("orders.csv.city", "cities.csv.city") in references(found)
    [join] = [join for join in found if join.left.path == join.right.path == "city"]
    assert join.measured.shared == len(CITIES)


def test_decimal_commas_are_called_numbers_and_join_as_numbers(tmp_path: Path) -> None:
    prices = [f"{1 + at % 9}.{100 + at},{10 + at % 90}" for at in range(60)]
    points = [price.replace(".", "").replace(",", ".") for price in prices]
    tmp_path.joinpath("a.csv").write_text("preis;x\n" + "".join(f"{each};1\n" for each in prices))
    tmp_path.joinpath("b.csv").write_text("price,x\n" + "".join(f"{each},1\n" for each in points))
    found = find_joins(tmp_path, sql=False)
    [join] = [join for join in found if "a.csv.preis" in {str(join.left), str(join.right)}]
    assert join.measured.compared_as == "numbers"
    assert '"preis",true,"number with decimal comma",60,false]' in found.to_html()
