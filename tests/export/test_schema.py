"""Test that exported tables, joins and roles have distinct and stable names."""

from datahub_hyperjoin.export import DeclaredColumns
from datahub_hyperjoin.export.schema import JoinSchema, build_schema
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.joins.semantic_layers import select_safe
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import changed


def build(joins: list[Join], declared: DeclaredColumns | None = None) -> JoinSchema:
    return build_schema(select_safe(joins)[0], declared or DeclaredColumns())


def moved(join: Join, left: TableId, right: TableId) -> Join:
    """Move a join to two other tables, whose columns have the same names."""
    pairs = tuple((ColumnId(left, a.path), ColumnId(right, b.path)) for a, b in join.pairs)
    return changed(join, pairs=pairs, referenced=pairs[0][1])


def test_the_order_of_the_joins_does_not_matter(
    joins: list[Join], declared: DeclaredColumns
) -> None:
    assert build(joins[::-1], declared) == build(joins, declared)


def test_a_declared_primary_key_precedes_the_keys_that_joins_use(
    joins: list[Join], declared: DeclaredColumns
) -> None:
    keys = {
        table.name: (table.primary_key, table.unique_keys)
        for table in build(joins, declared).tables
    }
    assert keys["orders"] == (("id",), (("number", "shop"),))
    assert keys["customers"] == (("id",), (("code",),))
    assert keys["lines"] == ((), ())


def test_several_references_to_a_table_have_names_of_their_own(joins: list[Join]) -> None:
    aliases = {join.name: join.alias for join in build(joins).joins}
    assert aliases == {
        "addresses_customer_code_to_customers": "customers",
        "customers_last_order_to_orders": "orders",
        "employees_manager_to_employees": "employees_manager",
        "lines_order_shop_to_orders": "orders",
        "orders_customer_code_to_customers": "customers_orders_customer_code",
        "orders_customer_to_customers": "customers_customer",
        "orders_payer_to_customers": "customers_payer",
    }


def test_tables_of_the_same_name_are_told_apart(reference: Join) -> None:
    eu, us = (
        moved(
            reference,
            TableId("postgres", f"shop.{schema}.orders"),
            TableId("postgres", f"shop.{schema}.customers"),
        )
        for schema in ("eu", "us")
    )
    schema = build([eu, us])
    names = ["eu_customers", "eu_orders", "us_customers", "us_orders"]
    assert [table.name for table in schema.tables] == names
    assert schema.tables[0].path == ("shop", "eu", "customers")


def test_files_of_the_same_name_are_different_tables(reference: Join) -> None:
    files = [TableId("file", f"{folder}/orders.csv") for folder in "ab"]
    (first, second) = build([moved(reference, *files)]).tables
    assert [(first.name, first.path), (second.name, second.path)] == [
        ("a_orders_csv", ("a_orders_csv",)),
        ("b_orders_csv", ("b_orders_csv",)),
    ]


def test_a_column_may_refer_to_two_keys_of_a_table(reference: Join) -> None:
    code = ColumnId(reference.right.table, "code")
    other = changed(reference, pairs=((reference.left, code),), referenced=code, urn="urn:2")
    schema = build([reference, other])
    assert [(join.name, join.alias) for join in schema.joins] == [
        ("orders_customer_to_customers_code", "customers_orders_customer_code"),
        ("orders_customer_to_customers_id", "customers_orders_customer_id"),
    ]
