"""Test what is special about Snowflake: its names, sessions, sizes, and the SQL it is sent."""

import json
from collections.abc import Iterator
from decimal import Decimal
from gzip import decompress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from pyspark.sql import SparkSession
from sqlalchemy import inspect
from sqlalchemy.types import Boolean, Date, DateTime, Float, Numeric, String, Time, TypeEngine
from sqlglot import exp, parse_one

from datahub_hyperjoin.locations import Compute, Database
from datahub_hyperjoin.spark.databases.data_source import load_relation
from datahub_hyperjoin.spark.databases.engines import Databases, open_engine
from datahub_hyperjoin.spark.databases.listing import list_relations, states_of
from datahub_hyperjoin.spark.databases.relations import find_integer_key, split_key
from datahub_hyperjoin.spark.databases.snowflake import _SYNTAX as SYNTAX
from datahub_hyperjoin.spark.databases.snowflake import Snowflake
from datahub_hyperjoin.spark.databases.system import (
    computing_system,
    is_asked_to_compute,
    system_named,
)
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from datahub_hyperjoin.spark.profiles.in_database import count_in_database
from datahub_hyperjoin.tables import DataType, Table
from engines.counted_profiles import MD5, by_reading, profiled, relation_of
from engines.filled_tables import fill, literal
from engines.servers import Server, serving
from engines.sql_functions import called_functions, with_other_sql

GOLDEN = Path(__file__).with_name("snowflake_forms.sql")
FUNCTIONS = {
    *("coalesce", "collate", "length", "listagg", "lower", "octet_length", "position"),
    *("regexp_instr", "regexp_replace", "rtrim", "to_varchar", "trim", "left", "md5", "chr"),
    *("abs", "base64_encode", "bitor_agg", "convert_timezone", "date_part", "hex_decode_binary"),
    *("hex_encode", "mod", "substr", "to_char", "cast"),
}
"""The functions that our SQL may use, which Snowflake has:
https://docs.snowflake.com/en/sql-reference/functions-all."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving("snowflake", tmp_path_factory.mktemp("server")) as running:
        yield running


def counted(table: Table) -> list[str] | None:
    with Databases() as databases:
        found = count_in_database(table, databases, MD5)
    return found.unread if found else None


def listed(server: Server) -> dict[str, int]:
    engine = open_engine("connections[0]", server.database())
    found = list_relations(
        engine, "connections[0]", wanted=lambda schema: schema == server.schema, views=True
    )
    engine.dispose()
    return {each.name: each.size for each in found}


def test_tables_are_listed_with_sizes(server: Server) -> None:
    server.run(
        "CREATE TABLE sized (id INTEGER)",
        "INSERT INTO sized VALUES (1), (2), (3)",
        "CREATE TABLE vacant (id INTEGER)",
        'CREATE TABLE "lower" (id INTEGER)',
        'CREATE TABLE "Mixed case" (id INTEGER)',
    )
    assert listed(server) == {"sized": 24, "vacant": 1, "lower": 1, "Mixed case": 1}


def test_names_in_capitals_and_in_small_letters_are_two_names(server: Server) -> None:
    server.run(
        'CREATE TABLE twins ("v" VARCHAR(9), w VARCHAR(9), "Group by" VARCHAR(9))',
        "INSERT INTO twins VALUES ('small', 'large', 'both')",
    )
    table = server.table("twins")
    assert counted(table) == []
    for found in (profiled(table), by_reading(table)):
        samples = {column.id.path: column.sample for column in found.columns}
        assert samples == {"v": ("small",), "w": ("large",), "Group by": ("both",)}


def test_a_table_in_small_letters_is_read(server: Server) -> None:
    server.run('CREATE TABLE "quiet" (v INTEGER)', 'INSERT INTO "quiet" VALUES (7)')
    [name] = (name for name in listed(server) if name == "quiet")
    assert profiled(server.table(name)).columns[0].sample == ("7",)


def test_an_integer_key_is_split(server: Server) -> None:
    server.run(
        "CREATE TABLE keyed (id INTEGER PRIMARY KEY)",
        "INSERT INTO keyed SELECT seq4() + 1 FROM table(generator(rowcount => 100))",
    )
    relation = relation_of(server.table("keyed"))
    engine = open_engine("connections[0]", relation.database)
    key = find_integer_key(relation, inspect(engine))
    ranges = split_key(relation, engine, key, 4, rows=100)
    engine.dispose()
    assert (key, ranges) == ("id", [(None, 26), (26, 51), (51, 76), (76, None)])


@pytest.mark.spark
def test_spark_reads_names_in_capitals_and_in_small_letters(
    server: Server, spark: SparkSession
) -> None:
    server.run(
        'CREATE TABLE "parts" (id INTEGER PRIMARY KEY, "word" VARCHAR(9), "Group by" INTEGER)',
        """INSERT INTO "parts" SELECT seq4(), concat('v', seq4()), 7 """
        "FROM table(generator(rowcount => 50))",
    )
    [name] = (name for name in listed(server) if name == "parts")
    frame = load_relation(spark, relation_of(server.table(name)), max_rows=99).frame
    assert frame
    rows = {tuple(row) for row in frame.collect()}
    assert rows == {(str(at), f"v{at}", "7") for at in range(50)}


def test_values_without_a_plain_text_are_not_read(server: Server) -> None:
    server.run(
        "CREATE TABLE odd (id INTEGER, a VARIANT, b OBJECT, c ARRAY, d BINARY)",
        "INSERT INTO odd (id) VALUES (7)",
    )
    types = {column.id.path: column.type for column in profiled(server.table("odd")).columns}
    assert types.pop("id") is DataType.INTEGER
    assert types.pop("d") is DataType.TEXT
    assert {*types.values()} == {DataType.NESTED}


def test_tables_have_no_states(server: Server) -> None:
    assert states_of(server.engine) == {}


@given(st.lists(st.text(st.characters(max_codepoint=0x2FF, exclude_characters="\0")), min_size=1))
@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_texts_are_counted_as_they_are_read(server: Server, values: list[str]) -> None:
    table = fill(server, "texts", "varchar", [literal(server, value) for value in values])
    assert counted(table) is not None
    [found], [expected] = profiled(table).columns, by_reading(table).columns
    assert (found.sketch, found.type, found.nulls) == (
        expected.sketch,
        expected.type,
        expected.nulls,
    )


DECIMALS = st.builds(
    lambda digits, scale: Decimal(digits).scaleb(-scale),
    st.integers(-999_999, 999_999),
    st.integers(0, 6),
)


@given(st.lists(DECIMALS, min_size=1, max_size=40))
@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_floats_with_few_digits_are_counted_as_they_are_read(
    server: Server, values: list[Decimal]
) -> None:
    table = fill(server, "floats", "float", [f"'{value}'" for value in values])
    assert counted(table) == []
    assert profiled(table) == by_reading(table)


def test_an_account_with_other_functions_computes_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, engine = system_named("snowflake"), open_engine("connections[0]", server.database())
    with engine.connect() as connection:
        assert computing_system(connection) is not None
        other = with_other_sql(system, DateTime, "YYYY-MM-DD HH24:MI:SS.FF6", "DD.MM.YYYY")
        monkeypatch.setattr(system, "form", other)
        assert computing_system(connection) is None
    engine.dispose()


def test_it_computes_only_if_it_is_asked_to() -> None:
    url = SecretStr("snowflake://reader@account/shop")
    assert not is_asked_to_compute(Database(url=url))
    assert is_asked_to_compute(Database(url=url, compute=Compute.DATABASE))


@pytest.mark.parametrize("type_", [Time(), String()], ids=["time of day", "collation"])
def test_other_types_have_no_normal_form(type_: TypeEngine[Any]) -> None:
    assert Snowflake().form(type_) is None


def test_a_session_has_a_tag_and_a_time_limit() -> None:
    pytest.importorskip("snowflake.sqlalchemy")
    logins: list[dict[str, object]] = []

    class Account(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            body = json.loads(decompress(sent) if sent[:2] == b"\x1f\x8b" else sent)
            logins.append(body["data"]["SESSION_PARAMETERS"])
            answer = b'{"success": false, "code": "390100", "message": "wrong", "data": null}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 (as in the base)
            """Write nothing."""

    with HTTPServer(("127.0.0.1", 0), Account) as account:
        Thread(target=account.serve_forever, daemon=True).start()
        options = "account=none&protocol=http&login_timeout=5"
        url = f"snowflake://me:hush@127.0.0.1:{account.server_port}/shop/public?{options}"
        database = Database(url=SecretStr(url), timeout=90.5)
        with pytest.raises(UnreachableDatabaseError, match="wrong") as caught:
            list_relations(
                open_engine("connections[0]", database),
                "connections[0]",
                wanted=lambda _: True,
                views=True,
            )
        account.shutdown()
    assert "hush" not in str(caught.value)
    assert logins[0]["QUERY_TAG"] == "datahub-hyperjoin"


class TIMESTAMP_TZ(TypeEngine[Any]):  # noqa: N801 (the name of the library's class)
    """A type of the library, which need not be installed."""


TYPES: tuple[TypeEngine[Any], ...] = (
    *(String(9), Boolean(), Numeric(12, 2), Float(), Date(), DateTime(), TIMESTAMP_TZ()),
)


def test_the_sql_does_not_change_unnoticed() -> None:
    written = ""
    for type_ in TYPES:
        form = Snowflake().form(type_)
        assert form
        written += f"-- {type(type_).__name__}\n{form.value}\n{form.folded}\n{form.inexact}\n"
    normal = SYNTAX.text_form("{}").normal
    assert GOLDEN.read_text() == f"{written}-- normal form of a text\n{normal}\n"


def test_all_functions_are_those_of_snowflake() -> None:
    forms = [Snowflake().form(type_) for type_ in TYPES]
    written = [text for form in forms if form for text in (form.folded, form.inexact, form.normal)]
    called = called_functions(SYNTAX, [*written, Snowflake.hex_digits])
    unknown = called - FUNCTIONS - {"in", "group", "number", "when", "and", "or", "then"}
    assert unknown == set()


def test_the_sql_is_read_by_another_parser_of_its_dialect() -> None:
    form = SYNTAX.text_form("{}")
    inner = f"SELECT {form.folded} AS f FROM (SELECT {form.value.format('p')} AS v FROM t) AS d"
    parsed = parse_one(f"SELECT {form.normal} AS f FROM ({inner}) AS e", read="snowflake")
    assert not [*parsed.find_all(exp.Anonymous)]
    assert "(?:" not in form.normal
