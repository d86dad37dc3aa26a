"""Test that the SQL written for a path runs and returns the rows of the path."""

from collections.abc import Iterator

import duckdb
import pytest

from datahub_hyperjoin.agents.answers import write_path_sql
from datahub_hyperjoin.joins import Join
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
