"""Give tables and columns names that are commands, and run what the package writes about them."""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import psycopg2
import pyarrow as pa
import pyarrow.parquet as pq
import pymysql
import pytest
from pymysql.constants import CLIENT
from sqlalchemy import URL, make_url

from datahub_hyperjoin.visible import visible_lines
from engines.servers import Server, serving
from faults.outcome import Attack, Outcome
from lakes.evil_names import EVIL

_ROWS = 40
_REPEATS = 3
_TIME_S = 600
_SHORT = 60
"""Most bytes of a name in the databases."""
_ROOT = Path(__file__).parents[2]
_ERRORS = (duckdb.Error, psycopg2.Error, pymysql.MySQLError)
_Tables = Mapping[str, Mapping[str, list[str]]]


@dataclass(frozen=True)
class Place:
    """Where tables with evil names are, and how to run SQL there."""

    source: str
    """What `hyperjoin find` gets."""
    names: list[str]
    """The names of columns, which joins must have."""
    execute: Callable[[str], None]
    """Runs all statements of a text."""
    survives: Callable[[], bool]
    """Returns whether the table that evil names drop still has its rows."""


def _tables(names: list[str]) -> _Tables:
    """Return two tables that join on a column of each name, and tables of some of the names."""
    keys = {name: [f"K{at}-{row}" for row in range(_ROWS)] for at, name in enumerate(names)}
    own = {
        name: {"own": [f"T{at}-{row}" for row in range(_ROWS)]}
        for at, name in enumerate(names)
        if "DROP" in name and "/" not in name
    }
    refers = {f"own {at}": table["own"] * _REPEATS for at, table in enumerate(own.values())}
    facts = {name: values * _REPEATS for name, values in keys.items()}
    return {"hubs": keys, "facts": {**facts, **refers}, "victims": {"row": ["alive"]}, **own}


def _named(names: list[str]) -> list[str]:
    """Return the names without blank ones, whose columns are left out with a note."""
    return [name for name in names if name.strip()]


@contextmanager
def _files() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as name, duckdb.connect() as connection:
        folder = Path(name)
        for title, columns in _tables([*EVIL]).items():
            if len(title.encode()) < 200:
                pq.write_table(pa.table(dict(columns)), folder / f"{title}.parquet")
        connection.execute("CREATE TABLE victims AS SELECT 1")

        def execute(text: str) -> None:
            with _within(folder):
                connection.execute(text)

        def survives() -> bool:
            return connection.execute("SELECT * FROM victims").fetchall() == [(1,)]

        yield Place(name, _named([*EVIL]), execute, survives)


@contextmanager
def _within(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _database(kind: str) -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder, serving(kind, Path(folder)) as server:
        # `find` reads all schemas of a database of PostgreSQL, so this one has its own.
        own = _own_database(server) if kind == "postgresql" else nullcontext(server)
        with own as shop:
            names = _allowed(shop)
            for title, columns in _tables(names).items():
                _create(shop, title, columns)
            shown = make_url(shop.url).set(drivername=kind)

            def survives() -> bool:
                with shop.engine.connect() as connection:
                    rows = connection.exec_driver_sql("SELECT * FROM victims")
                    return [tuple(row) for row in rows] == [("alive",)]

            source = shown.render_as_string(hide_password=False)
            # SQLAlchemy parses the statement that created a table of MariaDB line by line.
            read = [name for name in names if kind == "postgresql" or "\n" not in name]
            yield Place(source, _named(read), partial(_execute, shown), survives)


@contextmanager
def _own_database(server: Server) -> Iterator[Server]:
    with server.engine.connect() as connection:
        admin = connection.execution_options(isolation_level="AUTOCOMMIT")
        admin.exec_driver_sql(f"CREATE DATABASE {server.schema}")
        url = make_url(server.url).set(database=server.schema)
        own = Server(url.render_as_string(hide_password=False), "public")
        yield own
        own.engine.dispose()
        admin.exec_driver_sql(f"DROP DATABASE {server.schema} WITH (FORCE)")


def _execute(url: URL, text: str) -> None:
    """Run several statements at once, as people's tools do."""
    account = {"user": url.username, "password": url.password or "", "host": url.host}
    if url.drivername == "postgresql":
        shown = url.render_as_string(hide_password=False)
        with closing(psycopg2.connect(shown)) as client, client.cursor() as cursor:
            cursor.execute(text)
            client.commit()
        return
    options = {"port": url.port or 3306, "database": url.database, "charset": "utf8mb4"}
    flag = CLIENT.MULTI_STATEMENTS
    with closing(pymysql.connect(**account, **options, client_flag=flag)) as client:
        with client.cursor() as cursor:
            cursor.execute(text)
            while cursor.nextset():
                pass
        client.commit()


def _allowed(server: Server) -> list[str]:
    """Return the names that columns of one table may have."""
    table, names = server.quote("of all names"), []
    server.run(f"CREATE TABLE {table} (plain INTEGER)")
    for name in EVIL:
        if len(name.encode()) <= _SHORT:
            with suppress(*_ERRORS):
                server.run(f"ALTER TABLE {table} ADD {server.quote(name)} INTEGER")
                names.append(name)
    server.run(f"DROP TABLE {table}")
    return names


def _create(server: Server, title: str, columns: Mapping[str, list[str]]) -> None:
    table = server.quote(title)
    described = ", ".join(f"{server.quote(name)} VARCHAR(12)" for name in columns)
    rows = [", ".join(f"'{cell}'" for cell in row) for row in zip(*columns.values(), strict=True)]
    values = ", ".join(f"({row})" for row in rows)
    server.run(f"CREATE TABLE {table} ({described})", f"INSERT INTO {table} VALUES {values}")


def _attack(place: Callable[[], Any], seed: int, long: bool) -> Outcome:  # noqa: ARG001, FBT001
    try:
        with place() as tables, tempfile.TemporaryDirectory() as out:
            found, failures = _try(tables, Path(out))
    except pytest.skip.Exception as skipped:
        return Outcome(0, worst=str(skipped))
    return Outcome(len(tables.names), tuple(failures), f"{found} joins")


def _try(place: Place, out: Path) -> tuple[int, list[str]]:
    command = (sys.executable, "-m", "datahub_hyperjoin.cli", "find", place.source)
    run = subprocess.run(
        [*command, "--out", str(out)],
        cwd=_ROOT, capture_output=True, check=False, timeout=_TIME_S,
    )  # fmt: skip
    if run.returncode:
        return 0, [run.stderr.decode()[-2000:]]
    records = json.loads(out.joinpath("joins.json").read_text("utf-8"))
    sql = out.joinpath("joins.sql").read_text("utf-8")
    failures = [*_shown(run, out), *_read_back(place, records, out)]
    failures += _run_all(place, sql, sum(bool(record["sql"]) for record in records))
    return len(records), failures


def _shown(run: "subprocess.CompletedProcess[bytes]", out: Path) -> Iterator[str]:
    """Yield each line for people that a name has changed."""
    comments = [
        line
        for line in out.joinpath("joins.sql").read_text("utf-8").split("\n")
        if line.startswith("-- ")
    ]
    for text in (run.stdout.decode(), run.stderr.decode(), *comments):
        if visible_lines(text) != text:
            yield f"characters are not visible: {ascii(text)[:500]}"
    page = out.joinpath("joins.html").read_text("utf-8")
    if "<script>alert" in page or "</script></script>" in page:
        yield "the page holds HTML of a name"


def _read_back(place: Place, records: list[dict[str, Any]], out: Path) -> Iterator[str]:
    """Yield each name that no record has, and what JSON and CSV tell differently."""
    found = {record["left_column"] for record in records}
    if lost := [ascii(name) for name in place.names if name not in found]:
        yield f"no join has these names: {lost}"
    with out.joinpath("joins.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    if [{name: str(cell) for name, cell in record.items()} for record in records] != rows:
        yield "joins.csv does not read back"


def _run_all(place: Place, sql: str, statements: int) -> Iterator[str]:
    """Run all statements at once, and yield what went wrong."""
    unquoted = re.sub(r"\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|'(?:[^']|'')*'|--[^\n]*", "", sql)
    ran = [one.strip() for one in unquoted.split(";") if one.strip()]
    if len(ran) != statements or not all(one.startswith("SELECT") for one in ran):
        yield f"joins.sql holds {len(ran)} statements for {statements} joins"
    try:
        place.execute(sql)
    except _ERRORS as error:
        yield f"joins.sql does not run: {error}"
    if not place.survives():
        yield "a name dropped a table"


ATTACKS: Mapping[str, Attack] = {
    "evil names: files, in DuckDB": partial(_attack, _files),
    **{
        f"evil names: {kind}": partial(_attack, partial(_database, kind))
        for kind in ("postgresql", "mariadb")
    },
}
