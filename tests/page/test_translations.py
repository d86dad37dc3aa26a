"""Test the translations of a join's SQL from its own dialect into others."""

import re
import sqlite3

import duckdb
import pytest

from datahub_hyperjoin.joins import Statement
from datahub_hyperjoin.page.translations import TITLES, Translations, translate

FILES = """\
SELECT
  a.*,
  b.*
FROM "shop/orders.csv" AS a
JOIN READ_CSV('shop/parts/**/*.csv', HEADER = TRUE) AS b
  ON LOWER(TRIM(CAST(a."Part No" AS TEXT))) = b."id" AND a."year" = b."year"
LIMIT 100"""
TABLES = """\
SELECT a.*, b.* FROM "public"."orders" AS a JOIN "public"."order" AS b ON a."id" = b."id" LIMIT 100
"""


def run_in(dialect: str, sql: str) -> Statement:
    return Statement(sql=sql, dialect=dialect, rows=3)


def written(found: Translations, number: int, dialect: str) -> str:
    """Return the SQL that the page's script builds for a join, in the given dialect."""
    _, shape, *names = found.joins[number]
    at = list(TITLES).index(dialect)
    quoted = found.names[found.dialects[at][2]]
    return re.sub(r"{(\d+)}", lambda place: quoted[names[int(place[1])]], found.shapes[shape][at])


def test_a_statement_keeps_its_names_in_the_quotes_of_each_dialect() -> None:
    found = translate({7: run_in("postgres", TABLES)})
    assert written(found, 7, "mysql") == (
        "SELECT\n  a.*,\n  b.*\nFROM `public`.`orders` AS a\n"
        "JOIN `public`.`order` AS b\n  ON a.`id` = b.`id`\nLIMIT 100"
    )
    assert '"PUBLIC"."ORDERS" AS a' in written(found, 7, "snowflake")
    assert written(found, 7, "tsql").startswith("SELECT\nTOP 100\n")
    assert "[public].[order] AS b" in written(found, 7, "tsql")


def test_bigquery_gets_one_struct_for_each_row_since_it_refuses_equal_names() -> None:
    found = translate({0: run_in("postgres", TABLES)})
    assert written(found, 0, "bigquery").startswith(
        "SELECT\n  a,\n  b\nFROM `public`.`orders` AS a"
    )


def test_files_become_tables_and_the_result_runs() -> None:
    translation = written(translate({0: run_in("duckdb", FILES)}), 0, "sqlite")
    rows = {"orders": [("P1", 1), (" p1", 1), ("p2", 1)], "parts": [("p1", 1), ("p2", 2)]}
    with sqlite3.connect(":memory:") as database:
        database.execute('CREATE TABLE orders ("Part No" TEXT, year INT)')
        database.execute("CREATE TABLE parts (id TEXT, year INT)")
        for table, held in rows.items():
            database.executemany(f"INSERT INTO {table} VALUES (?, ?)", held)
        found = database.execute(translation).fetchall()
    database.close()
    assert sorted(found) == [(" p1", 1, "p1", 1), ("P1", 1, "p1", 1)]


def test_a_statement_of_a_database_runs_in_another_one() -> None:
    translation = written(translate({0: run_in("mysql", TABLES.replace('"', "`"))}), 0, "duckdb")
    with duckdb.connect() as database:
        database.execute("CREATE SCHEMA public")
        database.execute("CREATE TABLE public.orders AS SELECT 1 AS id")
        database.execute('CREATE TABLE public."order" AS SELECT 1 AS id')
        assert database.execute(translation).fetchall() == [(1, 1)]


def test_files_of_one_name_become_tables_of_two() -> None:
    sql = 'SELECT a.* FROM "old/x.csv" AS a JOIN "new/x.csv" AS b ON a."k" = b."k" LIMIT 100'
    found = translate({0: run_in("duckdb", sql)})
    assert 'FROM "old_x_csv" AS a\nJOIN "new_x_csv" AS b' in written(found, 0, "postgres")


@pytest.mark.parametrize(
    ("dialect", "condition"),
    [
        ("duckdb", "REGEXP_REPLACE(a.\"x\", '0', '') = b.\"x\""),
        ("duckdb", 'TRY_CAST(a."x" AS DATE) = TRY_CAST(b."x" AS DATE)'),
        ("mysql", "CONVERT(a.`x` USING utf8mb4) COLLATE utf8mb4_bin = b.`x`"),
        # A member of a struct would be read as a column of a schema.
        ("duckdb", 'a."s"."m" = b."x"'),
    ],
)
def test_what_dialects_may_read_otherwise_is_not_translated(dialect: str, condition: str) -> None:
    sql = f"SELECT a.*, b.* FROM t AS a JOIN u AS b ON {condition} LIMIT 100"
    found = translate({0: run_in(dialect, sql)})
    assert found.joins == {0: (list(TITLES).index(dialect),)}


def test_a_join_of_values_that_are_written_differently_is_not_translated() -> None:
    found = translate({0: run_in("duckdb", FILES), 1: run_in("duckdb", FILES)}, differing=[1])
    assert [len(each) > 1 for each in found.joins.values()] == [True, False]


def test_statements_of_one_shape_are_stored_once() -> None:
    other = TABLES.replace("orders", "invoices")
    found = translate({0: run_in("postgres", TABLES), 1: run_in("postgres", other)})
    assert len(found.shapes) == 1
    assert found.joins[0][:2] == found.joins[1][:2]


def test_without_sql_there_is_nothing_to_choose() -> None:
    assert translate({0: Statement(reason="two systems")}, {0: Statement()}) == Translations()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT FROM WHERE (",
        "SELECT a.* FROM x AS a; SELECT a.* FROM y AS a",
        "",
        "SELECT '{0}' AS a FROM x",
        "SELECT " + "(" * 5000,
        "DROP TABLE x",
    ],
    ids=["broken", "two", "empty", "place", "deep", "drop"],
)
def test_what_a_person_wrote_in_place_of_a_statement_is_shown_as_it_is(sql: str) -> None:
    found = translate({0: run_in("postgres", TABLES), 1: run_in("postgres", sql)})
    assert len(found.joins.get(1, (0,))) == 1
    assert len(found.shapes) == 1


def test_a_name_that_a_dialect_cannot_write_has_no_translation() -> None:
    found = translate({0: run_in("postgres", TABLES.replace('"id"', '"i`d\\"'))})
    quoted = {name: found.names[way] for name, _, way in found.dialects}
    (at,) = (at for at, name in enumerate(quoted["postgres"]) if name == '"i`d\\"')
    assert quoted["bigquery"][at] == ""
    assert quoted["mysql"][at] == "`i``d\\`"
