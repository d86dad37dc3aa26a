"""Test what is special about Trino: its types, sessions, errors, and the SQL it is sent."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import (
    REAL,
    Boolean,
    Date,
    DateTime,
    Float,
    Integer,
    NullType,
    Numeric,
    String,
    Time,
    TypeEngine,
    Uuid,
)
from sqlglot import exp, parse_one

from datahub_hyperjoin.locations import Compute, Database
from datahub_hyperjoin.spark.databases.engines import Databases, open_engine
from datahub_hyperjoin.spark.databases.listing import list_keys, list_relations, states_of
from datahub_hyperjoin.spark.databases.system import (
    computing_system,
    is_asked_to_compute,
    system_named,
)
from datahub_hyperjoin.spark.databases.trino import _SYNTAX as SYNTAX
from datahub_hyperjoin.spark.databases.trino import Trino
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from datahub_hyperjoin.tables import DataType
from engines.columns_by_system import RANGE
from engines.counted_profiles import MD5, by_reading, in_normal_form, profiled, relation_of, unread
from engines.filled_tables import fill, literal
from engines.servers import Server, serving
from engines.sql_functions import called_functions, with_other_sql

GOLDEN = Path(__file__).with_name("trino_forms.sql")
FUNCTIONS = {
    *("abs", "array_agg", "array_join", "at_timezone", "bitwise_or_agg", "cast", "chr", "from_hex"),
    *("length", "lower", "md5", "position", "regexp_like", "regexp_replace", "substr", "to_hex"),
    *("to_utf8", "trim"),
}
"""The functions that our SQL may use, which Trino has:
https://trino.io/docs/current/functions/list.html."""
FEW = settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving("trino", tmp_path_factory.mktemp("server")) as running:
        yield running


def read(server: Server, type_: str, *values: str) -> tuple[str, ...]:
    """Return the values of a column as they are read."""
    [column] = by_reading(fill(server, "read", type_, values)).columns
    return tuple(column.sample)


def test_tables_and_views_are_listed_without_sizes(server: Server) -> None:
    server.run(
        'CREATE TABLE "group by" (id integer)', 'CREATE VIEW ids AS SELECT id FROM "group by"'
    )
    engine = open_engine("connections[0]", server.database())
    found = {
        views: list_relations(
            engine, "connections[0]", wanted=lambda schema: schema == server.schema, views=views
        )
        for views in (False, True)
    }
    engine.dispose()
    sizes = {views: {each.name: each.size for each in listed} for views, listed in found.items()}
    assert sizes == {False: {"group by": 0}, True: {"group by": 0, "ids": 0}}


def test_values_are_read_as_other_databases_write_them(server: Server) -> None:
    assert read(server, "boolean", "true", "NULL") == ("true",)
    assert read(server, "decimal(12, 2)", "12.50") == ("12.5",)
    assert read(server, "double", "0.1", "NULL") == ("0.1",)
    assert read(server, "real", "0.1") == ("0.1",)
    assert read(server, "char(9)", "'Oslo'") == ("Oslo     ",)
    assert read(server, "time(3)", "'09:30:00'") == ("09:30:00",)
    moment = "'2024-01-31 01:00:10.5 +01:00'"
    assert read(server, "timestamp(3) with time zone", moment) == ("2024-01-31 00:00:10.500000",)
    assert read(server, "timestamp(9)", "'2024-01-31 09:30:00.123456789'") == (
        "2024-01-31 09:30:00.123457",
    )


def test_more_rows_than_one_answer_holds_are_read(server: Server) -> None:
    server.run("CREATE TABLE many AS SELECT i FROM UNNEST(sequence(1, 1700)) AS numbers(i)")
    assert by_reading(server.table("many")).rows == 1700


def test_values_without_a_plain_text_are_not_read(server: Server) -> None:
    server.run(
        "CREATE TABLE odd (id integer, a json, b row(x integer), c map(varchar, integer), "
        "d varbinary, e array(integer))",
        "INSERT INTO odd (id) VALUES (7)",
    )
    types = {column.id.path: column.type for column in profiled(server.table("odd")).columns}
    assert types.pop("id") is DataType.INTEGER
    assert types.pop("d") is DataType.TEXT
    assert types == dict.fromkeys("abce", DataType.NESTED)


def test_an_error_names_no_value(server: Server) -> None:
    table = fill(server, "far", "date", ["'10000-01-31'", "'2024-01-31'"])
    fault = profiled(table).fault
    assert "Could not convert a value into the associated python type" in fault
    assert "10000" not in fault


def test_a_stranger_is_reported(server: Server) -> None:
    url = make_url(server.url).set(username="stranger").render_as_string(hide_password=False)
    engine = open_engine("connections[0]", Database(url=SecretStr(url)))
    with pytest.raises(UnreachableDatabaseError, match="error 401"):
        list_relations(engine, "connections[0]", wanted=lambda _: True, views=True)
    engine.dispose()


def test_an_answer_that_is_not_of_trino_is_an_error_of_the_statement(server: Server) -> None:
    engine = open_engine("connections[0]", server.database())
    with engine.connect() as connection, pytest.raises(SQLAlchemyError, match="error 401"):
        connection.exec_driver_sql("SELECT 'lost'")
    engine.dispose()


def test_a_missing_table_is_reported(server: Server) -> None:
    assert by_reading(server.table("nowhere")).fault


def test_there_are_neither_keys_nor_states(server: Server) -> None:
    table = fill(server, "keyless", "integer", RANGE)
    with Databases() as databases:
        engine = databases.engine(relation_of(table))
        assert list_keys(engine, "connections[0]", [(server.schema, "keyless")]) == {}
        assert states_of(engine) == {}


def time_limit(database: Database) -> str:
    engine = open_engine("connections[0]", database)
    with engine.connect() as connection:
        shown = connection.exec_driver_sql("SHOW SESSION LIKE 'query_max_execution_time'").one()
    engine.dispose()
    return str(shown[1])


def test_a_session_has_a_time_limit(server: Server) -> None:
    assert time_limit(server.database(timeout=90.5)) == "90.5s"


def test_a_user_who_may_not_set_a_time_limit_reads_without_one(server: Server) -> None:
    url = make_url(server.url).set(username="limited").render_as_string(hide_password=False)
    assert time_limit(Database(url=SecretStr(url))) == ""


@given(st.lists(st.text(st.characters(max_codepoint=0x2FF, exclude_characters="\0")), min_size=1))
@FEW
def test_any_texts_are_counted_as_they_are_read(server: Server, values: list[str]) -> None:
    table = fill(server, "texts", "varchar", [literal(server, value) for value in values])
    [found], [expected] = profiled(table).columns, by_reading(table).columns
    assert in_normal_form(found) == in_normal_form(expected)


DECIMALS = st.builds(
    lambda digits, scale: Decimal(digits).scaleb(-scale),
    st.integers(-999_999, 999_999),
    st.integers(0, 6),
)


@given(st.lists(DECIMALS, min_size=1, max_size=40))
@FEW
def test_any_doubles_with_few_digits_are_counted_as_they_are_read(
    server: Server, values: list[Decimal]
) -> None:
    table = fill(server, "doubles", "double", [f"'{value}'" for value in values])
    assert unread(table, MD5) == []
    assert profiled(table) == by_reading(table)


@pytest.mark.parametrize(
    ("type_", "written", "other"),
    [
        (Integer, "CAST(v AS varchar)", "concat(CAST(v AS varchar), '.0')"),
        (Time, "CAST(CAST(v AS time(6)) AS varchar)", "CAST(v AS varchar)"),
        (DateTime, "CAST(v AS timestamp(6))", "CAST(date_trunc('day', v) AS timestamp(6))"),
    ],
)
def test_a_server_with_other_functions_computes_nothing(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    type_: type[TypeEngine[Any]],
    written: str,
    other: str,
) -> None:
    system, engine = system_named("trino"), open_engine("connections[0]", server.database())
    with engine.connect() as connection:
        assert computing_system(connection) is not None
        monkeypatch.setattr(system, "form", with_other_sql(system, type_, written, other))
        assert computing_system(connection) is None
    engine.dispose()


def test_it_computes_only_if_it_is_asked_to() -> None:
    url = SecretStr("trino://reader@host/hive")
    assert not is_asked_to_compute(Database(url=url))
    assert is_asked_to_compute(Database(url=url, compute=Compute.DATABASE))


@pytest.mark.parametrize("type_", [Time(timezone=True), NullType()], ids=["zoned time", "unknown"])
def test_other_types_have_no_normal_form(type_: TypeEngine[Any]) -> None:
    assert Trino().form(type_) is None


TYPES: tuple[TypeEngine[Any], ...] = (
    *(String(), Boolean(), Integer(), Numeric(12, 2), Float(), REAL(), Date(), DateTime()),
    *(DateTime(timezone=True), Time(), Uuid()),
)


def test_the_sql_does_not_change_unnoticed() -> None:
    written = ""
    for type_ in TYPES:
        form = Trino().form(type_)
        assert form
        written += f"-- {type_!r}\n{form.value}\n{form.folded}\n{form.inexact}\n"
    normal = SYNTAX.text_form("{}").normal
    assert GOLDEN.read_text() == f"{written}-- normal form of a text\n{normal}\n"


def test_all_functions_are_those_of_trino() -> None:
    forms = [Trino().form(type_) for type_ in TYPES]
    written = [
        text
        for form in forms
        if form
        for text in (form.value, form.folded, form.inexact, form.normal)
    ]
    called = called_functions(SYNTAX, [*written, Trino.hex_digits])
    types = {"decimal", "time", "timestamp"}
    assert called - types - {"and", "filter", "not", "or", "then", "when"} == FUNCTIONS


@pytest.mark.parametrize("type_", TYPES, ids=repr)
def test_the_sql_is_read_by_another_parser_of_its_dialect(type_: TypeEngine[Any]) -> None:
    form = Trino().form(type_)
    assert form
    inner = f"SELECT {form.folded} AS f, {form.inexact} AS x FROM (SELECT {form.value.format('p')} "
    parsed = parse_one(f"SELECT {form.normal} FROM ({inner} AS v FROM t) AS d) AS e", read="trino")
    assert {each.name.lower() for each in parsed.find_all(exp.Anonymous)} <= {"at_timezone"}
