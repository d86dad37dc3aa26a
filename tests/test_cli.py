"""Test the command `hyperjoin` as users run it, against a server over HTTP."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import StatusClass

from datahub_hyperjoin.metadata.urns import dataset_urn
from lakes.shop import Shop, table
from lakes.shop_commands import (
    CUSTOMER,
    fail,
    joined_shop,
    succeed,
)

TOKEN = "eyJhbGciOi.secret"  # noqa: S105 - nobody's


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with joined_shop(monkeypatch) as opened:
        yield opened


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Delete the variables that name a server, and return the path of DataHub's configuration."""
    for name in ("URL", "HOST", "PORT", "TOKEN"):
        monkeypatch.delenv(f"DATAHUB_GMS_{name}", raising=False)
    path = tmp_path / ".datahubenv"
    # The client finds its home when it is imported.
    monkeypatch.setattr("datahub.cli.config_utils.DATAHUB_CONFIG_PATH", str(path))
    return path


def test_joins_are_listed_best_first(shop: Shop) -> None:
    shop.write("by hand", ("orders.region", "regions.id"))
    lines = succeed("joins", "--dataset", "Orders").splitlines()
    assert lines[0].split() == ["joinability", "join", "role", "cardinality", "decision"]
    rows = [line.split("  ") for line in lines[2:]]
    assert [[cell.strip() for cell in row if cell.strip()] for row in rows] == [
        [
            "orders.region = regions.id",
            "many-to-one",
            "created by a person",
        ],
        ["0.93", "orders.customer → customers.id", "reference", "many-to-one"],
        ["0.70", "orders.id ← refunds.order", "reference", "one-to-many"],
    ]


def test_joins_are_given_to_programs(shop: Shop) -> None:
    succeed("accept", CUSTOMER, "--why", "asked Ann")
    (join,) = json.loads(
        succeed("joins", "--dataset", "orders", "--column", "customer", "--format", "json")
    )
    orders, customers = dataset_urn(table("orders")), dataset_urn(table("customers"))
    assert join.pop("urn").startswith("urn:li:erModelRelationship:")
    assert join == {
        "name": CUSTOMER,
        "columns": [
            {
                "left": {"dataset": orders, "column": "customer"},
                "right": {"dataset": customers, "column": "id"},
            }
        ],
        "cardinality": "N_ONE",
        "joinability": 0.93,
        "band": "high",
        "decision": "accepted",
        "hidden": False,
        "description": "asked Ann",
        "owners": [],
        "role": "reference",
        "referenced": {"dataset": customers, "column": "id"},
        "declared": False,
        "left_fan_out": 1.0,
        "right_fan_out": 2.0,
        "left_containment": 1.0,
        "right_containment": 0.5,
        "rows_as_written": 0,
        "placeholders": "",
        "left_counts": None,
        "right_counts": None,
        "compared_as": None,
        "crosswalk": None,
    }
    assert shop.gms.writes != []


@pytest.mark.usefixtures("shop")
def test_a_score_leaves_out_what_is_below() -> None:
    output = succeed("joins", "--dataset", "orders", "--min-score", "0.9")
    assert "orders.customer" in output
    assert "refunds" not in output


@pytest.mark.usefixtures("shop")
def test_a_dataset_may_have_no_joins() -> None:
    asked = ("joins", "--dataset", "orders", "--column", "note")
    assert succeed(*asked) == "No joins of orders.note in the catalog.\n"
    assert json.loads(succeed(*asked, "--format", "json")) == []


@pytest.mark.usefixtures("shop")
def test_a_rejected_join_is_gone_until_it_is_accepted() -> None:
    asked = ("joins", "--dataset", "orders", "--column", "customer")
    assert succeed("accept", CUSTOMER) == f"Accepted {CUSTOMER}\n"
    assert "accepted" in succeed(*asked)
    assert succeed("reject", CUSTOMER, "--why", "no") == f"Rejected {CUSTOMER}\n"
    assert succeed(*asked) == "No joins of orders.customer in the catalog.\n"
    assert "rejected, hidden" in succeed(*asked, "--all")
    succeed("accept", CUSTOMER)
    assert "accepted" in succeed(*asked)


@pytest.mark.usefixtures("shop")
def test_decisions_are_undone() -> None:
    asked = ("joins", "--dataset", "orders", "--column", "customer")
    before = succeed(*asked)
    for decide in ("accept", "reject"):
        succeed(decide, CUSTOMER)
        assert succeed("undo", CUSTOMER) == f"Undone {CUSTOMER}, which was {decide}ed\n"
        assert succeed(*asked) == before
    assert succeed("undo", CUSTOMER) == f"Nobody has decided about {CUSTOMER}\n"
    succeed("accept", CUSTOMER)
    (undone,) = json.loads(succeed("undo", CUSTOMER, "--json"))
    assert (undone["name"], undone["decision"], undone["undone"]) == (CUSTOMER, None, ["accepted"])


def test_a_rejection_by_tag_alone_is_not_listed_either(shop: Shop) -> None:
    succeed("reject", CUSTOMER)
    (hidden,) = json.loads(
        succeed("joins", "--dataset", "customers", "--column", "id", "--all", "--format", "json")
    )
    shop.gms.put(hidden["urn"], StatusClass(removed=False))
    asked = ("joins", "--dataset", "customers", "--column", "id")
    assert succeed(*asked) == "No joins of customers.id in the catalog.\n"
    assert "rejected" in succeed(*asked, "--all")


def test_nothing_is_decided_when_one_name_is_wrong(shop: Shop) -> None:
    assert fail("reject", CUSTOMER, "nothing") == (
        "Error: the catalog has no join 'nothing'. Use the URN that its page in DataHub shows"
    )
    assert shop.gms.writes == []


@pytest.mark.usefixtures("shop")
def test_several_are_decided_at_once() -> None:
    refund = "shop.public.refunds.order = shop.public.orders.id"
    assert succeed("accept", refund, CUSTOMER, CUSTOMER) == (
        f"Accepted {refund}\nAccepted {CUSTOMER}\n"
    )


@pytest.mark.usefixtures("shop")
def test_a_dataset_that_is_not_there_brings_others() -> None:
    assert fail("joins", "--dataset", "order") == (
        "Error: the catalog has no dataset 'order'. Did you mean 'shop.public.orders'?"
    )


@pytest.mark.parametrize("arrow", ["→", "->", "="])
@pytest.mark.usefixtures("shop")
def test_a_join_is_decided_by_the_words_that_list_it(arrow: str) -> None:
    assert succeed("accept", CUSTOMER.replace("=", arrow)) == f"Accepted {CUSTOMER}\n"
    (decided,) = json.loads(succeed("reject", CUSTOMER.replace("=", arrow), "--json"))
    assert decided.pop("urn").startswith("urn:li:erModelRelationship:")
    assert decided == {"name": CUSTOMER, "decision": "rejected"}


def test_a_server_that_fails_is_one_sentence(shop: Shop) -> None:
    shop.gms.fail("POST /api/graphql", 501, times=9, message="not today")
    assert fail("joins", "--dataset", "orders").startswith(
        "Error: DataHub does not answer datasets_by_name: 501 Not Implemented: not today. Try again"
    )


def test_settings_of_datahub_init_are_enough(shop: Shop, settings: Path) -> None:
    settings.write_text(json.dumps({"gms": {"server": shop.gms.url}}))
    assert "orders.customer" in succeed("joins", "--dataset", "orders")


@pytest.mark.usefixtures("settings")
def test_without_settings_it_says_which() -> None:
    assert fail("joins", "--dataset", "orders") == (
        "Error: DataHub cannot be reached: neither ~/.datahubenv nor DATAHUB_GMS_URL names a "
        "server. Run `datahub init`, or set DATAHUB_GMS_URL and, if the server requires a "
        "token, DATAHUB_GMS_TOKEN"
    )


@pytest.mark.parametrize(
    "text", [f'gms: {{"token": "{TOKEN}"}}', f"gms: [{TOKEN}", f"token: {TOKEN}", ""]
)
def test_settings_that_make_no_sense_are_not_shown(settings: Path, text: str) -> None:
    settings.write_text(text)
    line = fail("joins", "--dataset", "orders")
    assert "the settings in ~/.datahubenv cannot be parsed. Run `datahub init`" in line
    assert TOKEN not in line


def test_a_server_that_is_not_there_is_named(settings: Path) -> None:
    settings.write_text(
        json.dumps({"gms": {"server": "http://127.0.0.1:9", "token": TOKEN, "retry_max_times": 0}})
    )
    line = fail("joins", "--dataset", "orders")
    assert "cannot be reached: nothing answers at http://127.0.0.1:9/config. Run" in line
    assert TOKEN not in line


def test_a_wrong_token_is_not_shown(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", TOKEN)
    shop.gms.fail("GET /config", 401, message=f"Bearer {TOKEN}")
    line = fail("joins", "--dataset", "orders")
    assert "got an authentication error" in line
    assert TOKEN not in line


def test_it_is_a_program_that_explains_itself() -> None:
    command = [sys.executable, "-m", "datahub_hyperjoin.cli", "path", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: hyperjoin path [OPTIONS] A B")
