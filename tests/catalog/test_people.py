"""Test that the next run reads the decisions that people make in DataHub's pages."""

from collections.abc import Callable

import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    StatusClass,
    StructuredPropertyDefinitionClass,
    SystemMetadataClass,
    TagPropertiesClass,
)

from datahub_hyperjoin.catalog.decisions import read_decisions
from datahub_hyperjoin.catalog.filed_decisions import Decision
from datahub_hyperjoin.catalog.relationships import find_deleted, read_relationships
from datahub_hyperjoin.joins import Cardinality, Evidence, Join, Verdict
from datahub_hyperjoin.metadata.relationships import join_urn, to_aspect
from datahub_hyperjoin.metadata.urns import (
    ACCEPTED,
    CONFIRMED_JOINS,
    REJECTED,
    REJECTED_JOINS,
    column_urn,
    property_urn,
)
from datahub_hyperjoin.tables import ColumnId, Pair, TableId
from gms import Gms

CODE = ColumnId(TableId("postgres", "shop.public.airports"), "code")
ORIGIN = ColumnId(TableId("postgres", "shop.public.flights"), "origin")
JOIN = Join(
    left=CODE,
    right=ORIGIN,
    joinability=0.9,
    evidence=Evidence(
        shared=16,
        left_containment=0.5,
        right_containment=1.0,
        cardinality=Cardinality.ONE_MANY,
        left_fan_out=9.0,
        right_fan_out=1.0,
    ),
)
URN, PAIR = join_urn(JOIN), (CODE, ORIGIN)
NAMESPACE = "io.datahub.hyperjoin"
PIPELINE = "joins"

TAG = """mutation tag($tag: String!, $join: String!) {
  addTag(input: {tagUrn: $tag, resourceUrn: $join})
}"""
UNTAG = """mutation untag($tag: String!, $join: String!) {
  removeTag(input: {tagUrn: $tag, resourceUrn: $join})
}"""
HIDE = """mutation hide($joins: [String!]!, $deleted: Boolean!) {
  batchUpdateSoftDeleted(input: {urns: $joins, deleted: $deleted})
}"""
LIST = """mutation list($column: String!, $property: String!, $value: String!) {
  upsertStructuredProperties(input: {
    assetUrn: $column
    structuredPropertyInputParams: [
      {structuredPropertyUrn: $property, values: [{stringValue: $value}]}
    ]
  }) { properties { structuredProperty { urn } } }
}"""

Read = Callable[[], dict[Pair, Decision]]


@pytest.fixture
def read(gms: Gms, graph: DataHubGraph) -> Read:
    """Store one suggested join, and return a function that reads the decisions on it."""
    gms.put(URN, to_aspect(JOIN, "hin 1"), pipeline=PIPELINE)
    for tag in (ACCEPTED, REJECTED):
        gms.put(tag, TagPropertiesClass(name=tag))
    for name in (CONFIRMED_JOINS, REJECTED_JOINS):
        definition = StructuredPropertyDefinitionClass(
            qualifiedName=f"{NAMESPACE}.{name}",
            valueType="urn:li:dataType:datahub.urn",
            entityTypes=["urn:li:entityType:datahub.schemaField"],
            cardinality="MULTIPLE",
        )
        gms.put(property_urn(NAMESPACE, name), definition)

    def decisions() -> dict[Pair, Decision]:
        warned: list[tuple[str, ...]] = []

        def warn(*words: str) -> None:
            warned.append(words)

        found = read_relationships(graph, written=[URN], hiders=["1"], warn=warn)
        deleted = dict.fromkeys(find_deleted([URN], found, writes_arrived=True, warn=warn), PAIR)
        decided = read_decisions(
            graph,
            namespace=NAMESPACE,
            relationships=found.values(),
            deleted=deleted,
            warn=warn,
        )
        assert warned == []
        return {pair: decision for (pair,), decision in decided.items()}

    return decisions


def verdicts(read: Read) -> dict[Pair, Verdict]:
    return {pair: decision.verdict for pair, decision in read().items()}


@pytest.mark.parametrize(
    ("tag", "verdict"), [(ACCEPTED, Verdict.ACCEPTED), (REJECTED, Verdict.REJECTED)]
)
def test_a_tag_decides_until_it_is_removed(
    gms: Gms, read: Read, *, tag: str, verdict: Verdict
) -> None:
    assert read() == {}
    gms.graphql(TAG, tag=tag, join=URN)
    assert verdicts(read) == {PAIR: verdict}
    gms.graphql(UNTAG, tag=tag, join=URN)
    assert read() == {}


def test_hiding_rejects_until_it_is_shown_again(gms: Gms, read: Read) -> None:
    gms.graphql(HIDE, joins=[URN], deleted=True)
    assert verdicts(read) == {PAIR: Verdict.REJECTED}
    gms.graphql(HIDE, joins=[URN], deleted=False)
    assert read() == {}


def test_a_relationship_that_a_run_hid_is_not_rejected(
    gms: Gms, graph: DataHubGraph, read: Read
) -> None:
    written = SystemMetadataClass(pipelineName=PIPELINE, runId="1")
    graph.emit_mcp(
        MetadataChangeProposalWrapper(
            entityUrn=URN, aspect=StatusClass(removed=True), systemMetadata=written
        )
    )
    assert gms.get(URN, StatusClass) == StatusClass(removed=True)
    assert read() == {}


def test_deleting_rejects(gms: Gms, graph: DataHubGraph, read: Read) -> None:
    graph.hard_delete_entity(URN)
    assert gms.get(URN, ERModelRelationshipPropertiesClass) is None
    assert verdicts(read) == {PAIR: Verdict.REJECTED}


@pytest.mark.parametrize(
    ("name", "verdict"),
    [(CONFIRMED_JOINS, Verdict.ACCEPTED), (REJECTED_JOINS, Verdict.REJECTED)],
)
def test_a_column_lists_its_joins(gms: Gms, read: Read, *, name: str, verdict: Verdict) -> None:
    listing = property_urn(NAMESPACE, name)
    gms.graphql(LIST, property=listing, column=column_urn(ORIGIN), value=column_urn(CODE))
    ((pair, decision),) = read().items()
    assert (pair, decision.verdict) == (PAIR, verdict)
    assert decision.by.startswith("urn:li:corpuser:")
