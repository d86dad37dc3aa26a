"""Benchmarks as folders, and what is said of those that cannot be used."""

import re
import shutil
from pathlib import Path

import pytest

from datahub_hyperjoin.evaluate.errors import SuiteError
from datahub_hyperjoin.evaluate.suite import ColumnName, read_suite, read_suites

HEADER = "query_table,query_column,candidate_table,candidate_column,kind"


def refuse(folder: Path, message: str) -> None:
    with pytest.raises(SuiteError, match=re.escape(message)):
        read_suite(folder)


def append(file: Path, line: str) -> None:
    file.write_text(f"{file.read_text()}{line}\n")


def test_a_benchmark_is_read_in_its_order(benchmark: Path) -> None:
    suite = read_suite(benchmark)
    assert suite.name == "small"
    assert list(map(str, suite.truth)) == ["flights.carrier", "airlines.carrier", "planes.tailnum"]
    assert suite.truth[ColumnName("planes", "tailnum")] == {ColumnName("flights", "tailnum")}
    assert suite.headers["airports"] == {"faa", "town"}
    assert suite.has(ColumnName("airports", "faa"))
    assert not suite.has(ColumnName("airports", "carrier"))
    assert not suite.has(ColumnName("ports", "faa"))


def test_a_marked_file_with_empty_lines_and_quoted_names_is_read(benchmark: Path) -> None:
    tables = benchmark / "tables"
    tables.joinpath("odd.csv").write_text('"a, b",c\n1,2\n')
    text = benchmark.joinpath("queries.csv").read_text()
    benchmark.joinpath("queries.csv").write_text(f'\ufeff{text}\n\nodd,"a, b",code\n')
    append(benchmark / "ground_truth.csv", 'odd,"a, b",planes,tailnum,fk')
    assert ColumnName("odd", "a, b") in read_suite(benchmark).truth


@pytest.mark.parametrize("name", ["queries.csv", "ground_truth.csv", "tables"])
def test_what_is_missing_is_named(benchmark: Path, name: str) -> None:
    path = benchmark / name
    if path.is_dir():
        shutil.rmtree(path)
        path = path / "*.csv"
    else:
        path.unlink()
    refuse(benchmark, f"{path} is missing. A benchmark's folder has tables/*.csv, queries.csv and")


def test_a_missing_column_is_named(benchmark: Path) -> None:
    file = benchmark / "queries.csv"
    file.write_text("tables,column\nflights,carrier\n")
    refuse(benchmark, f"{file} has no column table: its header is 'tables,column'. Add what is")


def test_an_empty_file_lacks_all_columns(benchmark: Path) -> None:
    file = benchmark / "ground_truth.csv"
    file.write_text("")
    refuse(benchmark, f"{file} has no column query_table, query_column, candidate_table")


def test_a_row_that_does_not_fit_is_named_by_its_line(benchmark: Path) -> None:
    file = benchmark / "ground_truth.csv"
    append(file, "flights,origin,airports,faa")
    refuse(benchmark, f"{file} line 7 has another number of fields than the header. Quote")


def test_a_repeated_query_is_named(benchmark: Path) -> None:
    append(benchmark / "queries.csv", "flights,carrier,code")
    refuse(benchmark, "queries.csv line 5 repeats the query flights.carrier. Remove one of")


def test_a_query_that_no_table_has_is_named(benchmark: Path) -> None:
    append(benchmark / "queries.csv", "flights.csv,carrier,code")
    refuse(benchmark, "line 5 names a column 'carrier' of a table 'flights.csv', and the folder")


def test_an_answer_that_no_table_has_is_named(benchmark: Path) -> None:
    append(benchmark / "ground_truth.csv", "flights,carrier,airlines,code,fk")
    refuse(benchmark, "ground_truth.csv line 7 names a column 'code' of a table 'airlines'")


def test_an_answer_to_no_query_is_named(benchmark: Path) -> None:
    append(benchmark / "ground_truth.csv", "flights,origin,airports,faa,fk")
    refuse(benchmark, "line 7 answers flights.origin, which is no query. Add it to queries.csv")


def test_an_answer_in_the_query_s_own_table_is_named(benchmark: Path) -> None:
    append(benchmark / "ground_truth.csv", "flights,carrier,flights,origin,fk")
    refuse(benchmark, "line 7 answers flights.carrier by its own table. Remove the line")


def test_a_query_without_answers_is_named(benchmark: Path) -> None:
    append(benchmark / "queries.csv", "flights,origin,code")
    refuse(benchmark, "queries.csv line 5 asks for flights.origin, to which ground_truth.csv has")


def test_a_benchmark_without_queries_is_refused(benchmark: Path) -> None:
    benchmark.joinpath("queries.csv").write_text("table,column\n")
    refuse(benchmark, "queries.csv has no query. Add one a line: the table, the column")


def test_bytes_that_are_no_text_are_refused(benchmark: Path) -> None:
    file = benchmark / "queries.csv"
    file.write_bytes(b"table,column\nfl\xffights,carrier\n")
    refuse(benchmark, f"{file} cannot be read: it is not UTF-8")


def test_a_file_that_is_no_csv_is_refused(benchmark: Path) -> None:
    file = benchmark / "queries.csv"
    file.write_text(f'table,column\n"{"x" * 200_000}",carrier\n')
    refuse(benchmark, f"{file} cannot be read: field larger than field limit (131072). Write it")


def test_two_benchmarks_of_one_name_are_refused(benchmark: Path, tmp_path: Path) -> None:
    copy = tmp_path / "other" / "small"
    shutil.copytree(benchmark, copy)
    with pytest.raises(SuiteError, match=r"two folders are called 'small'\. Rename one"):
        read_suites([benchmark, copy])
