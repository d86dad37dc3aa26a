"""Test that each join gets SQL, or a reason why there is none."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest
from pydantic import SecretStr

from datahub_hyperjoin.joins import Cardinality, Join, Statement
from datahub_hyperjoin.locations import Database, DeltaFolder, File, Folder, IcebergFolder, Relation
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Table, TableId

MakeFile = Callable[..., Table]
MakeJoin = Callable[..., Join]
MakeProfile = Callable[..., ColumnProfile]
Run = Callable[..., list[Statement]]
RowsOf = Callable[[Statement], int]


class Lines(Protocol):
    """A progress report with lines that a test can read."""

    lines: list[str]


ORDERS = "id,of\n1,ANNA\n2,bob \n3,bob\n4,\n5,Zoë\n"
PEOPLE = "name,city\nanna,Oslo\nbob,Rome\nzoë,Bern\n,Bari\n"


def test_the_plainest_condition_that_agrees_is_taken(
    make_file: MakeFile, make_join: MakeJoin, run: Run, rows_of: RowsOf
) -> None:
    orders, people = make_file("shop/orders.csv", ORDERS), make_file("people.csv", PEOPLE)
    other = make_file("cities.csv", "city\nOslo\nRome\n")
    [normalised, plain] = run(
        make_join(((orders, "of"), (people, "name")), rows=4, cardinality=Cardinality.MANY_ONE),
        make_join(((other, "city"), (people, "city")), rows=2),
        tables=[orders, people, other],
    )
    assert normalised == Statement(
        sql="""SELECT
  a.*,
  b.*
FROM "shop/orders.csv" AS a
JOIN "people.csv" AS b
  ON NULLIF(LOWER(TRIM(CAST(a."of" AS TEXT))), '') = NULLIF(LOWER(TRIM(CAST(b."name" AS TEXT))), '')
LIMIT 100""",
        dialect="duckdb",
        rows=4,
        compared="text in lower case, without spaces around it",
    )
    assert (plain.compared, plain.rows) == ("", 2)
    assert 'ON a."city" = b."city"' in plain.sql
    assert rows_of(normalised) == 4
    assert rows_of(plain) == 2


@pytest.mark.parametrize(
    "case",
    [
        ("zoë ro\u0308hm\nane", "zoe\u0308 röhm\nane", "NFC_NORMALIZE("),
        ("\uff21\uff22\uff11\n\uff23", "ab1\nc", "TRANSLATE("),
        ("A\u20131\nA\u20132", "a-1\na-2", "REPLACE("),
        ("Straße\nGasse", "STRASSE\ngasse", "REPLACE("),
    ],
)
def test_one_spelling_of_characters_is_written_in_sql(
    case: tuple[str, str, str],
    make_file: MakeFile,
    make_join: MakeJoin,
    make_profile: MakeProfile,
    run: Run,
    rows_of: RowsOf,
) -> None:
    first, second, part = case
    written = {"a.csv": first, "b.csv": second}
    tables = [make_file(name, f"x\n{values}\n") for name, values in written.items()]
    ends = [ColumnId(table.id, "x") for table in tables]
    pairs = zip(ends, written.values(), strict=True)
    columns = {end: make_profile(end, values.split("\n")) for end, values in pairs}
    join = make_join(((tables[0], "x"), (tables[1], "x")), rows=2)
    [found] = run(join, tables=tables, columns=columns)
    assert found.compared == "text in lower case, with one spelling of characters", found.reason
    assert part in found.sql
    assert rows_of(found) == 2


def test_a_name_like_a_pattern_is_that_of_one_file(
    make_file: MakeFile, make_join: MakeJoin, run: Run, rows_of: RowsOf
) -> None:
    names = {"orders*.csv": "x\n1\n2\n", "orders1.csv": "x\n1\n", "keys[1].csv": "x\n1\n2\n3\n"}
    star, _, keys = tables = [make_file(name, content) for name, content in names.items()]
    [found] = run(make_join(((star, "x"), (keys, "x")), rows=2), tables=tables)
    assert (found.reason, rows_of(found)) == ("", 2)


def test_a_statement_without_the_promised_rows_is_refused(
    make_file: MakeFile, make_join: MakeJoin, run: Run
) -> None:
    first, second = make_file("a.csv", "x\nb1\nb2\n"), make_file("b.csv", "x\nb1\nb2\n")
    [found] = run(make_join(((first, "x"), (second, "x")), rows=7), tables=[first, second])
    assert found == Statement(
        reason="no SQL condition returns the 7 rows that were measured; the closest returns 2"
    )


def test_codes_and_names_have_a_reason(make_file: MakeFile, make_join: MakeJoin, run: Run) -> None:
    first, second = make_file("a.csv", "x\nDE\n"), make_file("b.csv", "x\nGermany\n")
    join = make_join(((first, "x"), (second, "x")), rows=1, compared_as="countries")
    [found] = run(join, tables=[first, second])
    assert found.reason == (
        "one column holds codes and the other names of countries, which SQL cannot compare "
        "without a table that holds both"
    )


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        (
            File(uri="x.orc", format="orc"),
            "DuckDB runs SQL on CSV, JSON and Parquet files, but not on ORC files",
        ),
        (
            Folder(uri="x", format="avro", parts=("a.avro",)),
            "DuckDB runs SQL on CSV, JSON and Parquet files, but not on AVRO files",
        ),
        (
            DeltaFolder(uri="x"),
            "DuckDB runs SQL on CSV, JSON and Parquet files, but not on Delta tables",
        ),
        (
            IcebergFolder(uri="x"),
            "DuckDB runs SQL on CSV, JSON and Parquet files, but not on Iceberg tables",
        ),
        (
            File(uri="s3a://lake/x.csv", format="csv"),
            "its files are remote; HyperJoin runs SQL on files of this machine only",
        ),
    ],
)
def test_tables_on_which_nothing_runs_sql_have_a_reason(
    location: File, reason: str, make_file: MakeFile, make_join: MakeJoin, run: Run
) -> None:
    here = make_file("a.csv", "x\n1\n")
    there = replace(here, id=TableId("file", "there"), location=location)
    [found] = run(make_join(((here, "x"), (there, "x")), rows=1), tables=[here, there])
    assert found == Statement(reason=reason)


def test_no_single_database_has_a_file_and_a_relation(
    make_file: MakeFile, make_join: MakeJoin, tmp_path: Path, run: Run
) -> None:
    here = make_file("a.csv", "x\n1\n")
    database = Database(url=SecretStr(f"sqlite:///{tmp_path}/shop.db"))
    relation = Relation(database=database, connection="connections[0]", schema="main", name="b")
    there = replace(here, id=TableId("sqlite", "b"), location=relation)
    [found] = run(make_join(((here, "x"), (there, "x")), rows=1), tables=[here, there])
    assert found == Statement(reason="no single database has both tables")


def test_a_key_of_several_columns_is_compared_as_a_whole(
    make_file: MakeFile, make_join: MakeJoin, run: Run, rows_of: RowsOf
) -> None:
    lines = make_file("lines.csv", "org,no,item\nA,1,x\nA,2,y\nB,1,z\nB,1,w\nC,9,v\n")
    orders = make_file("orders.csv", "number,owner\n1,A\n2,A\n1,B\n2,B\n")
    join = make_join(
        ((lines, "org"), (orders, "owner")),
        ((lines, "no"), (orders, "number")),
        rows=4,
        cardinality=Cardinality.MANY_ONE,
    )
    [found] = run(join, tables=[lines, orders])
    assert 'a."org" = b."owner" AND a."no" = b."number"' in found.sql.replace("\n  ", " ")
    assert rows_of(found) == found.rows == 4


def test_the_referring_table_comes_first(
    make_file: MakeFile, make_join: MakeJoin, run: Run
) -> None:
    key, rows = make_file("a.csv", "id\n1\n2\n"), make_file("b.csv", "of\n1\n1\n2\n")
    join = make_join(((key, "id"), (rows, "of")), rows=3, cardinality=Cardinality.ONE_MANY)
    directed = replace(join, referenced=join.left)
    for each in (join, directed):
        [found] = run(each, tables=[key, rows])
        assert 'FROM "b.csv" AS a\nJOIN "a.csv" AS b\n  ON a."of" = b."id"' in found.sql


def test_progress_is_shown(
    make_file: MakeFile, make_join: MakeJoin, run: Run, progress: Lines
) -> None:
    table = make_file("a.csv", "x\n1\n")
    columns = ",".join(f"c{at}" for at in range(200))
    wide = make_file("b.csv", f"{columns}\n{','.join('1' * 200)}\n")
    joins = [make_join(((table, "x"), (wide, f"c{at}")), rows=1) for at in range(200)]
    run(*joins, tables=[table, wide])
    assert progress.lines == [
        "Wrote the SQL of 100 of 200 joins",
        "Wrote the SQL of 200 of 200 joins",
    ]
