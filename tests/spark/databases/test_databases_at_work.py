"""Test databases with many tables and few connections, and with failing servers."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pydantic import SecretStr
from pyspark.sql import SparkSession
from sqlalchemy import create_engine, make_url, text

from datahub_hyperjoin.locations import Database
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_local_batch, profile_table
from datahub_hyperjoin.tables import DataType
from engines.servers import Server, serving

TABLES = 200
CONFIG = ProfileConfig()
SESSIONS = {
    "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE usename = :who",
    "mariadb": "SELECT count(*) FROM information_schema.processlist WHERE user = :who",
}
PORTS = {"postgresql": 5432, "mariadb": 3306}


@pytest.fixture(params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        yield running


def make_tables(server: Server) -> list[str]:
    """Create tables with many nulls, and with unusual names."""
    odd = ("order", "GROUP", "Ärger", "名前", 'with "quotes"', "per%cent", "two words")
    names = [*odd, *(f"plain_{at}" for at in range(TABLES - len(odd)))]
    document = "JSONB" if server.kind == "postgresql" else "JSON"
    for at, name in enumerate(names):
        quoted, key = server.quote(name), server.quote("select")
        filled = ", ".join(f"({row}, 'city {at + row}', NULL, '{{}}')" for row in range(20))
        server.run(
            f"CREATE TABLE {quoted} ({key} INTEGER, city VARCHAR(20), gap DECIMAL(5, 1), "
            f"doc {document})",
            f"INSERT INTO {quoted} VALUES {filled}",
            f"INSERT INTO {quoted} VALUES (NULL, NULL, 1.5, NULL)",
        )
    return names


@contextmanager
def user(server: Server) -> Iterator[str]:
    """Create a read-only user for a run, so that the run's connections can be recognised."""
    who = server.schema
    if server.kind == "postgresql":
        server.run(
            f"CREATE ROLE {who} LOGIN",
            f"GRANT USAGE ON SCHEMA {who} TO {who}",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {who} TO {who}",
        )
        yield who
        server.run(f"DROP OWNED BY {who}", f"DROP ROLE {who}")
    else:
        server.run(f"CREATE USER {who}@'%'", f"GRANT SELECT ON {who}.* TO {who}@'%'")
        yield who
        server.run(f"DROP USER {who}@'%'")


@contextmanager
def most_sessions(server: Server, who: str) -> Iterator[list[int]]:
    """Count the sessions of a user in the background, and collect the counts."""
    seen: list[int] = []
    done = threading.Event()
    engine = create_engine(server.url, isolation_level="AUTOCOMMIT")

    def watch() -> None:
        with engine.connect() as connection:
            while not done.is_set():
                seen.append(
                    connection.execute(text(SESSIONS[server.kind]), {"who": who}).scalar_one()
                )
                time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()
        engine.dispose()


@pytest.mark.parametrize(
    ("server", "most"), [("postgresql", 1), ("mariadb", 2)], indirect=["server"]
)
def test_many_tables_are_read_within_the_limit_of_connections(
    server: Server, spark: SparkSession, most: int
) -> None:
    names = make_tables(server)
    with user(server) as who:
        url = make_url(server.url).set(username=who).render_as_string(hide_password=False)
        database = Database(url=SecretStr(url), max_connections=most)
        tables = [server.table(name, database) for name in names]
        with most_sessions(server, who) as seen:
            profiles = profile_local_batch(spark, tables, CONFIG)
    assert [profile.fault for profile in profiles if profile.fault] == []
    assert {profile.rows for profile in profiles} == {21}
    assert {column.id.path for profile in profiles for column in profile.columns} == {
        "select",
        "city",
        "gap",
        "doc",
    }
    city, gap = profiles[3].columns[1], profiles[3].columns[2]
    assert (city.type, city.distinct, city.nulls) == (DataType.TEXT, 20, 1)
    assert (gap.type, gap.distinct, gap.nulls) == (DataType.DECIMAL, 1, 20)
    assert 1 <= max(seen) <= most


class Bridge:
    """A proxy that forwards connections to a server until `cut` is called."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = [self._listener]
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._to))
            self._open += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass(one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(1 << 16):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def cut(self) -> None:
        for one in self._open:
            with suppress(OSError):  # it may have ended by itself
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def test_a_failing_server_affects_only_its_own_tables(server: Server) -> None:
    server.run("CREATE TABLE early (id INTEGER)", "INSERT INTO early VALUES (1)")
    server.run("CREATE TABLE late (id INTEGER)", "INSERT INTO late VALUES (1)")
    bridge = Bridge(PORTS[server.kind])
    url = make_url(server.url).set(port=bridge.port).render_as_string(hide_password=False)
    early, late = (server.table(name, Database(url=SecretStr(url))) for name in ("early", "late"))
    with Databases() as databases:
        assert profile_table(early, CONFIG, databases).fault == ""
        bridge.cut()
        for _ in range(2):
            fault = profile_table(late, CONFIG, databases).fault
            assert fault.startswith("cannot be read: ")
            assert fault.endswith(". The connection was lost. Run again when the database answers")
        assert profile_table(server.table("late"), CONFIG, databases).fault == ""
