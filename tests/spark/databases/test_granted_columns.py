"""Test that all is read that a user may read, and that the rest is named."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from datahub.configuration.common import AllowDenyPattern
from pydantic import SecretStr
from sqlalchemy import make_url

from datahub_hyperjoin.catalog.databases import read_database_keys, scan_database
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import Compute, Database
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.sql.database_engine import DatabaseEngine
from datahub_hyperjoin.sql.dialects import DUCKDB
from datahub_hyperjoin.tables import Table, TableProfile
from engines.servers import Server, serving

KINDS = ("postgresql", "mariadb")


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        yield running


@contextmanager
def reader(server: Server, *grants: str) -> Iterator[Database]:
    """Create a user with the given privileges, such as `SELECT (id) ON pay`."""
    name = f"reader_{server.schema}"
    is_postgresql = server.kind == "postgresql"
    user = name if is_postgresql else f"{name}@'%'"
    first = f"CREATE ROLE {user} LOGIN" if is_postgresql else f"CREATE USER {user}"
    usage = [f"GRANT USAGE ON SCHEMA {server.schema} TO {user}"] if is_postgresql else []
    server.run(first, *usage, *(f"GRANT {grant} TO {user}" for grant in grants))
    url = make_url(server.url).set(username=name)
    try:
        yield Database(url=SecretStr(url.render_as_string(hide_password=False)))
    finally:
        server.run(*([f"DROP OWNED BY {user}"] if is_postgresql else []))
        server.run(f"DROP {'ROLE' if is_postgresql else 'USER'} {user}")


def profile_of(table: Table) -> TableProfile:
    with Databases() as databases:
        return profile_table(table, ProfileConfig(), databases)


def fill(server: Server) -> None:
    server.run(
        "CREATE TABLE users (id INTEGER PRIMARY KEY)",
        "CREATE TABLE team (id INTEGER PRIMARY KEY, boss INTEGER, "
        "CONSTRAINT fk_boss FOREIGN KEY (boss) REFERENCES users (id))",
        "CREATE TABLE pay (id INTEGER PRIMARY KEY, price DECIMAL(8, 2), note VARCHAR(9), "
        "pin INTEGER, CONSTRAINT fk_user FOREIGN KEY (id) REFERENCES users (id))",
        "CREATE VIEW late AS SELECT id, boss FROM team",
        "INSERT INTO users VALUES (1), (2)",
        "INSERT INTO team VALUES (7, 1), (8, 2)",
        "INSERT INTO pay VALUES (1, 12.50, 'a', 9), (2, 7, 'b', 9)",
    )


GRANTS = ("SELECT ON users", "SELECT ON team", "SELECT ON late", "SELECT (id, price, note) ON pay")


@pytest.mark.parametrize("compute", Compute)
def test_granted_columns_are_read_and_the_others_are_named(
    server: Server, compute: Compute
) -> None:
    fill(server)
    with reader(server, *GRANTS) as database:
        object.__setattr__(database, "compute", compute)
        found = profile_of(server.table("pay", database))
    values = {column.id.path: sorted(column.sample) for column in found.columns}
    expected = {"id": ["1", "2"], "price": ["12.5", "7"], "note": ["a", "b"]}
    assert found.fault == ""
    # MariaDB does not even tell the names of the others.
    is_told = server.kind == "postgresql"
    assert values == expected | ({"pin": []} if is_told else {})
    told = ["columns not read, because the connection's user may not select them: 'pin'"]
    assert list(found.notes) == (told if is_told else [])


def test_the_statement_selects_only_what_the_user_may_select(server: Server) -> None:
    fill(server)
    with reader(server, *GRANTS) as database:
        table = server.table("pay", database)
        with DatabaseEngine(table, {table.id: {"id"}}, timeout=9.0) as engine:
            [named] = engine.readings(table)
            columns = [each.sql(engine.dialect.name) for each in named.selected("a", DUCKDB)]
    assert columns == [f"a.{server.quote(name)}" for name in ("id", "price", "note")]


def test_a_view_is_read_whose_query_the_user_may_not_see(server: Server) -> None:
    fill(server)
    with reader(server, *GRANTS) as database:
        found = profile_of(server.table("late", database))
    assert (found.fault, found.rows, len(found.columns)) == ("", 2, 2)


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_a_broken_view_is_told_from_a_lacking_privilege(server: Server) -> None:
    server.run("CREATE TABLE gone (id INTEGER)", "CREATE VIEW broken AS SELECT id FROM gone")
    with reader(server, "SELECT ON broken") as database:
        server.run("DROP TABLE gone")
        found = profile_of(server.table("broken", database))
    assert "references invalid table" in found.fault
    assert found.fault.endswith(". Correct its definition, which needs what no longer exists")


def test_one_table_does_not_cost_the_others_their_keys(server: Server) -> None:
    fill(server)
    said: list[tuple[str, str, str]] = []
    with reader(server, *GRANTS) as database:
        tables = [server.table(name, database) for name in ("users", "team", "pay", "late")]
        keys = read_database_keys(tables, lambda *warning: said.append(warning))
    assert {key.name for key in keys.foreign} >= {"fk_boss"}
    if server.kind == "mariadb":
        assert [title for title, _, _ in said] == ["Declared keys of tables not read"]
        assert [context for _, _, context in said] == [f"{server.schema}.pay"]
    else:
        assert said == []


@pytest.mark.parametrize("server", ["postgresql"], indirect=True)
def test_partitions_count_once_and_foreign_tables_are_listed(server: Server) -> None:
    name = server.schema
    server.run(
        "CREATE TABLE log (id INTEGER, day DATE) PARTITION BY RANGE (day)",
        "CREATE TABLE log_24 PARTITION OF log FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')",
        "CREATE TABLE old_log (id INTEGER)",
        "CREATE TABLE old_log_24 () INHERITS (old_log)",
        "CREATE TABLE wide_log (note TEXT) INHERITS (old_log)",
        "CREATE MATERIALIZED VIEW sums AS SELECT id FROM log",
        f"CREATE FOREIGN DATA WRAPPER {name}",
        f"CREATE SERVER {name} FOREIGN DATA WRAPPER {name}",
        f"CREATE FOREIGN TABLE far (id INTEGER) SERVER {name}",
    )

    def listed(*deny: str) -> set[str]:
        selection = TableSelection(
            platform="postgres",
            env="PROD",
            names="{table}",
            schemas=AllowDenyPattern(allow=[name]),
            tables=AllowDenyPattern(deny=[f"{name}.{each}$" for each in deny]),
        )
        return {each.title for each in scan_database("db", server.database(), selection)}

    try:
        whole = {"log", "old_log", "wide_log", "sums", "far"}
        assert listed() == whole
        assert listed("log") == whole - {"log"} | {"log_24"}
    finally:
        server.run(f"DROP FOREIGN DATA WRAPPER {name} CASCADE")
