"""Test that transactions cannot write, and that the smallest time limit holds."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, make_url

from datahub_hyperjoin.locations import Database
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.connections import statement_limit
from datahub_hyperjoin.spark.databases.engines import Databases, open_engine
from datahub_hyperjoin.spark.databases.system import computing_system
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from engines.servers import Server, serving

SLOW = {
    "postgresql": "CREATE VIEW slow AS SELECT 1 AS id, CAST(pg_sleep(30) AS text) AS nap",
    "mariadb": "CREATE VIEW slow AS SELECT 1 AS id, sleep(30) AS nap",
    "sqlite": "CREATE VIEW slow AS WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) "
    "SELECT count(*) AS id FROM t",
}
CHANGED = {
    "postgresql": "SELECT name FROM pg_settings WHERE source = 'session' "
    "AND name NOT LIKE 'transaction_%'",
    "mariadb": "SELECT s.variable_name FROM information_schema.session_variables s "
    "JOIN information_schema.global_variables g USING (variable_name) "
    "WHERE s.variable_value <> g.variable_value AND s.variable_name NOT LIKE 'CHARACTER_SET%' "
    "AND s.variable_name NOT LIKE 'COLLATION%'",
}
"""Queries for the settings of a session that are not those with which it began."""


@pytest.fixture(params=["postgresql", "mariadb", "sqlite"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        yield running


@contextmanager
def reading(database: Database) -> Iterator[Connection]:
    engine = open_engine("connections[0]", database)
    with engine.connect() as connection:
        connection.begin()
        yield connection
    engine.dispose()


@contextmanager
def limited_user(server: Server, seconds: int) -> Iterator[str]:
    """Create a user whose statements the administrator limits, and yield the user's URL."""
    who = f"{server.schema}_limited"
    if server.kind == "postgresql":
        server.run(
            f"CREATE ROLE {who} LOGIN", f"ALTER ROLE {who} SET statement_timeout = '{seconds}s'"
        )
        leave = f"DROP ROLE {who}"
    else:
        server.run(
            f"CREATE USER {who}@'%' WITH MAX_STATEMENT_TIME {seconds}",
            f"GRANT SELECT ON {server.schema}.* TO {who}@'%'",
        )
        leave = f"DROP USER {who}@'%'"
    try:
        yield make_url(server.url).set(username=who).render_as_string(hide_password=False)
    finally:
        server.run(leave)


@pytest.mark.parametrize("server", ["postgresql", "mariadb"], indirect=True)
@pytest.mark.parametrize(("ours", "expected"), [(600, 3), (2, 2)])
def test_the_smaller_of_the_limits_holds(server: Server, ours: float, expected: float) -> None:
    with (
        limited_user(server, 3) as url,
        reading(Database(url=SecretStr(url), timeout=ours)) as connection,
    ):
        assert statement_limit(connection) == expected
        if server.kind == "postgresql":
            shown = connection.exec_driver_sql("SHOW statement_timeout").scalar_one()
        else:
            shown = connection.exec_driver_sql("SELECT concat(@@max_statement_time)").scalar_one()
        assert shown in {f"{expected}s", f"{expected}.000000"}


@pytest.mark.parametrize("server", ["postgresql", "mariadb"], indirect=True)
def test_a_session_is_as_before_after_each_transaction(server: Server) -> None:
    engine = open_engine("connections[0]", server.database())
    with engine.connect() as connection:
        system = computing_system(connection)
        assert system
        assert system.syntax
        connection.rollback()
        for preparation in system.syntax.preparations:
            connection.exec_driver_sql(preparation)
        assert connection.exec_driver_sql(f"{system.syntax.settings}SELECT 1").scalar() == 1
        driver = connection.connection.driver_connection
        assert driver
        connection.rollback()
        # Past SQLAlchemy, as another client of a pool uses the session.
        cursor = driver.cursor()
        cursor.execute(CHANGED[server.kind])
        assert [*cursor.fetchall()] == []
        driver.rollback()
    engine.dispose()


def test_a_view_has_a_shorter_limit(server: Server) -> None:
    server.run(SLOW[server.kind])
    table = server.view("slow", view_timeout=1)
    with Databases() as databases:
        assert profile_table(table, ProfileConfig(), databases).fault == (
            "cannot be read: it takes longer than its time limit of 1 s. Make it faster"
        )
