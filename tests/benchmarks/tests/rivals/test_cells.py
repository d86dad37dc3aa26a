"""Test that all cells are read, and that they are parsed as in the pipeline."""

from dataclasses import replace
from pathlib import Path

from benchmarks.rivals.cells import read_cells
from lakes.rivalry import named, suite


def test_values_are_texts_that_are_counted(tmp_path: Path) -> None:
    shop = suite(tmp_path, {"shop": {"id": ["007", "7", "007", ""], "gone": ["NA", "", "", "NA "]}})
    code, gone = read_cells(shop)
    assert (code.name, dict(code.counts)) == (named("shop.id"), {"007": 2, "7": 1})
    assert (gone.name, dict(gone.counts)) == (named("shop.gone"), {"NA": 1, "NA ": 1})


def test_all_rows_are_read(tmp_path: Path) -> None:
    rows = 30_000
    [column] = read_cells(suite(tmp_path, {"long": {"row": range(rows)}}))
    assert len(column.counts) == rows


def test_columns_without_values_and_tables_without_rows_are_left_out(tmp_path: Path) -> None:
    found = read_cells(suite(tmp_path, {"a": {"x": ["1"], "void": [""]}, "b": {"x": []}}))
    assert [column.name for column in found] == [named("a.x")]


def test_a_table_that_cannot_be_read_stops_no_other(tmp_path: Path) -> None:
    lake = suite(tmp_path, {"good": {"x": ["1"]}, "broken": {"x": ["1"]}})
    tmp_path.joinpath("tables", "broken.csv").write_bytes(b"\0\1\2" * 100)
    assert [column.name for column in read_cells(lake)] == [named("good.x")]


def test_delimiters_are_found_as_the_product_finds_them(tmp_path: Path) -> None:
    lake = suite(tmp_path, {"shop": {"id": [], "price": []}})
    tmp_path.joinpath("tables", "shop.csv").write_text('id;price\n1;"1,20"\n2;"0,80"\n')
    assert [dict(column.counts) for column in read_cells(lake)] == [
        {"1": 1, "2": 1},
        {"1,20": 1, "0,80": 1},
    ]


def test_a_part_of_a_lake_has_the_tables_that_are_left(tmp_path: Path) -> None:
    whole = suite(tmp_path, {"a": {"x": ["1"]}, "b": {"x": ["1"]}})
    part = replace(whole, headers={"b": whole.headers["b"]})
    assert [column.name.table for column in read_cells(whole)] == ["a", "b"]
    assert [column.name.table for column in read_cells(part)] == ["b"]


def test_a_lake_is_read_once_for_all_rivals(tmp_path: Path) -> None:
    lake = suite(tmp_path, {"a": {"x": ["1"]}})
    before = read_cells(lake)
    tmp_path.joinpath("tables", "a.csv").unlink()
    assert read_cells(lake) is before
