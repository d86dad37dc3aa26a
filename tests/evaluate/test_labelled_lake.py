"""Test how labelled lakes are read, and the errors for unusable folders."""

import re
import shutil
from pathlib import Path

import pytest

from datahub_hyperjoin.evaluate.errors import LabelledLakeError
from datahub_hyperjoin.evaluate.labelled_lake import (
    ColumnName,
    read_labelled_lake,
    read_labelled_lakes,
)

HEADER = "query_table,query_column,candidate_table,candidate_column,kind"


def refuse(folder: Path, message: str) -> None:
    with pytest.raises(LabelledLakeError, match=re.escape(message)):
        read_labelled_lake(folder)


def append(file: Path, line: str) -> None:
    file.write_text(f"{file.read_text()}{line}\n")


def test_a_benchmark_is_read_in_its_order(labelled_lake: Path) -> None:
    suite = read_labelled_lake(labelled_lake)
    assert suite.name == "small"
    assert list(map(str, suite.truth)) == ["flights.carrier", "airlines.carrier", "planes.tailnum"]
    assert suite.truth[ColumnName("planes", "tailnum")] == {ColumnName("flights", "tailnum")}
    assert suite.headers["airports"] == {"faa", "town"}
    assert suite.has(ColumnName("airports", "faa"))
    assert not suite.has(ColumnName("airports", "carrier"))
    assert not suite.has(ColumnName("ports", "faa"))


def test_a_marked_file_with_empty_lines_and_quoted_names_is_read(labelled_lake: Path) -> None:
    tables = labelled_lake / "tables"
    tables.joinpath("odd.csv").write_text('"a, b",c\n1,2\n')
    text = labelled_lake.joinpath("queries.csv").read_text()
    labelled_lake.joinpath("queries.csv").write_text(f'\ufeff{text}\n\nodd,"a, b",code\n')
    append(labelled_lake / "ground_truth.csv", 'odd,"a, b",planes,tailnum,fk')
    assert ColumnName("odd", "a, b") in read_labelled_lake(labelled_lake).truth


@pytest.mark.parametrize("name", ["queries.csv", "ground_truth.csv", "tables"])
def test_what_is_missing_is_named(labelled_lake: Path, name: str) -> None:
    path = labelled_lake / name
    if path.is_dir():
        shutil.rmtree(path)
        path = path / "*.csv"
    else:
        path.unlink()
    refuse(labelled_lake, f"{path} is missing. A labelled lake is a folder with tables/*.csv,")


def test_a_missing_column_is_named(labelled_lake: Path) -> None:
    file = labelled_lake / "queries.csv"
    file.write_text("tables,column\nflights,carrier\n")
    refuse(
        labelled_lake, f"{file} has no column table: its header is 'tables,column'. Add the missing"
    )


def test_an_empty_file_lacks_all_columns(labelled_lake: Path) -> None:
    file = labelled_lake / "ground_truth.csv"
    file.write_text("")
    refuse(labelled_lake, f"{file} has no column query_table, query_column, candidate_table")


def test_a_row_that_does_not_fit_is_named_by_its_line(labelled_lake: Path) -> None:
    file = labelled_lake / "ground_truth.csv"
    append(file, "flights,origin,airports,faa")
    refuse(labelled_lake, f"{file} line 7 has more or fewer fields than the header. Quote")


def test_a_repeated_query_is_named(labelled_lake: Path) -> None:
    append(labelled_lake / "queries.csv", "flights,carrier,code")
    refuse(labelled_lake, "queries.csv line 5 repeats the query column flights.carrier. Remove the")


def test_a_query_that_no_table_has_is_named(labelled_lake: Path) -> None:
    append(labelled_lake / "queries.csv", "flights.csv,carrier,code")
    refuse(
        labelled_lake,
        "line 5 names the column 'carrier' of the table 'flights.csv', which the folder",
    )


def test_an_answer_that_no_table_has_is_named(labelled_lake: Path) -> None:
    append(labelled_lake / "ground_truth.csv", "flights,carrier,airlines,code,fk")
    refuse(labelled_lake, "ground_truth.csv line 7 names the column 'code' of the table 'airlines'")


def test_an_answer_to_no_query_is_named(labelled_lake: Path) -> None:
    append(labelled_lake / "ground_truth.csv", "flights,origin,airports,faa,fk")
    refuse(
        labelled_lake,
        "line 7 has a join of flights.origin, which is not a query column. Add it to queries.csv",
    )


def test_an_answer_in_the_query_s_own_table_is_named(labelled_lake: Path) -> None:
    append(labelled_lake / "ground_truth.csv", "flights,carrier,flights,origin,fk")
    refuse(
        labelled_lake,
        "line 7 joins flights.carrier with its own table, which no method considers. Remove the",
    )


def test_a_query_without_answers_is_named(labelled_lake: Path) -> None:
    append(labelled_lake / "queries.csv", "flights,origin,code")
    refuse(
        labelled_lake,
        "queries.csv line 5 lists the query column flights.origin, which has no join in",
    )


def test_a_benchmark_without_queries_is_refused(labelled_lake: Path) -> None:
    labelled_lake.joinpath("queries.csv").write_text("table,column\n")
    refuse(labelled_lake, "queries.csv lists no query column. Add lines with a table and a column")


def test_bytes_that_are_no_text_are_refused(labelled_lake: Path) -> None:
    file = labelled_lake / "queries.csv"
    file.write_bytes(b"table,column\nfl\xffights,carrier\n")
    refuse(labelled_lake, f"{file} cannot be read: it is not UTF-8")


def test_a_file_that_is_no_csv_is_refused(labelled_lake: Path) -> None:
    file = labelled_lake / "queries.csv"
    file.write_text(f'table,column\n"{"x" * 200_000}",carrier\n')
    refuse(
        labelled_lake, f"{file} cannot be read: field larger than field limit (131072). Write it"
    )


def test_two_benchmarks_of_one_name_are_refused(labelled_lake: Path, tmp_path: Path) -> None:
    copy = tmp_path / "other" / "small"
    shutil.copytree(labelled_lake, copy)
    with pytest.raises(LabelledLakeError, match=r"two folders are called 'small'\. Rename one"):
        read_labelled_lakes([labelled_lake, copy])
