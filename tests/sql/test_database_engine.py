"""Test SQL in real databases by counting its rows with a plain client."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from pydantic import SecretStr
from sqlglot import exp

from datahub_hyperjoin.joins import Join, Statement
from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.sql.dialects import POSTGRES
from datahub_hyperjoin.sql.write import JoinInSql, TableInSql, comparisons, name_in_sql
from datahub_hyperjoin.tables import Table, TableId
from engines.servers import Server

MakeJoin = Callable[..., Join]
Run = Callable[..., list[Statement]]


def two_tables(server: Server, first: str, second: str) -> list[Table]:
    server.run(f"CREATE TABLE a (x {first})", f"CREATE TABLE b (y {second})")
    return [server.table("a"), server.table("b")]


def rows_of(server: Server, statement: Statement) -> int:
    """Count the rows of a statement with a plain client of the database."""
    connection = server.engine.raw_connection()
    cursor = connection.cursor()
    cursor.execute(statement.sql)
    rows = len(cursor.fetchall())
    connection.close()
    return rows


def _count(server: Server, query: str) -> int:
    connection = server.engine.raw_connection()
    cursor = connection.cursor()
    cursor.execute(query)
    rows = cursor.fetchall()
    connection.close()
    return int(rows[0][0])


def test_values_of_different_types_are_compared_in_databases(
    server: Server, make_join: MakeJoin, run: Run
) -> None:
    a, b = two_tables(server, "INTEGER", "VARCHAR(20)")
    server.run(
        "INSERT INTO a VALUES (1), (2), (3), (NULL)",
        "INSERT INTO b VALUES ('1'), ('2'), ('2'), ('x')",
    )
    [found] = run(make_join(((a, "x"), (b, "y")), rows=3), tables=[a, b])
    # The plainest way does not fail, since nobody may run it before people do.
    assert (found.rows, found.reason, found.compared) == (3, "", "")
    assert ("CAST" in found.sql) is (server.kind == "postgresql")
    assert rows_of(server, found) == 3


def test_a_number_that_stands_for_no_key_is_a_text_among_texts() -> None:
    named = [name_in_sql(name) for name in "ab"]
    first = TableInSql(shown=named[0], run=named[0], members={"x": ("x",)}, texts=frozenset("x"))
    second = TableInSql(shown=named[1], run=named[1], members={"y": ("y",)})
    missing = exp.Literal.number(-1)
    comparison = next(comparisons(POSTGRES, [((), ())], None))
    join = JoinInSql((first, second), ((("x", "y"),),), comparison, (((missing,), (missing,)),))
    condition = """NULLIF(a."x", '-1') = NULLIF(CAST(b."y" AS TEXT), '-1')"""
    assert condition in POSTGRES.write(join.statement(shown=True))


@pytest.mark.parametrize("other", ["TEXT", "INET"])
def test_network_addresses_are_compared_as_they_are_shown(
    server: Server, make_join: MakeJoin, run: Run, other: str
) -> None:
    if server.kind != "postgresql":
        pytest.skip("the database has no type of network addresses")
    a, b = two_tables(server, "INET", other)
    shown = "('10.0.0.1'), ('10.0.1.0/24'), ('2001:db8::1')"
    server.run(f"INSERT INTO a VALUES {shown}, ('10.0.0.9')", f"INSERT INTO b VALUES {shown}")
    [found] = run(make_join(((a, "x"), (b, "y")), rows=3), tables=[a, b])
    assert (found.rows, found.reason) == (3, "")
    assert rows_of(server, found) == 3


@pytest.mark.parametrize("as_text", [False, True])
def test_bytes_are_compared_with_bytes_and_with_digits(
    server: Server, make_join: MakeJoin, run: Run, *, as_text: bool
) -> None:
    type_ = {"postgresql": "BYTEA", "mariadb": "BINARY(3)", "sqlite": "BLOB"}[server.kind]
    form = r"'\x{}'" if server.kind == "postgresql" else "X'{}'"
    other = "'{}'" if as_text else form
    a, b = two_tables(server, type_, "VARCHAR(20)" if as_text else type_)
    # The client of MariaDB would show a carriage return as it is.
    keys = ["0d0a00", "00ff10", "0d0d0d"]
    server.run(
        *(f"INSERT INTO a VALUES ({form.format(key)})" for key in keys * 2),
        *(f"INSERT INTO b VALUES ({other.format(key)})" for key in keys),
    )
    [found] = run(make_join(((a, "x"), (b, "y")), rows=6), tables=[a, b])
    assert (found.rows, found.reason, found.compared) == (6, "", "")
    assert rows_of(server, found) == 6
    assert ("a.*" in found.sql) is (server.kind == "postgresql")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("DECIMAL(12,2)", "DECIMAL(18,4)"),
        ("DECIMAL(12,2)", "DOUBLE PRECISION"),
        ("DECIMAL(12,2)", "VARCHAR(20)"),
        ("VARCHAR(20)", "DOUBLE PRECISION"),
    ],
)
def test_numbers_are_compared_whatever_their_type(
    first: str, second: str, server: Server, make_join: MakeJoin, run: Run
) -> None:
    a, b = two_tables(server, first, second)
    values = ", ".join(f"({at}.{at % 4 * 25:02})" for at in range(50))
    server.run(f"INSERT INTO a VALUES {values}", f"INSERT INTO b VALUES {values}")
    [found] = run(make_join(((a, "x"), (b, "y")), rows=50), tables=[a, b])
    assert (found.rows, found.reason) == (50, "")
    assert rows_of(server, found) == 50


def test_text_is_compared_without_regard_to_case_and_collation(
    server: Server, make_join: MakeJoin, run: Run
) -> None:
    a, b = two_tables(server, "VARCHAR(20)", "VARCHAR(20)")
    server.run(
        "INSERT INTO a VALUES ('Oslo'), ('ROME '), ('ete'), ('')",
        "INSERT INTO b VALUES ('oslo'), (' rome'), ('été'), ('')",
    )
    [found] = run(make_join(((a, "x"), (b, "y")), rows=2), tables=[a, b])
    assert (found.rows, found.reason) == (2, "")
    assert rows_of(server, found) == 2


def test_dates_are_compared_with_timestamps(server: Server, make_join: MakeJoin, run: Run) -> None:
    stamp = "DATETIME" if server.kind == "mariadb" else "TIMESTAMP"
    a, b = two_tables(server, "DATE", stamp)
    server.run(
        "INSERT INTO a VALUES ('2024-01-31'), ('2024-02-01')",
        "INSERT INTO b VALUES ('2024-01-31 00:00:00'), ('2024-02-01 10:00:00')",
    )
    [found] = run(make_join(((a, "x"), (b, "y")), rows=1), tables=[a, b])
    assert (found.rows, found.reason) == (1, "")
    assert rows_of(server, found) == 1


def test_names_that_need_quotes_are_quoted(server: Server, make_join: MakeJoin, run: Run) -> None:
    weird = 'Kündig`s "best] 50%'
    name, column = server.quote(weird), server.quote(f"{weird} no. 1")
    server.run(f"CREATE TABLE {name} ({column} INTEGER)", f"INSERT INTO {name} VALUES (1), (2)")
    table = server.table(weird)
    end = (table, f"{weird} no. 1")
    [found] = run(make_join((end, end), rows=2), tables=[table])
    assert (found.rows, found.reason) == (2, "")
    assert rows_of(server, found) == 2


def test_a_database_counts_each_value_exactly_whatever_its_collation(
    server: Server, make_join: MakeJoin, run: Run
) -> None:
    """Join two columns, only one of which distinguishes `A` from `a`."""
    kind = {
        "postgresql": ("VARCHAR(9)", "VARCHAR(9)"),
        "mariadb": ("VARCHAR(9)", "VARCHAR(9) COLLATE utf8mb4_bin"),
        "sqlite": ("VARCHAR(9) COLLATE NOCASE", "VARCHAR(9)"),
    }[server.kind]
    a, b = two_tables(server, *kind)
    server.run("INSERT INTO a VALUES ('A'), ('a'), ('a')", "INSERT INTO b VALUES ('a')")
    plain = make_join(((a, "x"), (b, "y")), rows=0)
    server_rows = _count(server, "SELECT COUNT(*) FROM a JOIN b ON a.x = b.y")
    evidence = replace(plain.measured, rows=server_rows)
    [found] = run(replace(plain, evidence=evidence), tables=[a, b])
    assert found.compared == ""
    assert found.rows == server_rows


def test_databases_have_a_time_limit(server: Server, make_join: MakeJoin, run: Run) -> None:
    server.run(
        "CREATE TABLE digits (d INTEGER)",
        "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
        "CREATE VIEW many AS SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d "
        "+ 100000 * g.d + 1000000 * h.d AS x FROM digits a, digits b, digits c, digits e, "
        "digits f, digits g, digits h",
    )
    many = server.table("many")
    before = time.monotonic()
    [found] = run(make_join(((many, "x"), (many, "x")), rows=9), tables=[many], timeout=1)
    assert found.reason == "its SQL ran for more than 1 s; raise `emit.sql_timeout`"
    if server.kind != "sqlite":  # which has no limit of its own
        limited = server.table("many", server.database(timeout=1))
        [found] = run(
            make_join(((limited, "x"), (limited, "x")), rows=9), tables=[limited], timeout=60
        )
        assert found.reason == "its SQL ran for more than 1 s, the time limit of its database"
    assert time.monotonic() - before < 20


def test_nothing_is_written_to_a_database(server: Server, make_join: MakeJoin, run: Run) -> None:
    a, b = two_tables(server, "INTEGER", "INTEGER")
    server.run(
        "INSERT INTO a VALUES (1)", "INSERT INTO b VALUES (1)", "CREATE TABLE log (x INTEGER)"
    )
    if server.kind == "postgresql":
        server.run(
            f"CREATE FUNCTION {server.schema}.spy() RETURNS INTEGER LANGUAGE SQL AS "
            f"$$ INSERT INTO {server.schema}.log VALUES (1) RETURNING x $$",
            f"CREATE VIEW spied AS SELECT {server.schema}.spy() AS x",
        )
        view = server.table("spied")
        [found] = run(make_join(((view, "x"), (b, "y")), rows=1), tables=[view, b])
        assert found.reason == "PostgreSQL refuses the statement (25006)"
    [found] = run(make_join(((a, "x"), (b, "y")), rows=1), tables=[a, b])
    assert found.rows == 1
    assert _count(server, "SELECT COUNT(*) FROM log") == 0


def test_a_database_that_does_not_answer_has_a_reason_without_its_password(
    make_join: MakeJoin, run: Run
) -> None:
    database = Database(url=SecretStr("postgresql+psycopg2://me:hunter2@127.0.0.1:1/shop"))
    relation = Relation(database=database, connection="connections[0]", schema="s", name="a")
    table = Table(id=TableId("postgres", "a"), title="a", location=relation, size=1)
    [found] = run(make_join(((table, "x"), (table, "x")), rows=1), tables=[table])
    assert found.reason == "postgresql refuses the statement (OperationalError)"


def test_a_database_without_a_time_limit_runs_nothing(
    server: Server, make_join: MakeJoin, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setattr("datahub_hyperjoin.sql.database_engine._DIALECTS", {})
    a, _ = two_tables(server, "INTEGER", "INTEGER")
    [found] = run(make_join(((a, "x"), (a, "x")), rows=0), tables=[a])
    assert found.reason == (
        f"HyperJoin runs SQL with a time limit only, and knows none for {server.kind}; it does for "
        "PostgreSQL, MariaDB, MySQL and SQLite"
    )


def test_citext_is_compared_as_it_was_measured(
    server: Server, make_join: MakeJoin, run: Run
) -> None:
    if server.kind != "postgresql":
        pytest.skip("only PostgreSQL has citext")
    server.run("CREATE EXTENSION IF NOT EXISTS citext SCHEMA public")
    a, b = two_tables(server, "public.citext", "TEXT")
    server.run("INSERT INTO a VALUES ('A'), ('b')", "INSERT INTO b VALUES ('a'), ('b'), ('B')")
    [found] = run(make_join(((a, "x"), (b, "y")), rows=3), tables=[a, b])
    assert (found.rows, found.reason) == (3, "")


def test_dates_before_christ_do_not_spoil_a_statement(
    server: Server, make_join: MakeJoin, run: Run
) -> None:
    if server.kind != "postgresql":
        pytest.skip("only PostgreSQL has dates before Christ")
    server.run("CREATE TABLE a (x INTEGER, born DATE)", "INSERT INTO a VALUES (1, '0044-03-15 BC')")
    table = server.table("a")
    [found] = run(make_join(((table, "x"), (table, "x")), rows=1), tables=[table])
    assert found.rows == 1
