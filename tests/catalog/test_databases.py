"""Test which tables of a database are listed, and which names they have in DataHub."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from datahub.configuration.common import AllowDenyPattern
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.catalog.databases import scan_database
from datahub_hyperjoin.catalog.errors import NoTablesError
from datahub_hyperjoin.locations import Database
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.stages.profiling import read_profiles
from datahub_hyperjoin.tables import TableId
from engines.servers import KINDS, Server, serving, settle

KEY = "connections[0]"


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as found:
        found.run(
            "CREATE TABLE flights (carrier VARCHAR(2))",
            "INSERT INTO flights VALUES ('UA'), ('AA')",
            "CREATE TABLE planes (tailnum VARCHAR(6))",
            "CREATE VIEW late AS SELECT * FROM flights",
        )
        yield found


def connection(server: Server, **config: object) -> ConnectionConfig:
    return ConnectionConfig.model_validate(
        {
            "database": {"url": server.url},
            "schemas": {"allow": [f"^{server.schema}$"]},
            **config,
        }
    )


def database_of(config: ConnectionConfig) -> Database:
    assert config.database
    return config.database


def scan(server: Server, **config: object) -> list[TableId]:
    connected = connection(server, **config)
    return [table.id for table in scan_database(KEY, database_of(connected), connected.selection)]


def test_tables_have_the_names_of_datahubs_connectors(server: Server) -> None:
    before = "test." if server.kind == "postgresql" else ""
    platform = {"postgresql": "postgres"}.get(server.kind, server.kind)
    assert scan(server) == [
        TableId(platform, f"{before}{server.schema}.{name}")
        for name in ("flights", "late", "planes")
    ]


def test_the_recipe_sets_names_platforms_and_instances(server: Server) -> None:
    found = scan(
        server,
        platform="mysql",
        platform_instance="eu",
        env="dev",
        names="shop.{table}",
        views=False,
    )
    assert found == [TableId("mysql", f"eu.shop.{name}", "DEV") for name in ("flights", "planes")]


def test_patterns_leave_tables_out(server: Server) -> None:
    schema = server.schema
    found = scan(server, tables={"allow": [rf"{schema}\..*l"], "deny": [rf"{schema}\.pla"]})
    assert [table.name.rpartition(".")[2] for table in found] == ["flights", "late"]


def test_sizes_are_those_that_the_database_reports(server: Server) -> None:
    config = connection(server)
    flights = scan_database(KEY, database_of(config), config.selection)[0]
    assert (flights.size > 0) is (server.kind != "sqlite")
    assert (flights.title, flights.instance) == ("flights", "")


def test_an_unchanged_table_is_read_once(
    server: Server, spark: SparkSession, tmp_path: Path
) -> None:
    config = connection(server, views=False)
    kept = ProfileConfig(store=tmp_path / "kept")
    started: list[SparkSession] = []

    def start() -> SparkSession:
        started.append(spark)
        return spark

    def run() -> tuple[int, list[int]]:
        started.clear()
        tables = scan_database(KEY, database_of(config), config.selection)
        report = HyperJoinReport()
        profiles = read_profiles(tables, start, kept, report)
        return report.tables_from_profile_store, [profile.rows for profile in profiles]

    if server.kind == "mariadb":  # it recomputes statistics some time after a write, and counts
        server.run("ALTER TABLE planes STATS_AUTO_RECALC = 0")
    server.run("INSERT INTO planes VALUES ('N1')")
    settle(server)
    assert run() == (0, [2, 1])
    # On a PostgreSQL server, any write causes all tables to be read again.
    assert any(run() == (2, [2, 1]) and not started for _ in range(10))
    server.run("INSERT INTO flights VALUES ('DL')")
    alone = 1 if server.kind == "mariadb" else 0
    assert run() == (alone, [3, 1])
    settle(server)
    run()
    assert any(run() == (2, [3, 1]) and not started for _ in range(10))


def test_a_database_without_tables_is_named(server: Server) -> None:
    config = connection(server, tables={"deny": [".*"]})
    message = r"`connections\[0\]` has 3 tables, and none that its `tables` and `schemas` allow"
    with pytest.raises(NoTablesError, match=message):
        scan_database(KEY, database_of(config), config.selection)


def test_system_schemas_are_not_listed(server: Server) -> None:
    found = scan(server, schemas=AllowDenyPattern.allow_all().model_dump())
    schemas = {table.name.split(".")[-2] for table in found}
    assert server.schema in schemas
    assert not schemas & {"information_schema", "pg_catalog", "mysql", "performance_schema", "sys"}
