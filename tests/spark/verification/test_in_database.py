"""Test that counting pairs in a database gives exactly the same counts as Spark's workers."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from datahub_hyperjoin.spark.verification.in_database import count_in_databases
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, verify_joins
from datahub_hyperjoin.tables import ColumnId, Pair, Table, TableId
from engines.columns_by_system import COMPUTING, MESSY, QUICK
from engines.counted_pairs import verified_and_counted, verified_by_reading
from engines.filled_tables import fill, literal, series
from engines.servers import Server, serving

TYPED = {
    "postgresql": {
        "smallint": ("0", "12", "12", "7", "NULL"),
        "bigint": ("9223372036854775807", "12", "-5", "0"),
        "numeric": ("12.0", "12.00", "0.0000001", "7", "NULL", "1e20"),
        "double precision": ("0.5", "-0.0", "12", "1e-7", "0.1", "NULL"),
        "real": ("0.1", "12", "7.25"),
        "boolean": ("true", "false", "true"),
        "date": ("'2024-01-31'", "'0001-06-01'", "NULL", "'2024-02-29'"),
        "timestamp": ("'2024-01-31'", "'2024-01-31 09:30'", "'2024-01-31 09:30:00.25'"),
        "timestamptz": ("'2024-01-31 01:00+01'", "'2024-01-31 09:30:00.250 UTC'"),
        "uuid": ("'6ba7b810-9dad-11d1-80b4-00c04fd430c8'", "NULL"),
        "char(9)": ("'Oslo'", "'12'", "''", "'12'"),
        "mood": ("'Oslo'", "'sad'", "'sad'"),
    },
    "mariadb": {
        "tinyint(1)": ("0", "1", "1", "NULL"),
        "bigint unsigned": ("18446744073709551615", "12", "0"),
        "bit(9)": ("b'1100'", "b'111'", "b'0'"),
        "year": ("2024", "2012"),
        "decimal(30, 8)": ("12.0", "12.00", "0.0000001", "7", "NULL", "1e20"),
        "double": ("0.5", "-0.0", "0", "12", "1e-7", "0.1", "NULL"),
        "float": ("0.1", "12", "7.25", "16777217", "-0.0"),
        "date": ("'2024-01-31'", "'0001-06-01'", "NULL", "'2024-02-29'"),
        "datetime(6)": ("'2024-01-31'", "'2024-01-31 09:30'", "'2024-01-31 09:30:00.25'"),
        "timestamp": ("'2024-01-31'", "'2024-01-31 09:30:00'"),
        "time(2)": ("'09:30:00'", "'-26:00:00.5'"),
        "uuid": ("'6ba7b810-9dad-11d1-80b4-00c04fd430c8'", "NULL"),
        "char(9)": ("'Oslo'", "'12'", "''", "'12'"),
        "varchar(30) character set latin1": ("'Oslo'", "'oslo '", "'sad'", "'SAD'"),
        "enum('Oslo', 'sad')": ("'Oslo'", "'sad'", "'sad'"),
    },
    "clickhouse": {
        "UInt8": ("0", "12", "12", "7"),
        "Nullable(Int128)": ("9223372036854775808", "12", "-5", "0", "NULL"),
        "LowCardinality(Int64)": ("12", "-5", "12"),
        "Nullable(Decimal(30, 8))": ("12.0", "12.00", "0.0000001", "7", "NULL", "1e20"),
        "Nullable(Float64)": ("0.5", "-0.0", "0", "12", "1e-7", "0.1", "NULL"),
        "Float32": ("0.1", "12", "7.25"),
        "Bool": ("true", "false", "true"),
        "Nullable(Date)": ("'2024-01-31'", "NULL", "'2024-02-29'"),
        "DateTime('Asia/Tokyo')": ("'2024-01-31 09:00:00'", "'2024-01-31 18:30:00'"),
        "DateTime64(9)": ("'2024-01-31'", "'2024-01-31 09:30:00'", "'2024-01-31 09:30:00.25'"),
        "Time64(2)": ("'09:30:00'", "'-26:00:00.5'"),
        "Nullable(UUID)": ("'6ba7b810-9dad-11d1-80b4-00c04fd430c8'", "NULL"),
        "FixedString(9)": ("'Oslo'", "'12'", "''", "'12'"),
        "LowCardinality(Nullable(String))": ("'Oslo'", "'oslo '", "'sad'", "NULL"),
        "Enum8('Oslo' = 1, 'sad' = 2)": ("'Oslo'", "'sad'", "'sad'"),
    },
    "databricks": {
        "tinyint": ("0", "12", "12", "7", "NULL"),
        "bigint": ("9223372036854775807", "12", "-5", "0"),
        "decimal(30, 8)": ("12.0", "12.00", "0.0000001", "7", "NULL", "1e20"),
        "double": ("0.5D", "-0.0D", "0D", "12D", "1e-7D", "0.1D", "NULL"),
        "float": ("0.5F", "12F", "7.25F", "16777217F", "-0.0F"),
        "boolean": ("true", "false", "true"),
        "date": ("'2024-01-31'", "'0001-06-01'", "NULL", "'2024-02-29'"),
        "timestamp": ("'2024-01-31 01:00+01'", "'2024-01-31 09:30:00.250 UTC'"),
        "timestamp_ntz": ("'2024-01-31'", "'2024-01-31 09:30'", "'2024-01-31 09:30:00.25'"),
        "char(9)": ("'Oslo'", "'12'", "''", "'12'"),
        "string collate UTF8_LCASE": ("'Oslo'", "'oslo '", "'sad'", "'SAD'"),
    },
    "snowflake": {
        "smallint": ("0", "12", "12", "7", "NULL"),
        "bigint": ("9223372036854775807", "12", "-5", "0"),
        "number(30, 8)": ("12.0", "12.00", "0.0000001", "7", "NULL", "-0.5"),
        "float": ("0.5", "-0.0", "12", "1e-7", "0.1", "NULL"),
        "boolean": ("true", "false", "true"),
        "date": ("'2024-01-31'", "'0001-06-01'", "NULL", "'2024-02-29'"),
        "timestamp_ntz": ("'2024-01-31'", "'2024-01-31 09:30:00'", "'2024-01-31 09:30:00.25'"),
        "timestamp_tz": ("'2024-01-31T01:00:00+01:00'", "'2024-01-31T09:30:00.250+00:00'"),
        "varchar(9)": ("'Oslo'", "'oslo '", "'sad'", "NULL"),
    },
}
TYPED["trino"] = {
    "tinyint": ("0", "12", "12", "7", "NULL"),
    "bigint": ("9223372036854775807", "12", "-5", "0"),
    "decimal(30, 8)": ("12.0", "12.00", "0.0000001", "7", "NULL", "-0.5"),
    "double": ("0.5", "-0e0", "0", "12", "1e-7", "0.1", "NULL"),
    "real": ("0.1", "12", "7.25", "-0e0"),
    "boolean": ("true", "false", "true"),
    "date": ("'2024-01-31'", "'0001-06-01'", "NULL", "'2024-02-29'"),
    "timestamp(6)": ("'2024-01-31'", "'2024-01-31 09:30:00'", "'2024-01-31 09:30:00.25'"),
    "timestamp(3) with time zone": (
        *("'2024-01-31 01:00:00 +01:00'", "'2024-01-31 09:30:00.250 UTC'"),
        "'2024-01-31 10:30:00.250 +01:00'",
    ),
    "time(3)": ("'09:30:00'", "'09:30:00.5'"),
    "uuid": ("'6ba7b810-9dad-11d1-80b4-00c04fd430c8'", "NULL"),
    "char(9)": ("'Oslo'", "'12'", "''", "'12'"),
    "varchar(30)": ("'Oslo'", "'oslo '", "'sad'", "NULL"),
}
TYPED["redshift"] = {
    "smallint": ("0", "12", "12", "7", "NULL"),
    "bigint": ("9223372036854775807", "12", "-5", "0"),
    "numeric(30, 8)": ("12.0", "12.00", "0.0000001", "7", "NULL", "-0.5"),
    "double precision": ("0.5", "-0.0", "0", "12", "1e-7", "0.1", "NULL"),
    "real": ("0.1", "12", "7.25", "-0.0"),
    "boolean": ("true", "false", "true"),
    "date": ("'2024-01-31'", "'0001-06-01'", "NULL", "'2024-02-29'"),
    "timestamp": ("'2024-01-31'", "'2024-01-31 09:30'", "'2024-01-31 09:30:00.25'"),
    "timestamptz": ("'2024-01-31 01:00+01'", "'2024-01-31 09:30:00.250 UTC'"),
    "char(9)": ("'Oslo'", "'12'", "''", "'12'"),
    "varchar(30)": ("'Oslo'", "'oslo '", "'sad'", "NULL"),
}
LONG = tuple("x" * 1200 + str(number % 50) for number in range(400))
"""Texts that differ only after the bytes by which MariaDB sorts texts."""
# Columns that must be read.
READ = (
    ("postgresql", "text", ["'Straße'", "'STRASSE'", "'oslo'"]),
    ("postgresql", "text", ["'oslo'", "E'Oslo\\u00a0'"]),
    ("postgresql", "text", ["'1'", "'NA'", "'2'"]),
    ("postgresql", "text", ["'NA'", "'n/a'"]),
    ("postgresql", "numeric", ["'NaN'", "1"]),
    ("postgresql", "date", ["'0044-03-15 BC'", "'2024-01-31'"]),
    ("postgresql", "timestamp", ["'infinity'", "'2024-01-31'"]),
    ("postgresql", "double precision", ["0.5", "'NaN'"]),
    ("postgresql", "double precision", ["1e16", "2"]),
    ("postgresql", "inet", ["'10.0.0.1'"]),
    ("mariadb", "text", ["'zürich'", "'zurich'", "'ZURICH'"]),
    ("mariadb", "varchar(9) character set latin1", ["'Straße'", "'STRASSE'"]),
    ("mariadb", "text", ["'1'", "'NA'", "'2'"]),
    ("mariadb", "date", ["'0000-00-00'", "'2024-01-31'"]),
    ("mariadb", "datetime", ["'2024-00-31'", "'2024-01-31'"]),
    ("mariadb", "double", ["1e16", "2"]),
    ("mariadb", "float", ["1e-38", "2"]),
    ("mariadb", "int(3) zerofill", ["7", "12"]),
    ("mariadb", "inet6", ["'::1'"]),
    ("databricks", "string", ["'Straße'", "'STRASSE'", "'oslo'"]),
    ("databricks", "string", ["'1'", "'NA'", "'2'"]),
    ("databricks", "string", ["CAST(x'ff' AS string)", "CAST(x'fe' AS string)"]),
    ("databricks", "double", ["0.5D", "double('nan')"]),
    ("databricks", "double", ["0.30000000000000004D", "2D"]),
    ("databricks", "date", ["'0000-03-15'", "'2024-01-31'"]),
    ("databricks", "interval day", ["interval '7' day"]),
    ("clickhouse", "String", ["'zürich'", "'zurich'", "'ZURICH'"]),
    ("clickhouse", "LowCardinality(String)", ["'1'", "'NA'", "'2'"]),
    ("clickhouse", "String", ["'\\xff'", "'\\xfe'"]),
    ("clickhouse", "Float64", ["0.5", "nan"]),
    ("clickhouse", "Float32", ["1e-38", "2"]),
    ("clickhouse", "IntervalDay", ["toIntervalDay(7)"]),
    ("redshift", "varchar(30)", ["'zürich'", "'zurich'", "'ZURICH'"]),
    ("redshift", "varchar(30)", ["'1'", "'NA'", "'2'"]),
    ("redshift", "double precision", ["0.30000000000000004", "2"]),
    ("redshift", "double precision", ["'NaN'", "2"]),
    ("redshift", "date", ["'0044-03-15 BC'", "'2024-01-31'"]),
    ("redshift", "time", ["'09:30:00'", "'23:59:59'"]),
    ("snowflake", "varchar", ["'zürich'", "'zurich'", "'ZURICH'"]),
    ("snowflake", "text", ["'1'", "'NA'", "'2'"]),
    ("snowflake", "time", ["'09:30:00'", "'23:59:59'"]),
    ("snowflake", "float", ["0.30000000000000004", "2"]),
    ("trino", "varchar", ["'zürich'", "'zurich'", "'ZURICH'"]),
    ("trino", "varchar", ["'1'", "'NA'", "'2'"]),
    ("trino", "double", ["0.30000000000000004", "2"]),
    ("trino", "double", ["'NaN'", "2"]),
    ("trino", "date", ["'9999-12-31'", "'2024-01-31'"]),
    ("trino", "timestamp(9)", ["'2024-01-31 09:30:00.123456789'", "'2024-01-31'"]),
)


@pytest.fixture(params=COMPUTING)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        yield running


def texts(server: Server, name: str, *values: str) -> Table:
    return fill(server, name, "text", [literal(server, value) for value in values])


def column(table: Table) -> ColumnId:
    return ColumnId(table.id, "v")


def all_pairs(tables: Sequence[Table]) -> list[Pair]:
    return [*combinations_with_replacement(sorted(map(column, tables)), 2)]


def test_evidence_is_the_same_wherever_values_are_counted(server: Server) -> None:
    if server.kind == "postgresql":
        server.run("CREATE TYPE mood AS ENUM ('Oslo', 'sad')")
    typed = TYPED[server.kind].items()
    tables = [fill(server, f"t_{at}", type_, values) for at, (type_, values) in enumerate(typed)]
    messy = [texts(server, "messy", *MESSY, *MESSY[:7]), texts(server, "tidy", "oslo", "x", "NA")]
    messy.append(texts(server, "lengthy", *LONG))
    pairs, tables = all_pairs([*tables, *messy]), [*tables, *messy]
    kinds = ColumnKinds(texts=frozenset(map(column, messy)))
    read = verified_by_reading(tables, pairs, kinds)
    assert verified_and_counted(tables, pairs, kinds) == (read, {*pairs})
    assert sum(evidence.shared > 0 for evidence in read.values()) > len(tables)


def test_columns_that_sql_cannot_normalise_are_read(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    odd = [(type_, values) for kind, type_, values in READ if kind == server.kind]
    tables = [
        *(fill(server, f"odd{at}", type_, values) for at, (type_, values) in enumerate(odd)),
        texts(server, "plain", "1", "oslo", "strasse", "zurich"),
    ]
    pairs = all_pairs(tables)
    plain = column(tables[-1])
    kinds = ColumnKinds(texts=frozenset({plain}))
    read = verified_by_reading(tables, pairs, kinds)
    assert verified_and_counted(tables, pairs, kinds) == (read, {(plain, plain)})
    assert "could not compare" not in caplog.text


def test_views_and_odd_names_are_counted(server: Server) -> None:
    # SQLAlchemy's dialects of Redshift and Snowflake take parts of the other name for parameters.
    odd = 'select x "kündig"' if server.kind == "snowflake" else 'sel%ect :x "kündig"'
    odd = odd.replace(" :x", "") if server.kind == "redshift" else odd
    # The local stand-in for Databricks knows plain names of tables only.
    name = "odd" if server.kind == "databricks" else odd
    quoted, source = server.quote(odd), server.quote(name)
    server.run(
        f"CREATE TABLE {source} ({quoted} varchar(9))",
        f"INSERT INTO {source} VALUES ('a'), ('b'), ('b')",
        f"CREATE VIEW w AS SELECT {quoted} AS v FROM {source}",
    )
    tables = [server.table(name), server.table("w")]
    pair = ColumnId(tables[0].id, odd), column(tables[1])
    counts = count_in_databases(tables, [pair], set(pair))
    assert counts[pair].shared == 2
    assert counts[pair].joined == 1 + 4


@pytest.mark.parametrize("server", QUICK, indirect=True)
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
    server.run(f"CREATE VIEW broken AS SELECT (SELECT i FROM {series(server, 2)}) AS v")
    tables = [server.table("broken"), texts(server, "fine", "a")]
    unread: list[TableId] = []
    pair = (column(tables[0]), column(tables[1]))
    assert verify_joins(None, tables, [pair], note_unread=unread.append) == {}
    assert unread == [tables[0].id]
    assert "Reading columns that the database could not compare: " in caplog.text
    assert re.search("(?i)more than (one|1) row|multiple rows", caplog.text)


def test_columns_of_sqlite_are_read(tmp_path: Path) -> None:
    with serving("sqlite", tmp_path) as lite:
        tables = [texts_in_sqlite(lite, "one"), texts_in_sqlite(lite, "two")]
        pair = column(tables[0]), column(tables[1])
        assert count_in_databases(tables, [pair], set(pair)) == {}
        assert verify_joins(None, tables, [pair])[pair].shared == 2


def texts_in_sqlite(server: Server, name: str) -> Table:
    return fill(server, name, "text", ["'a'", "'b'"])
