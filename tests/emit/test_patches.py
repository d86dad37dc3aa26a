from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import StructuredPropertyValueAssignmentClass

from datahub_hyperjoin.emit.patches import (
    assign_property,
    change_lineage,
    change_tags,
    edge_path,
    remove_properties,
    set_properties,
    upstream_path,
)

Describe = Callable[[MetadataWorkUnit], dict[str, Any]]
Elements = list[dict[str, Any]]

RELATIONSHIP = "urn:li:erModelRelationship:8c8a85652f4564c46b215358f2f9e935"
COLUMN = "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:file,flights,PROD),carrier)"
DATASET = "urn:li:dataset:(urn:li:dataPlatform:file,flights,PROD)"
ACCEPTED, HIGH, LOW = (f"urn:li:tag:join:{name}" for name in ("accepted", "high", "low"))
RETENTION, SCORE = "urn:li:structuredProperty:retention", "urn:li:structuredProperty:a/b~score"


def applied(present: Elements, value: dict[str, Any]) -> Elements:
    """Apply a patch to array elements as the server does, and return the resulting elements.

    The patch addresses the elements by their keys.
    """
    ((field, keys),) = value["arrayPrimaryKeys"].items()
    filed: dict[tuple[str, ...], dict[str, Any]] = {}
    for element in present:
        found: list[Any] = [element] * len(keys)
        for place, key in enumerate(keys):
            for step in key.split("\N{SYMBOL FOR UNIT SEPARATOR}"):
                found[place] = (found[place] or {}).get(step)
        filed[tuple(one or "" for one in found)] = element
    for change in value["patch"]:
        _, top, *path = change["path"].split("/")
        assert (top, len(path)) == (field, len(keys))
        place_ = tuple(step.replace("~1", "/").replace("~0", "~") for step in path)
        filed.pop(place_, None)
        if change["op"] == "add":
            filed[place_] = change["value"]
    return list(filed.values())


def test_tags_of_people_and_of_other_programs_stay(describe: Describe) -> None:
    attributed = {"tag": ACCEPTED, "attribution": {"source": "urn:li:dataHubAction:review"}}
    present: Elements = [{"tag": ACCEPTED}, attributed, {"tag": LOW}]
    patch = describe(change_tags(RELATIONSHIP, {HIGH: "0.93"}, stale=[LOW]))["value"]
    assert applied(present, patch) == [
        {"tag": ACCEPTED},
        attributed,
        {"tag": HIGH, "context": "0.93"},
    ]


def test_a_tag_set_twice_is_there_once(describe: Describe) -> None:
    patch = describe(change_tags(RELATIONSHIP, {HIGH: "0.93"}, stale=[LOW]))["value"]
    assert applied(applied([], patch), patch) == [{"tag": HIGH, "context": "0.93"}]


def test_properties_of_others_stay_and_ours_are_replaced(describe: Describe) -> None:
    theirs = {"propertyUrn": RETENTION, "values": [{"double": 30.0}]}
    ours = {"propertyUrn": SCORE, "values": [{"double": 0.1}]}
    patch = describe(set_properties(COLUMN, {SCORE: [0.93]}))["value"]
    assert applied([theirs, ours], patch) == [theirs, ours | {"values": [{"double": 0.93}]}]


def test_values_have_the_form_of_datahubs_own_classes(describe: Describe) -> None:
    values: dict[str, Sequence[str] | Sequence[float]] = {SCORE: [0.93, 1.0], RETENTION: ["a", ""]}
    ours = describe(set_properties(COLUMN, values))["value"]["patch"]
    theirs = [
        describe(assign_property(COLUMN, assigned))["value"]["patch"]
        for key, own in values.items()
        for assigned in [StructuredPropertyValueAssignmentClass(propertyUrn=key, values=[*own])]
    ]
    assert ours == [*chain(*theirs)]


def test_only_the_properties_named_are_removed(describe: Describe) -> None:
    theirs = {"propertyUrn": RETENTION, "values": [{"double": 30.0}]}
    ours = {"propertyUrn": SCORE, "values": [{"double": 0.1}]}
    patch = describe(remove_properties(COLUMN, [SCORE]))["value"]
    assert applied([theirs, ours], patch) == [theirs]


def test_lineage_is_changed_in_the_form_of_the_server(describe: Describe) -> None:
    changes = [
        {"op": "add", "path": edge_path(COLUMN, COLUMN), "value": {"confidenceScore": 0.9}},
        {"op": "remove", "path": upstream_path(DATASET), "value": {}},
    ]
    one = describe(change_lineage(DATASET, changes))
    assert (one["entity"], one["aspect"]) == ("dataset", "upstreamLineage")
    assert one["value"] == changes


def test_no_path_ends_in_nothing(describe: Describe) -> None:
    # Older servers refuse such a path on an entity that has no such aspect yet.
    units = [
        change_tags(RELATIONSHIP, {HIGH: "0.93"}, stale=[LOW]),
        set_properties(COLUMN, {SCORE: [0.9]}),
        remove_properties(COLUMN, [SCORE]),
    ]
    changes = [change for unit in units for change in describe(unit)["value"]["patch"]]
    assert not any(change["path"].endswith("/") for change in changes)


def test_a_patch_is_of_the_entity_and_not_ours_to_delete(describe: Describe) -> None:
    unit = set_properties(COLUMN, {SCORE: [0.9]})
    assert describe(unit)["entity"] == "schemaField"
    assert not unit.is_primary_source
