"""Test runs against servers that lose writes, omit entities or answer with a login page."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    QueryPropertiesClass,
    StatusClass,
    StructuredPropertiesClass,
)

from datahub_hyperjoin.metadata.urns import JOINABLE_WITH
from gms import Gms
from gms.clients import NEEDS_SCROLLING
from lakes.quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs, urn_of
from lakes.quick_runs import shown as pairs_shown

Ingest = Callable[..., str]
Run = Callable[..., str]
HIDE = "mutation($urns: [String!]!) { batchUpdateSoftDeleted(input: {urns: $urns, deleted: true}) }"
LOGIN = "<!doctype html><html><body><form action='/login'></form></body></html>"


@pytest.fixture
def ingest(run: Run, gms: Gms, tmp_path: Path) -> Ingest:
    """Return a function that runs the recipe and keeps its profiles for the next run."""
    return partial(
        run,
        gms,
        "--no-default-report",
        profile={"store": str(tmp_path / "store")},
        emit={"queries": True},
    )


def shown(gms: Gms) -> dict[str, object]:
    """Map the URN of each visible entity to what a person sees of it, except scores."""
    seen: dict[str, object] = {}
    for urn in gms.urns("erModelRelationship"):
        relationship = gms.get(urn, ERModelRelationshipPropertiesClass)
        seen[urn] = relationship and relationship.name
    for urn in gms.urns("query"):
        query = gms.get(urn, QueryPropertiesClass)
        seen[urn] = query and query.statement.value
    for urn in gms.urns("schemaField"):
        properties = gms.get(urn, StructuredPropertiesClass)
        seen[urn] = sorted(
            str(value)
            for each in (properties.properties if properties else [])
            for value in each.values
            if each.propertyUrn.endswith(JOINABLE_WITH)
        )
    status = {urn: gms.get(urn, StatusClass) for urn in seen}
    return {urn: text for urn, text in seen.items() if not ((it := status[urn]) and it.removed)}


def test_a_lost_batch_is_no_decision_of_a_person(ingest: Ingest, gms: Gms) -> None:
    gms.reply("ingestProposalBatch", "null", times=2)
    ingest(sink={"max_per_batch": 4, "max_threads": 2})
    assert 0 < len(gms.urns("erModelRelationship")) < 5
    output = ingest()
    assert "Writes lost" in output
    assert "'deleted_suggestions': []" in output
    assert len(gms.urns("erModelRelationship")) == len(gms.urns("query")) == 5
    before = len(gms.writes)
    assert "Writes lost" not in ingest()
    assert {write.entity for write in gms.writes[before:]} <= {"dataJob"}


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        pytest.param("entity/scroll", "Tables not read", marks=NEEDS_SCROLLING),
        ("query/batchGet", "DataHub's answers are incomplete"),
        ("entity/scroll|erModelRelationship/batchGet", "DataHub's answers are incomplete"),
        ("schemaField/batchGet|structuredProperty/batchGet", ""),
    ],
)
def test_an_answer_that_lacks_entities_changes_nothing(
    pattern: str, words: str, ingest: Ingest, gms: Gms
) -> None:
    ingest()
    before = shown(gms)
    gms.halve(pattern, times=99)
    output = ingest(fails="incomplete" in words)
    assert words in output
    assert shown(gms) == before
    gms.heal()
    assert "'deleted_suggestions': []" in ingest()
    assert shown(gms) == before


@NEEDS_SCROLLING
def test_what_a_person_hid_stays_hidden_when_nothing_can_be_compared(quick: Runs, gms: Gms) -> None:
    quick(ALL)
    gms.graphql(HIDE, urns=[urn_of(PLANE)])
    gms.fail("erModelRelationship/batchGet", 403, times=99)
    assert "Catalog not compared" in str(quick([CARRIER, PLANE]).warnings)
    gms.heal()
    quick(ALL)
    assert pairs_shown(gms) == {CARRIER, ORIGIN}


@pytest.mark.parametrize(
    "pattern", [pytest.param("entity/scroll", marks=NEEDS_SCROLLING), "batchGet"]
)
def test_a_login_page_is_an_error_and_no_empty_catalog(
    pattern: str, ingest: Ingest, gms: Gms
) -> None:
    ingest()
    before, writes = shown(gms), len(gms.writes)
    gms.reply(pattern, LOGIN, times=99)
    output = ingest(fails=True)
    assert "the response is not from DataHub's metadata service" in output.replace("\\'", "'")
    assert {write.entity for write in gms.writes[writes:]} <= {"dataJob"}
    gms.heal()
    ingest()
    assert shown(gms) == before
