"""Run commands of `hyperjoin` against a server that has the joins of a shop."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner, Result

from datahub_hyperjoin.cli import main
from lakes.shop import Shop, open_shop

ORDERED_BY, CUSTOMERS_ID = "shop.public.orders.customer", "shop.public.customers.id"
PAID_BY = f"{CUSTOMERS_ID} ← shop.public.orders.payer"
CUSTOMER = f"{ORDERED_BY} = {CUSTOMERS_ID}"


@contextmanager
def joined_shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """Run a server with three joins, and store the server's URL in `DATAHUB_GMS_URL`."""
    with open_shop() as opened:
        monkeypatch.setenv("DATAHUB_GMS_URL", opened.gms.url)
        opened.suggest("orders.customer", "customers.id", 0.93)
        opened.suggest("refunds.order", "orders.id", 0.7)
        opened.suggest("customers.region", "regions.id", 0.8)
        yield opened


def run_command(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def succeed(*arguments: str) -> str:
    result = run_command(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def fail(*arguments: str) -> str:
    """Run a command that must fail, and return its error, which is a single line."""
    result = run_command(*arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    (line,) = result.output.splitlines()
    return line
