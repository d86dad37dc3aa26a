"""Test the SQL of joins through crosswalks by counting its rows."""

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

import pytest

from datahub_hyperjoin.joins import Bridge, Cardinality, CrosswalkJoin, Join, Statement
from datahub_hyperjoin.locations import DeltaFolder
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.sql import LakeInSql, SqlTest, find_join_sql, run_joins
from datahub_hyperjoin.tables import ColumnId, Table
from engines.servers import Server

MakeFile = Callable[..., Table]
MakeJoin = Callable[..., Join]


class Silent:
    """A progress report that ignores everything."""

    def say(self, line: str) -> None:
        pass

    def count(self, name: str, by: float) -> None:
        pass


def no_session() -> NoReturn:
    pytest.fail("no Spark is needed")


@pytest.fixture
def make_crosswalk(make_join: MakeJoin) -> Callable[..., CrosswalkJoin]:
    """Return a function that makes a join through a crosswalk, with a given number of rows."""

    def make(
        left: tuple[Table, str],
        crosswalk: tuple[Table, str, str],
        right: tuple[Table, str],
        *,
        rows: int,
        cardinality: Cardinality = Cardinality.MANY_MANY,
    ) -> CrosswalkJoin:
        table, into, out = crosswalk
        evidence = make_join((left, right), rows=rows, cardinality=cardinality).measured
        return CrosswalkJoin(
            bridge=Bridge(
                ColumnId(left[0].id, left[1]),
                ColumnId(table.id, into),
                ColumnId(table.id, out),
                ColumnId(right[0].id, right[1]),
            ),
            joinability=0.9,
            left_step=evidence,
            right_step=evidence,
            evidence=evidence,
        )

    return make


MakeCrosswalk = Callable[..., CrosswalkJoin]

ORDERS = "beer,litres\nb1,3\nb1,4\nb2,5\nb9,6\n,7\n"
BEERS = "code,name,since\nb1,Ale,1999\nb2,Bock,2001\nb3,Cider,2002\n"
PRICES = "product,price\nAle,2\nBock,3\nBock,4\nWater,1\n"


def run(*joins: CrosswalkJoin, tables: list[Table]) -> list[Statement]:
    found = run_joins(
        joins,
        LakeInSql(tables={table.id: table for table in tables}),
        session=no_session,
        test=SqlTest(timeout=60),
        progress=Silent(),  # type: ignore[arg-type]
    )
    return [found[join.pairs] for join in joins]


def test_codes_are_joined_with_names_in_one_statement(
    make_file: MakeFile, make_crosswalk: MakeCrosswalk
) -> None:
    tables = orders, beers, prices = [
        make_file(name, text)
        for name, text in (("orders.csv", ORDERS), ("beers.csv", BEERS), ("prices.csv", PRICES))
    ]
    join = make_crosswalk((orders, "beer"), (beers, "code", "name"), (prices, "product"), rows=4)
    (statement,) = run(join, tables=tables)
    assert statement.sql.split() == [
        "SELECT",
        "a.*,",
        "b.*",
        "FROM",
        '"orders.csv"',
        "AS",
        "a",
        "JOIN",
        '"beers.csv"',
        "AS",
        "c",
        "ON",
        'a."beer"',
        "=",
        'c."code"',
        "JOIN",
        '"prices.csv"',
        "AS",
        "b",
        "ON",
        'c."name"',
        "=",
        'b."product"',
        "LIMIT",
        "100",
    ]
    assert (statement.rows, statement.compared, statement.reason) == (4, "", "")


def test_the_table_whose_rows_are_not_multiplied_comes_first(
    make_file: MakeFile, make_crosswalk: MakeCrosswalk
) -> None:
    orders, beers, prices = (
        make_file("orders.csv", ORDERS),
        make_file("beers.csv", BEERS),
        make_file("prices.csv", "product\nAle\nBock\n"),
    )
    join = make_crosswalk(
        (prices, "product"),
        (beers, "name", "code"),
        (orders, "beer"),
        rows=3,
        cardinality=Cardinality.ONE_MANY,
    )
    (statement,) = run(join, tables=[orders, beers, prices])
    assert 'FROM "orders.csv" AS a' in statement.sql
    assert statement.rows == 3


def test_both_steps_compare_values_in_the_form_that_agrees(
    make_file: MakeFile, make_crosswalk: MakeCrosswalk
) -> None:
    orders = make_file("orders.csv", ORDERS.upper())
    beers = make_file("beers.csv", BEERS)
    prices = make_file("prices.csv", PRICES.replace("Ale", " ALE "))
    join = make_crosswalk((orders, "BEER"), (beers, "code", "name"), (prices, "product"), rows=4)
    (statement,) = run(join, tables=[orders, beers, prices])
    assert statement.rows == 4
    assert statement.compared == "text in lower case, without spaces around it"


def test_there_is_no_sql_that_returns_other_rows_than_measured(
    make_file: MakeFile, make_crosswalk: MakeCrosswalk
) -> None:
    orders, beers, prices = (
        make_file("orders.csv", ORDERS),
        make_file("beers.csv", BEERS),
        make_file("prices.csv", PRICES),
    )
    join = make_crosswalk((orders, "beer"), (beers, "code", "name"), (prices, "product"), rows=40)
    (statement,) = run(join, tables=[orders, beers, prices])
    assert statement == Statement(
        reason="no SQL condition returns the 40 rows that were measured; the closest returns 4"
    )


def test_three_tables_must_be_in_one_system(
    server: Server, make_file: MakeFile, make_crosswalk: MakeCrosswalk
) -> None:
    server.run("CREATE TABLE a (x VARCHAR(20))", "CREATE TABLE b (y VARCHAR(20))")
    a, b = server.table("a"), server.table("b")
    beers = make_file("beers.csv", BEERS)
    join = make_crosswalk((a, "x"), (beers, "code", "name"), (b, "y"), rows=1)
    (statement,) = run(join, tables=[a, b, beers])
    assert statement.reason == "no single database has all 3 tables"


def test_databases_run_both_steps(server: Server, make_crosswalk: MakeCrosswalk) -> None:
    server.run(
        "CREATE TABLE a (x INTEGER)",
        "CREATE TABLE c (code VARCHAR(20), name VARCHAR(20))",
        "CREATE TABLE b (y VARCHAR(20))",
        "INSERT INTO a VALUES (1), (1), (2), (3), (NULL)",
        "INSERT INTO c VALUES ('1', 'Ale'), ('2', 'Bock'), ('4', 'Dry')",
        "INSERT INTO b VALUES ('Ale'), ('Ale'), ('Bock'), ('Water')",
    )
    a, b, c = (server.table(name) for name in "abc")
    join = make_crosswalk((a, "x"), (c, "code", "name"), (b, "y"), rows=5)
    (statement,) = run(join, tables=[a, b, c])
    assert (statement.rows, statement.reason) == (5, "")
    connection = server.engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute(statement.sql)
        assert len(cursor.fetchall()) == 5
    finally:
        connection.close()


def test_a_crosswalk_that_duckdb_does_not_read_is_named(
    make_file: MakeFile, make_crosswalk: MakeCrosswalk
) -> None:
    orders, prices = make_file("orders.csv", ORDERS), make_file("prices.csv", PRICES)
    beers = replace(make_file("beers.csv", BEERS), location=DeltaFolder(uri="beers"))
    join = make_crosswalk((orders, "beer"), (beers, "code", "name"), (prices, "product"), rows=4)
    (statement,) = run(join, tables=[orders, beers, prices])
    assert statement.reason.endswith("but not on Delta tables")


def test_a_pair_that_a_crosswalk_connects_has_the_sql_of_both_steps(
    make_file: MakeFile, make_crosswalk: MakeCrosswalk
) -> None:
    orders, beers, prices = (
        make_file("orders.csv", ORDERS),
        make_file("beers.csv", BEERS),
        make_file("prices.csv", PRICES),
    )
    join = make_crosswalk((orders, "beer"), (beers, "code", "name"), (prices, "product"), rows=4)
    other = replace(join.as_join, evidence=replace(join.as_join.measured, rows=9))
    for pair, has_sql in ((join.as_join, True), (other, False)):
        statements = find_join_sql(
            [pair, join],
            LakeInSql(tables={table.id: table for table in (orders, beers, prices)}),
            store=Store(ProfileConfig()),
            session=no_session,
            test=SqlTest(timeout=60),
            progress=Silent(),  # type: ignore[arg-type]
        )
        assert statements[join.pairs].sql
        assert bool(statements[pair.pairs].sql) is has_sql
