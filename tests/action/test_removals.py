"""Test how removed suggestions are recorded."""

from collections.abc import Iterator

import pytest
from datahub.metadata.schema_classes import (
    AuditStampClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
)

from datahub_hyperjoin.action.errors import UnrecordedRemovalError
from datahub_hyperjoin.action.events import Removal
from datahub_hyperjoin.action.plugin import RUN_ID, record_removal
from datahub_hyperjoin.metadata.urns import JOINABLE_WITH, REJECTED_JOINS, column_urn, property_urn
from gms import Gms
from lakes.lake import column
from services.events import ANN, TIME, properties

NAMESPACE = "io.datahub.hyperjoin"
OWN, ONE, TWO = (
    column_urn(column(f"{name}.csv.carrier")) for name in ("flights", "airlines", "delays")
)
JOINABLE, REJECTED = (property_urn(NAMESPACE, it) for it in (JOINABLE_WITH, REJECTED_JOINS))
REMOVAL = Removal(OWN, (ONE,), JOINABLE, AuditStampClass(time=TIME, actor=ANN))


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as server:
        for urn in (JOINABLE, REJECTED):
            definition = StructuredPropertyDefinitionClass(
                qualifiedName=urn.rpartition(":")[2],
                valueType="urn:li:dataType:datahub.urn",
                entityTypes=["urn:li:entityType:datahub.schemaField"],
                cardinality="MULTIPLE",
            )
            server.put(urn, definition)
        yield server


def rejected(gms: Gms) -> list[object]:
    own = gms.get(OWN, StructuredPropertiesClass)
    found = own.properties if own else []
    return [value for one in found if one.propertyUrn == REJECTED for value in one.values]


def test_a_removal_is_added_to_the_rejected_joins(gms: Gms) -> None:
    gms.put(OWN, properties({JOINABLE: [TWO], REJECTED: [TWO]}))
    assert record_removal(gms.graph(), REMOVAL, NAMESPACE)
    assert rejected(gms) == [TWO, ONE]
    own = gms.get(OWN, StructuredPropertiesClass)
    assert own is not None
    assert {it.propertyUrn for it in own.properties} == {JOINABLE, REJECTED}
    assert gms.system(OWN, StructuredPropertiesClass)["runId"] == RUN_ID


def test_a_recorded_removal_is_not_written_again(gms: Gms) -> None:
    assert record_removal(gms.graph(), REMOVAL, NAMESPACE)
    assert not record_removal(gms.graph(), REMOVAL, NAMESPACE)
    assert len(gms.writes) == 1


def test_values_that_go_with_their_property_reject_nothing(gms: Gms) -> None:
    gms.put(JOINABLE, StatusClass(removed=True))
    assert not record_removal(gms.graph(), REMOVAL, NAMESPACE)
    gms.delete(JOINABLE)
    assert not record_removal(gms.graph(), REMOVAL, NAMESPACE)
    assert rejected(gms) == []


def test_a_server_that_denies_access_is_an_error_that_says_what_to_do(gms: Gms) -> None:
    gms.fail("POST", 403, times=50, message="no access")
    with pytest.raises(UnrecordedRemovalError) as caught:
        record_removal(gms.graph(), REMOVAL, NAMESPACE)
    text = str(caught.value)
    assert text.startswith(f"the removed suggestions of {OWN} cannot be recorded as rejected: ")
    assert "no access" in text
    assert text.endswith(". List them under its *Rejected joins* in DataHub")
