import json
from collections.abc import Callable

import pytest
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    MetadataAttributionClass,
    OwnerClass,
    OwnershipClass,
    RelationshipFieldMappingClass,
    StatusClass,
    SystemMetadataClass,
    TagAssociationClass,
    _Aspect,
)

from datahub_hyperjoin.catalog.entities import Aspects
from datahub_hyperjoin.catalog.relationships import (
    Relationship,
    find_deleted,
    read_relationship,
    read_relationships,
)
from datahub_hyperjoin.joins import Cardinality, Evidence, Join
from datahub_hyperjoin.metadata.relationships import join_urn, to_aspect
from datahub_hyperjoin.metadata.urns import ACCEPTED, dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId
from gms import Gms
from gms.clients import NEEDS_SCROLLING

CODE = ColumnId(TableId("postgres", "shop.public.airports"), "code")
ORIGIN = ColumnId(TableId("postgres", "shop.public.flights"), "origin")
EVIDENCE = Evidence(
    shared=16,
    left_containment=0.5,
    right_containment=1.0,
    cardinality=Cardinality.ONE_MANY,
    left_fan_out=9.0,
    right_fan_out=1.0,
    rows=144,
)
JOIN = Join(left=CODE, right=ORIGIN, joinability=0.9, evidence=EVIDENCE)
URN = join_urn(JOIN)
MADE = to_aspect(JOIN, "hin 1")
PERSON = "urn:li:corpuser:ada"

Warnings = list[tuple[str, str, str]]
Warn = Callable[[str, str, str], None]


def edited(**changes: object) -> ERModelRelationshipPropertiesClass:
    """Return a suggested relationship as it is after a person edited it in DataHub.

    Such an edit loses the custom properties.
    """
    aspect = ERModelRelationshipPropertiesClass.from_obj(MADE.to_obj())
    aspect.customProperties = {}
    for name, value in changes.items():
        setattr(aspect, name, value)
    return aspect


def holding(*aspects: _Aspect, remover: str | None = None) -> Aspects:
    written = SystemMetadataClass(pipelineName="joins", runId=remover)
    return {aspect.get_aspect_name(): (aspect, written) for aspect in aspects}


def read(
    *aspects: _Aspect,
    warn: Warn,
    remover: str | None = None,
    hider: str | None = None,
    recorded: bool = False,
) -> Relationship:
    held = holding(*aspects, remover=remover)
    hiders = [hider] if hider else []
    found = read_relationship(URN, held, recorded=recorded, hiders=hiders, warn=warn)
    assert found
    return found


def test_our_relationship_holds_its_join(warn: Warn) -> None:
    found = read(MADE, warn=warn)
    assert (found.ours, found.pairs, found.join) == (True, ((CODE, ORIGIN),), JOIN)
    assert (found.removed, found.hidden_by_people, found.tags) == (False, False, frozenset())


def test_an_edited_relationship_is_not_ours(warn: Warn) -> None:
    found = read(edited(name="flies from"), warn=warn)
    assert (found.ours, found.pairs, found.join) == (False, ((CODE, ORIGIN),), None)


def test_a_composite_key_is_several_pairs(warn: Warn) -> None:
    mappings = [
        RelationshipFieldMappingClass(sourceField=f"origin{n}", destinationField=f"code{n}")
        for n in (1, 2)
    ]
    found = read(edited(relationshipFieldMappings=mappings), warn=warn)
    assert [str(pair[0].path) for pair in found.pairs] == ["code1", "code2"]


def test_a_composite_key_of_one_table_keeps_the_column_that_both_sides_share(warn: Warn) -> None:
    mappings = [
        RelationshipFieldMappingClass(sourceField=source, destinationField=destination)
        for source, destination in (("tenant", "tenant"), ("boss", "id"))
    ]
    airports = dataset_urn(CODE.table)
    found = read(edited(source=airports, relationshipFieldMappings=mappings), warn=warn)
    assert [(left.path, right.path) for left, right in found.pairs] == [
        ("boss", "id"),
        ("tenant", "tenant"),
    ]


def test_a_column_related_to_itself_is_no_pair(warn: Warn) -> None:
    mapping = RelationshipFieldMappingClass(sourceField="code", destinationField="code")
    airports = dataset_urn(CODE.table)
    found = read(edited(source=airports, relationshipFieldMappings=[mapping]), warn=warn)
    assert found.pairs == ()


def test_a_relationship_without_datasets_is_reported(warn: Warn, warnings: Warnings) -> None:
    found = read(edited(source="urn:li:chart:(looker,1)"), warn=warn)
    assert (found.pairs, found.join) == ((), None)
    ((title, _, context),) = warnings
    assert title == "Entities skipped"
    assert context.startswith(f"{URN}: one of its ends is not a dataset: ")


def test_remnants_of_a_deletion_are_ignored(warn: Warn) -> None:
    remnants = holding(StatusClass(removed=True))
    assert read_relationship(URN, remnants, recorded=True, hiders=(), warn=warn) is None


@pytest.mark.parametrize(
    ("remover", "hider", "by_us"),
    [
        ("run 1", "run 1", True),
        ("no-run-id-provided", "run 1", False),
        ("run 1", None, False),
        (None, None, False),
    ],
)
def test_hiding_by_us_and_by_people_is_distinguished(
    warn: Warn, *, remover: str | None, hider: str | None, by_us: bool
) -> None:
    status = StatusClass(removed=True)
    found = read(MADE, status, warn=warn, remover=remover, hider=hider)
    assert (found.removed, found.removed_by_us) == (True, by_us)
    assert found.hidden_by_people is not by_us


@pytest.mark.parametrize(("remover", "by_us"), [("run 1", True), ("run 2", False), (None, False)])
def test_a_relationship_says_which_run_withdrew_it(
    warn: Warn, *, remover: str | None, by_us: bool
) -> None:
    marked = ERModelRelationshipPropertiesClass.from_obj(MADE.to_obj())
    marked.customProperties["withdrawn_by"] = "run 1"
    found = read(marked, StatusClass(removed=True), warn=warn, remover=remover)
    assert found.removed_by_us is by_us


def test_an_edited_relationship_is_hidden_by_people(warn: Warn) -> None:
    for recorded in (True, False):
        found = read(edited(), StatusClass(removed=True), warn=warn, recorded=recorded)
        assert found.hidden_by_people is recorded


def test_tags_and_owners_are_kept(warn: Warn) -> None:
    attribution = MetadataAttributionClass(time=0, actor=PERSON)
    tags = [TagAssociationClass(ACCEPTED, attribution=attribution), TagAssociationClass("urn:x")]
    owners = [OwnerClass(owner="urn:li:corpuser:bob", type="TECHNICAL_OWNER")]
    found = read(MADE, GlobalTagsClass(tags), OwnershipClass(owners), warn=warn)
    assert found.tags == {ACCEPTED, "urn:x"}
    assert found.attributed == {ACCEPTED: attribution}
    assert found.copied == frozenset()
    assert found.owners == ("urn:li:corpuser:bob",)


def test_hidden_relationships_are_read(gms: Gms, graph: DataHubGraph, warn: Warn) -> None:
    theirs = "urn:li:erModelRelationship:theirs"
    gms.put(URN, MADE, pipeline="joins")
    gms.put(URN, StatusClass(removed=True), pipeline="joins")
    gms.put(theirs, edited())
    gms.put("urn:li:erModelRelationship:remnant", StatusClass(removed=True))
    found = read_relationships(graph, written=[URN], hiders=["put"], warn=warn)
    assert found.keys() == {URN, theirs}
    assert (found[URN].ours, found[URN].removed_by_us, found[URN].recorded) == (True, True, True)
    other = found[theirs]
    assert (other.ours, other.removed, other.recorded) == (False, False, False)


def test_relationships_that_are_not_indexed_are_fetched(
    gms: Gms, graph: DataHubGraph, warn: Warn
) -> None:
    late = "urn:li:erModelRelationship:late"
    gms.put(URN, MADE)
    gms.put(late, edited())
    gms.delete(late)
    found = read_relationships(graph, written=[URN, late], hiders=(), warn=warn)
    assert found.keys() == {URN}
    assert gms.requests[-1].path.partition("?")[0].endswith("/erModelRelationship/batchGet")


@NEEDS_SCROLLING
def test_a_malformed_relationship_is_skipped(
    gms: Gms, graph: DataHubGraph, warn: Warn, warnings: Warnings
) -> None:
    columns = {"relationshipFieldMappings": [{"sourceField": [], "destinationField": "code"}]}
    entity = {"urn": URN, "erModelRelationshipProperties": {"value": {**MADE.to_obj(), **columns}}}
    gms.reply("entity/scroll", json.dumps({"entities": [entity]}))
    assert read_relationships(graph, written=[], hiders=(), warn=warn) == {}
    assert [title for title, _, _ in warnings] == ["Entities skipped"]
    assert warnings[0][2].startswith(f"{URN}: it cannot be parsed: ")


def test_entities_that_people_deleted_are_returned(warn: Warn, warnings: Warnings) -> None:
    assert find_deleted(["a", "b"], ["a", "c"], writes_arrived=False, warn=warn) == {"b"}
    assert find_deleted(["a"], [], writes_arrived=True, warn=warn) == {"a"}
    written = [f"join {number}" for number in range(20)]
    assert len(find_deleted(written, written[:5], writes_arrived=False, warn=warn)) == 15
    assert warnings == []


def test_a_lost_catalog_is_no_decision(warn: Warn, warnings: Warnings) -> None:
    written = [f"join {number}" for number in range(20)]
    assert find_deleted(written, written[:4], writes_arrived=True, warn=warn) == frozenset()
    ((title, message, context),) = warnings
    assert title == "Suggestions lost"
    assert "may be suggested again" in message
    assert context == "16 of 20"


def test_writes_that_have_not_arrived_are_no_decision(warn: Warn, warnings: Warnings) -> None:
    assert find_deleted(["a", "b"], [], writes_arrived=False, warn=warn) == frozenset()
    assert [context for _, _, context in warnings] == ["2 of 2"]
    assert find_deleted([], [], writes_arrived=False, warn=warn) == frozenset()
    assert len(warnings) == 1
