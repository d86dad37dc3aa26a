"""Test that columns are found by name, and that ambiguous names give a list of choices."""

import re

import pytest

from datahub_hyperjoin.agents.answers import joins_of_named
from datahub_hyperjoin.graphql.errors import AmbiguousColumnError
from datahub_hyperjoin.joins import Join
from lakes.chains import join

JOINS = [
    join("orders", "cities", 0.9, key=key)
    for key in ("billing.city", "delivery.city", "delivery.zip", "Customer", "customer", "PAYER")
]


def named(name: str) -> list[str]:
    return [one.left.path for one in joins_of_named(JOINS, name)]


@pytest.mark.parametrize(("name", "columns"), [
    ("customer", ["customer"]),
    ("Customer", ["Customer"]),
    ("payer", ["PAYER"]),
    ("billing.city", ["billing.city"]),
    ("ZIP", ["delivery.zip"]),
    (" payer ", ["PAYER"]),
    ("[version=2.0].[type=string].PAYER", ["PAYER"]),
    ("amount", []),
])  # fmt: skip
def test_a_column_is_found_by_the_strictest_rule(name: str, columns: list[str]) -> None:
    assert named(name) == columns


@pytest.mark.parametrize(("name", "choices"), [
    ("city", "'billing.city', 'delivery.city'"),
    ("CUSTOMER", "'Customer', 'customer'"),
])  # fmt: skip
def test_a_name_of_several_columns_brings_the_choices(name: str, choices: str) -> None:
    expected = f"2 columns of 'orders' have the name '{name}': {choices}. Use the whole name of one"
    with pytest.raises(AmbiguousColumnError, match=f"^{re.escape(expected)}$"):
        named(name)


def test_both_columns_of_a_table_that_joins_with_itself_count() -> None:
    own: list[Join] = [join("staff", "staff", 0.9, key="manager")]
    assert joins_of_named(own, "manager") == joins_of_named(own, "key") == own


def test_a_dataset_without_joins_has_no_column() -> None:
    assert joins_of_named([], "id") == []
