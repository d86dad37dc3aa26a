"""Test that GraphQL mutations change the test double as they change the real server."""

from collections.abc import Iterator

import pytest
from datahub.metadata.schema_classes import (
    CorpUserInfoClass,
    EditableERModelRelationshipPropertiesClass,
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    OwnershipClass,
    QueryPropertiesClass,
    QuerySubjectClass,
    QuerySubjectsClass,
    RelationshipFieldMappingClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    TagAssociationClass,
    TagPropertiesClass,
)

from gms import Gms

ORDERS, CUSTOMERS = (
    f"urn:li:dataset:(urn:li:dataPlatform:postgres,shop.{name},PROD)"
    for name in ("orders", "customers")
)
COLUMN = f"urn:li:schemaField:({ORDERS},customer_id)"
JOIN, QUERY = "urn:li:erModelRelationship:ab", "urn:li:query:q"
HIGH, ACCEPTED = "urn:li:tag:join:suggested-high", "urn:li:tag:join:accepted"
PROPERTY = "urn:li:structuredProperty:test.confirmed"
TAG = """mutation tag($tag: String!, $urn: String!) {
    addTag(input: { tagUrn: $tag, resourceUrn: $urn }) }"""
ASSIGN = """mutation assign($urn: String!, $values: [PropertyValueInput!]!) {
    upsertStructuredProperties(input: { assetUrn: $urn, structuredPropertyInputParams: [
      { structuredPropertyUrn: "urn:li:structuredProperty:test.confirmed", values: $values }] }) {
    properties { values { ... on StringValue { stringValue } } } } }"""


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as double:
        mapping = RelationshipFieldMappingClass("customer_id", "id")
        properties = ERModelRelationshipPropertiesClass(
            "name", ORDERS, CUSTOMERS, [mapping], {"band": "high"}, cardinality="N_ONE"
        )
        double.put(JOIN, properties, pipeline="hyperjoin")
        tags = GlobalTagsClass([TagAssociationClass(HIGH, context="0.93")])
        double.put(JOIN, tags, pipeline="hyperjoin")
        for tag in (HIGH, ACCEPTED):
            double.put(tag, TagPropertiesClass(name=tag))
        yield double


def _tags(gms: Gms) -> list[tuple[str, str | None]]:
    found = gms.get(JOIN, GlobalTagsClass)
    assert found is not None
    return [(it.tag, it.context) for it in found.tags]


def test_adds_and_removes_tags(gms: Gms) -> None:
    accept = """mutation accept($join: String!, $accepted: String!, $suggested: String!) {
      add: addTag(input: { tagUrn: $accepted, resourceUrn: $join })
      drop: removeTag(input: { tagUrn: $suggested, resourceUrn: $join }) }"""
    answer = gms.graphql(accept, join=JOIN, accepted=ACCEPTED, suggested=HIGH)
    assert answer == {"add": True, "drop": True}
    assert _tags(gms) == [(ACCEPTED, None)]
    assert [(it.aspect, it.change, it.by, it.pipeline) for it in gms.writes] == [
        ("globalTags", "UPSERT", "graphql", None)
    ] * 2
    gms.graphql(TAG, tag=ACCEPTED, urn=JOIN)
    assert _tags(gms) == [(ACCEPTED, None)]
    batch = """mutation batch($tags: [String!]!, $join: String!) {
      batchAddTags(input: { tagUrns: $tags, resources: [{ resourceUrn: $join }] })
      batchRemoveTags(input: { tagUrns: ["urn:li:tag:join:accepted"],
                               resources: [{ resourceUrn: $join }] }) }"""
    gms.graphql(batch, tags=[HIGH], join=JOIN)
    assert _tags(gms) == [(HIGH, None)]


def test_leaves_other_tags_as_they_are(gms: Gms) -> None:
    gms.graphql(TAG, tag=ACCEPTED, urn=JOIN)
    assert _tags(gms) == [(HIGH, "0.93"), (ACCEPTED, None)]


def test_tags_must_exist_before_they_are_given(gms: Gms) -> None:
    rejected = "urn:li:tag:join:rejected"
    answer = gms.graphql(TAG, tag=rejected, urn=JOIN, refused=True)
    assert f"label with urn {rejected}. Urn does not exist" in answer["errors"][0]["message"]
    create = 'mutation { createTag(input: { id: "join:rejected", name: "rejected" }) }'
    assert gms.graphql(create) == {"createTag": rejected}
    assert gms.graphql(TAG, tag=rejected, urn=JOIN) == {"addTag": True}
    assert "already exists" in gms.graphql(create, refused=True)["errors"][0]["message"]
    none = "urn:li:erModelRelationship:none"
    answer = gms.graphql(TAG, tag=rejected, urn=none, refused=True)
    assert f"resource with urn {none}" in answer["errors"][0]["message"]


def test_soft_deletion_hides_and_shows_again(gms: Gms) -> None:
    hide = """mutation hide($urns: [String!]!, $deleted: Boolean!) {
        batchUpdateSoftDeleted(input: { urns: $urns, deleted: $deleted }) }"""
    search = """{ searchAcrossEntities(input: { types: [ER_MODEL_RELATIONSHIP], query: "*" }) {
        total } }"""
    for deleted in (True, False):
        assert gms.graphql(hide, urns=[JOIN], deleted=deleted)
        assert gms.get(JOIN, StatusClass) == StatusClass(removed=deleted)
        assert gms.graphql(search)["searchAcrossEntities"]["total"] == 1 - deleted
    system = gms.system(JOIN, StatusClass)
    assert system["runId"] == "no-run-id-provided"
    assert "pipelineName" not in system


def test_an_edit_of_a_relationship_loses_what_its_form_does_not_show(gms: Gms) -> None:
    edit = """mutation edit($urn: String!, $input: ERModelRelationshipUpdateInput!) {
        updateERModelRelationship(urn: $urn, input: $input) }"""
    describe = {"editableProperties": {"name": "", "description": "why"}}
    gms.graphql(edit, urn=JOIN, input=describe)
    assert gms.get(JOIN, EditableERModelRelationshipPropertiesClass) == (
        EditableERModelRelationshipPropertiesClass(description="why")
    )
    before = gms.get(JOIN, ERModelRelationshipPropertiesClass)
    assert before is not None
    assert before.customProperties == {"band": "high"}
    mapping = {"sourceField": "customer_id", "destinationField": "id"}
    properties = {"name": "other", "source": ORDERS, "destination": CUSTOMERS}
    properties |= {"relationshipFieldmappings": [mapping]}  # type: ignore[dict-item]  # any JSON
    gms.graphql(edit, urn=JOIN, input={"properties": properties})
    after = gms.get(JOIN, ERModelRelationshipPropertiesClass)
    assert after is not None
    assert (after.name, after.customProperties, after.cardinality) == ("other", {}, "ONE_ONE")
    assert after.lastModified is not None
    # The server keeps the pipeline of whoever wrote the aspect first.
    system = gms.system(JOIN, ERModelRelationshipPropertiesClass)
    assert (system["pipelineName"], system["runId"]) == ("hyperjoin", "no-run-id-provided")


def test_creates_a_relationship(gms: Gms) -> None:
    create = """mutation create($input: ERModelRelationshipUpdateInput!) {
        createERModelRelationship(input: $input) {
          urn properties { name cardinality createdActor { urn } } } }"""
    mappings = [{"sourceField": it, "destinationField": "id"} for it in ("a", "b")]
    properties = {"name": "n", "source": ORDERS, "destination": CUSTOMERS, "created": True}
    properties |= {"relationshipFieldmappings": mappings}
    found = gms.graphql(create, input={"properties": properties})["createERModelRelationship"]
    assert found["urn"].startswith("urn:li:erModelRelationship:")
    assert found["properties"] == {
        "name": "n",
        "cardinality": "ONE_N",
        "createdActor": {"urn": "urn:li:corpuser:datahub"},
    }


def test_assigns_structured_properties(gms: Gms) -> None:
    message = gms.graphql(ASSIGN, urn=COLUMN, values=[], refused=True)["errors"][0]["message"]
    assert "no valid property assignments remain" in message
    definition = StructuredPropertyDefinitionClass(
        "test.confirmed",
        "urn:li:dataType:datahub.urn",
        ["urn:li:entityType:datahub.schemaField"],
        cardinality="MULTIPLE",
    )
    gms.put(PROPERTY, definition)
    partners = [COLUMN.replace("orders", it) for it in ("customers", "shops")]
    values = [{"stringValue": it} for it in partners]
    answer = gms.graphql(ASSIGN, urn=COLUMN, values=values)["upsertStructuredProperties"]
    assert answer["properties"] == [{"values": values}]
    stored = gms.get(COLUMN, StructuredPropertiesClass)
    assert stored is not None
    assert [it.values for it in stored.properties] == [partners]
    assert stored.properties[0].lastModified is not None
    remove = """mutation remove($urn: String!, $own: [String!]!) {
        removeStructuredProperties(input: { assetUrn: $urn, structuredPropertyUrns: $own }) {
          properties { associatedUrn } } }"""
    assert gms.graphql(remove, urn=COLUMN, own=[PROPERTY]) == {
        "removeStructuredProperties": {"properties": []}
    }


def test_owners_must_exist(gms: Gms) -> None:
    own = """mutation own($owner: String!) { addOwner(input: {
        ownerUrn: $owner, ownerEntityType: CORP_USER, resourceUrn: "%s",
        ownershipTypeUrn: "urn:li:ownershipType:__system__technical_owner" }) }"""
    jane = "urn:li:corpuser:jane"
    answer = gms.graphql(own % JOIN, owner=jane, refused=True)
    assert f"owner with urn {jane}. Urn does not exist" in answer["errors"][0]["message"]
    gms.put(jane, CorpUserInfoClass(active=True))
    for _ in range(2):
        gms.graphql(own % JOIN, owner=jane)
    found = gms.get(JOIN, OwnershipClass)
    assert found is not None
    assert [it.owner for it in found.owners] == [jane]


def test_edits_and_deletes_queries(gms: Gms) -> None:
    by = {"time": 1, "actor": "urn:li:corpuser:datahub"}
    value = {"statement": {"value": "SELECT 1", "language": "SQL"}, "source": "MANUAL"}
    value |= {"created": by, "lastModified": by, "name": "first"}
    gms.put(QUERY, QueryPropertiesClass.from_obj(value))
    gms.put(QUERY, QuerySubjectsClass([QuerySubjectClass(ORDERS)]))
    edit = """mutation { updateQuery(urn: "urn:li:query:q", input: {
        properties: { name: "second" }, subjects: [{ datasetUrn: "%s" }] }) {
          properties { name statement { value } } subjects { dataset { urn } } } }"""
    assert gms.graphql(edit % CUSTOMERS)["updateQuery"] == {
        "properties": {"name": "second", "statement": {"value": "SELECT 1"}},
        "subjects": [{"dataset": {"urn": CUSTOMERS}}],
    }
    delete = 'mutation { deleteQuery(urn: "urn:li:query:q") }'
    assert gms.graphql(delete) == {"deleteQuery": True}
    assert gms.urns("query") == []
    assert [it.change for it in gms.writes] == ["UPSERT", "UPSERT", "DELETE"]
    assert (
        "Failed to find query" in gms.graphql(edit % ORDERS, refused=True)["errors"][0]["message"]
    )


def test_patches_any_aspect(gms: Gms) -> None:
    mark = """mutation mark($aspect: String!, $value: String!) { patchEntity(input: {
        urn: "urn:li:erModelRelationship:ab", entityType: "erModelRelationship",
        aspectName: $aspect, forceGenericPatch: true,
        patch: [{ op: ADD, path: "/customProperties/review", value: $value }] }) {
          urn success error } }"""
    aspect = "erModelRelationshipProperties"
    assert gms.graphql(mark, aspect=aspect, value="ok")["patchEntity"]["success"]
    found = gms.get(JOIN, ERModelRelationshipPropertiesClass)
    assert found is not None
    assert found.customProperties == {"band": "high", "review": "ok"}
    answer = gms.graphql(mark, aspect="datasetProperties", value="ok")["patchEntity"]
    assert not answer["success"]
    assert "Unknown aspect datasetProperties" in answer["error"]


def test_the_deletion_of_relationships_does_nothing(gms: Gms) -> None:
    delete = 'mutation { deleteERModelRelationship(urn: "urn:li:erModelRelationship:ab") }'
    assert gms.graphql(delete) == {"deleteERModelRelationship": None}
    assert gms.urns("erModelRelationship") == [JOIN]
