"""Test that columns are found by name, and that ambiguous names give a list of choices."""

import re

import pytest

from datahub_hyperjoin.graphql.errors import AmbiguousColumnError, UnknownNameError
from datahub_hyperjoin.graphql.find import choose_column, find_column
from datahub_hyperjoin.metadata.urns import dataset_urn
from lakes.lake import describe
from lakes.shop import Shop, table

COLUMNS = {"billing.city", "delivery.city", "delivery.zip", "Customer", "customer", "PAYER"}


@pytest.mark.parametrize(("name", "column"), [
    ("customer", "customer"),
    ("Customer", "Customer"),
    ("payer", "PAYER"),
    ("billing.city", "billing.city"),
    ("ZIP", "delivery.zip"),
    (" payer ", "PAYER"),
    ("[version=2.0].[type=string].PAYER", "PAYER"),
    ("amount", None),
])  # fmt: skip
def test_a_column_is_found_by_the_strictest_rule(name: str, column: str | None) -> None:
    assert choose_column(name, COLUMNS, "orders") == column


@pytest.mark.parametrize(("name", "choices"), [
    ("city", "'billing.city', 'delivery.city'"),
    ("CUSTOMER", "'Customer', 'customer'"),
])  # fmt: skip
def test_a_name_of_several_columns_brings_the_choices(name: str, choices: str) -> None:
    expected = f"2 columns of 'orders' have the name '{name}': {choices}. Use the whole name of one"
    with pytest.raises(AmbiguousColumnError, match=f"^{re.escape(expected)}$"):
        choose_column(name, COLUMNS, "orders")


def test_a_column_that_does_not_exist_brings_the_nearest_names(shop: Shop) -> None:
    name, urn = table("orders").name, dataset_urn(table("orders"))
    describe(shop.gms, name, ["id", "customer_id", "placed_on"], platform="postgres")
    assert find_column(shop.graph, urn, "placed_on", ()) == "placed_on"
    expected = (
        f"the dataset {name!r} has no column 'client_id'. Did you mean 'customer_id', 'id', "
        "'placed_on'?"
    )
    with pytest.raises(UnknownNameError, match=f"^{re.escape(expected)}$"):
        find_column(shop.graph, urn, "client_id", ())
