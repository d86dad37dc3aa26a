"""Answer GraphQL requests for DataHub's documents, and list documents and SQL queries."""

from collections.abc import Sequence
from typing import Any

from gms.search import Search, find
from gms.world import Json, Node, World

_PLATFORM = "urn:li:dataPlatform:datahub"
"""The platform of a document that names none."""

_PUBLISHED: Json = {"field": "state", "values": ["PUBLISHED"]}
_PAGE = 100


def document_info(world: World, node: Node) -> Json | None:
    """Return the title and the contents of a document."""
    value = world.store.value(node.urn, "documentInfo") or None
    return value and {
        **value,
        "created": _stamp(value["created"]),
        "lastModified": _stamp(value["lastModified"]),
        "relatedAssets": [{"asset": Node(it["asset"])} for it in value.get("relatedAssets") or ()],
        "relatedDocuments": None,
        "parentDocument": None,
    }


def _stamp(value: Json) -> Json:
    return {"time": value["time"], "actor": Node(value["actor"])}


def document_type(world: World, node: Node) -> str | None:
    """Return the first subtype of a document."""
    names = world.store.value(node.urn, "subTypes").get("typeNames") or [None]
    return names[0]


def platform_of(world: World, node: Node) -> Node | None:
    """Return the platform of a query or document."""
    default = _PLATFORM if node.entity == "document" else None
    own = world.store.value(node.urn, "dataPlatformInstance").get("platform") or default
    return Node(own) if own else None


def related_documents(world: World, node: Node, **arguments: Any) -> Json:  # noqa: ANN401 - given
    """List the published documents about an entity, including those hidden from search."""
    about = {"field": "relatedAssets", "values": [node.urn]}
    newest = ("lastModifiedAt", True)
    found = find(world.store, Search(["document"], "*", [[about, _PUBLISHED]], sort=[newest]))
    return _page("documents", found, arguments["input"])


def list_queries(world: World, _: None, **arguments: Any) -> Json:  # noqa: ANN401 - given
    """List the queries that pass all filters, the newest first."""
    asked = arguments["input"]
    own = [
        {"field": name, "values": [asked[key]]}
        for name, key in (("source", "source"), ("entities", "datasetUrn"))
        if asked.get(key)
    ]
    any_of = [[*(it.get("and") or ()), *own] for it in asked.get("orFilters") or [{}]]
    sort = [("createdAt", True)]
    found = find(world.store, Search(["query"], asked.get("query") or "*", any_of, sort=sort))
    return _page("queries", found, asked)


def _page(key: str, found: Sequence[str], asked: Json) -> Json:
    start = asked.get("start") or 0
    shown = found[start : start + (asked.get("count") or _PAGE)]
    return {
        "start": start,
        "count": len(shown),
        "total": len(found),
        key: [Node(urn) for urn in shown],
    }
