"""Test the command `hyperjoin path` as users run it, against a server over HTTP."""

import json
from collections.abc import Iterator

import pytest

from datahub_hyperjoin.joins import Role
from datahub_hyperjoin.metadata.urns import dataset_urn
from lakes.shop import Shop, table
from lakes.shop_commands import (
    CUSTOMER,
    fail,
    joined_shop,
    succeed,
)


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with joined_shop(monkeypatch) as opened:
        yield opened


@pytest.mark.usefixtures("shop")
def test_a_path_is_shown_with_its_conditions() -> None:
    lines = succeed("path", "refunds", "regions").splitlines()
    chain = ("refunds", "orders", "customers", "regions")
    assert lines[0] == " → ".join(f"shop.public.{name}" for name in chain)
    assert lines[1] == "3 joins with a combined joinability of 0.52"
    assert lines[2] == "One row for each row of refunds that matches"
    for line, condition in zip(
        lines[-3:],
        (
            "refunds.order → orders.id",
            "orders.customer → customers.id",
            "customers.region → regions.id",
        ),
        strict=True,
    ):
        assert condition in line
        assert line.endswith("100% of rows")


def test_a_path_lists_the_references_that_a_person_might_mean(shop: Shop) -> None:
    shop.suggest("orders.payer", "customers.id", 0.9)
    shop.suggest("orders.region", "customers.region", 0.99, role=Role.SIBLING)
    lines = succeed("path", "customers", "orders").splitlines()
    assert lines[2] == "One row for each row of orders that matches"
    assert lines[-4].endswith("about 2 rows per row")
    assert lines[-3:] == [
        "",
        "Other references between the same tables:",
        "customers.id ← orders.payer (0.90) instead of customers.id ← orders.customer",
    ]
    (step,) = json.loads(succeed("path", "customers", "orders", "--json"))["joins"]
    assert [other["name"] for other in step["alternatives"]] == [
        "shop.public.orders.payer = shop.public.customers.id"
    ]


def test_a_path_does_not_multiply_rows_unless_it_is_asked_to(shop: Shop) -> None:
    shop.suggest("orders.region", "regions.name", 0.99, role=Role.SIBLING)
    succeed("reject", CUSTOMER)
    assert fail("path", "orders", "regions") == (
        "Error: no safe path is known between 'shop.public.orders' and 'shop.public.regions': the "
        "best one does not follow keys, so it may pair rows that have nothing to do with each "
        "other. The tables are joined directly by shop.public.orders.region = "
        "shop.public.regions.name (0.99, sibling, about 4 rows per row). Add "
        "`--many-to-many` to see it, or accept a join that leads to a key"
    )
    lines = succeed("path", "orders", "regions", "--many-to-many").splitlines()
    assert lines[2] == "Rows of every table may repeat: do not sum over the result"
    path = json.loads(succeed("path", "orders", "regions", "--many-to-many", "--json"))
    assert (path["safe"], path["grain"], path["multiplies_by"]) == (False, None, 4.0)


def test_a_path_may_start_and_end_at_a_column(shop: Shop) -> None:
    shop.suggest("orders.payer", "customers.id", 0.9)
    lines = succeed("path", "orders.payer", "regions").splitlines()
    assert "orders.payer → customers.id" in lines[-2]
    assert lines[-1].startswith("0.80")
    path = json.loads(succeed("path", "customers.id", "shop.public.orders.payer", "--json"))
    assert [join["alternatives"] for join in path["joins"]] == [[]]
    assert path["joins"][0]["columns"][0]["right"]["column"] == "payer"
    assert fail("path", "orders.payee", "regions") == (
        "Error: the dataset 'shop.public.orders' has no column 'payee'. Did you mean 'payer'?"
    )


def test_a_path_names_others_that_are_as_short(shop: Shop) -> None:
    shop.suggest("orders.store", "stores.id", 0.9)
    shop.suggest("stores.region", "regions.id", 0.7)
    lines = succeed("path", "orders", "regions").splitlines()
    assert lines[-2:] == [
        "",
        (
            "Another path of 2 joins gives other rows: orders.store → stores.id, then "
            "stores.region → regions.id. One row for each row of orders that matches, by way of "
            "stores instead of customers"
        ),
    ]
    (rival,) = json.loads(succeed("path", "orders", "regions", "--json"))["rivals"]
    assert rival["tables"] == [dataset_urn(table(it)) for it in ("orders", "stores", "regions")]
    assert (len(rival["joins"]), rival["safe"], rival["joinability"]) == (2, False, 0.63)
    assert rival["differs"] == (
        "One row for each row of shop.public.orders that matches, by way of shop.public.stores "
        "instead of shop.public.customers"
    )


def test_a_detour_names_the_direct_join_with_its_rows(shop: Shop) -> None:
    shop.suggest("orders.region", "regions.name", 0.99, role=Role.SIBLING)
    lines = succeed("path", "orders", "regions").splitlines()
    assert lines[-3:] == [
        "",
        "Direct joins of the first and the last table:",
        "orders.region = regions.name (0.99, sibling, about 4 rows per row)",
    ]
    (direct,) = json.loads(succeed("path", "orders", "regions", "--json"))["direct"]
    assert (direct["role"], direct["left_fan_out"]) == ("sibling", 4.0)


def test_a_path_names_the_crosswalk_of_a_join_in_two_steps(shop: Shop) -> None:
    shop.suggest("refunds.town", "regions.label", 0.9, via=("orders.code", "orders.name"))
    lines = succeed("path", "regions", "refunds").splitlines()
    route = "shop.public.regions → crosswalk shop.public.orders → shop.public.refunds"
    assert lines[0] == route
    assert "reference, in two steps" in lines[-4]
    steps = "regions.label = orders.name, then orders.code = refunds.town"
    through = "through crosswalk table orders"
    assert lines[-3:] == ["", "Joins in two steps:", f"{steps}, {through}"]
    (step,) = json.loads(succeed("path", "regions", "refunds", "--json"))["joins"]
    orders = dataset_urn(table("orders"))
    assert step["crosswalk"] == {"dataset": orders, "left": "name", "right": "code"}


def test_a_path_names_the_form_in_which_values_are_compared(shop: Shop) -> None:
    shop.suggest("refunds.country", "regions.country", 0.9, compared_as="countries")
    line = succeed("path", "refunds", "regions").splitlines()[-1]
    assert "reference, as countries" in line
    (step,) = json.loads(succeed("path", "refunds", "regions", "--json"))["joins"]
    assert (step["compared_as"], step["crosswalk"]) == ("countries", None)


def test_the_path_of_an_unknown_fan_out_says_so(shop: Shop) -> None:
    shop.write("by hand", ("refunds.region", "regions.id"))
    assert "unknown" in succeed("path", "refunds", "regions")


@pytest.mark.usefixtures("shop")
def test_a_path_is_given_to_programs() -> None:
    path = json.loads(succeed("path", "orders", "Regions", "--format", "json"))
    names = ("orders", "customers", "regions")
    assert path["tables"] == [dataset_urn(table(name)) for name in names]
    assert path["joinability"] == 0.744
    assert (path["safe"], path["grain"]) == (True, dataset_urn(table("orders")))
    assert path["multiplies_by"] == 1.0
    assert [(join["name"], join["multiplies_by"]) for join in path["joins"]] == [
        (CUSTOMER, 1.0),
        ("shop.public.customers.region = shop.public.regions.id", 1.0),
    ]


@pytest.mark.usefixtures("shop")
def test_a_path_goes_by_no_rejected_join() -> None:
    succeed("reject", CUSTOMER)
    assert fail("path", "orders", "regions") == (
        "Error: no path connects 'shop.public.orders' and 'shop.public.regions'. List the joins of "
        "each table with `hyperjoin joins --dataset`, and accept those that are right"
    )


@pytest.mark.usefixtures("shop")
def test_a_path_may_be_too_long() -> None:
    assert "no path of at most 1 joins" in fail("path", "orders", "regions", "--max-hops=1")


def test_an_improbable_path_is_shown_on_request(shop: Shop) -> None:
    shop.suggest("refunds.label", "regions.label", 0.4)
    assert fail("path", "refunds", "regions") == (
        "Error: no safe path is known between 'shop.public.refunds' and 'shop.public.regions': the "
        "best one has a joinability of only 0.40. The tables are joined directly by "
        "shop.public.refunds.label → shop.public.regions.label (0.40, reference, 100% of rows). "
        "Lower `--min-joinability` to see it, and accept the joins that are right"
    )
    lines = succeed("path", "refunds", "regions", "--min-joinability=0.4").splitlines()
    assert lines[1] == "1 join with a combined joinability of 0.40"
