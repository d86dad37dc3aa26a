"""Test that watched joins are assertions in DataHub, which fail while rows find no row."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

import duckdb
import pytest
from click.testing import CliRunner, Result
from datahub.ingestion.run.pipeline import Pipeline
from datahub.metadata.schema_classes import (
    AssertionInfoClass,
    AssertionRunEventClass,
    AuditStampClass,
    GlobalTagsClass,
    IncidentInfoClass,
    IncidentStatusClass,
    StatusClass,
    TagAssociationClass,
)

from datahub_hyperjoin.cli import main
from datahub_hyperjoin.metadata.urns import (
    ACCEPTED,
    REJECTED,
    assertion_urn,
    dataset_urn,
    incident_urn,
)
from datahub_hyperjoin.report import HyperJoinReport
from gms import Gms
from lakes.lake import codes, describe, describe_folder, table, write_flights, write_table
from lakes.quick_runs import ORIGIN, urn_of

pytestmark = [
    pytest.mark.usefixtures("without_spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

ASSERTION = assertion_urn(urn_of(ORIGIN))
INCIDENT = incident_urn(ASSERTION)
GOLDEN = Path(__file__).parent / "emit" / "golden" / "assertions.json"
DAY_ONE, DAY = 1_893_456_000_000, 24 * 60 * 60 * 1000
FLIGHTS = dataset_urn(table("flights.csv"))


def write_origins(folder: Path, *, strangers: int = 0, empty: int = 0, blank: str = "") -> None:
    """Write 200 flights, of which some leave from unknown airports, and some from none."""
    origins = codes("K", 50) * 4
    origins[:strangers] = codes("X", strangers)
    origins[strangers : strangers + empty] = [blank] * empty
    carriers = codes("CA") * 5
    write_table(folder, "flights.csv", {"carrier": carriers, "origin": origins})


@dataclass
class Watching:
    """Runs of one recipe over a folder, which write to a double of DataHub's server."""

    gms: Gms
    folder: Path
    emit: dict[str, Any] = field(default_factory=lambda: {"watch": "accepted"})

    @property
    def recipe(self) -> dict[str, Any]:
        config = {
            "catalog": {"folder": str(self.folder)},
            "emit": self.emit,
            "stateful_ingestion": {"enabled": True, "fail_safe_threshold": 100},
        }
        return {
            "pipeline_name": "joins",
            "source": {"type": "hyperjoin", "config": config},
            # By default, the sink waits for seconds until it sends.
            "sink": {"type": "datahub-rest", "config": {"server": self.gms.url, "mode": "SYNC"}},
        }

    def ingest(self, **emit: Any) -> HyperJoinReport:  # noqa: ANN401 - as in a recipe
        self.emit = {**self.emit, **emit}
        pipeline = Pipeline.create(self.recipe, report_to=None, no_progress=True)
        pipeline.run()
        pipeline.raise_from_status()
        assert self.gms.rejected == []
        report = pipeline.source.get_report()
        assert isinstance(report, HyperJoinReport)
        return report

    def watch(self) -> Result:
        file = self.folder.parent / "recipe.yml"
        file.write_text(json.dumps(self.recipe))
        return CliRunner().invoke(main, ["watch", "-c", str(file)])

    def decide(self, tag: str) -> None:
        self.gms.put(urn_of(ORIGIN), GlobalTagsClass(tags=[TagAssociationClass(tag=tag)]))

    @property
    def event(self) -> AssertionRunEventClass:
        event = self.gms.get(ASSERTION, AssertionRunEventClass)
        assert event is not None
        return event

    @property
    def results(self) -> list[str]:
        values = self.gms.graph().get_timeseries_values(ASSERTION, AssertionRunEventClass, {}, 99)
        return [str(each.result.type) for each in values[::-1] if each.result]

    @property
    def incident(self) -> IncidentInfoClass | None:
        return self.gms.get(INCIDENT, IncidentInfoClass)


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Watching]:
    folder = tmp_path / "lake"
    write_flights(folder)
    write_origins(folder)
    with Gms() as gms:
        describe_folder(gms, folder)
        yield Watching(gms, folder)


@pytest.fixture
def accepted(watching: Watching) -> Watching:
    """A join that people accepted, and that a run has begun to watch."""
    watching.ingest()
    assert watching.gms.urns("assertion") == []
    watching.decide(ACCEPTED)
    watching.ingest()
    return watching


def test_nothing_is_watched_by_default(watching: Watching) -> None:
    watching.ingest(watch=False)
    watching.decide(ACCEPTED)
    report = watching.ingest()
    assert report.joins_watched == 0
    assert watching.gms.urns("assertion") == []


def test_a_watched_join_is_an_assertion_of_the_referring_dataset(accepted: Watching) -> None:
    aspects = accepted.gms.aspects(ASSERTION)
    event = aspects["assertionRunEvent"]
    assert event.pop("timestampMillis") > 0
    assert event.pop("runId").startswith("hyperjoin-")
    if os.environ.get("HYPERJOIN_UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(aspects, indent=2) + "\n", encoding="utf-8")
    assert aspects == json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert accepted.gms.urns("assertion") == [ASSERTION]


def test_rows_break_and_heal_over_ten_runs(
    accepted: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break a join twice; each time, since when it is broken stays that of the first run."""
    strangers, told = (0, 1, 2, 9, 0, 1, 0, 3, 3, 0), []
    for day, count in enumerate(strangers):
        at = DAY_ONE + day * DAY
        monkeypatch.setattr("datahub_hyperjoin.watch.get_sys_time", lambda at=at: at)
        write_origins(accepted.folder, strangers=count)
        report = accepted.ingest()
        told.append([line.partition(": SELECT")[0] for line in report.joins_broken])
    one_percent, four_and_half, more = (
        f"flights.csv.origin → airports.csv.faa: {share} of the rows with a value find their row, "
        "and at least 99.5% should; broken since"
        for share in ("99%", "95.5%", "98.5%")
    )
    assert told == [
        [],
        [],
        [f"{one_percent} 2030-01-03 00:00:00+00:00"],
        [f"{four_and_half} 2030-01-03 00:00:00+00:00"],
        [],
        [],
        [],
        [f"{more} 2030-01-08 00:00:00+00:00"],
        [f"{more} 2030-01-08 00:00:00+00:00"],
        [],
    ]
    broken = {2, 3, 7, 8}
    assert accepted.results == [
        "SUCCESS",  # the run that began to watch it
        *("FAILURE" if day in broken else "SUCCESS" for day in range(10)),
    ]


@pytest.mark.parametrize("blank", ["", "n/a"])
def test_a_failure_tells_rows_and_no_values(accepted: Watching, blank: str) -> None:
    write_origins(accepted.folder, strangers=10, empty=20, blank=blank)
    report = accepted.ingest()
    event = accepted.event
    assert event.result
    assert event.result.type == "FAILURE"
    since = event.result.nativeResults.pop("failing since")  # type: ignore[union-attr]
    assert since == str(datetime.fromtimestamp(event.timestampMillis // 1000, tz=timezone.utc))
    assert event.result.nativeResults == {
        "least share": "99.5%",
        "share of rows with a partner": "94.44%",
        "rows with a partner": "170",
        "rows without a partner": "10",
        "rows without a value, or with a placeholder": "20",
    }
    [warning] = report.warnings
    assert warning.title == "Watched join broken"
    assert warning.message == (
        "Rows no longer find their row, or cannot be counted. Correct the data, or reject the "
        "join. `joins_broken` has SQL for the rows"
    )
    written = json.dumps(accepted.gms.aspects(ASSERTION)) + report.as_string()
    assert not [code for code in codes("X", 10) if code in written]


def test_the_sql_returns_the_rows_that_find_no_row(accepted: Watching) -> None:
    write_origins(accepted.folder, strangers=3, empty=5)
    [line] = accepted.ingest().joins_broken
    rows = duckdb.sql(f"SELECT{line.partition(': SELECT')[2]}")
    assert rows
    assert sorted(origin for _, origin in rows.fetchall()) == codes("X", 3)


def test_nothing_but_results_is_written_twice(accepted: Watching) -> None:
    before = len(accepted.gms.writes)
    accepted.ingest()
    aspects = [it.aspect for it in accepted.gms.writes[before:] if it.entity == "assertion"]
    assert aspects == ["assertionRunEvent"]


def test_the_threshold_outlives_the_checkpoint(accepted: Watching) -> None:
    write_origins(accepted.folder, strangers=10)
    accepted.ingest()
    for job in accepted.gms.urns("dataJob"):
        accepted.gms.delete(job)
    since = accepted.event.result.nativeResults["failing since"]  # type: ignore[union-attr, index]
    [line] = accepted.ingest().joins_broken
    assert f"at least 99.5% should; broken since {since}: SELECT" in line


def test_the_recipe_may_state_the_threshold(accepted: Watching) -> None:
    write_origins(accepted.folder, strangers=10)
    assert [*accepted.ingest(watch_threshold=0.9).joins_broken] == []
    info = accepted.gms.get(ASSERTION, AssertionInfoClass)
    assert info
    assert info.description == (
        "At least 90% of the rows of flights find their row in airports (origin → faa)"
    )
    # Without the key, the threshold follows from the data once more.
    assert [*accepted.ingest(watch_threshold=None).joins_broken] == []
    info = accepted.gms.get(ASSERTION, AssertionInfoClass)
    assert info
    assert info.customProperties["least_share"] == "0.9450"


@pytest.mark.parametrize("end", ["rejected", "undecided", "off", "hidden", "edited"])
def test_an_assertion_is_hidden_with_its_join(accepted: Watching, end: str) -> None:
    """Hide what this source wrote, unless a person hid or edited it."""
    theirs = "urn:li:assertion:theirs"
    info = accepted.gms.get(ASSERTION, AssertionInfoClass)
    assert info
    accepted.gms.put(theirs, info)
    before = len(accepted.gms.writes)
    match end:
        case "rejected" | "undecided":
            accepted.decide(REJECTED if end == "rejected" else "urn:li:tag:other")
            accepted.ingest()
        case "off":
            accepted.ingest(watch=False)
        case "hidden":
            accepted.gms.put(ASSERTION, StatusClass(removed=True))
            accepted.ingest()
        case _:
            accepted.gms.put(ASSERTION, replace_description(info, "Mine"))
            accepted.ingest()
    status = accepted.gms.get(ASSERTION, StatusClass)
    hidden = bool(status and status.removed)
    assert hidden == (end != "edited")
    written = {
        (it.urn, it.aspect) for it in accepted.gms.writes[before:] if it.entity == "assertion"
    }
    ours = {"hidden": set(), "edited": {"assertionRunEvent", "dataPlatformInstance"}}
    expected = ours.get(end, {"assertionInfo", "status"})
    assert {aspect for _, aspect in written} <= expected
    assert theirs not in {urn for urn, _ in written}


def replace_description(info: AssertionInfoClass, text: str) -> AssertionInfoClass:
    return AssertionInfoClass.from_obj({**info.to_obj(), "description": text})


def test_an_incident_lasts_until_the_join_holds_again(accepted: Watching) -> None:
    for count in (10, 12):
        write_origins(accepted.folder, strangers=count)
        accepted.ingest(watch_incidents=True)
    raised = accepted.incident
    assert raised
    assert (raised.status.state, raised.entities) == ("ACTIVE", [FLIGHTS])
    assert (raised.title, raised.customType) == (
        "Join broken: flights.csv.origin → airports.csv.faa",
        "Watched join",
    )
    assert "95% of the rows with a value find their row" in str(raised.description)
    assert raised.source
    assert raised.source.sourceUrn == ASSERTION
    write_origins(accepted.folder)
    accepted.watch()
    healed = accepted.incident
    assert healed
    assert (healed.status.state, healed.status.message) == ("RESOLVED", "The join holds again")
    assert healed.description == raised.description


def test_an_incident_that_a_person_resolved_stays_so(accepted: Watching) -> None:
    write_origins(accepted.folder, strangers=10)
    accepted.ingest(watch_incidents=True)
    incident = accepted.incident
    assert incident
    person = AuditStampClass(time=1, actor="urn:li:corpuser:ann")
    incident.status = IncidentStatusClass(state="RESOLVED", lastUpdated=person, stage="FIXED")
    incident.priority = 2
    accepted.gms.put(INCIDENT, incident)
    accepted.ingest()
    assert accepted.incident == incident
    # The next time that the join breaks is another incident.
    for count in (0, 10):
        write_origins(accepted.folder, strangers=count)
        accepted.ingest()
    again = accepted.incident
    assert again is not None
    assert (again.status.state, again.priority) == ("ACTIVE", 2)


def test_the_incident_of_a_join_that_is_no_longer_watched_is_resolved(accepted: Watching) -> None:
    write_origins(accepted.folder, strangers=10)
    accepted.ingest(watch_incidents=True)
    accepted.decide(REJECTED)
    accepted.ingest()
    incident = accepted.incident
    assert incident
    assert (incident.status.state, incident.status.message) == (
        "RESOLVED",
        "The join is no longer watched",
    )


def test_a_declared_join_is_told_of_even_if_nothing_matches(watching: Watching) -> None:
    """Break a foreign key so that the search for joins no longer finds it."""
    columns, keys = ["carrier", "origin"], {"origin": "airports.csv.faa"}
    describe(watching.gms, "flights.csv", columns, foreign=keys)
    assert watching.ingest(watch="declared").joins_watched == 1
    write_origins(watching.folder, strangers=195)
    [line] = watching.ingest().joins_broken
    assert line.startswith("flights.csv.origin → airports.csv.faa: 2.5% of the rows with a value ")
    assert watching.results == ["SUCCESS", "FAILURE"]


def test_safe_joins_are_watched_until_people_reject_them(watching: Watching) -> None:
    assert watching.ingest(watch="safe").joins_watched == 3
    write_origins(watching.folder, strangers=100)
    report = watching.ingest()
    assert (report.joins_watched, len(report.joins_broken)) == (3, 1)
    watching.decide(REJECTED)
    assert watching.ingest().joins_watched == 2


@pytest.mark.parametrize(("change", "fault"), [
    ("repeat", "not counted, since the values of airports.csv.faa repeat"),
    ("drop", "not counted, since one of its columns is gone or has no values"),
    ("empty", "not counted, since one of its columns is gone or has no values"),
])  # fmt: skip
def test_rows_that_cannot_be_counted_are_an_error(
    accepted: Watching, change: str, fault: str
) -> None:
    match change:
        case "repeat":
            codes_twice, numbers = codes("K", 100) * 2, range(200)
            for name, path in (("airports.csv", "faa"), ("flights.csv", "origin")):
                write_table(accepted.folder, name, {path: codes_twice, "number": numbers})
        case "drop":
            write_table(accepted.folder, "flights.csv", {"carrier": codes("CA"), "from": range(40)})
        case _:
            write_origins(accepted.folder, empty=200)
    [line] = accepted.ingest().joins_broken
    assert line == f"flights.csv.origin → airports.csv.faa: {fault}"
    result = accepted.event.result
    assert result
    assert result.error
    assert (result.type, result.error.properties) == ("ERROR", {"message": fault[19:]})


def test_a_table_that_cannot_be_read_has_no_result(accepted: Watching) -> None:
    accepted.folder.joinpath("airports.csv").write_text("")
    [line] = accepted.ingest().joins_broken
    assert line == (
        "flights.csv.origin → airports.csv.faa: not checked, since one of its tables cannot be read"
    )
    assert accepted.results == ["SUCCESS"]
    assert accepted.gms.get(ASSERTION, StatusClass) is None


def test_watching_tells_results_only(accepted: Watching) -> None:
    before = len(accepted.gms.writes)
    result = accepted.watch()
    assert (result.exit_code, result.output) == (
        0,
        "1 watched join, of which none broken or not checked.\n",
    )
    assert [it.aspect for it in accepted.gms.writes[before:]] == ["assertionRunEvent"]
    write_origins(accepted.folder, strangers=10)
    result = accepted.watch()
    assert result.exit_code == 3
    first, *sql, last = result.output.splitlines()
    assert first.startswith("flights.csv.origin → airports.csv.faa: 95% of the rows with a value ")
    assert "NOT EXISTS" in "\n".join(sql)
    assert last == "1 watched join, of which 1 broken or not checked."
    assert accepted.results == ["SUCCESS", "SUCCESS", "FAILURE"]


def test_watching_reads_the_tables_of_watched_joins_only(accepted: Watching) -> None:
    for name in ("airlines.csv", "delays.csv", "planes.csv"):
        accepted.folder.joinpath(name).write_bytes(b"\0")
    result = accepted.watch()
    assert result.output == "1 watched join, of which none broken or not checked.\n"


def test_watching_an_empty_catalog_says_so(watching: Watching) -> None:
    result = watching.watch()
    assert (result.exit_code, result.output) == (
        0,
        "No join is watched yet: `datahub ingest` with this recipe begins to watch them.\n",
    )


def test_watching_without_the_key_says_so(watching: Watching) -> None:
    watching.emit = {}
    result = watching.watch()
    assert result.exit_code == 1
    assert result.output.endswith(
        "recipe.yml: `emit.watch` is off. Set it, and run `datahub ingest` once\n"
    )


def write_towns(folder: Path, *, lost: int = 0) -> None:
    """Write towns by country and city, and two visits of each; some of the towns are lost."""
    both = [(country, city) for city in codes("T", 20) for country in codes("C", 20)]
    countries, cities = zip(*both, strict=True)
    visits = {"country": countries * 2, "city": cities * 2, "visitor": codes("V", 800)}
    write_table(folder, "visits.csv", visits)
    # Each country and each city stays, whatever is lost.
    kept = sorted(both, key=lambda pair: both.index(pair) % 21 != 0)[lost:]
    countries, cities = zip(*kept, strict=True)
    people = range(1000, 1000 + len(kept))
    write_table(folder, "towns.csv", {"country": countries, "city": cities, "people": people})


def test_a_key_of_two_columns_is_watched_as_a_whole(watching: Watching) -> None:
    write_towns(watching.folder)
    describe_folder(watching.gms, watching.folder)
    assert watching.ingest(watch="safe").joins_watched == 4
    write_towns(watching.folder, lost=20)
    result = watching.watch()
    assert result.exit_code == 3
    assert result.output.startswith(
        "visits.csv.city → towns.csv.city and visits.csv.country → towns.csv.country: 95% of the "
        "rows with a value find their row, and at least 99.5% should; broken since "
    )
    _, _, sql = result.output.partition("SELECT")
    rows = duckdb.sql(f"SELECT{sql.partition(';')[0]}")
    assert rows
    assert len(rows.fetchall()) == 40


@pytest.mark.parametrize("version", ["1.5.0", "1.6.0"])
def test_older_servers_take_assertions_and_incidents(
    tmp_path: Path, version: Literal["1.5.0", "1.6.0"]
) -> None:
    folder = tmp_path / "lake"
    write_flights(folder)
    with Gms(version=version) as gms:
        describe_folder(gms, folder)
        watching = Watching(gms, folder, {"watch": "safe", "watch_incidents": True})
        for count in (0, 10):
            write_origins(folder, strangers=count)
            watching.ingest()
        assert watching.results == ["SUCCESS", "FAILURE"]
        assert watching.incident


def test_a_run_without_a_server_writes_results_to_its_file(watching: Watching) -> None:
    watching.emit = {"watch": "safe"}
    recipe = watching.recipe
    del recipe["source"]["config"]["stateful_ingestion"]
    out = watching.folder.parent / "out.json"
    sink = {"type": "file", "config": {"filename": str(out)}}
    pipeline = Pipeline.create({**recipe, "sink": sink}, no_progress=True)
    pipeline.run()
    pipeline.raise_from_status()
    written = [each["aspectName"] for each in json.loads(out.read_text())]
    assert written.count("assertionInfo") == written.count("assertionRunEvent") == 3
    file = watching.folder.parent / "file.json"
    file.write_text(json.dumps({**recipe, "sink": sink}))
    result = CliRunner().invoke(main, ["watch", "-c", str(file)])
    assert result.exit_code == 1
    assert result.output.endswith(
        "file.json: watched joins are kept in DataHub, and the recipe has no server. Use a "
        "`datahub-rest` sink, or set `datahub_api` beside `source`\n"
    )


def test_a_result_that_the_server_refuses_is_named(accepted: Watching) -> None:
    accepted.gms.fail("ingestProposal", 403, times=9, message="not allowed")
    result = accepted.watch()
    assert result.exit_code == 1
    assert "DataHub's server refuses the results of watched joins: " in result.output
    assert "not allowed" in result.output
    assert result.output.endswith(
        ". Grant the owner of the sink's token the privilege to edit assertions, and run again\n"
    )


def test_columns_may_be_spelled_otherwise_in_datahub(watching: Watching) -> None:
    describe(watching.gms, "flights.csv", ["CARRIER", "ORIGIN"])
    describe(watching.gms, "airports.csv", ["[version=2.0].[type=string].FAA", "TOWN"])
    assert watching.ingest(watch="safe").joins_watched == 3
    write_origins(watching.folder, strangers=10)
    result = watching.watch()
    assert result.exit_code == 3
    first, *sql = result.output.splitlines()
    assert first.startswith("flights.csv.ORIGIN → airports.csv.")
    # The file is read by its own names.
    assert 'a."origin"' in "".join(sql)
    assert len(watching.ingest().joins_broken) == 1
