"""Test that another package can add a database system with one class and two entry points."""

import sqlite3
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy.dialects import registry

import datahub_hyperjoin
from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.catalog.databases import scan_database
from datahub_hyperjoin.locations import Database
from datahub_hyperjoin.spark.databases import system
from datahub_hyperjoin.tables import Table

ENTRY_POINTS = """
[datahub_hyperjoin.databases]
toy = toy_database:Toy

[sqlalchemy.dialects]
toy = toy_database:ToyDialect
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the package of the toy, as `pip install` would."""
    about = tmp_path / "site" / "toy_database-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-database\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(about.parent)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setattr(system, "_loaded", {})
    monkeypatch.setattr(registry, "impls", {**registry.impls})


@pytest.fixture
def url(tmp_path: Path) -> str:
    file = tmp_path / "shop.toy"
    with sqlite3.connect(file) as connection:
        connection.executescript("""
            CREATE TABLE customers (code TEXT PRIMARY KEY, name TEXT, mark BITS);
            CREATE TABLE orders (number INTEGER PRIMARY KEY, customer TEXT);
            INSERT INTO customers
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90)
                SELECT printf('C%04d', i * 7), printf('person %d', i), x'00ff' FROM n;
            INSERT INTO orders
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
                SELECT i, printf('C%04d', (1 + i % 80) * 7) FROM n;
        """)
    return f"toy:///{file}"


def listed(url: str) -> dict[str, Table]:
    connection = ConnectionConfig.model_validate({"database": {"url": url}})
    database = Database(url=SecretStr(url))
    return {each.title: each for each in scan_database("c", database, connection.selection)}


def test_tables_are_listed_with_their_names_in_datahub_and_their_sizes(url: str) -> None:
    orders = listed(url)["orders"]
    assert (orders.id.platform, orders.size) == ("toybox", 4096)
    assert orders.id.name.endswith("shop.toy.orders")


def test_joins_are_found_without_a_recipe(url: str) -> None:
    found = datahub_hyperjoin.find_joins(url)
    pairs = {(join.left, join.right) for join in found.joins}
    assert any("customer" in str(pair) and "code" in str(pair) for pair in pairs)
