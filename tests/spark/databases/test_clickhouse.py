"""Test what is special about reading ClickHouse: its types, keys, users and errors."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from pyspark.sql import SparkSession
from requests import Response
from sqlalchemy import make_url, text
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.locations import Compute, Database, Relation
from datahub_hyperjoin.spark.config import Md5ProfileConfig, ProfileConfig
from datahub_hyperjoin.spark.databases.data_source import load_relation
from datahub_hyperjoin.spark.databases.engines import Databases, open_engine
from datahub_hyperjoin.spark.databases.listing import list_keys, list_relations
from datahub_hyperjoin.spark.databases.relations import (
    find_integer_key,
    inspect_database,
    split_key,
)
from datahub_hyperjoin.spark.databases.system import computing_system
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from datahub_hyperjoin.spark.profiles.in_database import count_in_database
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import DataType, Table, TableProfile
from engines.servers import Server, serving

MD5 = Md5ProfileConfig.of(ProfileConfig())
OPAQUE = {
    "Array(Tuple(a Decimal(9, 2), b String))": "[(1.5, 'x')]",
    "Tuple(Decimal(9, 2), Nullable(String))": "(1.5, NULL)",
    "Map(String, Decimal(9, 2))": "map('a', 1.5)",
    "Nested(a UInt8, b String)": "[1]",
    "JSON": "'{\"a\": 1}'",
    "Variant(UInt8, String)": "'x'",
    "Dynamic": "'x'",
    "Point": "(1, 2)",
    "IntervalDay": "toIntervalDay(7)",
}
VALUES = {
    "Nullable(Decimal(9, 4))": ("12.5000", "12.5"),
    "DateTime('Asia/Tokyo')": ("'2024-01-31 09:30:00'", "2024-01-31 00:30:00"),
    "Nullable(DateTime64(3, 'America/New_York'))": (
        "'2024-01-31 20:30:00.25'",
        "2024-02-01 01:30:00.250",
    ),
    "LowCardinality(FixedString(5))": ("'Oslo'", "Oslo"),
    "Enum8('mro' = 1, '_a_' = 2)": ("'mro'", "mro"),
    "LowCardinality(Nullable(String))": ("'\\xffx'", "\ufffdx"),
    "UInt256": (str((1 << 256) - 1), str((1 << 256) - 1)),
    "Float32": ("0.1", "0.1"),
    "Nullable(IPv6)": ("'2001:DB8::A'", "2001:db8::a"),
    "Bool": ("1", "true"),
    "Date32": ("'1900-01-01'", "1900-01-01"),
    "SimpleAggregateFunction(max, Nullable(Int64))": ("-7", "-7"),
    "Time64(3)": ("'09:30:00.25'", "09:30:00.25"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving("clickhouse", tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def repeated(server: Server) -> Table:
    """Return a table whose primary key has few numbers, each in many rows."""
    server.run(
        "CREATE TABLE repeated (id Int32, word String) ENGINE = MergeTree PRIMARY KEY id",
        "INSERT INTO repeated SELECT intDiv(number, 300) * 1000, toString(number) "
        "FROM numbers(2000)",
    )
    return server.table("repeated")


def profiled(table: Table) -> TableProfile:
    with Databases() as databases:
        return profile_table(table, ProfileConfig(), databases)


def relation_of(table: Table) -> Relation:
    assert isinstance(table.location, Relation)
    return table.location


def database_of(server: Server, **parts: object) -> Database:
    url = make_url(server.url).set(**parts)  # type: ignore[arg-type]
    return replace(server.database(), url=SecretStr(url.render_as_string(hide_password=False)))


def reading(server: Server) -> Database:
    return replace(server.database(), compute=Compute.SPARK)


def listed(database: Database, *, views: bool) -> list[tuple[str, str, int]]:
    engine = open_engine("connections[0]", database)
    found = list_relations(engine, "connections[0]", wanted=lambda _: True, views=views)
    engine.dispose()
    return [(each.schema, each.name, each.size) for each in found]


@pytest.mark.parametrize("type_", VALUES)
def test_values_are_read_without_what_only_shows_them(server: Server, type_: str) -> None:
    written, expected = VALUES[type_]
    server.run(
        "DROP TABLE IF EXISTS one",
        f"CREATE TABLE one (v {type_})",
        f"INSERT INTO one VALUES ({written})",
    )
    with Databases() as databases:
        [batch] = read_table(server.table("one"), databases, max_rows=9).batches
    assert list(map(str, batch.column(0).to_pylist())) == [expected]


def test_columns_of_no_table_are_lost_to_those_that_are_not_read(server: Server) -> None:
    columns = ", ".join(f"c{at} {type_}" for at, type_ in enumerate(OPAQUE))
    values = ", ".join("[1], ['x']" if "Nested" in type_ else OPAQUE[type_] for type_ in OPAQUE)
    server.run(
        f"CREATE TABLE odd (id UInt8, {columns}, state AggregateFunction(uniq, UInt8), "
        "more String ALIAS concat('a', toString(id)), brief UInt8 EPHEMERAL)",
        f"INSERT INTO odd SELECT 7, {values}, uniqState(toUInt8(1))",
    )
    found = profiled(server.table("odd"))
    assert (found.rows, found.fault) == (1, "")
    types = {column.id.path: column.type for column in found.columns}
    assert types.pop("id") is DataType.INTEGER
    assert types.pop("more") is DataType.TEXT
    assert types.pop("state") is DataType.BINARY
    assert {*types.values()} == {DataType.NESTED}
    # A column of the type Nested is one of each part.
    assert len(types) == len(OPAQUE) + 1


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=40))
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_bytes_are_counted_as_they_are_read(server: Server, values: list[bytes]) -> None:
    rows = ", ".join(f"(unhex('{value.hex()}'))" for value in values)
    server.run(
        "DROP TABLE IF EXISTS bytes",
        "CREATE TABLE bytes (v String)",
        f"INSERT INTO bytes VALUES {rows}",
    )
    table = server.table("bytes")
    with Databases() as databases:
        counted = count_in_database(table, databases, MD5)
        found = profile_table(table, MD5, databases)
        read = replace(table, location=replace(relation_of(table), database=reading(server)))
        expected = profile_table(read, MD5, databases)
        texts = read_table(read, databases, max_rows=99).batches
    assert counted
    assert counted.unread == []
    assert found == replace(expected, table=table)
    valid = {each.decode() for each in values if b"\0" not in each and is_text(each)}
    assert valid <= {value for batch in texts for value in batch.column(0).to_pylist()}


def is_text(value: bytes) -> bool:
    return value.decode("utf-8", "ignore").encode() == value


def test_only_the_database_of_the_url_is_listed(server: Server) -> None:
    server.run(
        "CREATE TABLE listed (id UInt8)",
        "INSERT INTO listed VALUES (1)",
        "CREATE TABLE vacant (id UInt8)",
        "CREATE VIEW seen AS SELECT id FROM listed",
    )
    sizes = {name: size for schema, name, size in listed(server.database(), views=False)}
    assert (sizes["listed"], sizes["vacant"], "seen" in sizes) == (8, 1, False)
    assert (server.schema, "seen", 0) in listed(server.database(), views=True)
    assert profiled(server.table("seen")).rows == 1
    assert profiled(server.table("vacant")).fault == "has no rows. Add rows"
    assert profiled(server.table("gone")).fault == (
        "cannot be read: it no longer exists. Run again"
    )


def test_all_databases_but_those_of_the_system_are_listed(server: Server) -> None:
    server.run("CREATE TABLE IF NOT EXISTS here (id UInt8)")
    schemas = {schema for schema, *_ in listed(database_of(server, database=None), views=True)}
    assert server.schema in schemas
    assert schemas.isdisjoint({"system", "information_schema", "INFORMATION_SCHEMA"})


def test_a_primary_key_that_may_repeat_is_no_key(server: Server, repeated: Table) -> None:
    engine = open_engine("connections[0]", server.database())
    assert list_keys(engine, "connections[0]", [(server.schema, repeated.title)]) == {}
    engine.dispose()


def test_a_key_that_repeats_splits_a_table_nevertheless(repeated: Table) -> None:
    relation = relation_of(repeated)
    with Databases() as databases:
        engine = databases.engine(relation)
        key = find_integer_key(relation, inspect_database(engine))
        ranges = split_key(relation, engine, key, 20, rows=2000)
    assert key == "id"
    assert [end for _, end in ranges[:-1]] == [first for first, _ in ranges[1:]]
    assert len(ranges) > 6


@pytest.mark.parametrize(
    "columns",
    [
        "a Int32, b Int32, PRIMARY KEY (a, b)",
        "a String, b Int32, PRIMARY KEY a",
        "a Nullable(Int32), b Int32, PRIMARY KEY a",
        "a Int32, b Int32",
    ],
)
def test_other_keys_split_no_table(server: Server, columns: str) -> None:
    server.run(
        "DROP TABLE IF EXISTS keyed",
        f"CREATE TABLE keyed ({columns}) ENGINE = MergeTree SETTINGS allow_nullable_key = 1",
    )
    relation = relation_of(server.table("keyed"))
    with Databases() as databases:
        engine = databases.engine(relation)
        assert find_integer_key(relation, inspect_database(engine)) == ""


@pytest.mark.spark
def test_spark_reads_every_row_once(spark: SparkSession, repeated: Table) -> None:
    frame = load_relation(spark, relation_of(repeated), max_rows=5000).frame
    assert frame
    found = sorted(int(row[1]) for row in frame.collect())
    assert found == [*range(2000)]


def test_nothing_can_be_written(server: Server) -> None:
    server.run("CREATE TABLE IF NOT EXISTS here (id UInt8)")
    engine = open_engine("connections[0]", server.database())
    with engine.connect() as connection, pytest.raises(SQLAlchemyError, match="readonly mode"):
        connection.execute(text("INSERT INTO here VALUES (1)"))
    engine.dispose()


def test_a_statement_ends_at_its_time_limit(server: Server) -> None:
    server.run(
        "CREATE VIEW slow AS SELECT sleepEachRow(0.5) AS nap FROM numbers(20) "
        "SETTINGS max_block_size = 1"
    )
    fault = profiled(server.table("slow", server.database(timeout=1))).fault
    assert "cannot be read: Code: 159. DB::Exception: Timeout exceeded" in fault


def test_answers_are_compressed(server: Server) -> None:
    engine = open_engine("connections[0]", server.database())
    answers: list[Response] = []
    with engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        raw.transport.http.hooks["response"] = lambda answer, **_: answers.append(answer)
        assert connection.execute(text("SELECT 'compressed?'")).scalar() == "compressed?"
    engine.dispose()
    assert [answer.headers["Content-Encoding"] for answer in answers] == ["gzip"]


def test_a_user_who_may_change_no_settings_reads_but_does_not_compute(server: Server) -> None:
    server.run("CREATE TABLE IF NOT EXISTS few (id UInt8)", "INSERT INTO few VALUES (1), (2)")
    url = make_url(server.url).update_query_dict({"endpoint": "limited"})
    database = replace(server.database(), url=SecretStr(url.render_as_string(hide_password=False)))
    assert profiled(server.table("few", database)).rows == 2
    engine = open_engine("connections[0]", database)
    with engine.connect() as connection:
        assert computing_system(connection) is None
    engine.dispose()


def test_a_server_that_does_not_answer_is_reported(server: Server) -> None:
    with pytest.raises(UnreachableDatabaseError, match="Connection refused"):
        listed(database_of(server, port=9), views=True)


def test_the_driver_gets_a_user_where_the_url_has_none(server: Server) -> None:
    server.run("CREATE TABLE IF NOT EXISTS here (id UInt8)")
    found = listed(database_of(server, username=None, password=None), views=False)
    assert (server.schema, "here", 1) in found
    with pytest.raises(UnreachableDatabaseError, match="nobody: unknown user"):
        listed(database_of(server, username="nobody"), views=False)
