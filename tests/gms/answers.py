"""Resolve GraphQL fields of entities from their aspects."""

from collections.abc import Sequence
from typing import Any

from datahub.metadata.urns import DatasetUrn, SchemaFieldUrn, Urn
from datahub.utilities.urns.error import InvalidUrnError

from gms.documents import document_info, document_type, platform_of, related_documents
from gms.edges import edges
from gms.world import Json, Node, Resolver, World


def _aspect(name: str) -> Resolver:
    def resolve(world: World, node: Node) -> Json | None:
        return world.store.value(node.urn, name) or None

    return resolve


def _key(part: str) -> Resolver:
    return lambda _, node: getattr(Urn.from_string(node.urn), part)


def _tags(world: World, node: Node) -> Json | None:
    stored = world.store.get(node.urn, "globalTags")
    if stored is None:
        return None
    return {
        "tags": [
            {
                "tag": Node(it["tag"]),
                "associatedUrn": node.urn,
                "context": it.get("context"),
                "attribution": _attribution(it),
            }
            for it in stored.value["tags"]
        ]
    }


def _attribution(holder: Json) -> Json | None:
    value = holder.get("attribution")
    return value and {
        "time": value["time"],
        "actor": Node(value["actor"]),
        "source": Node(value["source"]) if value.get("source") else None,
        "sourceDetail": _pairs(value.get("sourceDetail") or {}),
    }


def _pairs(values: Json, urn: str = "") -> list[Json]:
    return [{"key": key, "value": value, "associatedUrn": urn} for key, value in values.items()]


def assigned(world: World, node: Node) -> Json | None:
    """Return the structured properties of an entity."""
    stored = world.store.get(node.urn, "structuredProperties")
    if stored is None:
        return None
    return {"properties": [_entry(world, node.urn, it) for it in stored.value["properties"]]}


def _entry(world: World, urn: str, assignment: Json) -> Json:
    texts = [it["string"] for it in assignment["values"] if "string" in it]
    return {
        "structuredProperty": Node(assignment["propertyUrn"]),
        "values": [
            {"numberValue": it["double"]} if "double" in it else {"stringValue": it["string"]}
            for it in assignment["values"]
        ],
        "valueEntities": [Node(it) for it in texts if _is_entity(world, it)],
        "associatedUrn": urn,
        "attribution": _attribution(assignment),
    }


def _is_entity(world: World, text: str) -> bool:
    try:
        return world.registry.knows(Urn.from_string(text).entity_type)
    except InvalidUrnError:
        return False


def _definition(world: World, node: Node) -> Json | None:
    value = world.store.value(node.urn, "propertyDefinition") or None
    return value and {
        **value,
        "valueType": Node(value["valueType"]),
        "entityTypes": [Node(it) for it in value["entityTypes"]],
    }


def _ownership(world: World, node: Node) -> Json | None:
    stored = world.store.get(node.urn, "ownership")
    if stored is None:
        return None
    return {
        "owners": [
            {"owner": Node(it["owner"]), "type": it["type"], "associatedUrn": node.urn}
            for it in stored.value["owners"]
        ]
    }


def _relationships(world: World, node: Node, **arguments: Any) -> Json:  # noqa: ANN401 - given
    asked = arguments["input"]
    incoming = asked["direction"] == "INCOMING"
    found = [
        (edge.kind, edge.source if incoming else edge.destination)
        for edge in edges(world.store, set(asked["types"]))
        if node.urn == (edge.destination if incoming else edge.source)
    ]
    if not asked["includeSoftDelete"]:
        found = [it for it in found if not world.store.value(it[1], "status").get("removed")]
    start = asked.get("start") or 0
    shown = found[start : start + (asked.get("count") or 100)]
    return {
        "start": start,
        "count": len(shown),
        "total": len(found),
        "relationships": [
            {"type": kind, "direction": asked["direction"], "entity": Node(urn)}
            for kind, urn in shown
        ],
    }


def _dataset_properties(world: World, node: Node) -> Json | None:
    value = world.store.value(node.urn, "datasetProperties")
    if not value:
        return None
    name = value.get("name") or DatasetUrn.from_string(node.urn).name
    return {
        **value,
        "name": name,
        "customProperties": _pairs(value.get("customProperties") or {}, node.urn),
    }


def _schema(world: World, node: Node, **_: Any) -> Json | None:  # noqa: ANN401 - given
    value = world.store.value(node.urn, "schemaMetadata") or None
    return value and {
        "name": value["schemaName"],
        "platformUrn": value["platform"],
        "version": value["version"],
        "hash": value["hash"],
        "primaryKeys": value.get("primaryKeys"),
        "fields": [
            {**it, "schemaFieldEntity": _column(node.urn, it["fieldPath"])}
            for it in value["fields"]
        ],
        "foreignKeys": [_foreign_key(it) for it in value.get("foreignKeys") or []],
    }


def _column(dataset: str, path: str) -> Node:
    return Node(SchemaFieldUrn(parent=dataset, field_path=path).urn())


def _foreign_key(value: Json) -> Json:
    return {
        "name": value["name"],
        "foreignFields": [Node(it) for it in value["foreignFields"]],
        "sourceFields": [Node(it) for it in value["sourceFields"]],
        "foreignDataset": Node(value["foreignDataset"]),
    }


def _profiles(world: World, node: Node, **asked: Any) -> list[Json]:  # noqa: ANN401 - given
    rules = (asked.get("filter") or {}).get("and", [])
    start, end = asked.get("startTimeMillis"), asked.get("endTimeMillis")
    found = [
        # DataHub's mapper does not map the partition, so GraphQL never returns it.
        {**stored.value, "partitionSpec": None}
        for stored in world.store.series(node.urn, "datasetProfile")
        if all(_reach(stored.value, it["field"]) in it["values"] for it in rules)
        and (start is None or start <= stored.value["timestampMillis"])
        and (end is None or stored.value["timestampMillis"] <= end)
    ]
    return found[: asked.get("limit")]


def _reach(value: Json, path: str) -> str:
    found: Any = value
    for step in path.split("."):
        found = found[step]
    return str(found)


def _lineage(world: World, node: Node) -> list[Json] | None:
    own = world.store.value(node.urn, "upstreamLineage").get("fineGrainedLineages")
    return own and [
        {
            **it,
            "upstreams": _references(it.get("upstreams") or []),
            "downstreams": _references(it.get("downstreams") or []),
        }
        for it in own
    ]


def _references(urns: Sequence[str]) -> list[Json]:
    return [{"urn": it, "path": SchemaFieldUrn.from_string(it).field_path} for it in urns]


def _relationship(world: World, node: Node) -> Json | None:
    value = world.store.value(node.urn, "erModelRelationshipProperties")
    if not value:
        return None
    created = value.get("created") or {}
    return {
        **value,
        "source": Node(value["source"]),
        "destination": Node(value["destination"]),
        "createdTime": created.get("time"),
        "createdActor": Node(created["actor"]) if created else None,
    }


def _query(world: World, node: Node) -> Json | None:
    value = world.store.value(node.urn, "queryProperties") or None
    return value and {
        **value,
        "customProperties": _pairs(value.get("customProperties") or {}, node.urn),
    }


def _subjects(world: World, node: Node) -> list[Json] | None:
    stored = world.store.get(node.urn, "querySubjects")
    if stored is None:
        return None
    return [_subject(it["entity"]) for it in stored.value["subjects"]]


def _subject(urn: str) -> Json:
    if Node(urn).entity == "schemaField":
        return {"dataset": Node(SchemaFieldUrn.from_string(urn).parent), "schemaField": Node(urn)}
    return {"dataset": Node(urn)}


def _exists(world: World, node: Node) -> bool:
    return world.store.exists(node.urn)


def _tag_name(world: World, node: Node) -> str:
    return world.store.value(node.urn, "tagProperties").get("name") or _last(world, node)


def _last(_: World, node: Node) -> str:
    return node.urn.split(":", 3)[3]


_COMMON: dict[str, Resolver] = {
    "status": _aspect("status"),
    "tags": _tags,
    "ownership": _ownership,
    "structuredProperties": assigned,
    "relationships": _relationships,
    "exists": _exists,
}

ANSWERS: dict[str, dict[str, Resolver]] = {
    "Dataset": {
        **_COMMON,
        "name": _key("name"),
        "origin": _key("env"),
        "platform": lambda _, node: Node(DatasetUrn.from_string(node.urn).platform),
        "properties": _dataset_properties,
        "schemaMetadata": _schema,
        "datasetProfiles": _profiles,
        "fineGrainedLineages": _lineage,
        "relatedDocuments": related_documents,
    },
    "SchemaFieldEntity": {
        **_COMMON,
        "fieldPath": _key("field_path"),
        "parent": lambda _, node: Node(SchemaFieldUrn.from_string(node.urn).parent),
    },
    "ERModelRelationship": {
        **_COMMON,
        "id": _key("id"),
        "properties": _relationship,
        "editableProperties": _aspect("editableERModelRelationshipProperties"),
    },
    "QueryEntity": {"properties": _query, "subjects": _subjects, "platform": platform_of},
    "Document": {
        **_COMMON,
        "info": document_info,
        "platform": platform_of,
        "settings": _aspect("documentSettings"),
        "subType": document_type,
    },
    "StructuredPropertyEntity": {"exists": _exists, "definition": _definition},
    "Tag": {
        "name": _tag_name,
        "description": lambda world, node: world.store.value(node.urn, "tagProperties").get(
            "description"
        ),
        "properties": _aspect("tagProperties"),
    },
    "CorpUser": {"username": _last},
    "CorpGroup": {"name": _last},
    "DataPlatform": {"name": _last},
}
"""Resolvers of the fields that are not simply a part of their parent object, by object type."""
