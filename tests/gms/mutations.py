"""Carry out GraphQL mutations by writing the same aspects as the server does."""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

from datahub.emitter.mce_builder import datahub_guid

from gms.answers import assigned
from gms.ingest import Proposal
from gms.refusals import Invalid, Refused
from gms.store import ACTING
from gms.world import Json, Node, Resolver, World

_RELATIONSHIP = "erModelRelationshipProperties"
_EDITABLE = "editableERModelRelationshipProperties"


def _now() -> int:
    return time.time_ns() // 1_000_000


def _stamp() -> Json:
    return {"time": _now(), "actor": ACTING.get()}


def _propose(world: World, urn: str, aspect: str, body: Any, change: str = "UPSERT") -> None:  # noqa: ANN401 - a proposal has as many parts
    system = {"runId": "no-run-id-provided", "lastObserved": _now()}
    system |= {"properties": {"appSource": "ui"}}
    world.ingestion.ingest([Proposal(urn, aspect, change, body, system, by="graphql")])


def _expect(world: World, urns: Iterable[str], what: str) -> None:
    for urn in urns:
        if not world.store.exists(urn):
            message = f"Failed to validate {what} with urn {urn}. Urn does not exist."
            raise Invalid(message)


def _add_tags(world: World, tags: Sequence[str], urns: Sequence[str]) -> bool:
    _expect(world, tags, "label")
    _expect(world, urns, "resource")
    for urn in urns:
        with world.store.lock:
            kept = world.store.value(urn, "globalTags").get("tags", [])
            there = {it["tag"] for it in kept}
            added = [{"tag": it} for it in tags if it not in there]
            _propose(world, urn, "globalTags", {"tags": [*kept, *added]})
    return True


def _remove_tags(world: World, tags: Sequence[str], urns: Sequence[str]) -> bool:
    _expect(world, urns, "resource")
    for urn in urns:
        with world.store.lock:
            before = world.store.value(urn, "globalTags").get("tags", [])
            kept = [it for it in before if it["tag"] not in tags]
            _propose(world, urn, "globalTags", {"tags": kept})
    return True


def _add_tag(world: World, _: None, **asked: Json) -> bool:
    return _add_tags(world, [asked["input"]["tagUrn"]], [asked["input"]["resourceUrn"]])


def _remove_tag(world: World, _: None, **asked: Json) -> bool:
    return _remove_tags(world, [asked["input"]["tagUrn"]], [asked["input"]["resourceUrn"]])


def _batch_add_tags(world: World, _: None, **asked: Json) -> bool:
    return _add_tags(world, asked["input"]["tagUrns"], _resources(asked["input"]))


def _batch_remove_tags(world: World, _: None, **asked: Json) -> bool:
    return _remove_tags(world, asked["input"]["tagUrns"], _resources(asked["input"]))


def _resources(asked: Json) -> list[str]:
    return [it["resourceUrn"] for it in asked["resources"]]


def _create_tag(world: World, _: None, **asked: Json) -> str:
    own = asked["input"]
    urn = f"urn:li:tag:{own.get('id') or datahub_guid({'name': own['name']})}"
    if world.store.exists(urn):
        message = "This Tag already exists!"
        raise Invalid(message)
    value = {"name": own["name"], "description": own.get("description")}
    _propose(world, urn, "tagProperties", value)
    return urn


def _add_owner(world: World, _: None, **asked: Json) -> bool:
    own = asked["input"]
    urn = own["resourceUrn"]
    _expect(world, [own["ownerUrn"]], "owner")
    _expect(world, [urn], "resource")
    owner = {"owner": own["ownerUrn"], "type": own.get("type") or "CUSTOM"}
    if own.get("ownershipTypeUrn"):
        owner["typeUrn"] = own["ownershipTypeUrn"]
    with world.store.lock:
        before = world.store.value(urn, "ownership").get("owners", [])
        kept = [it for it in before if it["owner"] != owner["owner"]]
        value = {"owners": [*kept, owner], "lastModified": _stamp()}
        _propose(world, urn, "ownership", value)
    return True


def _remove_owner(world: World, _: None, **asked: Json) -> bool:
    own = asked["input"]
    urn, kind = own["resourceUrn"], own.get("ownershipTypeUrn")
    _expect(world, [urn], "resource")
    with world.store.lock:
        before = world.store.value(urn, "ownership").get("owners", [])
        kept = [
            it
            for it in before
            if it["owner"] != own["ownerUrn"] or (kind and it.get("typeUrn") != kind)
        ]
        _propose(world, urn, "ownership", {"owners": kept, "lastModified": _stamp()})
    return True


def _soft_delete(world: World, _: None, **asked: Json) -> bool:
    urns, deleted = asked["input"]["urns"], asked["input"]["deleted"]
    _expect(world, urns, "entity")
    for urn in urns:
        value = {**world.store.value(urn, "status"), "removed": deleted}
        _propose(world, urn, "status", value)
    return True


def _create_relationship(world: World, _: None, **asked: Json) -> Node:
    own = asked["input"]["properties"]
    low, high = sorted((own["source"], own["destination"]))
    key = {"Destination": low, "ERModelRelationName": own["name"], "Source": high}
    urn = f"urn:li:erModelRelationship:{datahub_guid(key)}"
    _update_relationship(world, None, urn=urn, **asked)
    return Node(urn)


def _update_relationship(world: World, _: None, *, urn: str, **asked: Json) -> bool:
    own = asked["input"]
    if own.get("properties"):
        _propose(world, urn, _RELATIONSHIP, _rebuild(own["properties"]))
    if own.get("editableProperties"):
        given = own["editableProperties"]
        _propose(world, urn, _EDITABLE, {it: given[it] for it in given if given[it]})
    return True


def _rebuild(own: Json) -> Json:
    """Build an aspect from the input of a mutation.

    The parts for which the mutation has no input field are lost, as on the server.
    """
    value = {it: own[it] for it in ("name", "source", "destination")}
    mappings = own.get("relationshipFieldmappings")
    if mappings:
        value["relationshipFieldMappings"] = mappings
        value["cardinality"] = own.get("erModelRelationshipCardinality") or _guess(mappings)
    if own.get("created"):
        value["created"] = _stamp()
    elif own.get("createdBy") and own.get("createdAt"):
        value["created"] = {"time": own["createdAt"], "actor": own["createdBy"]}
    return {**value, "lastModified": _stamp()}


def _guess(mappings: Sequence[Json]) -> str:
    sides = ("sourceField", "destinationField")
    source, destination = (len({it[side] for it in mappings}) == len(mappings) for side in sides)
    return f"{'ONE' if source else 'N'}_{'ONE' if destination else 'N'}"


def _upsert_properties(world: World, _: None, **asked: Json) -> Json | None:
    urn = asked["input"]["assetUrn"]
    if not urn.startswith("urn:li:schemaField:"):
        _expect(world, [urn], "asset")
    stamp = _stamp()
    with world.store.lock:
        kept = {
            it["propertyUrn"]: it
            for it in world.store.value(urn, "structuredProperties").get("properties", [])
        }
        for sent in asked["input"]["structuredPropertyInputParams"]:
            name = sent["structuredPropertyUrn"]
            before = kept.get(name, {"propertyUrn": name, "created": stamp})
            values = [_value(it) for it in sent["values"]]
            kept[name] = {**before, "values": values, "lastModified": stamp, "attribution": None}
        _propose(world, urn, "structuredProperties", {"properties": list(kept.values())})
    return assigned(world, Node(urn))


def _value(sent: Json) -> Json:
    if sent.get("stringValue") is not None:
        return {"string": sent["stringValue"]}
    return {"double": sent["numberValue"]}


def _remove_properties(world: World, _: None, **asked: Json) -> Json | None:
    urn, gone = asked["input"]["assetUrn"], asked["input"]["structuredPropertyUrns"]
    _expect(world, [urn], "asset")
    with world.store.lock:
        before = world.store.value(urn, "structuredProperties").get("properties", [])
        kept = [it for it in before if it["propertyUrn"] not in gone]
        _propose(world, urn, "structuredProperties", {"properties": kept})
    return assigned(world, Node(urn))


def _update_query(world: World, _: None, *, urn: str, **asked: Json) -> Node:
    if world.store.get(urn, "querySubjects") is None:
        message = f"Failed to find query with urn {urn}"
        raise Invalid(message)
    sent = asked["input"].get("properties") or {}
    with world.store.lock:
        before = world.store.value(urn, "queryProperties")
        changed = {it: sent[it] for it in sent if sent[it] is not None}
        _propose(world, urn, "queryProperties", {**before, **changed, "lastModified": _stamp()})
    subjects = asked["input"].get("subjects")
    if subjects is not None:
        value = {"subjects": [{"entity": it["datasetUrn"]} for it in subjects]}
        _propose(world, urn, "querySubjects", value)
    return Node(urn)


def _delete_query(world: World, _: None, *, urn: str) -> bool:
    world.ingestion.delete(urn, "graphql")
    return True


def _patch(world: World, _: None, **asked: Json) -> Json:
    own = asked["input"]
    payload = {
        "patch": [
            {"op": it["op"].lower(), "path": it["path"], "value": _parse(it.get("value"))}
            for it in own["patch"]
        ],
        "arrayPrimaryKeys": {
            it["arrayField"]: it["keys"] for it in own.get("arrayPrimaryKeys") or []
        },
        "forceGenericPatch": bool(own.get("forceGenericPatch")),
    }
    try:
        _propose(world, own["urn"], own["aspectName"], payload, "PATCH")
    except Refused as refusal:
        error = f"Failed to apply patch: {refusal.message}"
        return {"urn": own["urn"], "success": False, "error": error}
    return {"urn": own["urn"], "success": True}


def _parse(text: str | None) -> Any:  # noqa: ANN401 - any JSON
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text


MUTATIONS: dict[str, Resolver] = {
    "createTag": _create_tag,
    "addTag": _add_tag,
    "removeTag": _remove_tag,
    "batchAddTags": _batch_add_tags,
    "batchRemoveTags": _batch_remove_tags,
    "addOwner": _add_owner,
    "removeOwner": _remove_owner,
    "batchUpdateSoftDeleted": _soft_delete,
    "createERModelRelationship": _create_relationship,
    "updateERModelRelationship": _update_relationship,
    "upsertStructuredProperties": _upsert_properties,
    "removeStructuredProperties": _remove_properties,
    "updateQuery": _update_query,
    "deleteQuery": _delete_query,
    "patchEntity": _patch,
}
"""The mutations that have an effect, by their names in the schema."""
