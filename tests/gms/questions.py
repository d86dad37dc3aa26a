"""Resolve GraphQL queries."""

from collections.abc import Sequence
from typing import Any

from gms.documents import list_queries
from gms.search import Search, facet, find, page
from gms.store import ACTING
from gms.world import Json, Node, Resolver, World, enum_type

_BY_DEFAULT = ("dataset", "container", "dataFlow", "dataJob", "dashboard", "chart", "tag", "domain")
"""The entity types that a search without types covers; relationships and columns are not among
them."""

_FACETS = ("tags", "platform", "origin")
_PAGE = 10


def _entity(_: World, __: None, *, urn: str) -> Node:
    return Node(urn)


def _entities(
    world: World,
    _: None,
    *,
    urns: Sequence[str],
    checkForExistence: bool | None = None,  # noqa: N803 - GraphQL's name
) -> list[Node | None]:
    return [Node(it) if not checkForExistence or world.store.exists(it) else None for it in urns]


def _search(world: World, _: None, **arguments: Any) -> Json:  # noqa: ANN401 - given
    asked = arguments["input"]
    found = find(world.store, _read(world, asked))
    start, count = asked.get("start") or 0, _count(asked)
    shown = found[start : start + count]
    return {"start": start, **_results(world, asked, shown, found)}


def _scroll(world: World, _: None, **arguments: Any) -> Json:  # noqa: ANN401 - given
    asked = arguments["input"]
    found = find(world.store, _read(world, asked))
    shown, following = page(found, asked.get("scrollId"), _count(asked))
    return {"nextScrollId": following, **_results(world, asked, shown, found)}


def _count(asked: Json) -> int:
    return _PAGE if asked.get("count") is None else int(asked["count"])


def _results(world: World, asked: Json, shown: Sequence[str], found: Sequence[str]) -> Json:
    flags = asked.get("searchFlags") or {}
    return {
        "count": len(shown),
        "total": len(found),
        "searchResults": [{"entity": Node(urn), "extraProperties": []} for urn in shown],
        "facets": [] if flags.get("skipAggregates") else list(_facets(world, found)),
    }


def _facets(world: World, found: Sequence[str]) -> list[Json]:
    return [
        {
            "field": name,
            "aggregations": [
                {"value": value, "count": count} for value, count in facet(world.store, found, name)
            ],
        }
        for name in _FACETS
    ]


def _read(world: World, asked: Json) -> Search:
    names = {enum_type(it): it for it in world.registry.entities()}
    types = [names[it] for it in asked.get("types") or () if it in names]
    sort = asked.get("sortInput") or {}
    any_of = [it.get("and") or [] for it in asked.get("orFilters") or ()]
    criteria = sort.get("sortCriteria") or [it for it in [sort.get("sortCriterion")] if it]
    return Search(
        types or [it for it in _BY_DEFAULT if world.registry.knows(it)],
        asked["query"],
        _without_hidden_documents(any_of) if "document" in types else any_of,
        removed=bool((asked.get("searchFlags") or {}).get("includeSoftDeleted")),
        sort=[(it["field"], it["sortOrder"] == "DESCENDING") for it in criteria],
    )


def _without_hidden_documents(any_of: Sequence[Sequence[Json]]) -> list[list[Json]]:
    """Add the filters with which the server excludes hidden documents from every search."""
    hidden = [
        {"field": "state", "values": ["UNPUBLISHED"], "negated": True},
        {"field": "showInGlobalContext", "values": ["false"], "negated": True},
    ]
    return [[*rules, *hidden] for rules in any_of or [[]]]


QUESTIONS: dict[str, Resolver] = {
    "me": lambda *_: {"corpUser": Node(ACTING.get())},
    "entity": _entity,
    "entities": _entities,
    "dataset": _entity,
    "erModelRelationship": _entity,
    "structuredProperty": _entity,
    "listQueries": list_queries,
    "searchAcrossEntities": _search,
    "scrollAcrossEntities": _scroll,
}
