"""Accept many joins at once, by a condition."""

import csv
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from datahub_hyperjoin.cli import main
from datahub_hyperjoin.cli.conditions import parse_condition
from datahub_hyperjoin.cli.errors import ConditionError
from datahub_hyperjoin.decision_file import WrittenDecision, editing_decision_file
from lakes.lake import write_flights
from lakes.quick_runs import CARRIER, join_of


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("role=reference", True),
        ("role = sibling", False),
        ("joinability>=0.9", True),
        ("joinability>0.9", False),
        ("joinability<=0.9 and role=reference", True),
        ("joinability<0.9 and role=reference", False),
        ("cardinality=many-to-one", True),
        ("cardinality=one-to-one", False),
        ("table=flights and table=airlines.csv", True),
        ("table=planes", False),
    ],
)
def test_a_condition_compares_what_a_join_is(text: str, *, holds: bool) -> None:
    assert parse_condition(text)(join_of(CARRIER, 0.9)) is holds


def test_joins_that_were_not_verified_meet_no_condition() -> None:
    named = replace(join_of(CARRIER), evidence=None)
    assert not parse_condition("role=reference")(named)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no comparison such as role=reference"),
        ("role", "'role' is no comparison such as role=reference"),
        ("role>sibling", "only joinability is greater or less; write role="),
        ("rank=1", "'rank' is not role or cardinality or joinability or table"),
        ("role=key", "'key' is not reference or one-to-one or sibling or same domain"),
        ("joinability>=high", "'high' is not a number from 0 to 1"),
    ],
)
def test_what_is_no_condition_says_what_is(text: str, message: str) -> None:
    with pytest.raises(ConditionError) as raised:
        parse_condition(text)
    assert raised.value.message == message


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_flights(tmp_path / "lake")
    return tmp_path / "lake"


def run(lake: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["joins", "--in", str(lake), *options])


def test_joins_are_accepted_by_a_condition_once_it_is_confirmed(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[Path] = []

    def editing(file: Path) -> AbstractContextManager[list[WrittenDecision]]:
        writes.append(file)
        return editing_decision_file(file)

    edit = "datahub_hyperjoin.catalog.filed_decisions.editing_decision_file"
    monkeypatch.setattr(edit, editing)
    condition = ("--accept-where", "role=reference and table=flights")
    tried = run(lake, *condition)
    assert tried.exit_code == 0, tried.output
    assert tried.stderr.endswith("Would accept 3 joins. Add --yes to do so\n")
    assert tried.stdout.count("flights.csv") == 3
    assert not Path("decisions.csv").exists()
    done = run(lake, *condition, "--yes")
    assert "Accepted 3 joins\nWritten to decisions.csv" in done.stderr
    assert len(writes) == 1
    with Path("decisions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["decision"] for row in rows] == ["accepted"] * 3
    assert {row["reason"] for row in rows} == {condition[1]}
    assert "No joins in" in run(lake, *condition).stdout
    open_joins = run(lake, "--undecided").stdout
    assert open_joins.count("accepted") == 0


def test_a_wrong_condition_changes_nothing(lake: Path) -> None:
    done = run(lake, "--accept-where", "rank=1", "--yes")
    assert done.exit_code == 2
    assert "'rank' is not role or cardinality or joinability or table" in done.stderr


def test_a_confirmation_of_nothing_names_the_condition(lake: Path) -> None:
    done = run(lake, "--yes")
    assert done.exit_code == 2
    assert "--yes accepts nothing without --accept-where, as in" in done.stderr
