"""Test that each SQL engine compares values in every notation as Python does."""

from collections.abc import Callable, Sequence
from itertools import product

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.locations import CatalogTable
from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.sql.database_engine import DatabaseEngine
from datahub_hyperjoin.sql.duckdb_engine import DuckDbEngine
from datahub_hyperjoin.sql.engines import SparkEngine, SqlEngine
from datahub_hyperjoin.sql.find import LakeInSql, find_statement, write_statement
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Table, TableId
from datahub_hyperjoin.value_forms import Notation
from datahub_hyperjoin.written_in import canonical_form, notation_of, readings_in
from engines.servers import KINDS, Server

MakeFile = Callable[[str, pa.Table], Table]
MakeJoin = Callable[..., Join]
MakeProfile = Callable[[ColumnId, Sequence[str]], ColumnProfile]

WRITTEN = {
    Notation.PADDED: (["000123", "004711", "000000", "0815"], ["123", "4711", "0", "9"]),
    Notation.POINT: (["1,234.50", "12.50", "1.2e-05", ".5", "7"], ["1234.5", "12.5", "0.5", "8"]),
    Notation.COMMA: (["1.234,50", "12,50", "7", "-0,5"], ["1234.5", "12.5", "7", "-0.5"]),
    Notation.DAY_FIRST: (
        ["31.01.2024", "01.02.2024", "30.12.1999", "2024-03-04", "20240305"],
        ["2024-01-31", "2024-02-01", "2024-03-04", "2024-03-05"],
    ),
    Notation.MONTH_FIRST: (["01/31/2024", "02/01/2024"], ["2024-01-31", "2024-02-01"]),
    Notation.YEAR_FIRST: (["20240131", "20240201", "20240229"], ["2024-01-31", "2024-02-29"]),
    Notation.TRUTH_WORDS: (["ja", "nein"], ["true", "false"]),
    Notation.OFFSET: (
        [
            *("2024-01-31T00:30:00+01:00", "2024-02-01T14:00:00+02:00"),
            *("2024-02-01T12:00:00-05:30", "2024-02-01 11:00:00-05"),
        ],
        [
            *("2024-01-30 23:30:00", "2024-02-01 12:00:00"),
            *("2024-02-01 17:30:00", "2024-02-01 16:00:00"),
        ],
    ),
    Notation.HEXADECIMAL: (
        ["0x52908400098527886E0F", "0xDE709F2102306220921060", "0x001A2B3C"],
        ["52908400098527886e0f", "001a2b3c", "de709f"],
    ),
    Notation.BARE_UUID: (
        ["0x6ba7b8109dad11d180b400c04fd430c8", "1B4E28BA2FA111D2883F0016D3CCA427"],
        ["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "1b4e28ba-2fa1-11d2-883f-0016d3cca427"],
    ),
    Notation.WRAPPED_UUID: (
        [
            "{6BA7B810-9DAD-11D1-80B4-00C04FD430C8}",
            "urn:uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427",
        ],
        ["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "1b4e28ba-2fa1-11d2-883f-0016d3cca427"],
    ),
    Notation.DAY_IN_WORDS: (
        ["31 Jan 2024", "1 February 2024", "3-Mar-24"],
        ["2024-01-31", "2024-02-01", "2024-03-03"],
    ),
    Notation.MONTH: (
        ["01/2024", "2/2024", "Mar 2024", "202404", "May-24", "2024M06"],
        ["2024-01", "2024-04", "2024-03", "2024-05", "2024-06"],
    ),
    Notation.NETWORK: (
        ["010.001.000.007", "10.1.0.8/32", "::ffff:10.1.0.9", "100.200.0.0"],
        ["10.1.0.7", "10.1.0.8", "10.1.0.9", "100.200.0.0", "1.20.0.0"],
    ),
    Notation.NUMBERED: (
        ["No. 12", "Nr. 13", "No 14", "ISBN 978-3-16"],
        ["12", "14", "15", "978316"],
    ),
    Notation.TAX_NUMBER: (
        ["DE123456789", "DE987654321"],
        ["123456789", "7"],
    ),
    Notation.BANK_CODE: (["MARKDEFFXXX", "DEUTDEFFXXX"], ["MARKDEFF", "DEUTDEDB"]),
    Notation.SHORT_TIME: (
        ["9:30", "14:05", "00:00", "7:15:30", "07:15:31.000"],
        ["09:30:00", "14:05:00"],
    ),
    Notation.LINK: (
        [
            "https://www.example.org/a/",
            "http://example.com",
            "mailto:ada@example.org",
            "www.b.org/",
        ],
        ["example.org/a", "example.com", "ada@example.org", "b.org", "example.org/b"],
    ),
    Notation.PHONE: (
        ["+49 (30) 123-4567", "0044 20 7946 0958", "+1 555 0100 123"],
        ["49301234567", "442079460958", "15550100999"],
    ),
    Notation.LOCAL_PHONE: (
        ["(212) 555-0123", "+1 415 555 0124", "1-617-555-0125"],
        ["212-555-0123", "415.555.0124", "6175550126"],
    ),
    Notation.MONEY: (["$1,200.50", "12 %", "€7", "8"], ["1200.5", "12", "7", "9"]),
    Notation.QUARTER: (["Q1 2024", "2Q2024", "2024Q3"], ["2024-q1", "2024-q2", "2024-q3"]),
    Notation.BOOK: (
        ["3-16-148410-X", "978-0-306-40615-7"],
        ["316148410x", "0306406152", "9780262033848"],
    ),
    Notation.CLOCK: (
        ["9:30 PM", "12:00 am", "12:15:30 p.m.", "1 am"],
        ["21:30:00", "00:00:00", "12:15:30", "01:00:00", "02:00:00"],
    ),
    Notation.MARKUP: (["R&amp;D", "Caf&eacute; &#39;X&#39;"], ["r&d", "Café 'X'", "r"]),
    Notation.ACCENTS: (["Zoë", "łódź", "São Tomé"], ["zoe", "lodz", "sao tome", "sao"]),
    Notation.SEPARATED: (
        ["978-3-16-148410-0", "AB_12.3", '="0012"', "'0815'", "x {7}", "CD-007"],
        ["9783161484100", "ab123", "0012", "0815", "x7", "12", "cd7", "CD 07"],
    ),
    Notation.LETTERED: (["AB0012", "CD0100", "CD07", "EF01A1"], ["ab12", "cd100", "cd7", "ef00a1"]),
}
"""For each notation, a list of values in that notation and a list of values in canonical form."""

TYPES = {
    Notation.PADDED: ("INTEGER", "INTEGER", "INTEGER"),
    Notation.POINT: ("DECIMAL(12,3)", "DECIMAL(12,3)", "REAL"),
    Notation.COMMA: ("DOUBLE PRECISION", "DOUBLE PRECISION", "REAL"),
    Notation.DAY_FIRST: ("DATE", "DATE", "TEXT"),
    Notation.MONTH_FIRST: ("DATE", "DATE", "TEXT"),
    Notation.YEAR_FIRST: ("DATE", "DATE", "TEXT"),
    Notation.TRUTH_WORDS: ("BOOLEAN", None, None),
    Notation.OFFSET: ("TIMESTAMP", "DATETIME", "TEXT"),
    Notation.HEXADECIMAL: (None, None, None),
    Notation.BARE_UUID: ("UUID", "UUID", "TEXT"),
    Notation.WRAPPED_UUID: ("UUID", "UUID", "TEXT"),
    Notation.DAY_IN_WORDS: ("DATE", "DATE", None),
    Notation.MONTH: (None, None, None),
    Notation.NETWORK: (None, None, None),
    Notation.NUMBERED: ("INTEGER", "INTEGER", "INTEGER"),
    Notation.TAX_NUMBER: ("INTEGER", "INTEGER", "INTEGER"),
    Notation.BANK_CODE: (None, None, None),
    Notation.SHORT_TIME: ("TIME", "TIME", "TEXT"),
    Notation.LINK: (None, None, None),
    Notation.PHONE: ("BIGINT", "BIGINT", "INTEGER"),
    Notation.LOCAL_PHONE: (None, None, None),
    Notation.MONEY: ("DECIMAL(12,3)", "DECIMAL(12,3)", "REAL"),
    Notation.QUARTER: (None, None, None),
    Notation.BOOK: (None, None, None),
    Notation.CLOCK: ("TIME", "TIME", "TEXT"),
    Notation.MARKUP: (None, None, None),
    Notation.ACCENTS: (None, None, None),
    Notation.SEPARATED: (None, None, None),
    Notation.LETTERED: (None, None, None),
}
"""For each notation, the type of its form in PostgreSQL, MariaDB and SQLite, if there is one."""

NO_SQL = {(Notation.DAY_IN_WORDS, "sqlite")}
"""Notations that a database system cannot read."""


def rows_in_sql(values: Sequence[str]) -> str:
    texts = (value.replace("'", "''") for value in values)
    return ", ".join(f"('{text}')" for text in texts)


def rows_in_python(notation: Notation) -> int:
    first, second = WRITTEN[notation]
    own = notation_of({normal_form(value) for value in first})
    assert own is notation
    other = notation_of({normal_form(value) for value in second})
    reads = readings_in(notation.form, own, other)
    forms = (
        [canonical_form(normal_form(value), read) if read else normal_form(value) for value in each]
        for each, read in zip((first, second), reads, strict=True)
    )
    return sum(one == another for one, another in product(*forms))


@pytest.fixture(params=WRITTEN, ids=lambda notation: notation.name)
def notation(request: pytest.FixtureRequest) -> Notation:
    return request.param


@pytest.fixture
def check(make_join: MakeJoin, make_profile: MakeProfile) -> Callable[..., None]:
    """Return a function that checks the row count of an SQL engine against Python's."""

    def run(engine: SqlEngine, tables: Sequence[Table], notation: Notation) -> None:
        ends = [ColumnId(table.id, "x") for table in tables]
        profiles = [make_profile(*each) for each in zip(ends, WRITTEN[notation], strict=True)]
        lake = LakeInSql(
            tables={table.id: table for table in tables},
            columns={profile.id: profile for profile in profiles},
        )
        rows = rows_in_python(notation)
        join = make_join(
            ((tables[0], "x"), (tables[1], "x")), rows=rows, compared_as=notation.form.value
        )
        found = find_statement(join, lake, engine)
        assert (found.rows, found.reason) == (rows, "")
        # What is written without a trial compares values in the same way, or in a safer one.
        written = write_statement(join, lake, engine)
        assert len(engine.fetch(written.sql)) == rows
        assert rows >= 1

    return run


COLUMNS = {TableId("file", f"{name}.parquet"): {"x": 0} for name in "ab"}


def test_files(notation: Notation, make_file: MakeFile, check: Callable[..., None]) -> None:
    tables = [
        make_file(f"{name}.parquet", pa.table({"x": values}))
        for name, values in zip("ab", WRITTEN[notation], strict=True)
    ]
    with DuckDbEngine(COLUMNS, timeout=60) as engine:
        check(engine, tables, notation)


@pytest.mark.parametrize("form", ["text", "typed"])
def test_databases(
    notation: Notation, form: str, server: Server, check: Callable[..., None]
) -> None:
    typed = TYPES[notation][KINDS.index(server.kind)]
    second = typed if form == "typed" else "VARCHAR(60)"
    if second is None or (notation, server.kind) in NO_SQL:
        pytest.skip("the system has no such type, or no such function")
    for name, type_, values in zip("ab", ("VARCHAR(60)", second), WRITTEN[notation], strict=True):
        listed = rows_in_sql(values)
        server.run(f"CREATE TABLE {name} (x {type_})", f"INSERT INTO {name} VALUES {listed}")
    tables = [server.table(name) for name in "ab"]
    columns = {table.id: ["x"] for table in tables}
    with DatabaseEngine(tables[0], columns, timeout=60) as engine:
        check(engine, tables, notation)


def test_spark(notation: Notation, spark: SparkSession, check: Callable[..., None]) -> None:
    names = [f"forms_{notation.name.lower()}_{name}" for name in "ab"]
    tables = [
        Table(
            id=TableId("hive", f"default.{name}"),
            title=name,
            location=CatalogTable(catalog="spark_catalog", schema="default", name=name),
            size=1,
        )
        for name in names
    ]
    try:
        for name, values in zip(names, WRITTEN[notation], strict=True):
            listed = ", ".join(
                f"('{value}')" for value in (each.replace("'", r"\'") for each in values)
            )
            spark.sql(f"CREATE TABLE {name} USING parquet AS SELECT * FROM VALUES {listed} AS t(x)")
        columns = {table.id: ["x"] for table in tables}
        with SparkEngine(spark, columns, timeout=60) as engine:
            check(engine, tables, notation)
    finally:
        for name in names:
            spark.sql(f"DROP TABLE IF EXISTS {name}")
