"""Test that tables of real databases are read exactly, read-only and within limits."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr, TypeAdapter, ValidationError
from pyspark.sql import SparkSession
from sqlalchemy import make_url, text
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.joins import Cardinality
from datahub_hyperjoin.locations import Database
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases, open_engine
from datahub_hyperjoin.spark.databases.listing import list_relations
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from datahub_hyperjoin.spark.profiles.local_batch import profile_local_batch, profile_table
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.spark.verification.verify import verify_joins
from datahub_hyperjoin.tables import ColumnId, DataType, Table, TableProfile
from engines.servers import KINDS, Server, serving

WEIRD = 'sel%ect `"Kündig"'
ODD = "s/e:c@ret"
CONFIG = ProfileConfig()


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        yield running


def profile_of(table: Table) -> TableProfile:
    with Databases() as databases:
        return profile_table(table, CONFIG, databases)


def types(profile: TableProfile) -> dict[str, DataType]:
    return {column.id.path: column.type for column in profile.columns}


def test_names_with_special_characters_are_quoted(server: Server) -> None:
    table, column = server.quote(WEIRD), server.quote("Group by")
    server.run(
        f"CREATE TABLE {table} ({column} VARCHAR(20), {server.quote(WEIRD)} INTEGER)",
        f"INSERT INTO {table} VALUES ('Zürich', 1), ('100%', 2), (NULL, 3)",
    )
    found = profile_of(server.table(WEIRD))
    assert found.fault == ""
    assert types(found) == {"Group by": DataType.TEXT, WEIRD: DataType.INTEGER}
    assert sorted(found.columns[0].sample) == ["100%", "Zürich"]
    assert (found.rows, found.columns[0].nulls) == (3, 1)


def test_types_of_every_kind_are_read(server: Server) -> None:
    blob = "BYTEA" if server.kind == "postgresql" else "BLOB"
    key = r"'\x00ff'" if server.kind == "postgresql" else "X'00ff'"
    server.run(
        "CREATE TABLE kinds (n INTEGER, price DECIMAL(8, 2), rate FLOAT, day DATE, "
        f"at TIMESTAMP, flag BOOLEAN, key_ {blob}, note VARCHAR(9))",
        "INSERT INTO kinds VALUES (1, 12.50, 0.5, '2024-01-31', '2024-01-31 09:30:00', "
        f"TRUE, {key}, 'x')",
    )
    found = types(profile_of(server.table("kinds")))
    flag = DataType.BOOLEAN if server.kind == "postgresql" else DataType.INTEGER
    assert found == {
        "n": DataType.INTEGER,
        "price": DataType.DECIMAL,
        "rate": DataType.DECIMAL,
        "day": DataType.DATE,
        "at": DataType.TIMESTAMP,
        "flag": flag,
        "key_": DataType.TEXT,
        "note": DataType.TEXT,
    }


def test_views_are_listed_on_request_and_empty_tables_are_reported(server: Server) -> None:
    server.run(
        "CREATE TABLE orders (id INTEGER, city VARCHAR(9))",
        "INSERT INTO orders VALUES (1, 'Oslo'), (2, 'Rome')",
        "CREATE VIEW northern AS SELECT * FROM orders WHERE city = 'Oslo'",
        "CREATE TABLE vacant (id INTEGER)",
    )

    def listed(*, views: bool) -> dict[str, int]:
        database = server.database()
        engine = open_engine("connections[0]", database)
        found = list_relations(
            engine, "connections[0]", wanted=lambda schema: schema == server.schema, views=views
        )
        engine.dispose()
        return {relation.name: relation.size for relation in found}

    assert [*listed(views=True)] == ["northern", "orders", "vacant"]
    sizes = listed(views=False)
    assert [*sizes] == ["orders", "vacant"]
    # An empty table is known to be small, for which no run should start Spark.
    assert all(sizes.values()) is (server.kind != "sqlite")
    assert profile_of(server.table("northern")).rows == 1
    assert profile_of(server.table("vacant")).fault == "has no rows. Add rows"
    assert profile_of(server.table("gone")).fault == (
        "cannot be read: it no longer exists. Run again"
    )


def test_at_most_max_rows_are_read(server: Server) -> None:
    rows = ", ".join(f"({at})" for at in range(50))
    server.run("CREATE TABLE many (id INTEGER)", f"INSERT INTO many VALUES {rows}")
    with Databases() as databases:
        reading = read_table(server.table("many"), databases, max_rows=20)
        assert sum(map(len, reading.batches)) == 20
        assert reading.notes == ["read up to row 20; there are more"]
        reading = read_table(server.table("many"), databases, max_rows=50)
        assert sum(map(len, reading.batches)) == 50
        assert reading.notes == []


def test_nothing_can_be_written(server: Server) -> None:
    server.run("CREATE TABLE orders (id INTEGER)")
    engine = open_engine("connections[0]", server.database())
    with engine.connect() as connection, pytest.raises(SQLAlchemyError, match=r"(?i)read.?only"):
        connection.execute(text(f"INSERT INTO {server.schema}.orders VALUES (1)"))
    engine.dispose()


@pytest.mark.parametrize("server", ["postgresql", "mariadb"], indirect=True)
def test_a_statement_ends_at_its_time_limit(server: Server) -> None:
    sleep = {"postgresql": "pg_sleep(30)::text", "mariadb": "sleep(30)"}
    server.run(f"CREATE VIEW slow AS SELECT {sleep[server.kind]} AS nap, 1 AS id")
    fault = profile_of(server.table("slow", server.database(timeout=1))).fault
    assert fault == ("cannot be read: it takes longer than its time limit of 1 s. Make it faster")


def test_joins_are_verified_on_all_rows_over_few_connections(
    server: Server, spark: SparkSession
) -> None:
    cities = [f"city {at}" for at in range(40)]

    def rows(values: Sequence[str]) -> str:
        return ", ".join(f"('{value}')" for value in values)

    server.run(
        "CREATE TABLE cities (name VARCHAR(20))",
        f"INSERT INTO cities VALUES {rows(cities)}",
        "CREATE TABLE offices (city VARCHAR(20))",
        f"INSERT INTO offices VALUES {rows(cities[:10] * 3)}",
    )
    database = server.database(max_connections=1)
    tables = [server.table(name, database) for name in ("cities", "offices")]
    profiles = profile_local_batch(spark, tables, CONFIG)
    assert [profile.fault for profile in profiles] == ["", ""]
    pair = ColumnId(tables[0].id, "name"), ColumnId(tables[1].id, "city")
    found = verify_joins(spark, tables, [pair])[pair]
    assert (found.shared, found.left_containment, found.right_containment) == (10, 0.25, 1)
    assert found.cardinality is Cardinality.ONE_MANY


@pytest.mark.parametrize("server", ["postgresql"], indirect=True)
def test_types_that_only_postgresql_has_are_read(server: Server) -> None:
    server.run(
        "CREATE TYPE mood AS ENUM ('sad', 'happy')",
        "CREATE TABLE rich (id UUID, tags TEXT[], doc JSONB, mood mood, net INET, span INTERVAL, "
        "big NUMERIC)",
        "INSERT INTO rich VALUES ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', '{a}', '{}', 'sad', "
        "'10.0.0.1', '1 hour', 'NaN'), (NULL, NULL, NULL, 'happy', NULL, NULL, 1e40)",
        "CREATE MATERIALIZED VIEW moods AS SELECT mood FROM rich",
    )
    found = profile_of(server.table("rich"))
    assert found.fault == ""
    kinds = types(found)
    assert (kinds["tags"], kinds["doc"]) == (DataType.TEXT, DataType.NESTED)
    assert found.columns[1].sample == ("[a]",)
    assert found.columns[0].sample == ("6ba7b810-9dad-11d1-80b4-00c04fd430c8",)
    assert sorted(found.columns[3].sample) == ["happy", "sad"]
    assert profile_of(server.table("moods")).rows == 2


@pytest.mark.parametrize("server", ["postgresql"], indirect=True)
def test_a_table_without_permission_is_reported_and_the_others_are_read(
    server: Server, spark: SparkSession
) -> None:
    reader = f"reader_{server.schema}"
    server.run(
        f"CREATE TABLE {server.schema}.open (id INTEGER)",
        f"INSERT INTO {server.schema}.open VALUES (1)",
        f"CREATE TABLE {server.schema}.secret (id INTEGER)",
        f"CREATE ROLE {reader} LOGIN",
        f"GRANT USAGE ON SCHEMA {server.schema} TO {reader}",
        f"GRANT SELECT ON {server.schema}.open TO {reader}",
    )
    try:
        url = make_url(server.url).set(username=reader)
        database = Database(url=SecretStr(url.render_as_string(hide_password=False)))
        tables = [server.table(name, database) for name in ("open", "secret")]
        readable, refused = profile_local_batch(spark, tables, CONFIG)
    finally:
        server.run(f"DROP OWNED BY {reader}", f"DROP ROLE {reader}")
    assert (readable.rows, readable.fault) == (1, "")
    assert refused.fault == (
        "cannot be read: permission denied for table secret. Let the connection's user select "
        "from it"
    )


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (
            "postgresql+psycopg2://me:hush@127.0.0.1:1/shop",
            "[Cc]onnection refused\\. Check its `url`",
        ),
        ("mariadb+pymysql://me:hush@127.0.0.1:1/shop", "[Cc]onnection refused"),
        ("cobol://me:hush@127.0.0.1/shop", "no SQLAlchemy dialect for `cobol` is installed"),
        ("oracle+oracledb://me:hush@127.0.0.1/shop", "its driver oracledb is not installed"),
    ],
)
def test_an_unreachable_database_is_reported_without_its_password(url: str, reason: str) -> None:
    with pytest.raises(UnreachableDatabaseError, match=reason) as caught:
        list_relations(
            open_engine("connections[3]", Database(url=SecretStr(url))),
            "connections[3]",
            wanted=lambda _: True,
            views=True,
        )
    assert str(caught.value).startswith("the database of `connections[3]` cannot be read: ")
    assert "hush" not in str(caught.value)


def test_the_password_may_be_separate_from_the_url() -> None:
    url = SecretStr("postgresql+psycopg2://me@127.0.0.1:1/shop")
    engine = open_engine("connections[0]", Database(url=url, password=SecretStr(ODD)))
    assert engine.url.password == ODD
    assert "s/e" not in repr(Database(url=url, password=SecretStr(ODD)))


def test_limits_of_a_database_must_be_positive() -> None:
    read = TypeAdapter(Database).validate_python
    with pytest.raises(ValidationError, match=r"max_connections\n  Input should be greater than"):
        read({"url": "sqlite://", "max_connections": 0})
    with pytest.raises(ValidationError, match=r"timeout\n  Input should be greater than or equal"):
        read({"url": "sqlite://", "timeout": 0.5})


def test_values_of_mixed_types_in_sqlite_are_read_as_text(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "odd.db")) as connection:
        connection.execute("CREATE TABLE odd (x INTEGER)")
        connection.executemany("INSERT INTO odd VALUES (?)", [(1,), ("one",), (2**62,), (None,)])
        connection.commit()
    server = Server(f"sqlite:///{tmp_path}/odd.db", "main")
    (column,) = profile_of(server.table("odd")).columns
    assert column.type is DataType.TEXT
    assert sorted(column.sample) == ["1", str(2**62), "one"]
    server.engine.dispose()


def test_a_sample_of_a_long_table_comes_from_all_its_parts(server: Server) -> None:
    rows = ", ".join(f"({at})" for at in range(400))
    server.run("CREATE TABLE many (id INTEGER PRIMARY KEY)", f"INSERT INTO many VALUES {rows}")

    def read(size: int, most: int) -> tuple[list[int], list[str]]:
        with Databases() as databases:
            table = replace(server.table("many"), size=size)
            reading = read_table(table, databases, max_rows=most)
            ids = [int(one) for batch in reading.batches for one in batch["id"].to_pylist()]
        return ids, reading.notes

    ids, notes = read(0, 64)
    assert notes == ["read 2 rows from each of 32 ranges of 'id'; the table has 400 rows"]
    assert len({*ids}) == 64
    assert np.histogram(ids, bins=4, range=(0, 400))[0].tolist() == [16] * 4
    assert read(1 << 20, 64) == (ids, notes)
    assert read(0, 400) == ([*range(400)], [])
    # A table of this size on disk cannot have more rows than allowed.
    assert read(1, 64) == ([*range(64)], ["read up to row 64; there are more"])
