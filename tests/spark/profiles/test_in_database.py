"""Test that profiles counted in a database equal profiles made by reading the rows."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy import Row, make_url
from sqlalchemy.event import listen
from sqlalchemy.types import TypeEngine

from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.spark.config import Md5ProfileConfig, ProfileConfig
from datahub_hyperjoin.spark.databases import sql_profiles
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.databases.sql_forms import SqlForm
from datahub_hyperjoin.spark.databases.sql_profiles import SqlCounts, read_counts
from datahub_hyperjoin.spark.databases.system import system_named
from datahub_hyperjoin.spark.profiles.in_database import count_in_database
from datahub_hyperjoin.tables import ColumnProfile, TableProfile
from engines.columns_by_system import COMPUTING, FOREIGN, MESSY, QUICK, RANGE, READ, TYPED, WORDS
from engines.counted_profiles import (
    by_reading,
    in_normal_form,
    located,
    profiled,
    profiled_and_unread,
    unread,
)
from engines.filled_tables import fill, fill_columns, literal, numbered, series
from engines.servers import Server, serving

CONFIG = Md5ProfileConfig.of(ProfileConfig())
SMALL = replace(CONFIG, sketch_size=8, sample_size=4)
"""Settings whose sketches are too small for all hashes of a column with ten values."""
_ODD = 'sel%ect :x "Kündig"'
"""A name that SQL must quote; the libraries for Redshift and Snowflake take parts of it for
parameters."""
_OPAQUE = {
    "postgresql": "jsonb",
    "databricks": "map<string, int>",
    "redshift": "super",
    "snowflake": "variant",
    "trino": "array(varchar)",
}
# The type, and values that SQL cannot count and the driver cannot read.
UNREADABLE = [
    ("databricks", "date", ["'0000-03-15'", "'2024-01-31'"]),
    ("trino", "interval day to second", ["INTERVAL '7' DAY"]),
]


@pytest.fixture(scope="module", params=COMPUTING)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with serving(request.param, tmp_path_factory.mktemp("server")) as running:
        yield running


CONFIGURED = pytest.mark.parametrize(
    ("server", "config"),
    # Most other tests have the small configuration, for all systems.
    [
        *(pytest.param(kind, CONFIG, id=f"{kind}-whole") for kind in COMPUTING),
        *(pytest.param(kind, SMALL, id=f"{kind}-small") for kind in QUICK),
    ],
    indirect=["server"],
)


@CONFIGURED
def test_profiles_equal_those_of_reading(server: Server, config: ProfileConfig) -> None:
    columns = TYPED[server.kind]
    table = fill_columns(server, "typed", columns)
    found, missing = profiled_and_unread(table, config)
    expected = by_reading(table, config)
    assert missing == []
    assert by_type(columns, found) == by_type(columns, expected)
    assert found == expected
    distinct = {type_: each.distinct for type_, each in by_type(columns, found).items()}
    assert {type_: count for type_, count in distinct.items() if count < 2} == {}


def by_type(types: Iterable[str], profile: TableProfile) -> dict[str, ColumnProfile]:
    """Map each type to the profile of its column, so that a failure names the type."""
    return dict(zip(types, profile.columns, strict=True))


@CONFIGURED
def test_odd_texts_are_counted_once_in_whichever_spelling(
    server: Server, config: ProfileConfig
) -> None:
    values = [literal(server, text) for text in (*MESSY, *FOREIGN, *MESSY[:9])]
    table = fill(server, "messy", "text", [*values, "NULL"])
    # Of a small sample, one value in a notation would be many.
    assert unread(table, replace(config, sketch_size=64, sample_size=64)) == []
    [found], [expected] = (of(table, config).columns for of in (profiled, by_reading))
    assert in_normal_form(found) == in_normal_form(expected)
    assert (found.nulls, found.lengths.longest) == (6, 1500)


def test_only_columns_that_sql_cannot_count_are_read(server: Server) -> None:
    columns = {**READ[server.kind], "integer": ["7"]}
    table = fill_columns(server, "uncounted", columns)
    found, missing = profiled_and_unread(table, SMALL)
    expected = by_reading(table, SMALL)
    assert by_type(columns, found) == by_type(columns, expected)
    assert (found, missing) == (expected, [f"c{at}" for at in range(len(columns) - 1)])


@pytest.mark.parametrize(("server", "type_", "values"), UNREADABLE, indirect=["server"])
def test_a_table_with_values_that_no_driver_reads_is_reported(
    server: Server, type_: str, values: list[str]
) -> None:
    table = fill_columns(server, "unreadable", {type_: values, "integer": ["7"]})
    found, missing = profiled_and_unread(table, SMALL)
    assert (found, missing) == (by_reading(table, SMALL), ["c0"])
    assert found.fault


def test_a_notation_of_few_values_needs_no_reading(server: Server) -> None:
    table = fill(server, "few", "text", ["'0001'", "'0002'", "'0003'"])
    found, missing = profiled_and_unread(table, SMALL)
    assert (found, missing) == (by_reading(table, SMALL), [])
    assert found.columns[0].form_sketch


def test_views_odd_names_and_opaque_columns_are_counted(server: Server) -> None:
    odd = _ODD if server.kind != "snowflake" else 'select x "Kündig"'
    odd = odd.replace(" :x", "") if server.kind == "redshift" else odd
    # They have small letters only in names.
    odd = odd.lower() if server.kind in {"redshift", "trino"} else odd
    empty = {"trino": "ARRAY[]", "databricks": "map()"}.get(server.kind, "'[]'")
    quoted, opaque = server.quote(odd), _OPAQUE.get(server.kind, "longblob")
    # The local stand-in for Databricks knows plain names of tables only.
    name = "odd" if server.kind == "databricks" else odd
    source = server.quote(name)
    server.run(
        f"CREATE TABLE {source} ({quoted} varchar(9), j {opaque}, n integer)",
        f"INSERT INTO {source} SELECT {numbered(server, 'v')}, {empty}, i "
        f"FROM {series(server, 50)}",
        # SQLAlchemy doubles `%` in the names of MariaDB's views.
        f"CREATE VIEW odd_view AS SELECT {quoted} AS {server.quote('kündig :x')} FROM {source}",
    )
    for table in map(server.table, (name, "odd_view")):
        assert profiled_and_unread(table, SMALL) == (by_reading(table, SMALL), [])


@pytest.mark.parametrize("server", QUICK, indirect=True)
def test_more_columns_than_one_statement_takes_are_counted(server: Server) -> None:
    columns = ", ".join(f"i + {at} AS c{at}" for at in range(19))
    server.run(f"CREATE TABLE wide AS SELECT {columns} FROM {series(server, 40)}")
    table = server.table("wide")
    assert profiled_and_unread(table, SMALL) == (by_reading(table, SMALL), [])


@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
def test_of_a_large_table_the_rows_that_would_be_read_are_counted(server: Server, key: str) -> None:
    if key and server.kind == "databricks":
        pytest.skip("the local stand-in for Databricks has no keys")
    has_indexes = server.kind not in {"databricks", "snowflake", "trino"}
    # Trino has no keys either.
    key = "" if server.kind == "trino" else key
    server.run(
        "DROP TABLE IF EXISTS large",
        f"CREATE TABLE large (id integer {key}, name varchar(9))",
        f"INSERT INTO large SELECT i, {numbered(server, 'v', 'mod(i, 700)')} "
        f"FROM {series(server, 2000)}",
        *(["CREATE INDEX by_name ON large (name)"] if has_indexes else []),
    )
    table, config = server.table("large"), replace(SMALL, max_rows=320)
    found, missing = profiled_and_unread(table, config)
    expected = by_reading(table, config)
    assert missing == []
    assert (found.columns, found.rows) == (expected.columns, expected.rows)
    note = (
        "read 10 rows from each of 32 ranges of 'id'; the table has 2000 rows"
        if key
        else "read the first 320 rows that the database returned; the table has 2000 rows"
    )
    assert found.notes == (note,)


def test_bytes_limit_the_rows_that_are_counted(server: Server) -> None:
    table = fill(server, "narrow", "integer", RANGE)
    assert profiled(table, replace(SMALL, max_bytes=table.size // 3)).rows == len(RANGE) // 3


def test_the_columns_of_a_table_are_listed_once(server: Server) -> None:
    table = fill(server, "listed", "integer", RANGE)
    assert isinstance(table.location, Relation)
    asked: list[str] = []
    with Databases() as databases:
        engine = databases.engine(table.location)
        listen(engine, "before_cursor_execute", lambda *sent: asked.append(sent[2]))
        assert count_in_database(table, databases, CONFIG)
    described = {
        "postgresql": "pg_attribute.attname AS name",
        "mariadb": "SHOW CREATE TABLE",
        "clickhouse": "FROM system.columns",
        "databricks": "DESCRIBE TABLE ",
        "redshift": "FROM pg_catalog.pg_class",
        "snowflake": "DESC /* sqlalchemy:_get_schema_columns */ TABLE",
        "trino": '"data_type"',
    }
    assert sum(described[server.kind] in statement for statement in asked) == 1


def test_an_empty_table_is_reported_as_such(server: Server) -> None:
    server.run("CREATE TABLE void (v integer)")
    table = server.table("void")
    assert profiled(table, SMALL) == by_reading(table, SMALL)
    assert profiled(table, SMALL).fault


def test_personal_values_are_hidden(server: Server) -> None:
    mails = [f"'user{number}@example.org'" for number in range(40)]
    table = fill(server, "mails", "text", mails)
    found_table, missing = profiled_and_unread(table, SMALL)
    [found] = found_table.columns
    assert missing == []
    assert found.personal == "e-mail addresses"
    assert found == by_reading(table, SMALL).columns[0]
    assert not any("@" in text for text in found.sample)


def test_no_value_beyond_the_sample_leaves_the_database(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [f"{word}-{number}-{word}" for word in WORDS for number in range(9)]
    table = fill(server, "words", "text", [literal(server, word) for word in words])
    received: list[str] = []

    def keep(row: Row[tuple[object, ...]]) -> SqlCounts:
        received.append(repr(row))
        return read_counts(row)

    monkeypatch.setattr(sql_profiles, "read_counts", keep)
    found = profiled(table, SMALL)
    assert (found.rows, len(received)) == (90, 1)
    seen = {word.casefold() for word in words if word in received[0]}
    assert seen == {*map(str.casefold, found.columns[0].sample)}


@pytest.mark.parametrize("server", ["postgresql"], indirect=True)
def test_a_statement_that_fails_leaves_its_table_to_be_read(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    server.run(
        "CREATE TABLE long AS SELECT repeat(md5(i::text), 9) v FROM generate_series(1,9999) i"
    )
    # No server-side cursor needs a file, but groups of so many texts do.
    limits = "-c temp_file_limit=0 -c work_mem=64kB -c hash_mem_multiplier=1"
    url = make_url(server.url).update_query_dict({"options": limits})
    table = located(server.table("long"), url=SecretStr(url.render_as_string(hide_password=False)))
    assert profiled_and_unread(table, CONFIG) == (by_reading(table, CONFIG), ["all"])
    assert (
        "Reading a table that the database could not count: temporary file size exceeds "
        "temp_file_limit" in caplog.text
    )


@pytest.mark.parametrize("server", ["postgresql"], indirect=True)
def test_a_table_without_permission_is_reported(server: Server) -> None:
    reader = f"reader_{server.schema}"
    fill(server, "open", "integer", RANGE)
    fill(server, "secret", "integer", RANGE)
    server.run(
        f"CREATE ROLE {reader} LOGIN",
        f"GRANT USAGE ON SCHEMA {server.schema} TO {reader}",
        f"GRANT SELECT ON open TO {reader}",
    )
    try:
        url = make_url(server.url).set(username=reader)
        database = Database(url=SecretStr(url.render_as_string(hide_password=False)))
        readable, refused = (
            profiled(server.table(name, database), CONFIG) for name in ("open", "secret")
        )
    finally:
        server.run(f"DROP OWNED BY {reader}", f"DROP ROLE {reader}")
    assert (readable.rows, readable.fault) == (len(RANGE), "")
    assert refused.fault == (
        "cannot be read: permission denied for table secret. Let the connection's user select "
        "from it"
    )


def test_other_normal_forms_than_our_own_are_not_trusted(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    table = fill(server, "words", "text", [literal(server, word) for word in WORDS])
    expected = by_reading(table, SMALL)

    system = system_named(server.kind)
    write = system.form_of_column

    def wrong_form(name: str, type_: TypeEngine[object]) -> SqlForm:
        form = write(name, type_)
        assert form
        return replace(form, normal="reverse(f)")

    # Its check of the server, before any table is counted, would find a wrong `form`.
    monkeypatch.setattr(system, "form_of_column", wrong_form)
    assert profiled(table, SMALL) == expected
    assert "Reading a column for which the database computed other normal forms" in caplog.text


ASCII = st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=12)
NUMBERS = st.from_regex(r"-?[0-9]{1,3}(\.0{0,3}[0-9]{0,2})?(e[+-]?[0-9])?", fullmatch=True)
MOMENTS = st.from_regex(
    r"20[0-9]{2}-[01][0-9]-[0-3][0-9]([tT ][0-2][0-9]:[0-5][0-9](:[0-5][0-9](\.[0-9]{1,3})?)?)?"
    r"([zZ]|\+00:?00)?",
    fullmatch=True,
)


# The emulator of Snowflake takes seconds for each example, so it has tests of its own with fewer.
@pytest.mark.parametrize("server", COMPUTING[:3], indirect=True)
@given(st.lists(st.one_of(ASCII, NUMBERS, MOMENTS), min_size=1, max_size=80))
@example([*filter(str.isascii, MESSY)])
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_profiles_of_any_ascii_texts_equal_those_of_reading(
    server: Server, values: list[str]
) -> None:
    table = fill(server, "random", "text", [literal(server, value) for value in values])
    [found], [expected] = (of(table, CONFIG).columns for of in (profiled, by_reading))
    assert in_normal_form(found) == in_normal_form(expected)


MAGNITUDES = st.floats(1e-15, 2**53 - 1)


@pytest.mark.parametrize("server", COMPUTING[:3], indirect=True)
@given(st.lists(MAGNITUDES | MAGNITUDES.map(lambda value: -value), min_size=1, max_size=80))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_profiles_of_any_floats_equal_those_of_reading(server: Server, values: list[float]) -> None:
    if server.kind == "databricks":
        # It reads doubles of more digits, which engines write in different ways.
        values = [float(f"{value:.15g}") for value in values]
    table = fill(server, "floats", "double precision", [f"'{value!r}'" for value in values])
    assert profiled_and_unread(table, CONFIG) == (by_reading(table, CONFIG), [])
