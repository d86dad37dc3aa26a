"""Test SQL that is only written, by running it with a plain client of the database."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import duckdb
import pytest
from click.testing import CliRunner, Result
from sqlalchemy import make_url

from datahub_hyperjoin import FoundJoins, find_joins
from datahub_hyperjoin.cli import main
from datahub_hyperjoin.discovery.errors import UnknownChoiceError
from datahub_hyperjoin.sql.database_engine import DatabaseEngine
from datahub_hyperjoin.sql.write import TableInSql
from datahub_hyperjoin.tables import Table
from engines.servers import Server, serving

KEYS = [f"{at:08x}-0000-4000-8000-{at * at:012x}" for at in range(40)]
TYPES = {
    "postgresql": ("UUID", "VARCHAR(36)", "CHAR(36)", "TEXT"),
    "mariadb": (
        "VARCHAR(36) COLLATE utf8mb4_bin",
        "VARCHAR(36) COLLATE utf8mb4_general_ci",
        "CHAR(36) COLLATE utf8mb4_unicode_ci",
        "TEXT",
    ),
    "sqlite": ("TEXT", "VARCHAR(36)", "CHAR(36)", "TEXT"),
}
"""Four types of text, which a database does not always compare with each other."""


@contextmanager
def database(kind: str, folder: Path) -> Iterator[Server]:
    """Set up a database that holds the tables of this test alone."""
    with serving(kind, folder) as running:
        if kind != "postgresql":
            yield running
            return
        name = f"hyperjoin_{uuid4().hex[:8]}"
        admin = running.engine.execution_options(isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
            own = Server(str(make_url(running.url).set(database=name)), "public")
            yield own
            own.engine.dispose()
            connection.exec_driver_sql(f"DROP DATABASE {name}")


@pytest.fixture(scope="module", params=TYPES)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Set up tables that write the same keys in several types and spellings."""
    with database(request.param, tmp_path_factory.mktemp("database")) as running:
        for number, kind in enumerate(TYPES[request.param]):
            # The days differ, since a table joins no copy of itself.
            rows = (
                f"('{key}', '2024-{number + 1:02}-{at % 28 + 1:02}', {at})"
                for at, key in enumerate(KEYS)
            )
            running.run(
                f"CREATE TABLE t{number} (ref {kind} NOT NULL, day DATE, n INTEGER)",
                f"INSERT INTO t{number} VALUES {', '.join(rows)}",
            )
        rows = (f"('  {key.upper()} ', '{at}.0')" for at, key in enumerate(KEYS))
        running.run(
            "CREATE TABLE mails (ref VARCHAR(99), n VARCHAR(9))",
            f"INSERT INTO mails VALUES {', '.join(rows)}, ('', ''), (NULL, NULL)",
        )
        yield running


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the SQL of joins that is run in a database."""
    statements: list[str] = []
    fetch = DatabaseEngine.fetch

    def note(engine: DatabaseEngine, query: str) -> list[tuple[object, ...]]:
        statements.append(query)
        return fetch(engine, query)

    monkeypatch.setattr(DatabaseEngine, "fetch", note)
    monkeypatch.setattr("datahub_hyperjoin.joins.lists._MAX_JOINS", 2)
    return statements


def rows_of(server: Server, sql: str) -> int:
    """Count the rows of a statement, without its limit, with a plain client of the database."""
    keys = sql.replace("a.*,\n  b.*", "1 AS one").removesuffix("LIMIT 100")
    with closing(server.engine.raw_connection()) as connection:
        cursor = connection.cursor()
        cursor.execute(f"SELECT COUNT(*) FROM ({keys}) AS found")
        return int(cursor.fetchall()[0][0])


def check_rows(server: Server, found: FoundJoins) -> None:
    assert len(found) > 5
    for record in found.records():
        assert rows_of(server, record["sql"]) == record["rows"], record


def test_sql_is_written_for_all_joins_and_run_for_those_that_are_shown(
    server: Server, ran: list[str]
) -> None:
    found = find_joins(server.url, list_all=True)
    check_rows(server, found)
    was_run = [record["sql_was_run"] for record in found.records()]
    assert was_run.count(True) == 2
    assert 2 <= len(ran) <= 8  # one for each way to compare the values that was tried
    assert "not run" in found.to_html()


def test_sql_that_is_not_run_is_right(server: Server, ran: list[str]) -> None:
    found = find_joins(server.url, sql="none", list_all=True)
    check_rows(server, found)
    assert ran == []


def test_a_database_is_asked_about_each_table_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    read = DatabaseEngine.reading

    def note(engine: DatabaseEngine, table: Table) -> TableInSql:
        asked.append(table.id.name)
        return read(engine, table)

    monkeypatch.setattr(DatabaseEngine, "reading", note)
    found = find_joins(server.url, sql="none", list_all=True)
    assert sorted(asked) == sorted(found.tables)
    assert len(found) > len(asked)


ONE = pytest.mark.parametrize("server", ["sqlite"], indirect=True)


@ONE
def test_all_sql_is_run_on_demand(server: Server) -> None:
    found = find_joins(server.url, sql="all", list_all=True)
    check_rows(server, found)
    assert all(record["sql_was_run"] for record in found.records())


def find(server: Server, *options: str) -> Result:
    done = CliRunner().invoke(main, ["find", server.url, "--all", *options])
    assert done.exit_code == 0, done.output
    return done


@ONE
def test_the_command_says_what_was_run(server: Server, ran: list[str]) -> None:
    done = find(server, "--format", "sql")
    first, *heads = [line for line in done.stdout.splitlines() if line.startswith("-- ")]
    told = (
        f"Of {len(heads)} SQL statements, 2 were run. The others are only written; run all: "
        "--run-sql all"
    )
    assert first == f"-- {told}"
    assert told in done.stderr.splitlines()
    assert sum(head.endswith(", not run)") for head in heads) == len(heads) - 2
    assert ran
    assert "not run" not in find(server, "--format", "sql", "--run-sql", "all").output
    ran.clear()
    assert "statements, 0 were run." in find(server, "--format=csv", "--run-sql=none").stderr
    assert "SQL" not in find(server).stderr  # the table shows none
    assert ran == []


def test_files_of_this_machine_are_no_work_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        rows = "".join(f"{key.upper() if name == 'c' else key},{key}\n" for key in KEYS)
        tmp_path.joinpath(f"{name}.csv").write_text(f"ref,other_{name}\n{rows}")
    monkeypatch.setattr("datahub_hyperjoin.joins.lists._MAX_JOINS", 1)
    assert all(record["sql_was_run"] for record in find_joins(tmp_path).records())
    written = find_joins(tmp_path, sql="none").records()
    assert not any(record["sql_was_run"] for record in written)
    monkeypatch.chdir(tmp_path)
    for record in written:
        assert len(duckdb.execute(record["sql"]).fetchall()) == record["rows"]


def test_files_of_several_folders_are_named_wherever_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("shop/a", "lists/b"):
        rows = "".join(f"{key},{name}{at}\n" for at, key in enumerate(KEYS))
        file = tmp_path / f"{name}.csv"
        file.parent.mkdir()
        file.write_text(f"ref,other_{file.stem}\n{rows}")
    found = find_joins(tmp_path / "shop", tmp_path / "lists")
    monkeypatch.chdir("/")
    [record] = found.records()
    assert len(duckdb.execute(record["sql"]).fetchall()) == record["rows"] == len(KEYS)


def test_another_choice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownChoiceError, match=r"`sql` is 'some'\. Pass 'shown', 'all', 'none'"):
        find_joins(tmp_path, sql="some")  # type: ignore[arg-type]
