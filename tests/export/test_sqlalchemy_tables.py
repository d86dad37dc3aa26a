"""Test that the exported Python module runs, and that its joins return rows."""

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from datahub_hyperjoin.export import DeclaredColumns, ExportFormat, export_joins
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import changed

ROWS = (
    "CREATE TABLE public.customers (id INTEGER, code TEXT, last_order INTEGER, name TEXT)",
    "INSERT INTO public.customers VALUES (1, 'a', 7, 'Ann'), (2, 'b', NULL, 'Bob')",
    "CREATE TABLE public.orders (id, number, shop, customer, payer, customer_code)",
    "INSERT INTO public.orders VALUES (7, 1, 5, 1, 2, 'a'), (8, 2, 5, 2, 9, 'b')",
    'CREATE TABLE public.lines (shop INTEGER, "order" INTEGER, note TEXT)',
    "INSERT INTO public.lines VALUES (5, 1, 'x'), (5, 1, 'y'), (5, 2, 'z')",
    "CREATE TABLE public.employees (id INTEGER, manager INTEGER)",
    "INSERT INTO public.employees VALUES (1, NULL), (2, 1)",
    "CREATE TABLE public.addresses (customer_code TEXT)",
)


def run(text: str) -> dict[str, Any]:
    module: dict[str, Any] = {}
    exec(compile(text, "joins.py", "exec"), module)  # noqa: S102 - what this package wrote
    return module


def connect() -> sa.Engine:
    engine = sa.create_engine("sqlite://", poolclass=StaticPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("ATTACH ':memory:' AS public")
        for statement in ROWS:
            connection.exec_driver_sql(statement)
    return engine


def test_joins_return_rows_and_repeat_none(joins: list[Join], declared: DeclaredColumns) -> None:
    module = run(export_joins(joins, ExportFormat.SQLALCHEMY, declared=declared).text)
    engine = connect()
    module["reflect"](engine)
    found = module["joins"]()
    assert len(found) == len(joins)
    with engine.connect() as connection:
        for join in found.values():
            all_rows = connection.scalar(sa.select(sa.func.count()).select_from(join.left))
            assert connection.scalar(sa.select(sa.func.count()).select_from(join)) == all_rows
        payer = found["orders_payer_to_customers"]
        names = sa.select(payer.left.c.id, payer.right.c.name).select_from(payer)
        assert [tuple(row) for row in connection.execute(names)] == [(7, "Bob"), (8, None)]
    engine.dispose()


def test_tables_have_their_keys_and_foreign_keys(
    joins: list[Join], declared: DeclaredColumns
) -> None:
    module = run(export_joins(joins, ExportFormat.SQLALCHEMY, declared=declared).text)
    orders: sa.Table = module["orders"]
    assert [column.name for column in orders.primary_key] == ["id"]
    targets = {
        column.name: {key.target_fullname for key in column.foreign_keys}
        for column in orders.columns
    }
    assert targets["payer"] == {"public.customers.id"}
    assert targets["customer_code"] == {"public.customers.code"}
    assert targets["id"] == set()


@pytest.mark.parametrize("name", ["class", "metadata", "joins", 'order "x"\\'])
def test_any_name_gives_a_module(reference: Join, name: str) -> None:
    key = ColumnId(TableId("postgres", name), name)
    join = changed(reference, pairs=((reference.left, key),), referenced=key)
    module = run(export_joins([join], ExportFormat.SQLALCHEMY).text)
    (found,) = module["joins"]().values()
    assert isinstance(found, sa.Join)
    assert isinstance(found.right, sa.Table)
    assert found.right.name == name
