"""Test that large tables of databases are read in ranges of keys, over few connections."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr
from pyspark.sql import SparkSession
from pyspark.sql.functions import spark_partition_id
from sqlalchemy import event

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.data_source import load_relation
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.databases.relations import (
    WHOLE_KEY,
    choose_relation_columns,
    count_rows,
    find_integer_key,
    inspect_database,
    split_key,
)
from datahub_hyperjoin.spark.errors import UnreadableRelationError
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.routes import Route, route_of
from datahub_hyperjoin.spark.verification.verify import verify_joins
from datahub_hyperjoin.tables import ColumnId, DataType, Table
from engines.servers import KINDS, Server, serving

ROWS = 1_000
QUOTES = 'a`b"c'
IN_PARTS = ProfileConfig(split_bytes=1)


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        key, odd = running.quote("Sel%ect"), running.quote("a`b")
        blob = "BYTEA" if running.kind == "postgresql" else "BLOB"
        numbers = ", ".join(
            f"({at - 300}, 'Öl {at % 50}', {at}.5, '2024-01-{at % 28 + 1:02}', "
            f"{key_of(running.kind, at)})"
            for at in range(ROWS)
        )
        running.run(
            f"CREATE TABLE orders ({key} INTEGER PRIMARY KEY, {odd} VARCHAR(20), "
            f"price DECIMAL(8, 2), day DATE, photo {blob})",
            f"INSERT INTO orders VALUES {numbers}",
            "CREATE TABLE words (word VARCHAR(9) PRIMARY KEY, twice INTEGER)",
            "INSERT INTO words VALUES ('a', 1), ('b', 2), ('c', 3)",
            f"CREATE TABLE photos (photo {blob})",
            "INSERT INTO photos VALUES (NULL), (NULL)",
            "CREATE TABLE void (id INTEGER PRIMARY KEY)",
        )
        yield running


def key_of(kind: str, number: int) -> str:
    digits = f"{number:032x}"
    return f"'\\x{digits}'" if kind == "postgresql" else f"X'{digits}'"


def relation_of(table: Table) -> Relation:
    assert isinstance(table.location, Relation)
    return table.location


def test_a_table_read_in_ranges_has_the_same_profile(server: Server, spark: SparkSession) -> None:
    tables = [server.table("orders"), server.table("words"), server.table("photos")]
    assert {route_of(table, IN_PARTS) for table in tables} == {Route.DISTRIBUTED}
    with Databases() as databases:
        expected = [profile_table(table, ProfileConfig(), databases) for table in tables]
    found = profile_lake(spark, tables, IN_PARTS)
    types = [column.type for column in found[0].columns]
    assert types[0] is DataType.INTEGER
    assert types[-1] is DataType.TEXT
    for profile, expected_profile in zip(found, expected, strict=True):
        # If a value had several texts, the order of the ranges would decide which one is kept.
        assert profile == expected_profile


def test_ranges_contain_every_row_once(server: Server) -> None:
    relation = relation_of(server.table("orders"))
    with Databases() as databases:
        engine = databases.engine(relation)
        inspector = inspect_database(engine)
        assert (count_rows(relation, engine), find_integer_key(relation, inspector)) == (
            ROWS,
            "Sel%ect",
        )
        ranges = split_key(relation, engine, "Sel%ect", 4, rows=ROWS)
        assert ranges == [(None, -50), (-50, 200), (200, 450), (450, None)]
        void = relation_of(server.table("void"))
        assert split_key(void, engine, "id", 4, rows=0) == [WHOLE_KEY]
        assert find_integer_key(relation_of(server.table("words")), inspector) == ""


def test_a_key_may_have_any_name(server: Server, spark: SparkSession) -> None:
    key = server.quote(QUOTES)
    server.run(
        f"CREATE TABLE keyed ({key} INTEGER PRIMARY KEY)",
        "INSERT INTO keyed VALUES (1), (2), (3), (4)",
    )
    [found] = profile_lake(spark, [server.table("keyed")], replace(IN_PARTS, max_rows=2))
    assert found.fault == ""
    assert found.columns[0].id.path == QUOTES
    assert (
        found.notes[-1] == f"read 1 rows from each of 2 ranges of {QUOTES!r}; the table has 4 rows"
    )


def test_columns_are_queried_once(server: Server) -> None:
    relation = relation_of(server.table("orders"))
    with Databases() as databases:
        engine = databases.engine(relation)
        inspector = inspect_database(engine)
        statements: list[str] = []
        event.listen(
            engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2])
        )
        choose_relation_columns(relation, inspector)
        for_columns = [*statements]
        assert find_integer_key(relation, inspector) == "Sel%ect"
        assert for_columns
        again = {*for_columns} & {*statements[len(for_columns) :]}
        assert not [each for each in again if not each.startswith("SET LOCAL")]


def test_a_table_has_as_many_partitions_as_connections(server: Server, spark: SparkSession) -> None:
    relation = relation_of(server.table("orders", server.database(max_connections=3)))
    frame = load_relation(spark, relation, max_rows=10**6).frame
    assert frame is not None
    assert frame.select(spark_partition_id()).distinct().count() == 3
    assert frame.count() == ROWS


def test_one_far_key_does_not_spoil_the_sample(server: Server, spark: SparkSession) -> None:
    digits = "(SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3)"
    numbers = "a.d + 4 * b.d + 16 * c.d + 64 * e.d + 256 * f.d"
    server.run(
        "CREATE TABLE far (id BIGINT PRIMARY KEY)",
        f"INSERT INTO far SELECT {numbers} FROM {digits} a, {digits} b, {digits} c, {digits} e, "
        f"{digits} f",
        f"INSERT INTO far VALUES ({2**63 - 1})",
    )
    relation = relation_of(server.table("far"))
    with Databases() as databases:
        engine = databases.engine(relation)
        ranges = split_key(relation, engine, "id", 4, rows=1025)
    assert ranges == [(None, 257), (257, 514), (514, 771), (771, None)]
    [found] = profile_lake(spark, [server.table("far")], replace(IN_PARTS, max_rows=512))
    assert 480 <= found.rows <= 512


def test_a_sample_has_rows_from_each_range(server: Server, spark: SparkSession) -> None:
    config = replace(IN_PARTS, max_rows=64)
    orders, words = server.table("orders"), server.table("words")
    [found] = profile_lake(spark, [orders], config)
    assert (
        found.notes[-1]
        == "read 2 rows from each of 32 ranges of 'Sel%ect'; the table has 1000 rows"
    )
    keys = sorted(int(value) for value in found.columns[0].sample)
    assert (found.rows, len(keys)) == (64, 64)
    assert (keys[0], keys[-1] > 600) == (-300, True)
    large = replace(orders, size=1000)
    [bound] = profile_lake(spark, [large], ProfileConfig(split_bytes=1, max_bytes=96))
    assert (
        bound.notes[-1]
        == "read 3 rows from each of 32 ranges of 'Sel%ect'; the table has 1000 rows"
    )
    [few] = profile_lake(spark, [words], replace(config, max_rows=2))
    assert few.notes == ("read the first 2 rows that the database returned; the table has 3 rows",)
    assert few.rows == 2


def test_an_error_concerns_only_its_table(server: Server, spark: SparkSession) -> None:
    missing, void, words = profile_lake(
        spark, [server.table(name) for name in ("missing", "void", "words")], IN_PARTS
    )
    assert missing.fault.startswith("cannot be read: ")
    assert void.fault == "has no rows. Add rows"
    assert words.fault == ""


def test_verification_reads_large_tables_in_ranges(server: Server, spark: SparkSession) -> None:
    orders = server.table("orders")
    id_ = ColumnId(orders.id, "Sel%ect")
    [evidence] = verify_joins(spark, [orders], [(id_, id_)], config=IN_PARTS).values()
    assert evidence.shared == ROWS


def test_plans_contain_no_secrets(
    server: Server, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    database = replace(server.database(), password=SecretStr("hush"))
    if server.kind != "postgresql":
        pytest.skip("only this server lets anyone in, whatever the password")
    opened = load_relation(spark, relation_of(server.table("words", database)), max_rows=9)
    assert opened.frame is not None
    opened.frame.explain(mode="extended")
    plan = capsys.readouterr().out
    assert "hyperjoin_relation" in plan
    assert "hush" not in plan
    assert "127.0.0.1" not in plan


def test_a_dropped_table_is_an_error_of_the_table(server: Server) -> None:
    if server.kind == "sqlite":
        pytest.skip("a file is always there")
    relation = relation_of(server.table("orders"))
    with Databases() as databases:
        engine = databases.engine(relation)
        server.run("DROP TABLE orders")
        with pytest.raises(UnreadableRelationError, match=r"cannot be read: .*orders"):
            count_rows(relation, engine)
