"""Test how keys that databases declare become catalog facts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from datahub_hyperjoin.catalog.databases import read_database_keys
from datahub_hyperjoin.catalog_facts import ForeignKey
from datahub_hyperjoin.locations import Database, File
from datahub_hyperjoin.tables import ColumnId, Table, TableId
from engines.servers import KINDS, Server, serving


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        running.run(
            "CREATE TABLE orders (tenant INTEGER, number INTEGER, PRIMARY KEY (tenant, number))",
            "CREATE TABLE people (id INTEGER PRIMARY KEY)",
            "CREATE TABLE order_lines (owner INTEGER, order_no INTEGER, seller INTEGER, "
            "CONSTRAINT fk_seller FOREIGN KEY (seller) REFERENCES people (id), "
            "CONSTRAINT fk_order FOREIGN KEY (owner, order_no) REFERENCES orders (tenant, number))",
        )
        yield running


def refuse(title: str, message: str, context: str) -> None:
    raise AssertionError(title, message, context)


def test_the_keys_of_a_databases_tables_are_read(server: Server) -> None:
    orders, people, lines = (server.table(name) for name in ("orders", "people", "order_lines"))
    file = Table(
        id=TableId("file", "memo"),
        title="memo",
        location=File(uri="memo.csv", format="csv"),
        size=1,
    )
    keys = read_database_keys([orders, file, people, lines], refuse)
    assert keys.unique == {ColumnId(people.id, "id")}
    assert keys.composite == {(ColumnId(orders.id, "tenant"), ColumnId(orders.id, "number"))}
    assert keys.foreign == (
        ForeignKey(
            name="fk_order",
            pairs=(
                (ColumnId(lines.id, "owner"), ColumnId(orders.id, "tenant")),
                (ColumnId(lines.id, "order_no"), ColumnId(orders.id, "number")),
            ),
        ),
        ForeignKey(
            name="fk_seller", pairs=((ColumnId(lines.id, "seller"), ColumnId(people.id, "id")),)
        ),
    )


def test_a_key_to_a_table_outside_the_run_is_left_out(server: Server) -> None:
    keys = read_database_keys([server.table("order_lines"), server.table("people")], refuse)
    assert [key.name for key in keys.foreign] == ["fk_seller"]
    assert keys.composite == frozenset()


def test_a_database_that_does_not_answer_is_a_warning(tmp_path: Path) -> None:
    with serving("sqlite", tmp_path) as good:
        good.run("CREATE TABLE people (id INTEGER PRIMARY KEY)")
        database = Database(url=SecretStr("postgresql+psycopg2://reader:s3cret@127.0.0.1:1/shop"))
        told: list[tuple[str, str, str]] = []

        def warn(title: str, message: str, context: str) -> None:
            told.append((title, message, context))

        tables = [good.table("orders", database), good.table("people")]
        keys = read_database_keys(tables, warn)
    assert keys.unique == {ColumnId(tables[1].id, "id")}
    [(title, message, context)] = told
    assert title == "Declared keys not read"
    assert message == "Joins are found without them"
    assert "connections[0]" in context
    assert "Check its `url` and `password`" in context
    assert "s3cret" not in context
