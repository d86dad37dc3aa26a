"""Test that the test double checks each proposal, and reports errors to the client."""

from collections.abc import Callable

import pytest
from datahub.configuration.common import OperationalError
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.rest_emitter import EmitMode
from datahub.metadata.schema_classes import (
    ChangeTypeClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertyValueAssignmentClass,
    TagPropertiesClass,
)
from datahub.specific.dataset import DatasetPatchBuilder

from gms import Gms

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.orders,PROD)"
COLUMN = f"urn:li:schemaField:({ORDERS},id)"
NAMES = ("number", "string", "urn", "unknown")
NUMBER, STRING, URN, UNKNOWN = (f"urn:li:structuredProperty:test.{name}" for name in NAMES)
TAG = "urn:li:tag:t"


def _define(gms: Gms) -> None:
    for urn, cardinality in ((NUMBER, "SINGLE"), (STRING, "MULTIPLE"), (URN, "MULTIPLE")):
        name = urn.rpartition(":")[2]
        columns = {"allowedTypes": ["urn:li:entityType:datahub.schemaField"]}
        definition = StructuredPropertyDefinitionClass(
            qualifiedName=name,
            valueType=f"urn:li:dataType:datahub.{name.removeprefix('test.')}",
            entityTypes=["urn:li:entityType:datahub.dataset"],
            cardinality=cardinality,
            typeQualifier=columns if urn == URN else None,
        )
        gms.put(urn, definition)


def _upsert(gms: Gms, assigned: dict[str, list[str | float]], mode: EmitMode) -> None:
    values = [StructuredPropertyValueAssignmentClass(it, assigned[it]) for it in assigned]
    aspect = StructuredPropertiesClass(values)
    proposal = MetadataChangeProposalWrapper(entityUrn=ORDERS, aspect=aspect)
    gms.graph(openapi_ingestion=False).emit_mcp(proposal, emit_mode=mode)


def _patch(gms: Gms, assigned: dict[str, list[str | float]], mode: EmitMode) -> None:
    builder = DatasetPatchBuilder(ORDERS)
    for urn, values in assigned.items():
        builder.set_structured_property_manual(StructuredPropertyValueAssignmentClass(urn, values))
    gms.graph(openapi_ingestion=False).emit_mcps(builder.build(), emit_mode=mode)


Send = Callable[[Gms, dict[str, list[str | float]], EmitMode], None]
ways = pytest.mark.parametrize("send", [_upsert, _patch])


def _assigned(gms: Gms) -> dict[str, list[str | float]]:
    found = gms.get(ORDERS, StructuredPropertiesClass)
    return {it.propertyUrn: it.values for it in found.properties} if found else {}


@ways
def test_takes_values_that_fit(send: Send) -> None:
    with Gms() as gms:
        _define(gms)
        values: dict[str, list[str | float]] = {NUMBER: [0.5], STRING: ["a", "b"], URN: [COLUMN]}
        send(gms, values, EmitMode.SYNC_PRIMARY)
        assert _assigned(gms) == values
        assert gms.rejected == []


@ways
@pytest.mark.parametrize("mode", [EmitMode.SYNC_PRIMARY, EmitMode.ASYNC])
@pytest.mark.parametrize(
    ("assigned", "message"),
    [
        ({NUMBER: [0.5, 0.6]}, "has cardinality 1, but multiple values"),
        ({NUMBER: ["high"]}, "should be a number"),
        ({STRING: [0.5]}, "should be a string"),
        ({STRING: ["x" * 32767]}, "is longer than 32766 bytes"),
        ({URN: ["customers.id"]}, "should be an urn"),
        ({URN: [ORDERS]}, "is not of any supported urn types"),
        ({UNKNOWN: ["x"]}, "no valid property assignments remain"),
    ],
)
def test_refuses_values_that_do_not(
    send: Send, mode: EmitMode, assigned: dict[str, list[str | float]], message: str
) -> None:
    with Gms() as gms:
        _define(gms)
        with pytest.raises(OperationalError, match=message):
            send(gms, assigned, mode)
        assert _assigned(gms) == {}
        assert message in gms.rejected[0].reason
        assert gms.writes == []


@pytest.mark.parametrize(
    ("send", "message"),
    # The patches of this client end in an empty key.
    [(_upsert, "no valid property assignments remain"), (_patch, "Error performing JSON PATCH")],
)
def test_earlier_servers_drop_later_what_they_cannot_take(send: Send, message: str) -> None:
    with Gms(version="1.6.0") as gms:
        with pytest.raises(OperationalError, match=message):
            send(gms, {UNKNOWN: ["x"]}, EmitMode.SYNC_PRIMARY)
        send(gms, {UNKNOWN: ["x"]}, EmitMode.ASYNC)
        assert _assigned(gms) == {}
        assert len(gms.rejected) == 2
        assert gms.writes == []


@ways
def test_leaves_out_undefined_properties_among_others(send: Send) -> None:
    with Gms() as gms:
        _define(gms)
        send(gms, {UNKNOWN: ["x"], STRING: ["y"]}, EmitMode.ASYNC)
        assert _assigned(gms) == {STRING: ["y"]}
        assert [(it.urn, it.reason) for it in gms.rejected] == [
            (ORDERS, f"Unexpected null value found for {UNKNOWN}")
        ]


def test_a_property_that_is_soft_deleted_can_neither_be_given_nor_searched_for() -> None:
    with Gms() as gms:
        _define(gms)
        gms.put(STRING, StatusClass(removed=True))
        with pytest.raises(OperationalError, match="Cannot apply a soft deleted Structured"):
            _upsert(gms, {STRING: ["x"]}, EmitMode.SYNC_PRIMARY)
        query = """query find($field: String!) { searchAcrossEntities(input: { types: [DATASET],
            query: "*", orFilters: [{ and: [{ field: $field, condition: EXISTS }] }] }) {
            total } }"""
        field = "structuredProperties.test.{}"
        answer = gms.graphql(query, field=field.format("string"), refused=True)
        assert "Cannot filter on deleted Structured Property" in answer["errors"][0]["message"]
        answer = gms.graphql(query, field=field.format("never_defined"))
        assert answer["searchAcrossEntities"]["total"] == 0


def test_one_bad_proposal_refuses_its_batch() -> None:
    with Gms(without=["query"]) as gms:
        proposals = [
            MetadataChangeProposalWrapper(entityUrn=urn, aspect=StatusClass(removed=False))
            for urn in (ORDERS, "urn:li:query:q")
        ]
        with pytest.raises(OperationalError, match="Failed to find entity with name query"):
            gms.graph(openapi_ingestion=False).emit_mcps(proposals, emit_mode=EmitMode.ASYNC)
        assert gms.urns("dataset") == []


def test_creates_an_entity_once() -> None:
    with Gms() as gms:
        graph = gms.graph(openapi_ingestion=False)
        create = MetadataChangeProposalWrapper(
            entityUrn=TAG,
            aspect=TagPropertiesClass(name="t"),
            changeType=ChangeTypeClass.CREATE_ENTITY,
        )
        graph.emit_mcp(create)
        with pytest.raises(OperationalError, match="CREATE_ENTITY since the entity key already"):
            graph.emit_mcp(create)


def test_what_arrives_unchanged_is_a_write_all_the_same() -> None:
    with Gms() as gms:
        graph = gms.graph()
        proposal = MetadataChangeProposalWrapper(entityUrn=TAG, aspect=TagPropertiesClass(name="t"))
        for _ in range(2):
            graph.emit_mcp(proposal)
        assert len(gms.writes) == 2


def test_what_a_test_puts_is_no_write() -> None:
    with Gms() as gms:
        gms.put(TAG, TagPropertiesClass(name="t"))
        gms.delete(TAG)
        assert gms.writes == []
        assert gms.get(TAG, TagPropertiesClass) is None
