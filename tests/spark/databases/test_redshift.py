"""Test what is special about Redshift: its types, keys, sessions and limits."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy import inspect, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import VARCHAR, Boolean, Integer, TypeEngine

from datahub_hyperjoin.locations import Compute, Database
from datahub_hyperjoin.spark.databases.engines import Databases, open_engine
from datahub_hyperjoin.spark.databases.listing import (
    ForeignKeyConstraint,
    list_keys,
    list_relations,
    states_of,
)
from datahub_hyperjoin.spark.databases.redshift import _SYNTAX as SYNTAX
from datahub_hyperjoin.spark.databases.redshift import MOST_FETCHED
from datahub_hyperjoin.spark.databases.relations import find_integer_key, read_rows, select_from
from datahub_hyperjoin.spark.databases.system import (
    computing_system,
    is_asked_to_compute,
    system_named,
    system_of_database,
)
from datahub_hyperjoin.tables import DataType
from engines.columns_by_system import RANGE
from engines.counted_profiles import MD5, by_reading, in_normal_form, profiled, relation_of, unread
from engines.filled_tables import fill, literal, series
from engines.redshift_functions import own_schema
from engines.servers import Server, serving
from engines.sql_functions import with_other_sql

FEW = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving("redshift", tmp_path_factory.mktemp("server")) as running:
        yield running


def read(server: Server, type_: str, *values: str) -> tuple[str, ...]:
    """Return the values of a column as they are read."""
    [column] = by_reading(fill(server, "read", type_, values)).columns
    return tuple(column.sample)


def test_tables_and_views_are_listed_without_sizes(tmp_path: Path) -> None:
    with serving("redshift", tmp_path) as server:
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
        assert states_of(engine) == {}
        engine.dispose()
    sizes = {views: {each.name: each.size for each in listed} for views, listed in found.items()}
    assert sizes == {False: {"group by": 0}, True: {"group by": 0, "ids": 0}}


def test_values_are_read_as_other_databases_write_them(server: Server) -> None:
    assert read(server, "boolean", "true", "NULL") == ("true",)
    assert read(server, "numeric(12, 2)", "12.50") == ("12.5",)
    assert read(server, "char(9)", "'Oslo'") == ("Oslo     ",)
    assert read(server, "timestamptz", "'2024-01-31 01:00:10.5+01'") == (
        "2024-01-31 00:00:10.500000",
    )
    # By default, Redshift sends 15 digits.
    assert read(server, "float8", "0.30000000000000004") == ("0.3",)


def test_values_without_a_plain_text_are_not_read(server: Server) -> None:
    server.run(
        "CREATE TABLE odd (id integer, a super, b varbyte)",
        "INSERT INTO odd VALUES (7, '{}', decode('10', 'hex'))",
    )
    types = {column.id.path: column.type for column in profiled(server.table("odd")).columns}
    assert types == {"id": DataType.INTEGER, "a": DataType.NESTED, "b": DataType.INTEGER}


def test_keys_have_no_quotes(tmp_path: Path) -> None:
    with serving("redshift", tmp_path) as server:
        server.run(
            'CREATE TABLE "order" ("group" integer PRIMARY KEY)',
            'CREATE TABLE lines ("order" integer REFERENCES "order", UNIQUE ("order"))',
        )
        table = server.table("order")
        with Databases() as databases:
            engine = databases.engine(relation_of(table))
            names = [(server.schema, name) for name in ("lines", "order")]
            keys = list_keys(engine, "connections[0]", names)
            key = find_integer_key(relation_of(table), inspect(engine))
    assert key == "group"
    assert keys[names[1]].unique == (("group",),)
    assert keys[names[0]].unique == (("order",),)
    [foreign] = keys[names[0]].foreign
    assert foreign == ForeignKeyConstraint(
        name="lines_order_fkey", columns=("order",), relation=names[1], referenced=("group",)
    )


def test_a_cursor_is_asked_for_as_many_rows_as_one_node_returns(server: Server) -> None:
    server.run(f"CREATE TABLE many AS SELECT i FROM {series(server, 1700)}")
    relation = relation_of(server.table("many"))
    with Databases() as databases:
        engine = databases.engine(relation)
        batches = [*read_rows(engine, select_from(relation, ["i"], engine.dialect), ["i"])]
    assert [batch.num_rows for batch in batches] == [MOST_FETCHED, 1700 - MOST_FETCHED]


def test_nothing_can_be_written(server: Server) -> None:
    server.run("CREATE TABLE here (id integer)")
    engine = open_engine("connections[0]", server.database())
    with engine.connect() as connection, pytest.raises(SQLAlchemyError, match="read-only"):
        connection.exec_driver_sql("DELETE FROM here")
    engine.dispose()


def test_a_session_has_a_time_limit(server: Server) -> None:
    engine = open_engine("connections[0]", server.database(timeout=90.5))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW statement_timeout").scalar_one() == "90500ms"
    engine.dispose()


@pytest.mark.parametrize("count", [1, 7, 3000])
def test_foreign_texts_are_counted_as_far_as_they_can_be_joined(server: Server, count: int) -> None:
    words = [literal(server, f"Köln, Kaiser-Wilhelm-Ring {number}") for number in range(count)]
    table = fill(server, "foreign_texts", "varchar(40)", words)
    server.run("ALTER TABLE foreign_texts ADD COLUMN n integer DEFAULT 7")
    assert unread(table, MD5) == (["v"] if count > 1000 else [])
    assert profiled(table) == by_reading(table)


def test_long_null_words_are_read(server: Server) -> None:
    spaced = [f"'{' ' * number}NA'" for number in range(0, 20_000, 4000)]
    table = fill(server, "spaced", "varchar(40000)", [*spaced, "'oslo'"])
    server.run("ALTER TABLE spaced ADD COLUMN n integer DEFAULT 7")
    assert unread(table, MD5) == ["v"]
    assert profiled(table) == by_reading(table)


def test_spaces_at_the_end_of_a_text_count(server: Server) -> None:
    table = fill(server, "ends", "varchar(20)", ["'red'", "'red   '", "'blue'", "'red '"])
    assert unread(table, MD5) == []
    [column] = profiled(table).columns
    assert column == by_reading(table).columns[0]
    assert (column.distinct, column.lengths.longest) == (2, 6)


def test_the_hashes_and_texts_of_a_full_sketch_can_be_joined(server: Server) -> None:
    server.run(
        "CREATE TABLE full_sketch AS SELECT rpad(i::varchar, 2000, 'x')::varchar(2000) AS v "
        f"FROM {series(server, 5000)}"
    )
    table = server.table("full_sketch")
    assert unread(table, MD5) == []
    found, expected = profiled(table), by_reading(table)
    assert found.columns[0].sketch == expected.columns[0].sketch
    assert found.columns[0].lengths == expected.columns[0].lengths


@pytest.mark.parametrize("size", [{"sketch_size": 8192}, {"sample_size": 100}], ids=repr)
def test_a_table_is_read_if_its_sketches_cannot_be_joined(
    server: Server, size: dict[str, int]
) -> None:
    table = fill(server, "numbers", "integer", RANGE)
    assert unread(table, MD5) == []
    assert unread(table, replace(MD5, **size)) == ["all"]  # type: ignore[arg-type]


@given(st.lists(st.text(st.characters(max_codepoint=0x2FF, exclude_characters="\0")), min_size=1))
@FEW
def test_any_texts_are_counted_as_they_are_read(server: Server, values: list[str]) -> None:
    table = fill(server, "texts", "varchar", [literal_of(value) for value in values])
    [found], [expected] = profiled(table).columns, by_reading(table).columns
    assert in_normal_form(found) == in_normal_form(expected)


def literal_of(text: str) -> str:
    """Write a literal for PostgreSQL, which does not read the backslashes of Redshift's."""
    return "'" + text.replace("'", "''") + "'"


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
    table = fill(server, "doubles", "double precision", [f"'{value}'" for value in values])
    assert unread(table, MD5) == []
    assert profiled(table) == by_reading(table)


@pytest.mark.parametrize(
    ("type_", "written", "other"),
    [
        (Boolean, "'true'", "'t'"),
        (Integer, "varchar(64)", "varchar(1)"),
        (VARCHAR, "left(v, len(v) - 1)", "v"),
    ],
)
def test_a_cluster_with_other_functions_computes_nothing(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    type_: type[TypeEngine[Any]],
    written: str,
    other: str,
) -> None:
    system, engine = system_named("redshift"), open_engine("connections[0]", server.database())
    with engine.connect() as connection:
        assert computing_system(connection) is not None
        monkeypatch.setattr(system, "form", with_other_sql(system, type_, written, other))
        assert computing_system(connection) is None
    engine.dispose()


def test_a_cluster_whose_compute_nodes_do_not_answer_computes_nothing(tmp_path: Path) -> None:
    with serving("redshift", tmp_path) as server:
        view = f"{own_schema(server.schema)}.sys_query_history"
        server.run(f"CREATE OR REPLACE VIEW {view} AS SELECT 7 AS query_id WHERE false")
        engine = open_engine("connections[0]", server.database())
        with engine.connect() as connection:
            assert computing_system(connection) is None
        engine.dispose()


@pytest.mark.parametrize("system", ["redshift+psycopg2", "postgresql+psycopg2", "postgresql"])
def test_redshift_computes_only_if_it_is_asked_to(system: str) -> None:
    url = f"{system}://reader@shop.a1.eu-west-1.redshift.amazonaws.com:5439/shop"
    database = Database(url=SecretStr(url))
    assert not is_asked_to_compute(database)
    redshift = system_of_database(database)
    assert redshift
    assert redshift.syntax is SYNTAX
    assert is_asked_to_compute(replace(database, compute=Compute.DATABASE))
    assert redshift.complete(make_url(url)).drivername == "redshift+psycopg2"


def test_a_url_of_redshift_is_opened_with_its_own_dialect() -> None:
    url = SecretStr("postgresql://reader@shop.a1.eu-west-1.redshift.amazonaws.com:5439/shop")
    engine = open_engine("connections[0]", Database(url=url))
    assert (engine.dialect.name, engine.driver) == ("redshift", "psycopg2")
    engine.dispose()


def test_the_stand_in_joins_no_more_than_redshift(server: Server) -> None:
    engine = open_engine("connections[0]", server.database())
    fill(server, "words", "varchar(40000)", [f"'{'x' * 33_000}'", "'a'"])
    joined = "SELECT len(listagg(v, '') WITHIN GROUP (ORDER BY v)) FROM words"
    with engine.connect() as connection:
        assert connection.exec_driver_sql(joined).scalar_one() == 33_001
        server.run("INSERT INTO words SELECT v FROM words")
        with pytest.raises(Exception, match="Result size exceeds LISTAGG limit"):
            connection.exec_driver_sql(joined)
    engine.dispose()


def test_each_length_has_a_character_of_its_own(server: Server) -> None:
    codes = [32, 36, 37, 38, 39, 92, 123, 125, 128, 768, 1032]
    selected = ", ".join(SYNTAX.character.format(code) for code in codes)
    fill(server, "single", "integer", ["1"])
    engine = open_engine("connections[0]", server.database())
    with engine.connect() as connection:
        found = connection.exec_driver_sql(f"SELECT {selected} FROM single").one()
    engine.dispose()
    assert [*map(ord, found)] == codes
