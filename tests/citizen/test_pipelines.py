"""Several pipelines write to one catalog, and pipelines get new names."""

import pytest
from datahub.metadata.schema_classes import (
    DatahubIngestionCheckpointClass,
    StructuredPropertiesClass,
)
from quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs, shown, urn_of

from datahub_hyperjoin.emit.written_state import JOB
from datahub_hyperjoin.urns import JOINABLE_WITH, column_urn, property_urn
from gms import Gms
from lake import column

NAMESPACE = "io.datahub.hyperjoin"


def beside(gms: Gms, path: str) -> set[object]:
    """The columns that a person sees as joinable with a column."""
    found = gms.get(column_urn(column(path)), StructuredPropertiesClass)
    wanted = property_urn(NAMESPACE, JOINABLE_WITH)
    given = found.properties if found else []
    return {value for one in given for value in one.values if one.propertyUrn == wanted}


def test_a_deletion_holds_for_a_pipeline_of_another_name(gms: Gms, quick: Runs) -> None:
    quick(ALL)
    gms.delete(urn_of(PLANE))
    report = quick(ALL, pipeline="renamed")
    assert shown(gms) == {CARRIER, ORIGIN}
    assert list(report.deleted_suggestions) == ["flights.csv.tailnum = planes.csv.tailnum"]
    quick(ALL, pipeline="renamed again")
    assert shown(gms) == {CARRIER, ORIGIN}


def test_two_pipelines_do_not_undo_each_other(gms: Gms, quick: Runs) -> None:
    quick(ALL, pipeline="first")
    quick([CARRIER, PLANE], pipeline="second")
    quick([CARRIER], pipeline="second")  # what the first one still finds stays
    assert shown(gms) == set(ALL)
    assert beside(gms, "planes.csv.tailnum") == {column_urn(column("flights.csv.tailnum"))}
    quick(ALL, pipeline="first")
    quick([CARRIER], pipeline="first")
    assert shown(gms) == {CARRIER}
    quick(ALL, pipeline="second")  # what only a run took back is no person's decision
    assert shown(gms) == set(ALL)
    assert not quick.reports[-1].joins_rejected


def test_a_column_lists_the_joins_of_all_pipelines(gms: Gms, quick: Runs) -> None:
    airlines, delays, flights = (
        column(f"{name}.csv.carrier") for name in ("airlines", "delays", "flights")
    )
    first, second = (airlines, flights), (airlines, delays)
    for pipeline, pair in (("first", first), ("second", second)) * 2:
        quick([pair], pipeline=pipeline)
    listed = {column_urn(flights), column_urn(delays)}
    assert beside(gms, "airlines.csv.carrier") == listed
    before = len(gms.writes)
    quick([first], pipeline="first")
    assert {write.entity for write in gms.writes[before:]} == {"dataJob"}
    quick([], pipeline="second")
    quick([first], pipeline="first")
    assert beside(gms, "airlines.csv.carrier") == {column_urn(flights)}


def test_a_pipeline_that_no_longer_runs_keeps_nothing(
    gms: Gms, quick: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(ALL, pipeline="old name")
    quick(ALL, pipeline="new name")
    monkeypatch.setattr("datahub_hyperjoin.pipelines._ACTIVE_DAYS", -1)
    quick([CARRIER], pipeline="new name")
    assert shown(gms) == {CARRIER}


def test_a_checkpoint_that_cannot_be_read_is_reported(gms: Gms, quick: Runs) -> None:
    quick(ALL, pipeline="first")
    (job,) = [urn for urn in gms.urns("dataJob") if str(JOB) in urn]
    checkpoint = gms.get(job, DatahubIngestionCheckpointClass)
    assert checkpoint is not None
    checkpoint.state.payload = b"garbage"
    gms.put(job, checkpoint)
    report = quick(ALL, pipeline="second")
    assert shown(gms) == set(ALL)
    (warning,) = [one for one in report.warnings if one.title == "Checkpoint not read"]
    assert [one.partition(":")[0] for one in warning.context] == ["first"]


def test_pipelines_that_cannot_be_listed_are_reported(gms: Gms, quick: Runs) -> None:
    quick(ALL, pipeline="first")
    gms.fail("getTimeseriesAspectValues", status=403)
    report = quick(ALL, pipeline="second")
    (warning,) = [one for one in report.warnings if one.title == "Other pipelines not read"]
    assert "The checkpoint of the pipeline 'first' cannot be read" in next(iter(warning.context))
