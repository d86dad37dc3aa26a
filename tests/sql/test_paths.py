"""Test that the SQL written for a path runs and returns the rows of the path."""

from collections.abc import Iterator
from dataclasses import replace

import duckdb
import pytest

from datahub_hyperjoin.joins import Cardinality, Join, Statement
from datahub_hyperjoin.sql.paths import write_path, write_path_sql
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import changed, join

TABLES = """
CREATE TABLE refunds AS SELECT 1 AS "order", 9 AS amount;
CREATE TABLE "order" AS SELECT * FROM (VALUES (1, 'DE', 7), (2, 'FR', 8))
    AS t(id, "Country Code", customer);
CREATE TABLE codes AS SELECT 'DE' AS code, 'Germany' AS name;
CREATE TABLE countries AS SELECT 'Germany' AS label, 7 AS customer;
"""


def end(table: str, column: str, platform: str = "postgres") -> ColumnId:
    return ColumnId(TableId(platform, table), column)


def joined(*pairs: tuple[ColumnId, ColumnId]) -> Join:
    return changed(join("a", "b", 0.9), pairs=pairs, referenced=pairs[0][1])


@pytest.fixture
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(TABLES)
        yield connection


def test_a_backslash_ends_no_name() -> None:
    pair = end("orders", "share\\", "clickhouse"), end("shares", "id", "clickhouse")
    assert r'"share\\" = ' in write_path_sql([joined(pair)])


def test_a_path_runs_with_names_that_need_quotes(database: duckdb.DuckDBPyConnection) -> None:
    to_order = joined((end("refunds", "order"), end("order", "id")))
    codes = (end("codes", "code"), end("codes", "name"))
    to_country = changed(
        joined((end("order", "Country Code"), end("countries", "label"))), via=codes
    )
    statement = write_path_sql([to_order, to_country])
    assert statement == (
        'SELECT * FROM refunds AS t1 JOIN "order" AS t2 ON t1."order" = t2.id '
        'JOIN codes AS t3 ON t2."Country Code" = t3.code '
        'JOIN countries AS t4 ON t3."name" = t4.label'
    )
    assert database.sql(statement).fetchall() == [(1, 9, 1, "DE", 7, "DE", "Germany", "Germany", 7)]


def test_all_columns_of_a_composite_key_are_compared(
    database: duckdb.DuckDBPyConnection,
) -> None:
    key = joined(
        (end("order", "customer"), end("countries", "customer")),
        (end("order", "Country Code"), end("countries", "label")),
    )
    assert database.sql(write_path_sql([key])).fetchall() == []
    assert 't1.customer = t2.customer AND t1."Country Code" = t2.label' in write_path_sql([key])


def test_a_table_may_join_with_itself(database: duckdb.DuckDBPyConnection) -> None:
    own = joined((end("order", "id"), end("order", "customer")))
    assert "t1.id = t2.customer" in write_path_sql([own])
    assert database.sql(write_path_sql([own])).fetchall() == []


@pytest.mark.parametrize(("platform", "table", "written"), [
    ("mysql", "shop.Orders", "FROM shop.`Orders` AS t1"),
    ("snowflake", "shop.public.orders", "FROM shop.public.orders AS t1"),
    ("file", "shop/orders.csv", 'FROM "shop/orders.csv" AS t1'),
    ("s3", "shop.orders", "FROM shop.orders AS t1"),
])  # fmt: skip
def test_names_are_written_as_the_platform_does(platform: str, table: str, written: str) -> None:
    pair = (end(table, "id", platform), end("b", "id", platform))
    assert written in write_path_sql([joined(pair)])


@pytest.mark.parametrize("impossible", [
    changed(joined((end("a", "id"), end("b", "id"))), compared_as="countries"),
    joined((end("a", "address.city"), end("b", "city"))),
    joined((end("a", "id"), end("b", "id", "mysql"))),
])  # fmt: skip
def test_there_is_no_statement_that_would_return_other_rows(impossible: Join) -> None:
    good = joined((end("b", "id"), end("c", "id")))
    assert write_path_sql([impossible]) == write_path_sql([impossible, good]) == ""
    assert write_path_sql([good]) != ""


LAST_NAMES = """
CREATE TABLE visits AS SELECT * FROM (VALUES (1, ' de'), (2, 'FR '), (3, 'DE')) AS t(id, land);
CREATE TABLE lands AS SELECT * FROM (VALUES ('DE', 1), ('FR', 2)) AS t(code, region);
CREATE TABLE regions AS SELECT * FROM (VALUES (1, 'North'), (2, 'West')) AS t(id, name);
"""
LAND = Statement(
    sql="SELECT a.*, b.* FROM visits AS a JOIN lands AS b ON LOWER(TRIM(a.land)) = LOWER(b.code) "
    "LIMIT 100",
    dialect="duckdb",
)
REGION = Statement(
    sql="SELECT a.*, b.* FROM lands AS a JOIN regions AS b ON a.region = b.id LIMIT 100",
    dialect="duckdb",
)


def referring(urn: str, one: ColumnId, other: ColumnId) -> Join:
    return changed(joined((one, other)), urn=urn)


TO_LAND = referring("1", end("visits", "land"), end("lands", "code"))
TO_REGION = referring("2", end("lands", "region"), end("regions", "id"))


@pytest.mark.parametrize("backwards", [False, True])
def test_a_path_compares_values_as_the_sql_of_each_join(
    database: duckdb.DuckDBPyConnection, *, backwards: bool
) -> None:
    database.execute(LAST_NAMES)
    path = [TO_LAND, TO_REGION]
    if backwards:
        path = [TO_REGION.reversed, TO_LAND.reversed]
    statement = write_path(path, {"1": LAND, "2": REGION})
    assert not statement.was_run
    found = database.sql(statement.sql)
    assert {row[0 if backwards is False else -2] for row in found.fetchall()} == {1, 2, 3}
    names = ["id", "land", "code", "region", "id", "name"]
    assert [name.partition("_")[0].partition(":")[0] for name in found.columns] == (
        [*names[4:], *names[2:4], *names[:2]] if backwards else names
    )


def test_a_path_of_one_join_has_the_sql_of_the_join() -> None:
    assert write_path([TO_LAND], {"1": LAND}) == LAND


def test_a_path_through_a_crosswalk_names_it_too(database: duckdb.DuckDBPyConnection) -> None:
    database.execute(LAST_NAMES)
    crosswalk = Statement(
        sql="SELECT a.*, b.* FROM visits AS a JOIN lands AS c ON TRIM(UPPER(a.land)) = c.code "
        "JOIN regions AS b ON c.region = b.id LIMIT 100",
        dialect="duckdb",
    )
    codes = end("lands", "code"), end("lands", "region")
    steps = changed(
        referring("1", end("visits", "land"), end("regions", "id")),
        via=codes,
        referenced=None,
        cardinality=Cardinality.MANY_ONE,
    )
    onward = referring("2", end("regions", "id"), end("lands", "region"))
    other = Statement(
        sql="SELECT a.*, b.* FROM regions AS a JOIN lands AS b ON a.id = b.region LIMIT 100",
        dialect="duckdb",
    )
    known = {"1": crosswalk, "2": other}
    sql = write_path([steps, onward], known).sql
    assert "AS t4" in sql
    assert len(database.sql(sql).fetchall()) == 3
    back = write_path([onward.reversed, steps.reversed], known).sql
    assert len(database.sql(back).fetchall()) == 3


@pytest.mark.parametrize(
    "other",
    [
        replace(REGION, dialect="postgres"),
        replace(REGION, sql="SELECT x.*, y.* FROM lands AS x JOIN regions AS y ON x.region = y.id"),
        replace(REGION, sql=REGION.sql.replace("LIMIT", "WHERE a.code > '' LIMIT")),
        replace(REGION, sql="edited by a person"),
    ],
)
def test_sql_that_people_edited_is_not_put_together(other: Statement) -> None:
    plain = write_path([TO_LAND, TO_REGION], {"1": LAND, "2": other})
    assert plain == Statement(sql=write_path_sql([TO_LAND, TO_REGION]), was_run=False)
    assert write_path([TO_LAND, TO_REGION], {"1": LAND}) == plain


def test_joins_without_a_direction_are_not_put_together() -> None:
    unclear = changed(TO_REGION, referenced=None, cardinality=Cardinality.MANY_MANY)
    plain = write_path([TO_LAND, unclear], {"1": LAND, "2": REGION})
    assert plain.sql == write_path_sql([TO_LAND, unclear])


def test_a_path_without_sql_says_why() -> None:
    nested = referring("3", end("visits", "home.land"), end("lands", "code"))
    assert write_path([nested], {}) == Statement(
        was_run=False, reason="values must be converted, or the tables are in several systems"
    )
