"""Decide about columns that no relationship joins."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from datahub_hyperjoin.cli import main
from datahub_hyperjoin.joins import Role
from datahub_hyperjoin.tables import pair_of
from lakes.lake import column
from lakes.quick_runs import CARRIER, PLANE, Runs, shown
from lakes.shop import open_shop

OWN = "delays.csv.carrier = flights.csv.carrier"
PAIR = pair_of(column("delays.csv.carrier"), column("flights.csv.carrier"))


@pytest.fixture
def runs(runs: Runs) -> Runs:
    runs([CARRIER, PLANE])
    return runs


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments])


def test_two_columns_are_accepted_rejected_and_undone_without_a_relationship(runs: Runs) -> None:
    # The other column lists a partner already, which stays.
    assert run("accept", "delays.carrier = airlines.carrier").output == (
        "Accepted airlines.csv.carrier = delays.csv.carrier\n"
    )
    done = run("accept", "flights.carrier = delays.carrier", "--why", "one code")
    assert (done.exit_code, done.stdout) == (0, f"Accepted {OWN}\n")
    assert done.stderr == (
        "The reason is not stored: only a join that a run has written has a description\n"
    )
    report = runs([CARRIER, PLANE])
    assert report.joins_accepted == 2
    assert run("reject", OWN).output == f"Rejected {OWN}\n"
    report = runs([CARRIER, PLANE, PAIR])
    assert (report.joins_accepted, report.joins_rejected) == (1, 1)
    assert PAIR not in shown(runs.gms)
    assert run("undo", OWN).output == f"Undone {OWN}, which was rejected\n"
    assert run("undo", OWN).output == f"Nobody has decided about {OWN}\n"
    runs([CARRIER, PLANE, PAIR])
    assert PAIR in shown(runs.gms)


def test_columns_that_people_decided_about_are_listed_and_explained(runs: Runs) -> None:
    assert OWN not in run("joins").output
    run("accept", OWN)
    rows = run("joins", "--dataset", "delays").output.splitlines()
    (row,) = [row for row in rows if "flights" in row]
    assert row.split("  ")[-1].strip() == "accepted, created by a person"
    assert "cardinality unknown" in row
    (record,) = json.loads(run("joins", "--dataset", "delays", "--format", "json").output)
    assert run("explain", "delays.carrier", "flights.carrier").output.splitlines()[-1] == (
        "decided: accepted by people"
    )
    assert OWN in run("path", "delays", "flights", "--many-to-many").output
    assert run("reject", record["urn"]).output == f"Rejected {OWN}\n"
    assert run("joins", "--dataset", "delays").output == "No joins of delays in the catalog.\n"
    assert "rejected" in run("joins", "--dataset", "delays", "--all").output
    assert runs([CARRIER, PLANE]).joins_rejected == 1


def test_members_of_a_domain_are_listed_on_request() -> None:
    with open_shop() as shop, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATAHUB_GMS_URL", shop.gms.url)
        shop.list_partners("orders.country", "regions.country", 0.82, Role.SAME_DOMAIN)
        assert "No joins" in run("joins", "--dataset", "orders").output
        listed = run("joins", "--dataset", "orders", "--members").output
        assert "0.82           orders.country = regions.country  same domain" in listed
        assert run("accept", "orders.country = regions.country").exit_code == 0
        assert "accepted" in run("joins", "--dataset", "regions").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--members needs --dataset"),
        (["--dataset", "a", "--in", "lake"], "--members needs DataHub, of which it reads"),
    ],
)
@pytest.mark.usefixtures("runs")
def test_members_need_a_dataset_of_datahub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("joins", "--members", *arguments)
    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("delays.carier = flights.carrier", "the dataset 'delays.csv' has no column 'carier'"),
        ("delay.carrier = flights.carrier", "the catalog has no dataset 'delay.carrier'"),
        ("delays.carrier", "the catalog has no join 'delays.carrier'"),
        ("delays.carrier = delays.carrier", "the catalog has no join"),
        ("delays.carrier = a.x and b.y = c.z", "the catalog has no join"),
    ],
)
@pytest.mark.usefixtures("runs")
def test_a_wrong_name_is_told(name: str, message: str) -> None:
    done = run("accept", name)
    assert done.exit_code == 1
    assert message in done.output
