"""Test the path finder of the page."""

from collections.abc import Iterator

import pytest

from browser.browsers import ADA, PEOPLE, Browser
from datahub_hyperjoin.joins import Role
from lakes.shop import Shop, open_shop


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    with open_shop(PEOPLE) as opened:
        yield opened


@pytest.fixture
def joined(shop: Shop, browser: Browser) -> Browser:
    shop.suggest("orders.customer", "customers.id", 0.93)
    shop.suggest("orders.payer", "customers.id", 0.9)
    shop.suggest("customers.region", "regions.id", 0.8)
    assert browser.sign_in(ADA) == 204
    return browser


def test_a_path_has_a_grain_and_steps(joined: Browser) -> None:
    answer = joined.client.get("/path", params={"start": "orders", "end": "regions"})
    assert answer.json() == {
        "grain": "one row for each row of shop.public.orders that matches",
        "steps": [
            {
                "join": "shop.public.orders.customer → shop.public.customers.id",
                "facts": [
                    "100% of the rows of shop.public.orders with a value match",
                    "suggested with joinability 0.93; nobody decided",
                ],
                "choices": ["shop.public.orders.payer → shop.public.customers.id"],
            },
            {
                "join": "shop.public.customers.region → shop.public.regions.id",
                "facts": [
                    "100% of the rows of shop.public.customers with a value match",
                    "suggested with joinability 0.80; nobody decided",
                ],
                "choices": [],
            },
        ],
        "rivals": [],
        "direct": [],
    }


def test_a_path_between_columns_names_the_direct_joins(joined: Browser, shop: Shop) -> None:
    shop.suggest("orders.payer", "regions.name", 0.7, role=Role.SIBLING)
    answer = joined.client.get("/path", params={"start": "orders.payer", "end": "regions"})
    assert answer.json()["steps"][0]["join"].startswith("shop.public.orders.payer → ")
    assert answer.json()["direct"] == [
        "shop.public.orders.payer = shop.public.regions.name (0.70, sibling, about 4 rows per row)"
    ]


@pytest.mark.parametrize(("start", "end", "status", "error"), [
    ("orders", "refunds", 404, "no path connects 'shop.public.orders' and 'shop.public.refunds'"),
    ("orders", "unheard", 404, "the catalog has no dataset 'unheard'"),
    ("orders", "", 400, "name two datasets"),
    ("orders.x", "regions", 404, "the dataset 'shop.public.orders' has no column 'x'"),
])  # fmt: skip
def test_without_a_path_the_answer_says_why(
    joined: Browser, start: str, end: str, status: int, error: str
) -> None:
    answer = joined.client.get("/path", params={"start": start, "end": end})
    assert answer.status_code == status
    assert answer.json()["error"].startswith(error)


def test_only_who_signed_in_finds_paths(browser: Browser) -> None:
    answer = browser.client.get("/path", params={"start": "orders", "end": "regions"})
    assert (answer.status_code, answer.json()) == (
        401,
        {"error": "your session has ended. Sign in"},
    )
