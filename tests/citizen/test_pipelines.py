"""Test several pipelines that write to one catalog, and pipelines that are renamed."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from datahub.metadata.schema_classes import (
    DatahubIngestionCheckpointClass,
    GlobalTagsClass,
    StructuredPropertiesClass,
    TagAssociationClass,
)

from datahub_hyperjoin.catalog.written_state import JOB
from datahub_hyperjoin.emit.pipelines import read_other_pipelines
from datahub_hyperjoin.graphql import all_joins
from datahub_hyperjoin.joins import Join, Role
from datahub_hyperjoin.metadata.relationships import join_urn
from datahub_hyperjoin.metadata.urns import JOINABLE_WITH, REJECTED, column_urn, property_urn
from datahub_hyperjoin.tables import Pair, pair_of
from gms import Gms
from gms.clients import NEEDS_SCROLLING
from lakes.lake import column
from lakes.quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs, join_of, shown, urn_of

NAMESPACE = "io.datahub.hyperjoin"


def beside(gms: Gms, path: str) -> set[object]:
    """Return the columns that the catalog shows as joinable with a column."""
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


def other_model(pair: Pair) -> Join:
    """Make a join of a pair as another model would, with a different score and role."""
    return replace(join_of(pair, 0.71), role=Role.SAME_DOMAIN, referenced=None)


LINEAGE = {"lineage": True}


@pytest.mark.parametrize("order", [("first", "second"), ("z", "a")])
def test_pipelines_with_different_models_leave_each_other_alone(
    gms: Gms, quick: Runs, order: tuple[str, str]
) -> None:
    delays = pair_of(column("delays.csv.carrier"), column("airlines.csv.carrier"))
    own = [other_model(pair) for pair in (CARRIER, PLANE, delays)]
    models: dict[str, Sequence[Pair | Join]] = {order[0]: ALL, order[1]: own}
    for pipeline in order:
        quick(models[pipeline], pipeline=pipeline, emit=LINEAGE)
    before = len(gms.writes)
    for pipeline in order:
        quick(models[pipeline], pipeline=pipeline, emit=LINEAGE)
    assert {write.entity for write in gms.writes[before:]} == {"dataJob"}
    found = {pair_of(join.left, join.right): join for join in all_joins(gms.graph())}
    assert {pair: (join.joinability, join.role) for pair, join in found.items()} == {
        **dict.fromkeys(ALL, (0.9, Role.REFERENCE)),
        delays: (0.71, Role.SAME_DOMAIN),
    }
    assert beside(gms, "airlines.csv.carrier") == {
        column_urn(column(f"{name}.csv.carrier")) for name in ("flights", "delays")
    }


def test_a_join_that_an_older_pipeline_withdraws_gets_the_evidence_of_the_other(
    gms: Gms, quick: Runs
) -> None:
    own = [other_model(PLANE)]
    quick(ALL, pipeline="first")
    quick(own, pipeline="second")
    quick([CARRIER], pipeline="first")
    quick(own, pipeline="second")
    (join,) = (one for one in all_joins(gms.graph()) if pair_of(one.left, one.right) == PLANE)
    assert (join.joinability, join.role) == (0.71, Role.SAME_DOMAIN)


@pytest.mark.parametrize("rejects", ["pair", "composite join"])
def test_a_composite_join_of_another_pipeline_has_a_decision_of_its_own(
    gms: Gms, quick: Runs, rejects: str
) -> None:
    origin, maker = column("flights.csv.origin"), column("planes.csv.maker")
    title = column("airlines.csv.title")
    composite = replace(join_of(PLANE), further=((origin, maker),))
    quick([PLANE, composite], pipeline="first")
    urn = urn_of(PLANE) if rejects == "pair" else join_urn(composite)
    rejected = TagAssociationClass(tag=REJECTED)
    gms.put(urn, GlobalTagsClass(tags=[rejected]))
    quick([pair_of(maker, title)], pipeline="second")
    listed = {"pair": {origin, title}, "composite join": {title}}[rejects]
    assert beside(gms, "planes.csv.maker") == {column_urn(one) for one in listed}


def test_evidence_of_a_pipeline_that_has_not_run_for_days_is_written_anew(
    gms: Gms, quick: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(ALL, pipeline="old name")
    monkeypatch.setattr("datahub_hyperjoin.emit.pipelines._RECENT_DAYS", -1)
    quick([other_model(pair) for pair in ALL], pipeline="new name")
    assert {join.joinability for join in all_joins(gms.graph())} == {0.71}


def test_a_pipeline_that_no_longer_runs_keeps_nothing(
    gms: Gms, quick: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(ALL, pipeline="old name")
    quick(ALL, pipeline="new name")
    monkeypatch.setattr("datahub_hyperjoin.emit.pipelines._ACTIVE_DAYS", -1)
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


@NEEDS_SCROLLING
def test_a_malformed_list_of_pipelines_is_reported(gms: Gms) -> None:
    key = {"value": {"jobId": "joins", "flow": "f"}}
    page = {"entities": [{"urn": "no URN", "dataJobKey": key}], "scrollId": None}
    gms.reply("entity/scroll", json.dumps(page))
    told: list[tuple[str, str, str]] = []
    assert read_other_pipelines(gms.graph(), None, lambda *words: told.append(words)) == ()
    (warning,) = told
    assert warning[0] == "Other pipelines not read"
    assert warning[2].startswith(
        "The pipelines of this source cannot be read from DataHub: the response is not from "
        "DataHub's metadata service. Check the URL"
    )


def test_pipelines_that_cannot_be_listed_are_reported(gms: Gms, quick: Runs) -> None:
    quick(ALL, pipeline="first")
    gms.fail("getTimeseriesAspectValues", status=403)
    report = quick(ALL, pipeline="second")
    (warning,) = [one for one in report.warnings if one.title == "Other pipelines not read"]
    assert "The checkpoint of the pipeline 'first' cannot be read" in next(iter(warning.context))
