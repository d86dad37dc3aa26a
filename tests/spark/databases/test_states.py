"""Test that the states of tables in real databases reveal every change.

A table whose state would be unreliable has an empty state.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import create_engine, make_url, text

from datahub_hyperjoin.locations import Database
from datahub_hyperjoin.spark.databases.listing import states_of
from engines.servers import KINDS, Server, alike, serving, settle, states

CITIES = (
    "CREATE TABLE cities (id INTEGER PRIMARY KEY, city VARCHAR(20))",
    "INSERT INTO cities VALUES (1, 'Oslo'), (2, 'Rome')",
)


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        yield running


POSTGRESQL, MARIADB, SQLITE = (
    pytest.mark.parametrize("server", [kind], indirect=True) for kind in KINDS
)


def test_unchanged_tables_keep_their_states(server: Server) -> None:
    server.run(*CITIES)
    server.run("CREATE VIEW northern AS SELECT * FROM cities WHERE city = 'Oslo'")
    settle(server)
    assert alike(lambda: states(server), lambda: states(server))
    found = states(server)
    assert (found["northern"], found["cities"] != "") == ("", True)


@POSTGRESQL
def test_postgresql_tables_that_depend_on_more_than_their_rows_have_no_state(
    server: Server,
) -> None:
    server.run(
        "CREATE TABLE plain (id INTEGER)",
        "CREATE UNLOGGED TABLE unlogged (id INTEGER)",
        "CREATE TABLE parts (id INTEGER) PARTITION BY RANGE (id)",
        "CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (9)",
        "CREATE TABLE elder (id INTEGER)",
        "CREATE TABLE heir () INHERITS (elder)",
        "CREATE TABLE secret (id INTEGER)",
        "ALTER TABLE secret ENABLE ROW LEVEL SECURITY",
        "CREATE VIEW lately AS SELECT now() AS at",
    )
    found = states(server)
    assert {name for name, state in found.items() if state} == {"plain", "part", "heir"}
    assert {*found} == {"unlogged", "parts", "elder", "secret", "lately", "plain", "part", "heir"}


@POSTGRESQL
def test_the_state_depends_on_how_values_are_written(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.run(*CITIES)

    def in_tokyo() -> dict[str, str]:
        with monkeypatch.context() as patch:
            patch.setenv("PGTZ", "Asia/Tokyo")
            return states(server)

    assert alike(in_tokyo, in_tokyo)
    assert not alike(in_tokyo, lambda: states(server), tries=3)


@MARIADB
def test_a_mariadb_table_has_no_state_right_after_a_write(server: Server) -> None:
    server.run(*CITIES)

    def after_a_write() -> dict[str, str]:
        server.run("UPDATE cities SET id = id + 10")
        return states(server)

    # On a busy machine, reading may begin too late.
    assert alike(after_a_write, lambda: {"cities": ""})


@MARIADB
def test_mariadb_tables_without_reliable_times_have_no_state(server: Server) -> None:
    server.run(
        "CREATE TABLE plain (id INTEGER)",
        "CREATE TABLE `odd name` (id INTEGER)",
        "CREATE TABLE old (id INTEGER) ENGINE = MyISAM",
        "CREATE TABLE safe (id INTEGER) ENGINE = Aria",
        "CREATE TABLE brief (id INTEGER) ENGINE = MEMORY",
        "CREATE TABLE ages (id INTEGER, age INTEGER AS (year(now()) - id) VIRTUAL)",
        "CREATE TABLE vacant (id INTEGER)",
        *(
            f"INSERT INTO {name} (id) VALUES (1)"
            for name in ("plain", "`odd name`", "old", "safe", "brief", "ages")
        ),
    )
    settle(server)
    found = states(server)
    assert {name for name, state in found.items() if state} == {"plain"}
    assert {*found} == {"plain", "odd name", "old", "safe", "brief", "ages", "vacant"}


@MARIADB
def test_without_access_to_transactions_tables_have_no_states(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.run(*CITIES)
    settle(server)
    reader = f"reader_{server.schema[-8:]}"
    server.run(f"CREATE USER {reader}", f"GRANT SELECT ON {server.schema}.* TO {reader}")
    try:
        url = make_url(server.url).set(username=reader).render_as_string(hide_password=False)
        with caplog.at_level(logging.DEBUG, "datahub_hyperjoin"):
            found = states(server, Database(url=SecretStr(url)))
        server.run(f"GRANT PROCESS ON *.* TO {reader}")
        allowed = states(server, Database(url=SecretStr(url)))
    finally:
        server.run(f"DROP USER {reader}")
    assert found == {"cities": ""}
    assert (
        "Cannot tell which tables have changed, so all are read. The database says: " in caplog.text
    )
    assert "PROCESS privilege" in caplog.text
    assert "" not in allowed.values()


@POSTGRESQL
def test_without_access_to_statistics_tables_have_no_states(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    own = create_engine(server.url, isolation_level="AUTOCOMMIT")
    name = f"{server.schema}_own"
    url = make_url(server.url).set(database=name, username=name)
    inside = create_engine(make_url(server.url).set(database=name))
    with own.connect() as connection:
        for statement in (f"CREATE DATABASE {name}", f"CREATE ROLE {name} LOGIN SUPERUSER"):
            connection.execute(text(statement))
        try:
            database = Database(url=SecretStr(url.render_as_string(hide_password=False)))
            with inside.begin() as there:
                there.execute(text(f"CREATE SCHEMA {server.schema} CREATE TABLE cities (id INT)"))
                there.execute(text("REVOKE SELECT ON pg_stat_bgwriter FROM PUBLIC"))
            assert states(server, database)["cities"] != ""
            connection.execute(text(f"ALTER ROLE {name} NOSUPERUSER"))
            with inside.begin() as there:
                there.execute(text(f"GRANT USAGE ON SCHEMA {server.schema} TO {name}"))
            with caplog.at_level(logging.DEBUG, "datahub_hyperjoin"):
                assert states(server, database) == {"cities": ""}
        finally:
            inside.dispose()
            connection.execute(text(f"DROP DATABASE {name}"))
            connection.execute(text(f"DROP ROLE {name}"))
    own.dispose()
    assert "The database says: permission denied for view pg_stat_bgwriter" in caplog.text


@POSTGRESQL
def test_the_state_depends_on_address_and_user_but_not_on_the_password(server: Server) -> None:
    server.run(*CITIES)

    def under(url: str, password: str | None = None) -> Callable[[], dict[str, str]]:
        secret = SecretStr(password) if password else None
        return lambda: states(server, Database(url=SecretStr(url), password=secret))

    plain = under(server.url)
    assert alike(plain, under(server.url, "hush"))
    assert alike(plain, under(server.url.replace("postgres@", "postgres:other@")))
    assert alike(plain, under(f"{server.url}?sslpassword=hush"))
    assert not alike(plain, under(f"{server.url}?connect_timeout=9"), tries=3)
    assert not alike(plain, under(server.url.replace("127.0.0.1", "localhost")), tries=3)


@SQLITE
def test_a_sqlite_file_has_a_state_only_without_open_changes(
    server: Server, tmp_path: Path
) -> None:
    server.run(*CITIES)
    file = tmp_path / "shop.db"
    assert states(server)["cities"] == ""
    settle(server)
    assert states(server)["cities"] != ""
    (tmp_path / "link.db").symlink_to(file)
    by_link = replace(server.database(), url=SecretStr(f"sqlite:///{tmp_path}/link.db"))
    assert states(server, by_link)["cities"] != ""
    (tmp_path / "shop.db-journal").write_text("")
    assert states(server)["cities"] != ""
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO cities VALUES (9, 'Wien')")
        settle(server)
        assert states(server)["cities"] == states(server, by_link)["cities"] == ""
    # The last connection to close writes the log to the file.
    settle(server)
    assert states(server)["cities"] != ""
    (tmp_path / "shop.db-journal").write_bytes(bytes(512))
    assert states(server)["cities"] == ""


@SQLITE
def test_sqlite_tables_outside_the_file_have_no_state(server: Server) -> None:
    server.run("CREATE TABLE plain (id INTEGER)", "CREATE VIRTUAL TABLE words USING fts5(word)")
    settle(server)
    found = states(server)
    assert (found["words"], found["plain"] != "") == ("", True)
    memory = create_engine("sqlite://")
    with memory.begin() as connection:
        connection.execute(text("CREATE TABLE plain (id INTEGER)"))
    assert states_of(memory) == {}
    memory.dispose()


def test_other_systems_have_no_states() -> None:
    assert states_of(create_engine("mysql+pymysql://me@127.0.0.1:1/shop")) == {}
