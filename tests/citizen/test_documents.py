"""Test documents for agents over several runs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import (
    AuditStampClass,
    DocumentInfoClass,
    DocumentSettingsClass,
    StatusClass,
)

from datahub_hyperjoin.emit.documents import MOST_GUIDE_BYTES
from datahub_hyperjoin.metadata.urns import JOIN_OVERVIEW, document_urn
from datahub_hyperjoin.tables import pair_of
from gms import Gms
from lakes.lake import column, table
from lakes.quick_runs import ALL, CARRIER, PLANE, Runs, join_of

AGENTS = {"agents": True}
FLIGHTS, PLANES, AIRLINES, AIRPORTS = (
    document_urn(table(f"{name}.csv")) for name in ("flights", "planes", "airlines", "airports")
)
PERSON = "urn:li:corpuser:ada"


def shown(gms: Gms) -> set[str]:
    """Return the URNs of all visible documents."""
    statuses = {urn: gms.get(urn, StatusClass) for urn in gms.urns("document")}
    return {urn for urn, status in statuses.items() if not (status and status.removed)}


def info(gms: Gms, urn: str) -> DocumentInfoClass:
    found = gms.get(urn, DocumentInfoClass)
    assert found is not None
    return found


def edit(gms: Gms, urn: str, text: str) -> None:
    """Edit a document as DataHub's pages do."""
    found = info(gms, urn)
    found.contents.text = text
    found.lastModified = AuditStampClass(time=1, actor=PERSON)
    gms.put(urn, found)


def test_each_dataset_says_how_to_join_it(gms: Gms, quick: Runs) -> None:
    quick(ALL, emit=AGENTS)
    assert shown(gms) == {FLIGHTS, PLANES, AIRLINES, AIRPORTS, JOIN_OVERVIEW}
    flights = info(gms, FLIGHTS)
    assert flights.title == "How to join flights"
    assert "`tailnum → planes.csv.tailnum`; many-to-one; grain: this table" in flights.contents.text
    assert len(flights.contents.text.encode()) <= MOST_GUIDE_BYTES
    found = gms.graphql(
        """query q($urn: String!) {
          dataset(urn: $urn) { relatedDocuments(input: {}) { documents { urn } } }
          searchAcrossEntities(input: { types: [DOCUMENT], query: "*" }) {
            searchResults { entity { urn } } } }""",
        urn="urn:li:dataset:(urn:li:dataPlatform:file,flights.csv,PROD)",
    )
    assert found["dataset"]["relatedDocuments"]["documents"] == [{"urn": FLIGHTS}]
    hits = [hit["entity"]["urn"] for hit in found["searchAcrossEntities"]["searchResults"]]
    assert hits == [JOIN_OVERVIEW]


def test_a_whole_run_shows_its_sql_and_a_second_run_writes_nothing(
    gms: Gms, ingest: Callable[..., str]
) -> None:
    ingest("--no-default-report", emit=AGENTS)
    text = info(gms, FLIGHTS).contents.text
    assert "in SQL that was run:\n```sql\nSELECT" in text
    assert gms.urns("query")
    before = len(gms.writes)
    ingest("--no-default-report", emit=AGENTS)
    assert {write.entity for write in gms.writes[before:]} <= {"dataJob"}
    assert gms.rejected == []


def test_a_document_goes_and_comes_back_with_its_joins(gms: Gms, quick: Runs) -> None:
    quick(ALL, emit=AGENTS)
    quick([CARRIER], emit=AGENTS)
    assert shown(gms) == {FLIGHTS, AIRLINES, JOIN_OVERVIEW}
    assert "planes.csv" not in info(gms, FLIGHTS).contents.text
    quick(ALL, emit=AGENTS)
    assert shown(gms) == {FLIGHTS, PLANES, AIRLINES, AIRPORTS, JOIN_OVERVIEW}
    quick(ALL)
    assert shown(gms) == set()


def test_only_documents_whose_joins_change_are_written(gms: Gms, quick: Runs) -> None:
    quick(ALL, emit=AGENTS)
    created = info(gms, FLIGHTS).created.time
    before = len(gms.writes)
    title = join_of(pair_of(column("planes.csv.maker"), column("airlines.csv.title")))
    quick([*ALL, title], emit=AGENTS)
    written = {write.urn for write in gms.writes[before:] if write.entity == "document"}
    assert written == {PLANES, AIRLINES}
    assert info(gms, FLIGHTS).created.time == created


def test_a_persons_edit_stays_whatever_happens_to_the_joins(gms: Gms, quick: Runs) -> None:
    quick(ALL, emit=AGENTS)
    edit(gms, PLANES, "Ask Ada.")
    for joins, layers in ((ALL, AGENTS), ([CARRIER], AGENTS), (ALL, AGENTS), (ALL, {})):
        quick(joins, emit=layers)
        assert info(gms, PLANES).contents.text == "Ask Ada."
        assert PLANES in shown(gms)


def test_a_document_that_a_person_hides_or_deletes_stays_away(gms: Gms, quick: Runs) -> None:
    quick(ALL, emit=AGENTS)
    quick(ALL, emit=AGENTS)
    gms.delete(PLANES)
    gms.put(AIRLINES, StatusClass(removed=True))
    for _ in range(2):
        quick(ALL, emit=AGENTS)
        assert gms.aspects(PLANES) == {}
        assert AIRLINES not in shown(gms)


def test_a_person_may_let_search_show_a_document(gms: Gms, quick: Runs) -> None:
    quick([PLANE], emit=AGENTS)
    settings = DocumentSettingsClass(showInGlobalContext=True)
    gms.put(PLANES, settings)
    quick(ALL, emit=AGENTS)
    assert gms.get(PLANES, DocumentSettingsClass) == settings


def test_other_documents_are_never_touched(gms: Gms, quick: Runs) -> None:
    theirs = "urn:li:document:handbook"
    quick(ALL, emit=AGENTS)
    gms.put(theirs, info(gms, FLIGHTS))
    quick([], emit=AGENTS)
    assert shown(gms) == {theirs}


def test_a_table_that_is_not_read_keeps_its_document(gms: Gms, quick: Runs, lake: Path) -> None:
    quick(ALL, emit=AGENTS)
    lake.joinpath("planes.csv").unlink()
    before = info(gms, PLANES).contents.text
    quick([CARRIER], emit=AGENTS)
    assert PLANES in shown(gms)
    assert info(gms, PLANES).contents.text == before


def test_the_first_of_two_pipelines_writes_a_document(gms: Gms, quick: Runs) -> None:
    quick([CARRIER], emit=AGENTS, pipeline="first")
    text = info(gms, FLIGHTS).contents.text
    quick(ALL, emit=AGENTS, pipeline="second")
    assert info(gms, FLIGHTS).contents.text == text
    assert shown(gms) == {FLIGHTS, PLANES, AIRLINES, AIRPORTS, JOIN_OVERVIEW}
    quick([CARRIER], emit=AGENTS, pipeline="first")
    assert "planes.csv" in info(gms, FLIGHTS).contents.text
    quick([], emit=AGENTS, pipeline="second")
    assert {FLIGHTS, AIRLINES, JOIN_OVERVIEW} <= shown(gms)


@pytest.mark.parametrize("layer", ["queries", "documents"])
def test_a_layer_of_the_preset_can_be_off(layer: str, gms: Gms, quick: Runs) -> None:
    quick(ALL, emit={"agents": True, layer: False})
    assert bool(gms.urns("document")) is (layer != "documents")
