"""Test that joins and datasets are found by the names that people type."""

import re

import pytest
from datahub.metadata.schema_classes import DatasetPropertiesClass, StatusClass

from datahub_hyperjoin.graphql import find_dataset, find_join
from datahub_hyperjoin.graphql.errors import UnknownNameError
from datahub_hyperjoin.graphql.find import choose_dataset, choose_join
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import changed, join
from lakes.shop import Shop, table

ORDERS = dataset_urn(table("orders"))
CONDITION = "shop.public.orders.customer = shop.public.customers.id"
TURNED = "shop.public.customers.id = shop.public.orders.customer"


@pytest.mark.parametrize(
    "name",
    [
        CONDITION,
        TURNED,
        f" {CONDITION}",
        CONDITION.replace("=", "→"),
        TURNED.replace("=", "←"),
        CONDITION.replace("=", "->"),
    ],
)
def test_a_join_is_found_by_its_columns_in_either_order(shop: Shop, name: str) -> None:
    urn = shop.suggest("orders.customer", "customers.id", 0.93)
    shop.suggest("refunds.order", "orders.id", 0.7)
    assert find_join(shop.graph, name).urn == urn


@pytest.mark.parametrize("sign", ["=", "→"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_composite_join_is_found_by_all_its_columns(
    shop: Shop, sign: str, *, turned: bool
) -> None:
    pairs = [("orders.shop", "refunds.shop"), ("orders.id", "refunds.order")]
    urn = shop.write("both", *pairs)
    shop.suggest("refunds.order", "orders.id", 0.7)
    name = " and ".join(
        f" {sign} ".join(f"shop.public.{end}" for end in (pair[::-1] if turned else pair))
        for pair in pairs
    )
    assert find_join(shop.graph, name).urn == urn


@pytest.mark.parametrize(
    "name",
    [
        "orders.customer → customers.id",
        "customers.id = orders.customer",
        "public.orders.customer = shop.public.customers.id",
        "orders.customer  \n→ customers.id",
    ],
)
def test_a_join_is_found_by_the_last_parts_of_its_tables(shop: Shop, name: str) -> None:
    urn = shop.suggest("orders.customer", "customers.id", 0.93)
    shop.suggest("refunds.order", "orders.id", 0.7)
    shop.suggest("back_orders.customer", "customers.id", 0.7)
    assert find_join(shop.graph, name).urn == urn


FILES = [TableId("file", f"lake/{name}.csv") for name in ("a/days", "b/days", "b/towns")]


@pytest.mark.parametrize(
    "name",
    [
        "b/days.town = towns.id",
        "b/days.csv.town = b/towns.csv.id",
        "lake/b/towns.id = lake/b/days.town",
    ],
)
def test_a_join_of_files_is_found_without_their_extensions(name: str) -> None:
    joins = [
        changed(
            join("days", "towns", 0.9),
            urn=days.name,
            pairs=((ColumnId(days, "town"), ColumnId(FILES[2], "id")),),
        )
        for days in FILES[:2]
    ]
    assert choose_join(name, joins).left.table == FILES[1]
    with pytest.raises(UnknownNameError, match=r"^2 joins have the name"):
        choose_join("days.town = towns.id", joins)


def test_a_file_is_found_without_its_extension() -> None:
    named = [(dataset_urn(each), "") for each in FILES]
    assert choose_dataset("b/days", named) == dataset_urn(FILES[1])
    with pytest.raises(UnknownNameError, match=r"^2 datasets have the name 'days'"):
        choose_dataset("days", named)


@pytest.mark.parametrize("name", ["flights.parquet", "lake/Flights.csv", "flights"])
def test_a_file_is_found_with_an_extension_that_the_catalog_leaves_out(name: str) -> None:
    named = [(dataset_urn(TableId("file", f"lake/{each}")), "") for each in ("flights", "planes")]
    assert choose_dataset(name, named) == named[0][0]


@pytest.mark.parametrize(
    "name",
    [
        "b/days.town = b/towns.csv.id",
        "towns.id = b/days.csv.town",
        "b/days.csv.day = towns.day and b/days.town = towns.id",
    ],
)
def test_a_condition_may_leave_out_some_extensions_and_have_any_order(name: str) -> None:
    ends = ((FILES[1], "town", "id"), (FILES[1], "day", "day"))
    pairs = tuple((ColumnId(own, one), ColumnId(FILES[2], other)) for own, one, other in ends)
    joins = [
        changed(join("days", "towns", 0.9), urn="one", pairs=pairs[:1]),
        changed(join("days", "towns", 0.9), urn="both", pairs=pairs),
    ]
    assert choose_join(name, joins).urn == ("both" if " and " in name else "one")


def test_a_column_alone_names_no_join(shop: Shop) -> None:
    shop.suggest("orders.customer", "customers.id", 0.93)
    with pytest.raises(UnknownNameError, match="no join 'customer = id'"):
        find_join(shop.graph, "customer = id")


def test_a_sign_in_a_name_is_no_operator(shop: Shop) -> None:
    urn = shop.write("a = b = c", ("orders.customer", "customers.id"))
    assert find_join(shop.graph, "a = b = c").urn == urn


def test_a_hidden_join_is_found(shop: Shop) -> None:
    urn = shop.suggest("orders.customer", "customers.id", 0.93)
    shop.gms.put(urn, StatusClass(removed=True))
    assert find_join(shop.graph, CONDITION).is_hidden
    assert find_join(shop.graph, urn).is_hidden


@pytest.mark.parametrize("name", ["bought by", CONDITION, TURNED])
def test_a_persons_join_is_found_by_name_and_by_columns(shop: Shop, name: str) -> None:
    urn = shop.write("bought by", ("orders.customer", "customers.id"))
    assert find_join(shop.graph, name).urn == urn


def test_an_unknown_join_is_reported_with_similar_names(shop: Shop) -> None:
    shop.suggest("orders.customer", "customers.id", 0.93)
    expected = rf"^the catalog has no join 'orders.customer'\. Did you mean .*'{CONDITION}'.*\?$"
    with pytest.raises(UnknownNameError, match=expected):
        find_join(shop.graph, "orders.customer")


def test_an_ambiguous_join_needs_a_urn(shop: Shop) -> None:
    shop.suggest("orders.customer", "customers.id", 0.93)
    shop.write("bought by", ("orders.customer", "customers.id"))
    assert find_join(shop.graph, "bought by").score is None
    shop.gms.delete(find_join(shop.graph, CONDITION).urn)
    shop.write("bought  by", ("orders.customer", "customers.id"))
    expected = r"^2 joins have the name '.*': 'urn:.*:bought--by', 'urn:.*:bought-by'\. Use a URN"
    with pytest.raises(UnknownNameError, match=expected):
        find_join(shop.graph, CONDITION)


@pytest.mark.parametrize(
    "name", ["shop.public.orders", "Orders", "ORDERS", "public.orders", f" {ORDERS} "]
)
def test_a_dataset_is_found(shop: Shop, name: str) -> None:
    assert find_dataset(shop.graph, name) == ORDERS


def test_a_full_name_precedes_a_title_and_a_title_precedes_a_partial_name(shop: Shop) -> None:
    full, titled = dataset_urn(TableId("mysql", "orders")), dataset_urn(TableId("mysql", "o"))
    shop.gms.put(titled, DatasetPropertiesClass(name="public.orders"))
    assert find_dataset(shop.graph, "public.orders") == titled
    shop.gms.put(full, DatasetPropertiesClass(name="Old orders"))
    assert find_dataset(shop.graph, "orders") == full


def test_an_ambiguous_dataset_needs_a_urn(shop: Shop) -> None:
    other = dataset_urn(TableId("mysql", "shop.public.orders"))
    shop.gms.put(other, DatasetPropertiesClass(name="Orders"))
    expected = re.escape(f"2 datasets have the name 'Orders': '{other}', '{ORDERS}'. Use a URN")
    with pytest.raises(UnknownNameError, match=expected):
        find_dataset(shop.graph, "Orders")


def test_many_candidates_are_counted() -> None:
    found = [(dataset_urn(TableId("file", f"{number}/a.csv")), "") for number in range(7)]
    with pytest.raises(UnknownNameError, match=r"^7 datasets have .* and 2 more\. Use one"):
        choose_dataset("a.csv", found)


def test_an_unknown_dataset_is_reported_with_similar_names(shop: Shop) -> None:
    with pytest.raises(UnknownNameError, match=r"no dataset 'order'. Did you mean 'shop.public.or"):
        find_dataset(shop.graph, "order")


def test_similar_names_of_datasets_are_found_whatever_their_ends(shop: Shop) -> None:
    with pytest.raises(UnknownNameError, match=r"no dataset 'Refundings'. Did you mean 'shop.pub"):
        find_dataset(shop.graph, "Refundings")


@pytest.mark.parametrize("name", ["nowhere", "urn:li:tag:orders", "urn:li:dataset:orders", "***"])
def test_an_unknown_dataset_is_reported(shop: Shop, name: str) -> None:
    expected = re.escape(f"the catalog has no dataset {name!r}. ")
    with pytest.raises(UnknownNameError, match=expected):
        find_dataset(shop.graph, name)
