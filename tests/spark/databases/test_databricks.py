"""Test what is special about Databricks, with its SQLAlchemy dialect and a local Spark."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import inspect, make_url

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.config import Md5ProfileConfig
from datahub_hyperjoin.spark.databases.databricks import Databricks as DatabricksSystem
from datahub_hyperjoin.spark.databases.engines import Databases, open_engine
from datahub_hyperjoin.spark.databases.listing import list_keys, list_relations
from datahub_hyperjoin.spark.databases.relations import choose_relation_columns, inspect_database
from datahub_hyperjoin.spark.databases.system import computing_system
from datahub_hyperjoin.spark.errors import UnreadableRelationError
from datahub_hyperjoin.spark.profiles.in_database import count_in_database
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.tables import DataType, Table
from engines.filled_tables import fill
from engines.servers import Server, serving

pytestmark = pytest.mark.spark
CONFIG = Md5ProfileConfig(sample_size=8)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving("databricks", tmp_path_factory.mktemp("server")) as running:
        yield running


def under(table: Table, server: Server, **settings: str) -> Table:
    """Let sessions in which a table is read have other settings."""
    assert isinstance(table.location, Relation)
    url = make_url(server.url).update_query_dict(settings)
    database = replace(
        table.location.database, url=SecretStr(url.render_as_string(hide_password=False))
    )
    return replace(table, location=replace(table.location, database=database))


def described(server: Server, name: str) -> list[tuple[str, DataType | None]]:
    relation = server.table(name).location
    assert isinstance(relation, Relation)
    with Databases() as databases:
        inspector = inspect_database(databases.engine(relation))
        columns, _ = choose_relation_columns(relation, inspector)
    return [(column.path, column.opaque) for column in columns]


def test_urls_of_the_driver_lead_to_the_dialect_that_describes_tables() -> None:
    pytest.importorskip("databricks.sqlalchemy")
    url = make_url("databricks://token:hush@host:443?http_path=/sql/1&catalog=main&schema=shop")
    complete = DatabricksSystem().complete
    dialect = complete(url).get_dialect()
    assert (dialect.__name__, dialect.name) == ("DatabricksReader", "databricks")
    assert complete(url).query == url.query
    other = make_url("sqlite:///shop.db")
    assert complete(other) is other


def test_nested_columns_are_not_read_as_texts(server: Server) -> None:
    server.run(
        "CREATE TABLE types (t string COLLATE UTF8_LCASE, b binary, a array<int>, "
        "m map<string, int>, s struct<x: int, y: array<string>>, v variant, "
        "d decimal(9, 2), i interval day, p int) PARTITIONED BY (p)"
    )
    nested = dict.fromkeys("amsv", DataType.NESTED)
    opaque = {"t": None, "b": None, **nested, "d": None, "i": None, "p": None}
    assert described(server, "types") == [*opaque.items()]


def test_a_name_is_no_pattern(server: Server) -> None:
    server.run("CREATE TABLE a_b (x int)", "CREATE TABLE acb (y int)")
    assert described(server, "a_b") == [("x", None)]


def test_a_removed_table_is_reported_as_such(server: Server) -> None:
    with pytest.raises(UnreadableRelationError, match="it no longer exists"):
        described(server, "removed")


def test_tables_views_and_keys_are_listed(server: Server) -> None:
    with serving("databricks", Path()) as other:
        other.run("CREATE TABLE cities (id int)", "CREATE VIEW towns AS SELECT * FROM cities")
        engine = open_engine("connections[0]", server.database())
        listed = [
            list_relations(
                engine, "connections[0]", wanted=lambda schema: schema == other.schema, views=views
            )
            for views in (True, False)
        ]
        names = [(other.schema, name) for name in ("cities", "towns")]
        assert [[(each.schema, each.name) for each in each_of] for each_of in listed] == [
            names,
            names[:1],
        ]
        assert {each.size for each_of in listed for each in each_of} == {0}
        assert list_keys(engine, "connections[0]", names) == {}
        engine.dispose()


def test_statements_have_a_time_limit(server: Server) -> None:
    engine = open_engine("connections[0]", server.database(timeout=7.4))
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SET STATEMENT_TIMEOUT").one()
    engine.dispose()
    assert tuple(found) == ("STATEMENT_TIMEOUT", "7")


def test_a_server_that_reads_backslashes_as_they_are_computes_nothing(server: Server) -> None:
    table = fill(server, "texts", "string", ["'a'", "'b'"])
    location = under(table, server, **{"spark.sql.parser.escapedStringLiterals": "true"}).location
    assert isinstance(location, Relation)
    engine = open_engine("connections[0]", location.database)
    with engine.connect() as connection:
        assert computing_system(connection) is None
    engine.dispose()


def test_numbers_with_exponents_are_read_where_ansi_mode_is_off(server: Server) -> None:
    ansi_off = {"spark.sql.ansi.enabled": "false"}
    for type_, values, unread in (
        ("decimal(38, 18)", ["0.0000001", "12.5"], ["v"]),
        ("decimal(38, 18)", ["0.25", "12.5"], []),
        ("double", ["0.0000001", "12.5"], ["v"]),
        ("double", ["0.25", "12.5"], []),
    ):
        table = under(fill(server, "small", type_, values), server, **ansi_off)
        server.run("ALTER TABLE small ADD COLUMN n integer DEFAULT 7")
        with Databases() as databases:
            counted = count_in_database(table, databases, CONFIG)
            found = profile_table(table, CONFIG, databases)
        assert counted
        assert counted.unread == unread
        assert {*values} >= {*found.columns[0].sample}


def test_errors_are_told_without_the_statement(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    server.run("CREATE VIEW broken AS SELECT CAST('secret' AS int) AS v")
    with Databases() as databases:
        assert count_in_database(server.table("broken"), databases, CONFIG) is None
    assert "Reading a table that the database could not count: [CAST_INVALID_INPUT]" in caplog.text
    assert "SELECT" not in caplog.text.split("could not count", 1)[1]


def test_points_in_time_are_the_same_in_every_time_zone(server: Server) -> None:
    # When clocks go back, both have the same local time.
    values = ["'2024-11-03 05:30:00Z'", "'2024-11-03 06:30:00Z'"]
    table = fill(server, "moments", "timestamp", values)
    found = []
    for zone in ("America/New_York", "Asia/Kathmandu"):
        with Databases() as databases:
            placed = under(table, server, **{"spark.sql.session.timeZone": zone})
            counted = count_in_database(placed, databases, CONFIG)
        assert counted
        found.append(counted.aggregates["v"].values.hashes.tolist())
    assert found[0] == found[1]
    assert len(found[0]) == len(values)


def test_keys_of_the_engine_are_asked_for_without_failing(server: Server) -> None:
    server.run("CREATE TABLE keyless (id int)")
    engine = open_engine("connections[0]", server.database())
    inspector = inspect(engine)
    assert inspector.get_pk_constraint("keyless", server.schema)["constrained_columns"] == []
    engine.dispose()
