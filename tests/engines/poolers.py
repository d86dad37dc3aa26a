"""Put PgBouncer before a database of PostgreSQL, and let another program write through it."""

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import psycopg2
import pytest
from sqlalchemy import make_url

from engines.servers import free_port, postgresql_url

_SECONDS = 20
_PAUSE = 0.05
SHOP = (
    "CREATE TABLE customer (id int PRIMARY KEY, name text)",
    "CREATE TABLE orders (id int PRIMARY KEY, customer_id int)",
    "CREATE TABLE audit (id serial PRIMARY KEY, what text)",
    "INSERT INTO customer SELECT g, 'customer ' || g FROM generate_series(1, 90) g",
    "INSERT INTO orders SELECT g, 1 + (g * 37 + g / 7) % 90 FROM generate_series(1, 400) g",
    "INSERT INTO audit (what) VALUES ('first')",
    "CREATE VIEW late AS SELECT id AS order_no, customer_id AS client FROM orders",
)
"""Statements that create three tables and a view."""


@contextmanager
def own_database(*statements: str, at: str = "") -> Iterator[str]:
    """Create a database with the tables of a shop, and yield its URL.

    The test is skipped if no server answers. `at` is the URL of another server.
    """
    server, name = at or postgresql_url(), f"hyperjoin_{uuid4().hex[:8]}"
    try:
        run(server, f"CREATE DATABASE {name}")
    except psycopg2.OperationalError as error:
        pytest.skip(f"no server answers: {error}")
    own = make_url(server).set(database=name).render_as_string(hide_password=False)
    try:
        run(own, *SHOP, *statements)
        yield own
    finally:
        run(server, f"DROP DATABASE {name} WITH (FORCE)")


def run(url: str, *statements: str) -> list[object]:
    """Execute statements outside of transactions, and return the values that the last returns."""
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    values: list[object] = []
    with closing(psycopg2.connect(plain)) as connection:
        # SQLAlchemy would begin a transaction, which not every pool allows.
        connection.autocommit = True
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                values = [row[0] for row in cursor.fetchall()] if cursor.description else []
    return values


@contextmanager
def pooled(url: str, mode: str) -> Iterator[str]:
    """Start PgBouncer before a database, in a pool mode, and yield the URL that leads through it.

    The test is skipped if it is not installed.
    """
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed")
    target, port = make_url(url), free_port()
    folder = Path(tempfile.mkdtemp(prefix="pgbouncer-"))
    # It refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    settings = {
        "listen_addr": "127.0.0.1",
        "listen_port": port,
        "unix_socket_dir": "",
        "auth_type": "any",
        "pool_mode": mode,
        # A run and its neighbours share what few connections there are.
        "default_pool_size": 20 if mode == "session" else 2,
        "logfile": folder / "log",
        "pidfile": folder / "pid",
    }
    server = f"host={target.host} port={target.port or 5432} user={target.username}"
    lines = ["[databases]", f"{target.database} = {server}", "[pgbouncer]"]
    lines += [f"{key} = {value}" for key, value in settings.items()]
    (folder / "pool.ini").write_text("\n".join(lines) + "\n")
    if user:
        shutil.chown(folder, user)
    process = subprocess.Popen(
        [program, str(folder / "pool.ini")], user=user, stderr=subprocess.DEVNULL
    )
    through = target.set(port=port).render_as_string(hide_password=False)
    try:
        _await(through)
        yield through
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def writing(url: str) -> Iterator[list[str]]:
    """Write to a table of the shop all the time, and collect what goes wrong."""
    faults: list[str] = []
    done = threading.Event()

    def write() -> None:
        while not done.wait(_PAUSE):
            faults.extend(_faults(url))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield faults
    finally:
        done.set()
        writer.join()


def traces(url: str, tries: int = 8) -> list[str]:
    """Return what a run has left behind in a pool's connections, as another program notices it."""
    faults = [fault for _ in range(tries) for fault in _faults(url)]
    left = {
        f"{name} = {value}"
        for _ in range(tries)
        for name, usual in _USUAL.items()
        for value in run(url, f"SHOW {name}")
        if value != usual
    }
    return [*faults, *sorted(left)]


_USUAL = {
    "statement_timeout": "0",
    "default_transaction_read_only": "off",
    "search_path": '"$user", public',
}


def _faults(url: str) -> Sequence[str]:
    try:
        run(url, "INSERT INTO audit (what) VALUES ('x')")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a fault
        return [str(error).splitlines()[0]]
    return []


def _await(url: str) -> None:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        with suppress(psycopg2.OperationalError):
            run(url, "SELECT 1")
            return
        time.sleep(0.05)
    pytest.fail(f"{url} does not answer")
