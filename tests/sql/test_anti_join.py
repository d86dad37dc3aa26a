"""Test that the SQL of rows without a partner compares values as the SQL of the join does."""

import sqlite3

import pytest
from sqlglot import exp, parse_one

from datahub_hyperjoin.joins import Statement
from datahub_hyperjoin.sql.dialects import DUCKDB, MYSQL, POSTGRES, SPARK, SQLITE, SqlDialect
from datahub_hyperjoin.sql.write import (
    Comparison,
    JoinInSql,
    TableInSql,
    comparisons,
    name_in_sql,
    write_anti_join,
)
from datahub_hyperjoin.value_forms import ValueForm

DIALECTS = (DUCKDB, POSTGRES, MYSQL, SQLITE, SPARK)
WAYS = [
    (dialect, comparison)
    for dialect in DIALECTS
    for form in (None, *ValueForm)
    for comparison in comparisons(dialect, [((), ())] * 2, form)
]


def table(name: str) -> TableInSql:
    named = name_in_sql("shop", name)
    return TableInSql(shown=named, run=named, members={path: (path,) for path in "kl"})


def statement(dialect: SqlDialect, built: JoinInSql) -> Statement:
    sql = dialect.write(built.statement(shown=True), pretty=True)
    return Statement(sql=sql, dialect=dialect.name)


@pytest.mark.parametrize(("dialect", "comparison"), WAYS)
def test_values_are_compared_as_in_the_join(dialect: SqlDialect, comparison: Comparison) -> None:
    pairs = (("k", "l"), ("l", "k"))
    join = statement(dialect, JoinInSql((table("deals"), table("firms")), (pairs,), comparison))
    anti = parse_one(write_anti_join(join), dialect=dialect.name)
    exists = anti.find(exp.Exists)
    assert exists
    (joined,) = parse_one(join.sql, dialect=dialect.name).args["joins"]
    assert exists.this.args["where"].this == joined.args["on"]
    assert exists.this.args["from_"].this == joined.this
    assert isinstance(exists.parent, exp.Not)
    assert [each.sql() for each in anti.expressions] == ["a.*"]


def test_both_steps_through_a_crosswalk_must_lead_to_a_row() -> None:
    (comparison, *_) = comparisons(SQLITE, [((), ())] * 2, None)
    tables = tuple(
        TableInSql(shown=name_in_sql(each), run=name_in_sql(each), members={p: (p,) for p in "kl"})
        for each in ("deals", "codes", "firms")
    )
    steps = JoinInSql(tables, ((("k", "k"),), (("l", "l"),)), comparison)
    with sqlite3.connect(":memory:") as shop:
        for each in ("deals", "codes", "firms"):
            shop.execute(f"CREATE TABLE {each} (k, l)")
        shop.executemany("INSERT INTO deals (k) VALUES (?)", [("A",), ("B",), ("C",), (None,)])
        shop.execute("INSERT INTO codes VALUES ('A', 'one'), ('B', 'two'), (NULL, 'one')")
        shop.execute("INSERT INTO firms (l) VALUES ('one'), (NULL)")
        rows = shop.execute(write_anti_join(statement(SQLITE, steps))).fetchall()
        filled = shop.execute(write_anti_join(statement(SQLITE, steps), only_with_value=True))
        assert rows == [*filled.fetchall(), (None, None)]
    assert rows == [("B", None), ("C", None), (None, None)]


@pytest.mark.parametrize(
    "sql", ["", "SELECT 1", "SELECT 1; SELECT 2", "DROP TABLE a", "not SQL (", "SELECT * FROM a, b"]
)
def test_other_sql_has_no_anti_join(sql: str) -> None:
    assert write_anti_join(Statement(sql=sql, dialect="duckdb")) == ""
