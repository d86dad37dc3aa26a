from collections.abc import Iterator

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    MetadataChangeEventClass,
    QueryPropertiesClass,
    StatusClass,
    SystemMetadataClass,
)

from datahub_hyperjoin.emit.existing import ExistingState, read_published_entities
from datahub_hyperjoin.emit.read_back import mark_withdrawn
from gms import Gms
from lakes.workunits import JOIN, QUERY, hide, query, relationship

RUN = "run 2"


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as double:
        write(double, [relationship(), query()])
        yield double


def write(gms: Gms, units: list[MetadataWorkUnit]) -> None:
    for unit in units:
        assert not isinstance(unit.metadata, MetadataChangeEventClass)
        unit.metadata.systemMetadata = SystemMetadataClass(runId=RUN)
        gms.graph().emit_mcp(unit.metadata)


def mark(gms: Gms, *units: MetadataWorkUnit) -> list[MetadataWorkUnit]:
    return list(mark_withdrawn(units, gms.graph(), run_id=RUN))


def read_queries(gms: Gms) -> ExistingState:
    return read_published_entities(
        gms.graph(), [QUERY], written=[], unseen=[], hiders=[], warn=refuse
    )


def refuse(title: str, message: str, context: str) -> None:
    raise AssertionError(title + message + context)


def test_relationships_and_queries_are_marked_before_they_are_hidden(gms: Gms) -> None:
    other, hides = relationship("other"), [hide(JOIN), hide(QUERY)]
    units = mark(gms, other, *hides)
    assert (units[0], units[-2:]) == (other, hides)
    assert not any(unit.is_primary_source for unit in units[1:3])
    write(gms, units[1:3])
    marked = (
        gms.get(JOIN, ERModelRelationshipPropertiesClass),
        gms.get(QUERY, QueryPropertiesClass),
    )
    assert all(one and one.customProperties == {"withdrawn_by": RUN} for one in marked)


def test_what_a_person_hid_and_what_is_gone_is_not_marked(gms: Gms) -> None:
    gms.put(JOIN, StatusClass(removed=True))
    gms.delete(QUERY)
    hides = [hide(JOIN), hide(QUERY)]
    assert mark(gms, *hides) == hides


def test_a_server_that_fails_is_no_reason_to_withdraw_nothing(
    gms: Gms, caplog: pytest.LogCaptureFixture
) -> None:
    gms.fail("batchGet", 403, times=9)
    hides = [hide(JOIN)]
    assert mark(gms, *hides) == hides
    assert "Only the checkpoint knows what this run withdraws: 403" in caplog.text


def test_a_marked_query_was_hidden_by_a_run(gms: Gms) -> None:
    write(gms, mark(gms, hide(QUERY)))
    assert read_queries(gms).hidden == {QUERY}
    gms.put(QUERY, StatusClass(removed=False))
    gms.put(QUERY, StatusClass(removed=True))
    assert read_queries(gms).closed == {QUERY}
