"""Test the command `hyperjoin export` as users run it, against a server over HTTP."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from datahub_hyperjoin.cli import main
from datahub_hyperjoin.export import ExportFormat
from datahub_hyperjoin.joins import Role
from datahub_hyperjoin.metadata.urns import dataset_urn
from lakes.shop import Shop, open_shop, table


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with open_shop() as opened:
        monkeypatch.setenv("DATAHUB_GMS_URL", opened.gms.url)
        opened.suggest("orders.customer", "customers.id", 0.93)
        opened.suggest("refunds.order", "orders.id", 0.7)
        opened.suggest("customers.region", "regions.id", 0.8)
        opened.suggest("orders.region", "refunds.region", 0.8, role=Role.SIBLING)
        yield opened


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["export", *arguments])


def names(text: str) -> list[str]:
    return re.findall(r'^Ref "(\w+)"', text, re.MULTILINE)


def test_safe_joins_are_written_and_the_others_counted(shop: Shop) -> None:
    result = run("--format", "dbml")
    assert result.exit_code == 0
    assert names(result.stdout) == [
        "customers_region_to_regions",
        "orders_customer_to_customers",
        "refunds_order_to_orders",
    ]
    assert result.stderr == "Left out 1 join: 1 without a key (siblings or one domain)\n"
    assert shop.gms.writes == []


@pytest.mark.usefixtures("shop")
def test_only_joins_of_the_named_datasets_are_written() -> None:
    result = run("--format", "dbml", "--dataset", "regions")
    assert names(result.stdout) == ["customers_region_to_regions"]
    assert result.stderr == ""
    result = run("--format", "dbml", "--dataset", "Customers", "--dataset", "regions")
    assert names(result.stdout) == ["customers_region_to_regions", "orders_customer_to_customers"]
    assert "no dataset 'nothing'" in run("--format", "dbml", "--dataset", "nothing").stderr


def test_a_file_is_the_same_until_the_joins_change(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "joins.dbml"
    arguments = ("--format", "dbml", "--out", str(path))
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines()[0] == f"Wrote 3 joins to {path}"
    first = path.read_text("utf-8")
    assert first == run("--format", "dbml").stdout
    run(*arguments)
    assert path.read_text("utf-8") == first
    shop.suggest("orders.payer", "customers.id", 0.9)
    run(*arguments)
    assert "orders_payer_to_customers" in names(path.read_text("utf-8"))
    path.write_text("mine", "utf-8")
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: `--out` is")
    assert path.read_text("utf-8") == "mine"


def test_without_a_safe_join_the_command_fails(shop: Shop) -> None:
    shop.suggest("tariffs.region", "zones.region", 0.8, role=Role.SIBLING)
    result = run("--format", "ossie", "--dataset", "regions")
    assert result.exit_code == 0
    result = run("--format", "ossie", "--dataset", dataset_urn(table("zones")))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: no safe join is known to export as ossie. Left out: 1 ")


@pytest.mark.usefixtures("shop")
def test_the_help_lists_all_formats() -> None:
    text = "".join(run("--help").stdout.split())
    assert all(export_format.value in text for export_format in ExportFormat)


def test_names_that_the_format_cannot_hold_are_left_out_and_named(shop: Shop) -> None:
    shop.suggest('orders.the "payer"', "customers.id", 0.9)
    result = run("--format", "dbml")
    assert "orders_the_payer_to_customers" not in names(result.stdout)
    reasons = "1 without a key (siblings or one domain); 1 with names that the format cannot hold"
    assert result.stderr.splitlines() == [
        f"Left out 2 joins: {reasons}",
        f'dbml cannot hold the names of {table("orders")}.the "payer" = {table("customers")}.id',
    ]
