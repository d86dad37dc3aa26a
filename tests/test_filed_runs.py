"""Test that runs respect the decisions in a file, with and without a server."""

import json
from pathlib import Path
from typing import Any

import pytest
from datahub.ingestion.run.pipeline import Pipeline, PipelineInitError
from datahub.metadata.schema_classes import GlobalTagsClass, TagAssociationClass

from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.metadata.urns import ACCEPTED, REJECTED
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.source import HyperJoinSource
from datahub_hyperjoin.tables import Pair
from gms import Gms
from lakes.lake import column, describe_folder, write_flights
from lakes.quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs, shown, urn_of

HEADER = "left_table,left_column,right_table,right_column,decision"
TOWN = (column("airports.csv.town"), column("planes.csv.maker"))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    write_flights(folder)
    return folder


@pytest.fixture
def decisions(tmp_path: Path) -> Path:
    return tmp_path / "decisions.csv"


def decide(file: Path, *decided: tuple[Pair, Verdict]) -> None:
    lines = [
        f"{left.table},{left.path},{right.table},{right.path},{verdict.value}"
        for (left, right), verdict in decided
    ]
    file.write_text("\n".join([HEADER, *lines, ""]))


def run(lake: Path, decisions: Path, out: Path, **config: Any) -> HyperJoinReport:  # noqa: ANN401
    recipe = {
        "source": {
            "type": "hyperjoin",
            "config": {"catalog": {"folder": str(lake)}, "decisions": str(decisions), **config},
        },
        "sink": {"type": "file", "config": {"filename": str(out)}},
    }
    pipeline = Pipeline.create(recipe)
    pipeline.run()
    report = pipeline.source.get_report()
    assert isinstance(report, HyperJoinReport)
    assert not report.failures
    return report


def found(out: Path) -> set[str]:
    return {
        proposal["aspect"]["json"]["name"]
        for proposal in json.loads(out.read_text())
        if proposal["aspectName"] == "erModelRelationshipProperties"
    }


@pytest.mark.usefixtures("without_spark")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_without_a_server_a_run_keeps_to_the_file(lake: Path, decisions: Path) -> None:
    out = lake.parent / "out.json"
    decide(decisions, (CARRIER, Verdict.REJECTED), (TOWN, Verdict.ACCEPTED))
    written = decisions.read_bytes()
    report = run(lake, decisions, out)
    assert (report.joins_accepted, report.joins_rejected) == (1, 1)
    assert found(out) == {
        "airlines.csv.carrier = delays.csv.carrier",
        "airports.csv.town = planes.csv.maker",
        "flights.csv.carrier = delays.csv.carrier",
        "flights.csv.origin = airports.csv.faa",
        "flights.csv.tailnum = planes.csv.tailnum",
    }
    assert decisions.read_bytes() == written


def test_a_file_without_its_columns_stops_a_run_before_it_begins(
    lake: Path, decisions: Path
) -> None:
    decisions.write_text("nothing\n")
    with pytest.raises(PipelineInitError, match="`nothing`"):
        run(lake, decisions, lake.parent / "out.json")


@pytest.mark.usefixtures("without_spark")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_damaged_line_is_a_warning(lake: Path, decisions: Path) -> None:
    decisions.write_text(f"{HEADER}\na,x,b,y,acepted\n")
    report = run(lake, decisions, lake.parent / "out.json")
    [warning] = report.warnings
    assert (warning.title, [*warning.context]) == (
        "Decision not read",
        [
            f"{decisions}: line 2, column `decision`: 'acepted' is no decision. Write `accepted`",
        ],
    )


def test_the_connection_test_looks_at_the_file(lake: Path, decisions: Path) -> None:
    recipe = {"catalog": {"folder": str(lake)}, "decisions": str(decisions)}
    capable = HyperJoinSource.test_connection(recipe).capability_report
    assert capable is not None
    assert capable["decisions"].capable
    decisions.write_text("nothing\n")
    capable = HyperJoinSource.test_connection(recipe).capability_report
    assert capable is not None
    assert "`nothing`" in str(capable["decisions"].failure_reason)


def test_with_a_server_the_file_adds_to_the_decisions_in_datahub(
    lake: Path, decisions: Path
) -> None:
    """Reject a join in the file; it stays hidden until the decision is removed from the file."""
    with Gms() as gms:
        describe_folder(gms, lake)
        quick = Runs(gms, lake)
        quick(ALL)
        decide(decisions, (CARRIER, Verdict.REJECTED))
        report = quick(ALL, decisions=str(decisions))
        assert (shown(gms), report.joins_rejected) == ({ORIGIN, PLANE}, 1)
        assert shown(gms) == {ORIGIN, PLANE}
        decide(decisions)
        quick(ALL, decisions=str(decisions))
        assert shown(gms) == set(ALL)


def test_a_contradiction_between_file_and_datahub_is_a_warning_and_rejects(
    lake: Path, decisions: Path
) -> None:
    with Gms() as gms:
        describe_folder(gms, lake)
        quick = Runs(gms, lake)
        quick(ALL)
        gms.put(urn_of(CARRIER), GlobalTagsClass(tags=[TagAssociationClass(tag=ACCEPTED)]))
        decide(decisions, (CARRIER, Verdict.REJECTED))
        report = quick(ALL, decisions=str(decisions))
        assert [warning.title for warning in report.warnings] == ["Join accepted and rejected"]
        assert shown(gms) == {ORIGIN, PLANE}
        # Readers of the relationship see the decision that holds, and the other one is kept.
        assert decided_by(gms, CARRIER) == {REJECTED}
        decisions.unlink()
        for _ in range(2):
            quick(ALL)
            assert decided_by(gms, CARRIER) == {ACCEPTED}
        assert shown(gms) == {*ALL}


def decided_by(gms: Gms, pair: Pair) -> set[str]:
    """Return the tags by which people decided about a join."""
    tags = gms.get(urn_of(pair), GlobalTagsClass)
    assert tags is not None
    return {tag.tag for tag in tags.tags} & {ACCEPTED, REJECTED}


def test_a_file_that_does_not_exist_is_a_warning(lake: Path, decisions: Path) -> None:
    with Gms() as gms:
        describe_folder(gms, lake)
        (warning,) = Runs(gms, lake)(ALL, decisions=str(decisions)).warnings
    assert warning.title == "No decisions yet"
    assert warning.message.endswith(
        "Download it from the page and save it there, or correct the path"
    )
    assert [*warning.context] == [str(decisions)]
