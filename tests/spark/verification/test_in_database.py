"""Test that counting pairs in a database gives exactly the same counts as Spark's workers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path

import pytest
from servers import Server, serving

from datahub_hyperjoin.locations import Compute, Relation
from datahub_hyperjoin.spark.verification.in_database import count_in_databases
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, verify_joins
from datahub_hyperjoin.tables import ColumnId, Pair, Table, TableId

MESSY = (
    *("Oslo", " oslo", "OSLO\t", "New  York", "new york", "", "   ", "12", "12.0", "12.00", "-0"),
    *("007", "0", "-0.0", "2024-01-31", "2024-01-31T00:00", "2024-01-31 00:00:00Z", "NA", "null"),
    *("2024-01-31 09:30", "2024-01-31t09:30:00.250+00:00", "2024-01-31 09:30:00.2500", "\\N"),
    *("2024-13-31 09:30", "a\x1cb", "a b", "A\r\nB", "100%", "O'Brien", "1e3", "x" * 900),
)
TYPED = {
    "small": ("smallint", ("0", "12", "12", "7", "NULL")),
    "big": ("bigint", ("9223372036854775807", "12", "-5", "0")),
    "price": ("numeric", ("12.0", "12.00", "0.0000001", "7", "NULL", "1e20")),
    "share": ("double precision", ("0.5", "-0.0", "12", "1e-7", "0.1", "NULL")),
    "real": ("real", ("0.1", "12", "7.25")),
    "flag": ("boolean", ("true", "false", "true")),
    "day": ("date", ("'2024-01-31'", "'0001-06-01'", "NULL", "'2024-02-29'")),
    "at": ("timestamp", ("'2024-01-31'", "'2024-01-31 09:30'", "'2024-01-31 09:30:00.25'")),
    "zoned": ("timestamptz", ("'2024-01-31 01:00+01'", "'2024-01-31 09:30:00.250 UTC'")),
    "id": ("uuid", ("'6ba7b810-9dad-11d1-80b4-00c04fd430c8'", "NULL")),
    "padded": ("char(9)", ("'Oslo'", "'12'", "''", "'12'")),
    "mood": ("mood", ("'Oslo'", "'sad'", "'sad'")),
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving("postgresql", tmp_path) as running:
        yield running


def fill(server: Server, name: str, type_: str, values: Sequence[str]) -> Table:
    rows = ", ".join(f"({value})" for value in values)
    server.run(f"CREATE TABLE {name} (v {type_})", f"INSERT INTO {name} VALUES {rows}")
    return server.table(name)


def literal(text: str) -> str:
    return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def texts(server: Server, name: str, *values: str) -> Table:
    return fill(server, name, "text", [literal(value) for value in values])


def column(table: Table) -> ColumnId:
    return ColumnId(table.id, "v")


def all_pairs(tables: Sequence[Table]) -> list[Pair]:
    return [*combinations_with_replacement(sorted(map(column, tables)), 2)]


def by_spark(table: Table) -> Table:
    assert isinstance(table.location, Relation)
    database = replace(table.location.database, compute=Compute.SPARK)
    return replace(table, location=replace(table.location, database=database))


def test_evidence_is_the_same_wherever_values_are_counted(server: Server) -> None:
    server.run("CREATE TYPE mood AS ENUM ('Oslo', 'sad')")
    tables = [fill(server, f"t_{name}", *typed) for name, typed in TYPED.items()]
    messy = [texts(server, "messy", *MESSY, *MESSY[:7]), texts(server, "tidy", "oslo", "x", "NA")]
    pairs, tables = all_pairs([*tables, *messy]), [*tables, *messy]
    kinds = ColumnKinds(texts=frozenset(map(column, messy)))
    counted = count_in_databases(tables, pairs, kinds.texts)
    assert counted.keys() == {*pairs}
    read = verify_joins(None, [*map(by_spark, tables)], pairs, kinds=kinds)
    assert verify_joins(None, tables, pairs, kinds=kinds) == read
    assert sum(evidence.shared > 0 for evidence in read.values()) > len(tables)


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("text", ["'Straße'", "'STRASSE'", "'oslo'"]),
        ("text", ["'oslo'", "E'Oslo\\u00a0'"]),
        ("text", ["'1'", "'NA'", "'2'"]),
        ("text", ["'NA'", "'n/a'"]),
        ("numeric", ["'NaN'", "1"]),
        ("date", ["'0044-03-15 BC'", "'2024-01-31'"]),
        ("timestamp", ["'infinity'", "'2024-01-31'"]),
        ("double precision", ["0.5", "'NaN'"]),
        ("double precision", ["1e16", "2"]),
        ("inet", ["'10.0.0.1'"]),
    ],
)
def test_a_column_that_sql_cannot_normalise_is_read(
    server: Server, type_: str, values: list[str]
) -> None:
    tables = [fill(server, "odd", type_, values), texts(server, "plain", "1", "oslo", "strasse")]
    pairs = all_pairs(tables)
    plain = column(tables[1])
    assert {*count_in_databases(tables, pairs, {plain})} == {(plain, plain)}
    kinds = ColumnKinds(texts=frozenset({plain}))
    assert verify_joins(None, tables, pairs, kinds=kinds) == verify_joins(
        None, [*map(by_spark, tables)], pairs, kinds=kinds
    )


def test_views_and_odd_names_are_counted(server: Server) -> None:
    odd = 'sel%ect :x "Kündig"'
    server.run(
        f"CREATE TABLE {server.quote(odd)} ({server.quote(odd)} text)",
        f"INSERT INTO {server.quote(odd)} VALUES ('a'), ('b'), ('b')",
        f"CREATE VIEW v AS SELECT * FROM {server.quote(odd)}",
    )
    tables = [server.table(odd), server.table("v")]
    pair = ColumnId(tables[0].id, odd), ColumnId(tables[1].id, odd)
    counts = count_in_databases(tables, [pair], set(pair))
    assert counts[pair].shared == 2
    assert counts[pair].joined == 1 + 4


def test_more_columns_than_one_statement_takes_are_counted(server: Server) -> None:
    database = server.database(max_connections=3)
    for at in range(12):
        fill(server, f"t{at}", "integer", [*map(str, range(at, 40))])
    tables = [server.table(f"t{at}", database) for at in range(12)]
    pairs = all_pairs(tables)
    counts = count_in_databases(tables, pairs, set())
    assert {pair: found.shared for pair, found in counts.items()} == {
        (left, right): 40 - max(int(end.table.name.rpartition("t")[2]) for end in (left, right))
        for left, right in pairs
    }


def test_pairs_of_different_databases_are_read(server: Server) -> None:
    one, _ = texts(server, "one", "a", "b"), texts(server, "two", "b", "c")
    elsewhere = server.table("two", server.database(timeout=17))
    pair = column(one), column(elsewhere)
    assert count_in_databases([one, elsewhere], [pair], set(pair)) == {}
    assert verify_joins(None, [one, elsewhere], [pair])[pair].shared == 1


def test_a_statement_that_fails_leaves_its_pairs_to_be_read(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    server.run("CREATE VIEW broken AS SELECT (1 / (random() * 0)::int)::text AS v")
    tables = [server.table("broken"), texts(server, "fine", "a")]
    unread: list[TableId] = []
    pair = (column(tables[0]), column(tables[1]))
    assert verify_joins(None, tables, [pair], note_unread=unread.append) == {}
    assert unread == [tables[0].id]
    assert "Reading columns that the database could not compare: division by zero" in caplog.text


def test_sqlite_and_mariadb_are_read(tmp_path: Path) -> None:
    with serving("sqlite", tmp_path) as lite:
        tables = [texts_in_sqlite(lite, "one"), texts_in_sqlite(lite, "two")]
        pair = column(tables[0]), column(tables[1])
        assert count_in_databases(tables, [pair], set(pair)) == {}
        assert verify_joins(None, tables, [pair])[pair].shared == 2


def texts_in_sqlite(server: Server, name: str) -> Table:
    return fill(server, name, "text", ["'a'", "'b'"])
