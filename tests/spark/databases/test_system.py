"""Test that names are quoted as the database stores them, which may be in capitals."""

import pytest
from sqlalchemy import make_url
from sqlalchemy.sql.elements import quoted_name

from datahub_hyperjoin.spark.databases.system import name_in_quotes, reported_name, stored_name

CAPITALS = make_url("oracle://host").get_dialect()()
EXACT = make_url("postgresql://host").get_dialect()()


@pytest.mark.parametrize(
    ("stored", "reported"),
    [("ORDERS", "orders"), ("Orders", "Orders"), ("orders", "orders"), ("GROUP BY", "GROUP BY")],
)
def test_names_are_stored_as_they_were_before_they_were_reported(
    stored: str, reported: str
) -> None:
    found = reported_name(stored, CAPITALS)
    assert found == reported
    assert stored_name(found, CAPITALS) == stored
    # A name is converted once, wherever it is used.
    assert stored_name(stored_name(found, CAPITALS), CAPITALS) == stored
    assert name_in_quotes(found, CAPITALS) == f'"{stored}"'


@pytest.mark.parametrize("name", ["ORDERS", "orders", "Group by"])
def test_other_databases_report_names_as_they_are_stored(name: str) -> None:
    assert reported_name(name, EXACT) == name
    assert stored_name(name, EXACT) == name
    assert name_in_quotes(name, EXACT) == f'"{name}"'


def test_a_marked_name_is_exact() -> None:
    assert name_in_quotes("orders", CAPITALS) == '"ORDERS"'
    assert name_in_quotes(quoted_name("orders", quote=True), CAPITALS) == '"orders"'


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("clickhouse://host", r'"a\\""; DROP"'),
        ("bigquery://host", r"`a\\\x60`"),
        ("mysql+pymysql://host", "`a\\``; DROP`"),
    ],
)
def test_a_backslash_ends_no_name(url: str, written: str) -> None:
    dialect = make_url(url).get_dialect()()
    name = "a\\`" if "bigquery" in url else "a\\`; DROP" if "mysql" in url else 'a\\"; DROP'
    assert name_in_quotes(name, dialect) == written
