"""Test that people suggest a join of two columns, see its rows, and accept it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from browser.browsers import ORIGIN
from datahub_hyperjoin.cli.recipes import open_recipe
from datahub_hyperjoin.graphql import reject
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.metadata.urns import column_urn
from datahub_hyperjoin.service.address import Address
from datahub_hyperjoin.service.app import create_service
from datahub_hyperjoin.service.suggest import Measure
from gms import Gms
from lakes.lake import column, describe, describe_folder, write_flights
from lakes.quick_runs import CARRIER, Runs, shown, urn_of
from lakes.quick_runs import ORIGIN as AIRPORT

COLUMNS = {"one": "flights.origin", "other": "airports.faa"}
"""Two columns that no run has joined."""

JOIN = "airports.csv.faa = flights.csv.origin"
LATER = "The next run counts the rows of what is accepted"
UNREAD = (
    "The rows were not counted: the recipe of this service has not both tables, or a column has no "
    "values"
)


class Person:
    """A person who has signed in to a service."""

    def __init__(self, gms: Gms, measure: Measure | None = None) -> None:
        address = Address.of("127.0.0.1", 8766)
        service = create_service(lambda _: gms.graph(), address, measure=measure)
        self._client = TestClient(service, base_url=ORIGIN, raise_server_exceptions=False)
        self._client.post("/sign-in", json={"token": ""}, headers={"Origin": ORIGIN})
        page = self._client.get("/queue").text
        self._csrf = page.partition('"csrf":"')[2].partition('"')[0]

    def post(self, path: str, *, csrf: str = "", **asked: str) -> tuple[int, Any]:
        headers = {"Origin": ORIGIN, "X-CSRF-Token": csrf or self._csrf}
        answer = self._client.post(path, json=asked, headers=headers)
        return answer.status_code, answer.json()


@pytest.fixture
def runs(tmp_path: Path, without_spark: None) -> Iterator[Runs]:  # noqa: ARG001 - it must not start
    with Gms() as gms:
        write_flights(tmp_path / "lake")
        describe_folder(gms, tmp_path / "lake")
        runs = Runs(gms, tmp_path / "lake")
        runs([CARRIER])
        yield runs


def test_two_columns_are_accepted_and_published_by_the_next_run(runs: Runs) -> None:
    person = Person(runs.gms)
    status, told = person.post("/suggest", **COLUMNS)
    assert status == 200
    assert (told["columns"], told["verdict"], told["note"]) == (JOIN, "", LATER)
    assert told["facts"] == []
    asked = {"join": told["join"], "decision": "accepted", "seen": ""}
    assert person.post("/decide", **asked) == (200, {"decision": "accepted"})
    assert person.post("/suggest", **COLUMNS)[1]["verdict"] == "accepted"
    assert runs([CARRIER, AIRPORT]).joins_accepted == 1
    assert AIRPORT in shown(runs.gms)


def test_two_columns_are_not_looked_for_among_all_joins(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("datahub_hyperjoin.graphql.find.all_joins")
    columns = {"one": "airports.faa", "other": "planes.tailnum"}
    assert Person(runs.gms).post("/suggest", **columns)[0] == 200


def test_a_join_that_the_catalog_has_is_found_with_its_decision(runs: Runs) -> None:
    reject(runs.gms.graph(), urn_of(CARRIER))
    columns = {"one": "airlines.carrier", "other": "flights.csv.carrier"}
    told = Person(runs.gms).post("/suggest", **columns)[1]
    assert (told["join"], told["verdict"], told["note"]) == (urn_of(CARRIER), "rejected", "")
    assert told["facts"][-1] == "rejected by people"


@pytest.mark.parametrize(
    ("columns", "status", "message"),
    [
        ({"one": "flights.origni", "other": "airports.faa"}, 404, "Did you mean 'origin'?"),
        ({"one": "flight.origin", "other": "airports.faa"}, 404, "no dataset 'flight.origin'"),
        ({"one": "flights", "other": "airports.faa"}, 404, "has no column 'flights'"),
        ({"one": "airports.faa", "other": "airports.csv.faa"}, 404, "has no join"),
        ({"one": " ", "other": "airports.faa"}, 400, "name two columns"),
        ({"one": "flights.origin"}, 400, "name two columns"),
    ],
)
def test_a_wrong_name_is_told(
    runs: Runs, columns: dict[str, str], status: int, message: str
) -> None:
    answer = Person(runs.gms).post("/suggest", **columns)
    assert answer[0] == status
    assert message in answer[1]["error"]


def test_a_column_that_the_person_does_not_see_is_not_measured(runs: Runs) -> None:
    measured: list[Join] = []
    person = Person(runs.gms, measured.append)
    hidden, known = (column_urn(column(name)) for name in ("salaries.csv.id", "airports.csv.faa"))
    status, answer = person.post("/suggest", one=known, other=hidden)
    assert (status, measured) == (404, [])
    assert "the dataset 'salaries.csv' has no column 'id'" in answer["error"]


def test_rows_are_counted_with_the_recipe(runs: Runs, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yml"
    config = {"catalog": {"folder": str(runs.folder)}}
    sink = {"type": "datahub-rest", "config": {"server": runs.gms.url}}
    recipe.write_text(
        yaml.safe_dump({"source": {"type": "hyperjoin", "config": config}, "sink": sink})
    )
    describe(runs.gms, "elsewhere.csv", ["faa"])
    with closing(open_recipe(recipe)) as source:
        person = Person(runs.gms, source.measure)
        writes = len(runs.gms.writes)
        told = person.post("/suggest", **COLUMNS)[1]
        assert told["note"] == ""
        assert told["facts"][:2] == [
            "one-to-many: each row of airports.csv matches any number of rows of flights.csv",
            (
                "each row of airports.csv matches about 5 rows of flights.csv; 100% of the rows "
                "of flights.csv match"
            ),
        ]
        told = person.post("/suggest", one="elsewhere.faa", other="airports.faa")[1]
        assert (told["note"], told["facts"]) == (UNREAD, [])
        assert len(runs.gms.writes) == writes


def test_another_site_learns_nothing_about_columns(runs: Runs) -> None:
    answer = Person(runs.gms).post("/suggest", csrf="guess", **COLUMNS)
    assert answer == (403, {"error": "the page is of another session. Load it again"})
