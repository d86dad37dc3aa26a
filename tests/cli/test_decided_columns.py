"""Decide about columns that no relationship joins."""

import pytest
from click.testing import CliRunner, Result

from datahub_hyperjoin.cli import main
from datahub_hyperjoin.tables import pair_of
from lakes.lake import column
from lakes.quick_runs import CARRIER, PLANE, Runs, shown

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
    done = run("accept", "flights.carrier = delays.carrier")
    assert (done.exit_code, done.output) == (0, f"Accepted {OWN}\n")
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
