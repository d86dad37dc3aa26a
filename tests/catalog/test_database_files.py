"""Test that tables of SQLite and DuckDB files below a folder are listed."""

import sqlite3
from pathlib import Path

import duckdb
import pytest
from datahub.configuration.common import AllowDenyPattern

from datahub_hyperjoin.catalog.databases import read_database_keys
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import File, Relation
from datahub_hyperjoin.tables import Table


def scan(
    folder: Path, deny: str = "^$", *, views: bool = True
) -> tuple[list[Table], list[tuple[str, ...]], float]:
    warnings: list[tuple[str, ...]] = []
    counts: list[float] = []
    pattern = AllowDenyPattern(deny=[deny])
    tables = scan_folder(
        folder,
        TableSelection(
            platform="file", env="DEV", names="lake/{table}", tables=pattern, views=views
        ),
        warn=lambda *warning: warnings.append(warning),
        count=lambda _, by: counts.append(by),
    )
    return tables, warnings, sum(counts)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    folder.joinpath("b.csv").write_text("id\n1\n")
    connection = sqlite3.connect(folder / "100% #a?.db")
    connection.executescript(
        """
        CREATE TABLE customers (id INTEGER PRIMARY KEY);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, paid_by INTEGER REFERENCES customers);
        CREATE VIEW new_orders AS SELECT id FROM orders;
        INSERT INTO customers VALUES (1);
        """
    )
    connection.close()
    with duckdb.connect(str(folder / "Geo.DUCKDB")) as geo:
        geo.execute("CREATE TABLE a AS SELECT 1 AS id; CREATE SCHEMA s; CREATE VIEW s.b AS FROM a")
    return folder


def test_each_table_of_a_database_is_a_table(lake: Path) -> None:
    before = {path: path.read_bytes() for path in lake.iterdir()}
    tables, warnings, unread = scan(lake)
    assert [(table.id.name, table.title) for table in tables] == [
        ("lake/100% #a?.db/customers", "customers"),
        ("lake/100% #a?.db/new_orders", "new_orders"),
        ("lake/100% #a?.db/orders", "orders"),
        ("lake/Geo.DUCKDB/a", "a"),
        ("lake/Geo.DUCKDB/s.b", "b"),
        ("lake/b.csv", "b"),
    ]
    assert (warnings, unread) == ([], 0)
    uri = str(lake.resolve() / "Geo.DUCKDB")
    assert tables[4].location == File(uri=uri, format="duckdb", member=("s", "b"), is_view=True)
    assert sum(table.size for table in tables[:3]) <= (lake / "100% #a?.db").stat().st_size
    assert {path: path.read_bytes() for path in lake.iterdir()} == before


def test_keys_that_sqlite_declares_are_read(lake: Path) -> None:
    tables, _, _ = scan(lake)
    location = tables[0].location
    assert isinstance(location, Relation)
    assert "mode=ro" in location.database.url.get_secret_value()
    keys = read_database_keys(tables, lambda *_: None)
    [foreign] = keys.foreign
    assert "paid_by" in str(foreign)


def test_patterns_choose_tables_and_views(lake: Path) -> None:
    names = [table.id.name for table in scan(lake, r"100.*/orders|b\.csv", views=False)[0]]
    assert names == ["lake/100% #a?.db/customers", "lake/Geo.DUCKDB/a"]


def test_a_damaged_database_costs_no_other(lake: Path) -> None:
    lake.joinpath("c.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 999)
    lake.joinpath("d.duckdb").write_bytes(bytes(8) + b"DUCK" + bytes(5000))
    lake.joinpath("e.db").write_text("no database")
    tables, warnings, unread = scan(lake)
    assert len(tables) == 6
    assert [(title, context) for title, _, context in warnings] == [
        ("Database file not read", "c.sqlite cannot be opened"),
        ("Database file not read", "d.duckdb cannot be opened"),
        ("Files not read", ".db: 1 file, for example e.db"),
    ]
    assert "or leave it out with `tables.deny`" in warnings[0][1]
    assert unread == 3
    assert not scan(lake, r"[cde]\.")[1]


def test_an_empty_database_has_no_table(lake: Path) -> None:
    lake.joinpath("100% #a?.db").unlink()
    duckdb.connect(str(lake / "empty.duckdb")).close()
    assert [table.title for table in scan(lake)[0]] == ["a", "b", "b"]
