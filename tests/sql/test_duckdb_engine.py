"""Test the SQL that DuckDB runs on files, and run it again in a separate DuckDB as people would."""

import bz2
import gzip
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from time import sleep
from typing import Any

import pyarrow as pa
import pytest

from datahub_hyperjoin.joins import Join, Statement
from datahub_hyperjoin.locations import Dialect, File, Folder
from datahub_hyperjoin.sql.duckdb_engine import DuckDbEngine
from datahub_hyperjoin.sql.errors import TimeLimitError
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, Table, TableId

MakeFile = Callable[..., Table]
MakeJoin = Callable[..., Join]
Run = Callable[..., list[Statement]]
RowsOf = Callable[[Statement], int]


@pytest.mark.parametrize(
    "case",
    [
        (
            b"x;y\n1,5;'a;b'\n2,5;c\n",
            Dialect(delimiter=";", quote="'"),
            "READ_CSV('a.csv', delim = ';', quote = '''')",
        ),
        ("x;y\nMünchen;1\nKöln;2\n".encode("latin-1"), Dialect(encoding="latin-1"), "'latin-1'"),
        ("x;y\nMünchen;1\nKöln;2\n".encode("latin-1"), Dialect(), "encoding = 'latin-1'"),
        ("x;y\nMünchen;1\nKöln;2\n".encode("utf-16"), Dialect(encoding="utf-16"), "'utf-16'"),
        (b"x;y\nA\\;B;1\nC;2\n", Dialect(delimiter=";", quote="", escape="\\"), "escape = "),
        (b"x^y\na^1\nb^2\n", Dialect(), "delim = '^'"),
        (b"x\x01y\na\x011\nb\x012\n", Dialect(), "delim = CHR(1)"),
        (gzip.compress(b"x,y\na,1\nb,2\n"), Dialect(), "compression = 'gzip'"),
        ("x,y\na,1\nb,2\n".encode("utf-16-le"), Dialect(), "encoding = 'utf-16'"),
        (b"x,y,z\na,1,2\nb\n", Dialect(), "null_padding = TRUE"),
        (b"Report\n\nx,y,z\na,1,7\nb,2,8\n\n", Dialect(), ""),
    ],
    ids=[
        *("delimiter and quote", "given encoding", "found encoding", "UTF-16", "escape"),
        *("caret", "control character", "gzip", "UTF-16 without a mark", "short row"),
        "title lines",
    ],
)
def test_files_are_read_with_the_options_that_they_need(
    case: tuple[bytes, Dialect, str],
    make_file: MakeFile,
    make_join: MakeJoin,
    run: Run,
    rows_of: RowsOf,
) -> None:
    content, dialect, part = case
    first = make_file("a.csv", content, dialect)
    second = make_file("b.csv", content, dialect)
    [found] = run(make_join(((first, "x"), (second, "x")), rows=2), tables=[first, second])
    assert found.reason == ""
    assert part in found.sql
    assert rows_of(found) == 2


def test_numbers_that_are_codes_are_read_as_text_where_that_agrees(
    make_file: MakeFile, make_join: MakeJoin, run: Run, rows_of: RowsOf
) -> None:
    """Use values that change if DuckDB guesses their type from the first rows."""
    first = make_file("a.csv", "x\n" + "".join(f"{at}.50\n" for at in range(10, 20)))
    second = make_file("b.csv", "x\n" + "".join(f"{at}.5\n" for at in range(10, 19)) + "19.50\n")
    [found] = run(make_join(((first, "x"), (second, "x")), rows=1), tables=[first, second])
    assert "all_varchar = TRUE" in found.sql
    assert rows_of(found) == found.rows == 1


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "tsv"])
def test_folders_of_files_and_their_partition_keys_are_read(
    suffix: str, make_file: MakeFile, make_join: MakeJoin, tmp_path: Path, run: Run, rows_of: RowsOf
) -> None:
    contents: dict[str, Any] = {
        "csv": "id,x\n1,a\n2,b\n",
        "tsv": "id\tx\n1\ta\n2\tb\n",
        "jsonl": '{"id": 1, "x": "a"}\n{"id": 2, "x": "b"}\n',
        "parquet": pa.table({"id": [1, 2], "x": ["a", "b"]}),
    }
    parts = [f"year={year}/part-0.{suffix}" for year in (2023, 2024)]
    files = [make_file(f"sales/{part}", contents[suffix]) for part in parts]
    make_file(f"sales/_temporary/0/0/part-1.{suffix}", contents[suffix])  # not yet written
    location = files[0].location
    assert isinstance(location, File)
    uri = str(tmp_path / "lake" / "sales")
    sales = replace(
        files[0],
        id=TableId("file", "sales"),
        location=Folder(uri=uri, format=location.format, parts=tuple(parts)),
    )
    years = make_file("years.csv", "year,is_leap\n2023,no\n2024,yes\n")
    letters = make_file("letters.csv", "letter\na\nb\nc\n")
    by_key, by_column = run(
        make_join(((sales, "year"), (years, "year")), rows=4),
        make_join(((letters, "letter"), (sales, "x")), rows=4),
        tables=[sales, years, letters],
    )
    for found in (by_key, by_column):
        assert f"'sales/*/*.{suffix}'" in found.sql, found.reason
        assert rows_of(found) == found.rows == 4


def test_members_of_structs_and_dots_in_names_are_reached(
    make_file: MakeFile, make_join: MakeJoin, run: Run, rows_of: RowsOf
) -> None:
    rows = {"to": [{"city": "Oslo", "zip": "1"}], "from.city": ["Oslo"]}
    orders = make_file("orders.parquet", pa.table(rows))
    cities = make_file("cities.csv", "city.name\nOslo\n")
    inner, dotted = run(
        make_join(((cities, "city.name"), (orders, "to.city")), rows=1),
        make_join(((cities, "city.name"), (orders, "from.city")), rows=1),
        tables=[orders, cities],
    )
    assert '"to"."city"' in inner.sql
    assert '"from.city"' in dotted.sql
    for found in (inner, dotted):
        assert rows_of(found) == 1


def test_the_name_of_a_table_in_a_store_is_its_path_there(
    make_file: MakeFile, make_join: MakeJoin, run: Run
) -> None:
    table = make_file("lake/a.parquet", pa.table({"x": [1, 2]}))
    stored = replace(table, id=TableId("s3", "prod.lake/a.parquet"), instance="prod")
    [found] = run(make_join(((stored, "x"), (stored, "x")), rows=2), tables=[stored])
    assert 'FROM "s3://lake/a.parquet" AS a' in found.sql


def test_files_whose_names_differ_in_case_only_are_told_apart(
    make_file: MakeFile, make_join: MakeJoin, run: Run, rows_of: RowsOf
) -> None:
    lower, upper = make_file("a.csv", "x\n1\n2\n"), make_file("A.csv", "x\n2\n3\n4\n")
    found = run(
        make_join(((lower, "x"), (upper, "x")), rows=1),
        make_join(((upper, "x"), (upper, "x")), rows=3),
        tables=[lower, upper],
    )
    assert [each.rows for each in found] == [1, 3]
    for each in found:
        assert rows_of(each) == each.rows


@pytest.mark.parametrize("name", ["a.CSV", "a.csv.gz", "a.tsv", "a b.jsonl", "a.ndjson"])
def test_a_name_alone_suffices_for_files_that_duckdb_knows_by_it(
    name: str, make_file: MakeFile, make_join: MakeJoin, tmp_path: Path, run: Run, rows_of: RowsOf
) -> None:
    text = '{"x": 1}\n{"x": 2}\n' if "json" in name else "x\ty\n1\t3\n2\t4\n"
    table = make_file(name.removesuffix(".gz"), text)
    if name.endswith(".gz"):
        path = tmp_path / "lake" / name
        path.write_bytes(gzip.compress(text.encode()))
        location = File(uri=str(path), format="csv")
        table = replace(table, id=TableId("file", name), location=location)
    [found] = run(make_join(((table, "x"), (table, "x")), rows=2), tables=[table])
    assert f'FROM "{name}" AS a' in found.sql
    assert rows_of(found) == 2


def test_a_file_that_duckdb_cannot_read_has_a_reason_without_values(
    make_file: MakeFile, make_join: MakeJoin, run: Run
) -> None:
    broken = make_file("a.parquet", b"PAR1 secret PAR1")
    other = make_file("b.csv", "x\n1\n")
    [found] = run(make_join(((broken, "x"), (other, "x")), rows=1), tables=[broken, other])
    assert found.reason == "DuckDB does not read a.parquet as HyperJoin does"


def test_a_file_that_has_gone_spoils_no_other_join(
    make_file: MakeFile, make_join: MakeJoin, tmp_path: Path, run: Run
) -> None:
    gone, here = make_file("a.csv", "x\n1\n"), make_file("b.csv", "x\n1\n")
    shutil.move(tmp_path / "lake" / "a.csv", tmp_path)
    first, second = run(
        make_join(((gone, "x"), (here, "x")), rows=1),
        make_join(((here, "x"), (here, "x")), rows=1),
        tables=[gone, here],
    )
    assert first.reason == "DuckDB does not read a.csv as HyperJoin does"
    assert second.rows == 1


def test_duckdb_has_a_time_limit(make_file: MakeFile, make_join: MakeJoin, run: Run) -> None:
    table = make_file("a.parquet", pa.table({"x": [str(at % 9) * 99 for at in range(3_000_000)]}))
    join = make_join(((table, "x"), (table, "x")), rows=1)
    [found] = run(join, tables=[table], timeout=0.001)
    assert found.reason == "its SQL ran for more than 0.001 s; raise `emit.sql_timeout`"


def test_several_threads_find_the_statements_that_one_finds(
    make_file: MakeFile, make_join: MakeJoin, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {at: [n % at for n in range(90)] for at in range(2, 14)}
    tables = {at: make_file(f"t{at}.csv", "x\n" + "\n".join(map(str, values[at]))) for at in values}
    joins = [
        make_join(
            ((tables[one], "x"), (tables[other], "x")),
            # Of every other join, the evidence is wrong.
            rows=sum(values[other].count(each) for each in values[one]) if other % 2 else 1,
        )
        for one, other in combinations(values, 2)
    ]
    found = []
    for threads in (1, 4):
        monkeypatch.setattr(DuckDbEngine, "threads", threads)
        found.append(run(*joins, tables=[*tables.values()]))
    assert found[0] == found[1]
    assert {bool(each.sql) for each in found[0]} == {True, False}


def test_queries_of_other_threads_are_interrupted() -> None:
    with DuckDbEngine({}, timeout=60) as engine, ThreadPoolExecutor(1) as pool:
        endless = "SELECT SUM(a.range * b.range) FROM RANGE(900000000) a, RANGE(900000000) b"
        query = pool.submit(engine.fetch, endless)
        while not query.done():
            engine.interrupt()
            sleep(0.05)
        with pytest.raises(TimeLimitError):
            query.result()


def test_ctrl_c_interrupts_the_threads(
    make_file: MakeFile, make_join: MakeJoin, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(*_: object) -> None:
        raise KeyboardInterrupt

    interrupted: list[DuckDbEngine] = []

    def interrupt(engine: DuckDbEngine) -> None:
        interrupted.append(engine)

    monkeypatch.setattr(DuckDbEngine, "fetch", press)
    monkeypatch.setattr(DuckDbEngine, "interrupt", interrupt)
    table = make_file("a.csv", "x\n1\n")
    with pytest.raises(KeyboardInterrupt):
        run(make_join(((table, "x"), (table, "x")), rows=1), tables=[table])
    assert len(interrupted) == 1


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_column_of_row_names_is_read_by_the_name_that_duckdb_gives_it(
    suffix: str, make_file: MakeFile, make_join: MakeJoin, run: Run, rows_of: RowsOf
) -> None:
    text = ",mpg,gear\nMazda RX4,21,4\nFiat 128,32,4\nHonda Civic,30,4\n"
    text = text if suffix == "csv" else text.replace(",", "\t")
    cars = make_file(f"cars.{suffix}", text)
    owners = make_file("owners.csv", "car,owner\nFiat 128,Ann\nMazda RX4,Bob\n")
    [found] = run(make_join(((cars, "row_name"), (owners, "car")), rows=2), tables=[cars, owners])
    assert "column0" in found.sql
    assert rows_of(found) == 2


def test_columns_are_found_by_their_places_if_names_repeat_or_are_blank(
    make_file: MakeFile, make_join: MakeJoin, run: Run, rows_of: RowsOf
) -> None:
    rows = "".join(f"x{at},{at},b,c{at},d,e{at}\n" for at in range(9))
    left = make_file("left.csv", f"id,ID,id,id,,\n{rows}")
    right = make_file("right.csv", "key\n" + "".join(f"{at}\nc{at}\ne{at}\n" for at in range(9)))
    places = {"ID": 1, "id_3": 3, "column_6": 5}
    columns = {
        id_: ColumnProfile(id_, at, DataType.TEXT)
        for path, at in places.items()
        for id_ in [ColumnId(left.id, path)]
    }
    joins = [make_join(((left, path), (right, "key")), rows=9) for path in places]
    found = run(*joins, tables=[left, right], columns=columns)
    assert [rows_of(each) for each in found] == [9, 9, 9]


def test_json_arrays_are_read_and_other_json_has_a_reason(
    make_file: MakeFile, make_join: MakeJoin, run: Run, rows_of: RowsOf
) -> None:
    array = make_file("a.json", '[{"x": "A", "y": {"z": 1}},\n {"x": "B"}]')
    columns = make_file("b.json", '{"x": ["A", "B"]}')
    other = make_file("c.csv", "x,n\nA,1\nB,2\n")
    tables = [array, columns, other]
    found, without = run(
        make_join(((array, "x"), (other, "x")), rows=2),
        make_join(((columns, "x"), (other, "x")), rows=2),
        tables=tables,
    )
    assert '"a.json"' in found.sql
    assert rows_of(found) == 2
    # An object of columns is one row of lists for DuckDB.
    reason = "its rows are parts of one value. Write them as JSON Lines"
    assert without.reason == f"DuckDB does not read b.json as HyperJoin does: {reason}"


@pytest.mark.parametrize(
    ("content", "obstacle"),
    [
        (
            bz2.compress(b"x,n\nA,1\nB,2\n"),
            "it is compressed as `.bz2`. Compress it with gzip or zstd",
        ),
        ("x,n\nA,1\nB,2\n".encode("utf-16-be"), "it is in utf-16-be. Convert it to UTF-8"),
        (b"x   n\nA   1\nB   2\n", "its fields are separated or quoted in an unusual way"),
    ],
)
def test_text_that_duckdb_does_not_read_has_a_reason(
    make_file: MakeFile, make_join: MakeJoin, run: Run, content: bytes, obstacle: str
) -> None:
    odd, other = make_file("a.csv", content), make_file("b.csv", "x\nA\nB\n")
    [found] = run(make_join(((odd, "x"), (other, "x")), rows=2), tables=[odd, other])
    assert found.reason == f"DuckDB does not read a.csv as HyperJoin does: {obstacle}"


@pytest.mark.parametrize("between", [", ", " , ", "; "])
def test_spaces_around_names_are_left_out(
    make_file: MakeFile, make_join: MakeJoin, run: Run, rows_of: RowsOf, between: str
) -> None:
    lines = [("n", "x"), ("1", "A"), ("2", "B")]
    odd = make_file("a.csv", "".join(f"{between.join(line)}\n" for line in lines))
    other = make_file("b.csv", "x\nA\nB\n")
    [found] = run(make_join(((odd, "x"), (other, "x")), rows=2), tables=[odd, other])
    assert rows_of(found) == 2


def test_signs_between_fields_are_named_in_sql(
    make_file: MakeFile, make_join: MakeJoin, run: Run, rows_of: RowsOf
) -> None:
    odd, other = make_file("a.csv", "x::n\nA::1:2\nB::2\n"), make_file("b.csv", "x\nA\nB\n")
    [found] = run(make_join(((odd, "x"), (other, "x")), rows=2), tables=[odd, other])
    assert "delim = '::'" in found.sql
    assert rows_of(found) == 2


def test_sheets_of_workbooks_have_a_reason(
    make_file: MakeFile, make_join: MakeJoin, run: Run
) -> None:
    file = make_file("c.csv", "x,n\nA,1\nB,2\n")
    sheet = Table(
        id=TableId("file", "a.xlsx/Sheet1"),
        title="Sheet1",
        location=File(uri="a.xlsx", format="workbook", member=("Sheet1",)),
        size=1,
    )
    [found] = run(make_join(((sheet, "x"), (file, "x")), rows=2), tables=[sheet, file])
    assert found.reason.endswith("CSV, JSON and Parquet files, but not on sheets of workbooks")
