"""Test that the next run repeats a removal that the server has lost."""

import pytest
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import StructuredPropertiesClass, UpstreamLineageClass

from datahub_hyperjoin.emit import read_back
from datahub_hyperjoin.emit.patches import removes
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from gms import Gms
from lakes.lake import column, table
from lakes.quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs, shown, urn_of

KEPT = (CARRIER, ORIGIN)
LINEAGE = {"lineage": True}
SHOW = (
    "mutation($urns: [String!]!) { batchUpdateSoftDeleted(input: {urns: $urns, deleted: false}) }"
)
PLANES, FLIGHTS = dataset_urn(table("planes.csv")), dataset_urn(table("flights.csv"))


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_back, "_PATIENCE", 0.3)


@pytest.fixture
def lossy(gms: Gms, quick: Runs) -> Runs:
    """Return a series of runs; the last one removed a join, but the server lost the removal."""
    quick(ALL, emit=LINEAGE)
    quick.loses = removes
    quick(KEPT, emit=LINEAGE)
    assert shown(gms) == set(ALL)
    quick.loses = lambda _: False
    return quick


def traces(gms: Gms) -> list[str]:
    """List the kinds of metadata in which a person still sees the join of flights and planes."""
    lineage = gms.get(FLIGHTS, UpstreamLineageClass)
    flows = str(lineage) if lineage else ""
    described = [column_urn(column("planes.csv.tailnum")), PLANES]
    listed = [gms.get(urn, StructuredPropertiesClass) for urn in described]
    return [
        *(["relationship"] if PLANE in shown(gms) else []),
        *("properties" for found in listed if found and found.properties),
        *(["lineage"] if PLANES in flows else []),
    ]


def test_all_layers_of_a_lost_withdrawal_are_withdrawn_again(gms: Gms, lossy: Runs) -> None:
    assert traces(gms) == ["relationship", "properties", "properties", "lineage"]
    lossy(KEPT, emit=LINEAGE)
    assert traces(gms) == []
    before = len(gms.writes)
    lossy(KEPT, emit=LINEAGE)
    assert {write.entity for write in gms.writes[before:]} == {"dataJob"}
    lossy(ALL, emit=LINEAGE)
    assert shown(gms) == set(ALL)


def test_a_withdrawal_is_repeated_until_it_arrives(gms: Gms, lossy: Runs) -> None:
    lossy.loses = removes
    lossy(KEPT, emit=LINEAGE)
    lossy.loses = lambda _: False
    lossy(KEPT, emit=LINEAGE)
    assert traces(gms) == []


def test_a_join_that_is_found_again_is_no_longer_withdrawn(gms: Gms, lossy: Runs) -> None:
    lossy(ALL, emit=LINEAGE)
    lossy(ALL, emit=LINEAGE)
    assert shown(gms) == set(ALL)


def test_a_lost_withdrawal_is_no_rejection(gms: Gms, lossy: Runs) -> None:
    gms.delete(urn_of(PLANE))
    report = lossy(ALL, emit=LINEAGE)
    assert report.joins_rejected == 0
    assert shown(gms) == set(ALL)


def test_what_arrived_is_not_withdrawn_again_when_a_person_shows_it(gms: Gms, quick: Runs) -> None:
    quick(ALL)
    quick(KEPT)
    gms.graphql(SHOW, urns=[urn_of(PLANE)])
    quick(KEPT)
    assert shown(gms) == set(ALL)


def test_a_server_that_fails_at_the_end_costs_one_more_withdrawal(
    gms: Gms, quick: Runs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, graph: DataHubGraph) -> None:
        gms.fail("batchGet", 403)
        graph.get_entities("query", ["urn:li:query:1"], ["queryProperties"])

    quick(ALL)
    with monkeypatch.context() as broken:
        broken.setattr(read_back, "find_changes", fail)
        quick(KEPT)
    assert "is not read back before the next run: 403" in caplog.text
    before = len(gms.writes)
    quick(KEPT)
    assert shown(gms) == set(KEPT)
    assert {write.entity for write in gms.writes[before:]} == {"dataJob"}
