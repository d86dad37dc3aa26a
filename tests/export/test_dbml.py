"""Test that a DBML parser reads all exported tables, keys and joins."""

import pytest

from datahub_hyperjoin.export import DeclaredColumns, ExportFormat, export_joins
from datahub_hyperjoin.joins import Join


# The parser calls pyparsing by names that are deprecated.
@pytest.mark.filterwarnings("ignore:.* deprecated:DeprecationWarning")
def test_a_parser_reads_all_joins(joins: list[Join], declared: DeclaredColumns) -> None:
    import pydbml  # noqa: PLC0415

    database = pydbml.PyDBML(export_joins(joins, ExportFormat.DBML, declared=declared).text)
    found = {
        (each.name, each.type, *(tuple(c.name for c in side) for side in (each.col1, each.col2)))
        for each in database.refs
    }
    assert len(found) == len(joins)
    assert {
        ("orders_payer_to_customers", ">", ("payer",), ("id",)),
        ("addresses_customer_code_to_customers", "-", ("customer_code",), ("code",)),
        ("employees_manager_to_employees", ">", ("manager",), ("id",)),
        ("lines_order_shop_to_orders", ">", ("order", "shop"), ("number", "shop")),
    } <= found
    orders = next(table for table in database.tables if table.name == "orders")
    assert [(column.name, column.type, column.pk) for column in orders.columns][2:4] == [
        ("id", "integer", True),
        ("number", "integer", False),
    ]
    assert [index.unique for index in orders.indexes] == [True]
    assert orders.note.text == "eu.shop.public.orders"
