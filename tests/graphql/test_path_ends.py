"""Test that the ends of a path are found by the names that people type."""

import re

import pytest
from datahub.metadata.schema_classes import DatasetPropertiesClass

from datahub_hyperjoin.graphql import all_joins, find_path
from datahub_hyperjoin.graphql.errors import AmbiguousColumnError, UnknownNameError
from datahub_hyperjoin.graphql.find import find_path_end
from datahub_hyperjoin.joins.errors import NoPathError
from datahub_hyperjoin.joins.paths import PathEnd, fits_end, table_of
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import column_at, join
from lakes.lake import describe
from lakes.shop import Shop, column, table

ORDERS = dataset_urn(table("orders"))
PAYER = column("orders.payer")


@pytest.fixture
def described(shop: Shop) -> Shop:
    paths = ["id", "payer", "Payee", "PAYEE", "address.city", "[version=2.0].[type=string].note"]
    describe(shop.gms, table("orders").name, paths, platform="postgres")
    describe(shop.gms, "lake/flights.csv", ["carrier", "csv.carrier"])
    return shop


def find(shop: Shop, name: str) -> PathEnd:
    return find_path_end(shop.graph, name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders", PAYER.table),
        (f" {ORDERS} ", PAYER.table),
        ("orders.payer", PAYER),
        ("Orders.PAYER", PAYER),
        ("shop.public.orders.payer", PAYER),
        (f"{ORDERS}.payer", PAYER),
        (column_urn(PAYER), PAYER),
        ("orders.note", column("orders.note")),
        ("orders.address.city", column("orders.address.city")),
        ("orders.city", column("orders.address.city")),
        ("flights.csv.carrier", ColumnId(TableId("file", "lake/flights.csv"), "carrier")),
        ("lake/flights.csv", TableId("file", "lake/flights.csv")),
    ],
)
def test_an_end_is_a_dataset_or_a_column_of_it(
    described: Shop, name: str, expected: PathEnd
) -> None:
    assert find(described, name) == expected


def test_a_name_of_a_dataset_precedes_that_of_a_column(described: Shop) -> None:
    other = TableId("mysql", "orders.payer")
    described.gms.put(dataset_urn(other), DatasetPropertiesClass(name="Payers"))
    assert find(described, "orders.payer") == other


def test_a_column_that_only_a_join_knows_is_found(shop: Shop) -> None:
    shop.suggest("orders.customer", "customers.id", 0.9)
    assert find(shop, "customers.id") == column("customers.id")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "orders.pay",
            (
                "the dataset 'shop.public.orders' has no column 'pay'. Did you mean 'PAYEE', "
                "'Payee', 'payer'?"
            ),
        ),
        (
            "orders.x",
            (
                "the dataset 'shop.public.orders' has no column 'x'. Did you mean 'payer', "
                "'note', 'id', 'address.city', 'Payee'?"
            ),
        ),
        (
            "regions.id",
            (
                "the dataset 'shop.public.regions' has no column 'id'. DataHub knows none of its "
                "columns"
            ),
        ),
        (
            "nowhere.id",
            ("the catalog has no dataset 'nowhere.id'. Use the URN that its page in DataHub shows"),
        ),
        (
            "urn:li:schemaField:orders",
            (
                "the catalog has no column 'urn:li:schemaField:orders'. Use the URN that its page "
                "in DataHub shows"
            ),
        ),
    ],
)
def test_an_unknown_end_is_reported(described: Shop, name: str, message: str) -> None:
    with pytest.raises(UnknownNameError, match=f"^{re.escape(message)}$"):
        find(described, name)


def test_an_ambiguous_end_is_reported(described: Shop) -> None:
    message = (
        "2 columns of 'shop.public.orders' have the name 'payee': 'PAYEE', 'Payee'. Use the whole "
        "name of one"
    )
    with pytest.raises(AmbiguousColumnError, match=f"^{re.escape(message)}$"):
        find(described, "orders.payee")
    other = dataset_urn(TableId("mysql", "shop.public.orders"))
    described.gms.put(other, DatasetPropertiesClass(name="Orders"))
    message = re.escape(f"2 datasets have the name 'Orders': '{other}', '{ORDERS}'. Use a URN")
    with pytest.raises(UnknownNameError, match=message):
        find(described, "Orders.payer")


def test_only_joins_over_the_column_of_an_end_fit_it(shop: Shop) -> None:
    shop.suggest("orders.payer", "customers.id", 0.9)
    shop.suggest("orders.customer", "customers.id", 0.9)
    shop.suggest("customers.region", "regions.id", 0.9)
    shop.write("by two columns", ("orders.id", "refunds.order"), ("orders.payer", "refunds.payer"))
    joins = all_joins(shop.graph)
    assert table_of(PAYER) == table_of(PAYER.table) == PAYER.table
    assert all(fits_end(join, PAYER.table) for join in joins)
    fitting = sorted(join.left.path for join in joins if fits_end(join, PAYER))
    assert fitting == ["id", "payer", "region"]


BILLED = join("orders", "addresses", 0.7, key="billing")
SHIPPED = join("orders", "addresses", 0.9, key="shipping")


def test_a_path_starts_and_ends_with_a_join_over_the_named_column() -> None:
    joins = (BILLED, SHIPPED, join("addresses", "towns", 0.9, key="town"))
    towns = TableId("file", "towns")
    assert find_path(joins, column_at("orders.shipping"), towns).joins[0] == SHIPPED
    found = find_path(joins, column_at("orders.billing"), towns)
    assert found.joins == (BILLED, joins[2])
    assert not any(step.alternatives for step in found.steps)
    back = find_path(joins, towns, column_at("orders.billing"))
    assert back.joins == tuple(join.reversed for join in reversed(found.joins))
    assert find_path(joins, column_at("orders.billing"), column_at("addresses.key")).joins == (
        BILLED,
    )


def test_a_detour_from_a_column_leaves_the_table_only_over_it() -> None:
    joins = (
        SHIPPED,
        join("orders", "parties", 0.9, key="billing"),
        join("parties", "addresses", 1.0),
    )
    found = find_path(joins, column_at("orders.billing"), TableId("file", "addresses"))
    assert (found.joins, found.direct) == (joins[1:], ())


def test_a_column_without_a_path_is_named() -> None:
    expected = (
        "no path connects 'orders.note' and 'addresses'. Name tables without a column, or list the "
        "joins of each table with `hyperjoin joins --dataset`, and accept those that are right"
    )
    with pytest.raises(NoPathError, match=f"^{re.escape(expected)}$"):
        find_path([BILLED], column_at("orders.note"), TableId("file", "addresses"))
    expected = "Raise `--max-hops`, or name tables without a column, or list the joins"
    with pytest.raises(NoPathError, match=re.escape(expected)):
        find_path([BILLED], TableId("file", "addresses"), column_at("orders.note"), most=1)
