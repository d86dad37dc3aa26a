"""Test in a browser how the page shows a path, and why there is none."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from browser import chromium
from browser.previews import free_port, serving
from datahub_hyperjoin.joins import Role
from datahub_hyperjoin.service.address import Address
from datahub_hyperjoin.service.app import create_service
from lakes.shop import open_shop

pytestmark = pytest.mark.skipif(chromium.PATH is None, reason="needs Chromium")

_ANSWER = "document.getElementById('path-answer')"
_SIGN_IN = "document.querySelector('#sign-in button')"
_LINES = f"[...{_ANSWER}.children].map((part) => part.innerText.split('\\n'))"
REFUSED = """\
No safe path is known between 'shop.public.orders' and 'shop.public.refunds': the best one does \
not follow keys, so it may pair rows that have nothing to do with each other.
They join directly:
shop.public.orders.note = shop.public.refunds.note (0.90, same domain, about 4 rows per row)
shop.public.orders.mail = shop.public.refunds.mail (0.80, same domain, about 4 rows per row)
Accept joins that are right, and look again.
"""
Find = Callable[[str, str], list[list[str]]]


@pytest.fixture(scope="module")
def find(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Find]:
    """Open the page, and return a function that looks for a path and reads what is shown."""
    port = free_port()
    with open_shop() as shop:
        shop.suggest("orders.payer", "customers.id", 0.9)
        shop.suggest("customers.region", "regions.id", 0.8)
        shop.suggest("orders.zone", "regions.name", 0.7, role=Role.SIBLING)
        shop.suggest("orders.note", "refunds.note", 0.9, role=Role.SAME_DOMAIN)
        shop.suggest("orders.mail", "refunds.mail", 0.8, role=Role.SAME_DOMAIN)
        shop.suggest("refunds.ticket", "tickets.id", 0.9)
        shop.suggest("tickets.holder", "customers.id", 0.9)
        shop.suggest("refunds.shop", "shops.id", 0.9)
        shop.suggest("shops.owner", "customers.id", 0.8)
        service = create_service(
            lambda token: shop.gms.graph(token=token or None), Address.of("127.0.0.1", port)
        )
        folder: Path = tmp_path_factory.mktemp("browser")
        with serving(service, port), chromium.browse(folder) as tab:
            tab.open(f"http://127.0.0.1:{port}/")
            tab.wait(f"!!{_SIGN_IN} && document.readyState === 'complete'")
            tab.run(f"{_SIGN_IN}.click()")
            tab.wait("!!document.getElementById('path')")

            def look(start: str, end: str) -> list[list[str]]:
                tab.run(
                    f"document.getElementById('path').closest('details').open = true; "
                    f"document.getElementById('path-start').value = '{start}'; "
                    f"document.getElementById('path-end').value = '{end}'; "
                    f"{_ANSWER}.replaceChildren(); document.querySelector('#path button').click()"
                )
                lines: list[list[str]] = tab.wait(f"{_ANSWER}.children.length > 0 && {_LINES}")
                return lines

            yield look


def test_the_direct_joins_are_listed_below_a_detour(find: Find) -> None:
    grain, steps, title, direct = find("orders", "regions")
    assert grain == ["The result has one row for each row of shop.public.orders that matches."]
    assert [line for line in steps if "→" in line] == [
        "shop.public.orders.payer → shop.public.customers.id",
        "shop.public.customers.region → shop.public.regions.id",
    ]
    assert title == ["The first and the last table also join directly:"]
    assert direct == [
        "shop.public.orders.zone = shop.public.regions.name (0.70, sibling, about 4 rows per row)"
    ]


def test_another_path_that_is_as_short_is_told(find: Find) -> None:
    _, _, rival = find("refunds", "customers")
    assert rival == [
        (
            "Another path of 2 joins gives other rows: shop.public.refunds.shop → "
            "shop.public.shops.id, then shop.public.shops.owner → shop.public.customers.id. "
            "One row for each row of shop.public.refunds that matches, by way of "
            "shop.public.shops instead of shop.public.tickets."
        )
    ]


def test_a_path_without_direct_joins_lists_none(find: Find) -> None:
    assert len(find("orders.payer", "regions")) == 2


def test_a_refusal_lists_the_direct_joins_and_names_no_option_of_the_command(find: Find) -> None:
    shown = find("orders", "refunds")
    assert [line for part in shown for line in part] == [*REFUSED.splitlines()]


def test_what_is_not_found_is_said(find: Find) -> None:
    assert find("orders.payer", "regions.name") == [
        ["No path connects 'shop.public.orders.payer' and 'shop.public.regions.name'."],
        ["Accept joins that are right, and look again."],
    ]
    assert find("refunds.n", "regions") == [
        ["The dataset 'shop.public.refunds' has no column 'n'. Did you mean 'note'?"]
    ]
