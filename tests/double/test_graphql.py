"""Test that GraphQL queries of the test double return the stored metadata."""

from collections.abc import Iterator

import pytest
from datahub.ingestion.graph.filters import RemovedStatusFilter
from datahub.metadata.schema_classes import (
    DatasetFieldProfileClass,
    DatasetProfileClass,
    DatasetPropertiesClass,
    ERModelRelationshipPropertiesClass,
    ForeignKeyConstraintClass,
    GlobalTagsClass,
    MetadataAttributionClass,
    OtherSchemaClass,
    PartitionSpecClass,
    QueryPropertiesClass,
    QuerySubjectClass,
    QuerySubjectsClass,
    RelationshipFieldMappingClass,
    SchemaFieldClass,
    SchemaFieldDataTypeClass,
    SchemaMetadataClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertyValueAssignmentClass,
    TagAssociationClass,
)

from gms import Gms

ORDERS, CUSTOMERS = (
    f"urn:li:dataset:(urn:li:dataPlatform:postgres,shop.{name},PROD)"
    for name in ("orders", "customers")
)
COLUMN, PARTNER = (
    f"urn:li:schemaField:({ORDERS},customer_id)",
    f"urn:li:schemaField:({CUSTOMERS},id)",
)
JOIN, OTHER = "urn:li:erModelRelationship:ab", "urn:li:erModelRelationship:cd"
SCORE, PARTNERS = (f"urn:li:structuredProperty:test.{name}" for name in ("score", "partners"))
_SCORE, _PARTNERS = "structuredProperties.test.score", "structuredProperties.test.partners"
_AT_LEAST = "GREATER_THAN_OR_EQUAL_TO"
BAND = "urn:li:tag:join:suggested-high"


def relationship(name: str) -> ERModelRelationshipPropertiesClass:
    return ERModelRelationshipPropertiesClass(
        name=name,
        source=ORDERS,
        destination=CUSTOMERS,
        relationshipFieldMappings=[RelationshipFieldMappingClass("customer_id", "id")],
        cardinality="N_ONE",
        customProperties={"band": "high"},
    )


def _schema() -> SchemaMetadataClass:
    kind: dict[str, object] = {"type": {"com.linkedin.pegasus2avro.schema.NumberType": {}}}
    number = SchemaFieldDataTypeClass.from_obj(kind)
    return SchemaMetadataClass(
        schemaName="orders",
        platform="urn:li:dataPlatform:postgres",
        version=0,
        hash="",
        platformSchema=OtherSchemaClass(rawSchema=""),
        fields=[SchemaFieldClass("customer_id", number, "int8", nullable=True)],
        primaryKeys=["customer_id"],
        foreignKeys=[ForeignKeyConstraintClass("fk", [PARTNER], [COLUMN], CUSTOMERS)],
    )


def _define(gms: Gms, urn: str, kind: str, cardinality: str) -> None:
    definition = StructuredPropertyDefinitionClass(
        qualifiedName=urn.rpartition(":")[2],
        valueType=f"urn:li:dataType:datahub.{kind}",
        entityTypes=["urn:li:entityType:datahub.schemaField"],
        cardinality=cardinality,
    )
    gms.put(urn, definition)


@pytest.fixture(scope="module")
def gms() -> Iterator[Gms]:
    with Gms() as double:
        double.put(ORDERS, _schema())
        double.put(ORDERS, DatasetPropertiesClass(name="orders", customProperties={"a": "b"}))
        double.put(CUSTOMERS, DatasetPropertiesClass(name="customers"))
        for urn in (JOIN, OTHER):
            double.put(urn, relationship(urn))
        double.put(JOIN, GlobalTagsClass([TagAssociationClass(BAND, context="0.9312")]))
        double.put(OTHER, StatusClass(removed=True))
        _define(double, SCORE, "number", "SINGLE")
        _define(double, PARTNERS, "urn", "MULTIPLE")
        source = MetadataAttributionClass(
            time=1, actor="urn:li:corpuser:datahub", sourceDetail={"rows": "7"}
        )
        assigned = [
            StructuredPropertyValueAssignmentClass(SCORE, [0.93]),
            StructuredPropertyValueAssignmentClass(PARTNERS, [PARTNER], attribution=source),
        ]
        double.put(COLUMN, StructuredPropertiesClass(assigned))
        low = [StructuredPropertyValueAssignmentClass(SCORE, [0.5])]
        double.put(PARTNER, StructuredPropertiesClass(low))
        yield double


def test_shows_the_joins_of_a_dataset(gms: Gms) -> None:
    query = """
    query joins($dataset: String!) {
      searchAcrossEntities(input: {
        types: [ER_MODEL_RELATIONSHIP], query: "*", start: 0, count: 9,
        orFilters: [{ and: [{ field: "source", values: [$dataset] }] },
                    { and: [{ field: "destination", values: [$dataset] }] }]
        searchFlags: { skipHighlighting: true, skipAggregates: true } }) {
        total
        searchResults { entity { urn type ... on ERModelRelationship {
          properties { name cardinality source { urn name platform { name } } destination { urn }
            relationshipFieldMappings { sourceField destinationField } }
          editableProperties { name }
          tags { tags { tag { urn name } context } }
          status { removed } } } } } }
    """
    for dataset in (ORDERS, CUSTOMERS):
        found = gms.graphql(query, dataset=dataset)["searchAcrossEntities"]
        assert found["total"] == 1
        entity = found["searchResults"][0]["entity"]
        assert entity["urn"] == JOIN
        assert entity["type"] == "ER_MODEL_RELATIONSHIP"
        assert entity["properties"] == {
            "name": JOIN,
            "cardinality": "N_ONE",
            "source": {"urn": ORDERS, "name": "shop.orders", "platform": {"name": "postgres"}},
            "destination": {"urn": CUSTOMERS},
            "relationshipFieldMappings": [{"sourceField": "customer_id", "destinationField": "id"}],
        }
        assert entity["editableProperties"] is None
        tag = {"urn": BAND, "name": "join:suggested-high"}
        assert entity["tags"] == {"tags": [{"tag": tag, "context": "0.9312"}]}
        assert entity["status"] is None


@pytest.mark.parametrize(("deleted", "joins"), [(True, {JOIN, OTHER}), (False, {JOIN})])
def test_walks_from_a_dataset_to_its_joins(gms: Gms, deleted: bool, joins: set[str]) -> None:  # noqa: FBT001 - a case
    query = """
    query walk($dataset: String!, $deleted: Boolean) { dataset(urn: $dataset) {
      relationships(input: { types: ["ermodelrelationA", "ermodelrelationB"], direction: INCOMING,
          includeSoftDelete: $deleted }) { total relationships { type entity { urn } } } } }
    """
    found = gms.graphql(query, dataset=CUSTOMERS, deleted=deleted)["dataset"]["relationships"]
    assert found["total"] == len(joins)
    assert {it["entity"]["urn"] for it in found["relationships"]} == joins
    assert {it["type"] for it in found["relationships"]} == {"ermodelrelationB"}


def test_a_soft_deleted_entity_is_still_there_by_its_urn(gms: Gms) -> None:
    query = """query one($urn: String!) { entity(urn: $urn) { ... on ERModelRelationship {
        properties { name } status { removed } } } }"""
    found = gms.graphql(query, urn=OTHER)["entity"]
    assert found == {"properties": {"name": OTHER}, "status": {"removed": True}}
    assert gms.graphql(query, urn="urn:li:erModelRelationship:none")["entity"] == {
        "properties": None,
        "status": None,
    }


def test_shows_what_is_assigned_to_a_column(gms: Gms) -> None:
    query = """
    query column($urn: String!) { entity(urn: $urn) { urn type ... on SchemaFieldEntity {
      fieldPath parent { urn }
      structuredProperties { properties {
        structuredProperty { urn definition { qualifiedName valueType { urn } } }
        values { ... on StringValue { stringValue } ... on NumberValue { numberValue } }
        valueEntities { urn type ... on SchemaFieldEntity { fieldPath parent { urn } } }
        attribution { time sourceDetail { key value } } } } } } }
    """
    entity = gms.graphql(query, urn=COLUMN)["entity"]
    assert (entity["fieldPath"], entity["parent"]) == ("customer_id", {"urn": ORDERS})
    score, partners = entity["structuredProperties"]["properties"]
    assert score["structuredProperty"]["definition"]["qualifiedName"] == "test.score"
    assert (score["values"], score["valueEntities"]) == ([{"numberValue": 0.93}], [])
    assert partners["values"] == [{"stringValue": PARTNER}]
    assert partners["valueEntities"][0]["parent"] == {"urn": CUSTOMERS}
    assert partners["attribution"]["sourceDetail"] == [{"key": "rows", "value": "7"}]


def test_shows_a_schema(gms: Gms) -> None:
    query = """query schema($urn: String!) { dataset(urn: $urn) {
      name origin exists properties { name customProperties { key value } }
      schemaMetadata(version: 0) { primaryKeys foreignKeys { name foreignFields { urn } }
        fields { fieldPath nativeDataType nullable schemaFieldEntity { urn } } } } }"""
    found = gms.graphql(query, urn=ORDERS)["dataset"]
    assert found["properties"]["customProperties"] == [{"key": "a", "value": "b"}]
    assert found["schemaMetadata"] == {
        "primaryKeys": ["customer_id"],
        "foreignKeys": [{"name": "fk", "foreignFields": [{"urn": PARTNER}]}],
        "fields": [
            {
                "fieldPath": "customer_id",
                "nativeDataType": "int8",
                "nullable": True,
                "schemaFieldEntity": {"urn": COLUMN},
            }
        ],
    }
    nothing = gms.graphql(query, urn=ORDERS.replace("orders", "none"))["dataset"]
    assert (nothing["exists"], nothing["schemaMetadata"]) == (False, None)


def test_shows_the_latest_profile_of_a_kind(gms: Gms) -> None:
    field = DatasetFieldProfileClass("customer_id", uniqueCount=5, nullProportion=0.5)
    for time, partition in ((1, "FULL_TABLE_SNAPSHOT"), (2, "FULL_TABLE_SNAPSHOT"), (3, "2024")):
        gms.put(
            ORDERS,
            DatasetProfileClass(
                timestampMillis=time,
                rowCount=time,
                fieldProfiles=[field],
                partitionSpec=PartitionSpecClass(partition),
            ),
        )
    query = """query profiles($urn: String!, $filter: FilterInput) { dataset(urn: $urn) {
        datasetProfiles(limit: 1, filter: $filter) {
          rowCount partitionSpec { type }
          fieldProfiles { fieldPath uniqueCount uniqueProportion nullCount nullProportion } } } }"""
    whole = {"and": [{"field": "partitionSpec.partition", "values": ["FULL_TABLE_SNAPSHOT"]}]}
    for rows, chosen in ((3, None), (2, whole)):
        (found,) = gms.graphql(query, urn=ORDERS, filter=chosen)["dataset"]["datasetProfiles"]
        assert found["rowCount"] == rows
        assert found["partitionSpec"] is None, "the real server does not say"
        assert found["fieldProfiles"][0]["uniqueCount"] == 5
        assert found["fieldProfiles"][0]["uniqueProportion"] is None


def test_shows_queries(gms: Gms) -> None:
    by = {"time": 1, "actor": "urn:li:corpuser:datahub"}
    value = {
        "statement": {"value": "SELECT 1", "language": "SQL"},
        "source": "MANUAL",
        "created": by,
        "lastModified": by,
        "customProperties": {"join": JOIN},
    }
    gms.put("urn:li:query:q", QueryPropertiesClass.from_obj(value))
    subjects = [QuerySubjectClass(ORDERS), QuerySubjectClass(COLUMN)]
    gms.put("urn:li:query:q", QuerySubjectsClass(subjects))
    query = """{ searchAcrossEntities(input: { types: [QUERY], query: "*", orFilters: [
        { and: [{ field: "entities", values: ["%s"] }, { field: "source", values: ["MANUAL"] }] }
      ] }) { searchResults { entity { ... on QueryEntity {
        properties { statement { value language } source customProperties { key value } }
        subjects { dataset { urn } schemaField { urn } } } } } } }"""
    (found,) = gms.graphql(query % ORDERS)["searchAcrossEntities"]["searchResults"]
    assert found["entity"] == {
        "properties": {
            "statement": {"value": "SELECT 1", "language": "SQL"},
            "source": "MANUAL",
            "customProperties": [{"key": "join", "value": JOIN}],
        },
        "subjects": [
            {"dataset": {"urn": ORDERS}, "schemaField": None},
            {"dataset": {"urn": ORDERS}, "schemaField": {"urn": COLUMN}},
        ],
    }


@pytest.mark.parametrize(
    ("types", "rule", "found"),
    [
        ("ER_MODEL_RELATIONSHIP", {"field": "tags", "values": [BAND], "condition": "IN"}, [JOIN]),
        ("ER_MODEL_RELATIONSHIP", {"field": "tags", "condition": "EXISTS"}, [JOIN]),
        ("ER_MODEL_RELATIONSHIP", {"field": "tags", "condition": "EXISTS", "negated": True}, []),
        ("ER_MODEL_RELATIONSHIP", {"field": "customProperties", "values": ["band=high"]}, [JOIN]),
        ("ER_MODEL_RELATIONSHIP", {"field": "removed", "values": ["true"]}, [OTHER]),
        ("SCHEMA_FIELD", {"field": _SCORE, "condition": "EXISTS"}, [PARTNER, COLUMN]),
        ("SCHEMA_FIELD", {"field": _SCORE, "values": ["0.9"], "condition": _AT_LEAST}, [COLUMN]),
        ("SCHEMA_FIELD", {"field": _SCORE, "values": ["0.93"]}, [COLUMN]),
        ("SCHEMA_FIELD", {"field": _PARTNERS, "values": [PARTNER]}, [COLUMN]),
        ("DATASET", {"field": "platform", "values": ["urn:li:dataPlatform:postgres"]},
         [CUSTOMERS, ORDERS]),
        ("DATASET", {"field": "name", "values": ["ord"], "condition": "START_WITH"}, [ORDERS]),
    ],
)  # fmt: skip
def test_filters(gms: Gms, types: str, rule: dict[str, object], found: list[str]) -> None:
    query = """query find($types: [EntityType!], $rule: FacetFilterInput!) {
      searchAcrossEntities(input: { types: $types, query: "*", orFilters: [{ and: [$rule] }] }) {
        total searchResults { entity { urn } } } }"""
    answer = gms.graphql(query, types=[types], rule=rule)["searchAcrossEntities"]
    assert [it["entity"]["urn"] for it in answer["searchResults"]] == found
    assert answer["total"] == len(found)


def test_sorts_and_counts(gms: Gms) -> None:
    query = """query best($order: SortOrder!) { searchAcrossEntities(input: { types: [SCHEMA_FIELD],
        query: "*", sortInput: { sortCriteria: [{ field: "structuredProperties.test.score",
        sortOrder: $order }] } }) { searchResults { entity { urn } } } }"""
    for order, urns in (("DESCENDING", [COLUMN, PARTNER]), ("ASCENDING", [PARTNER, COLUMN])):
        found = gms.graphql(query, order=order)["searchAcrossEntities"]["searchResults"]
        assert [it["entity"]["urn"] for it in found] == urns
    query = """{ searchAcrossEntities(input: { types: [ER_MODEL_RELATIONSHIP], query: "*" }) {
        facets { field aggregations { value count } } } }"""
    facets = gms.graphql(query)["searchAcrossEntities"]["facets"]
    assert {"field": "tags", "aggregations": [{"value": BAND, "count": 1}]} in facets


def test_the_client_finds_urns(gms: Gms) -> None:
    graph = gms.graph()
    found = graph.get_urns_by_filter(entity_types=["dataset"], platform="postgres", env="PROD")
    assert list(found) == [CUSTOMERS, ORDERS]
    assert list(graph.get_urns_by_filter(entity_types=["dataset"], env="DEV")) == []
    assert list(graph.get_urns_by_filter(entity_types=["dataset"], query="orders")) == [ORDERS]
    joins = ["erModelRelationship"]
    gone = RemovedStatusFilter.ONLY_SOFT_DELETED
    assert list(graph.get_urns_by_filter(entity_types=joins, batch_size=1)) == [JOIN]
    assert list(graph.get_urns_by_filter(entity_types=joins, status=gone)) == [OTHER]
    everything = graph.get_urns_by_filter(
        entity_types=joins, status=RemovedStatusFilter.ALL, batch_size=1
    )
    assert list(everything) == [JOIN, OTHER]
    assert list(graph.get_urns_by_filter(entity_types=joins, platform="postgres")) == []
