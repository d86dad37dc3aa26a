"""Serve the OpenAPI interface, the newer of the server's two REST interfaces."""

import zlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from gms.edges import Edge, edges
from gms.ingest import Ingestion, Proposal
from gms.registry import Registry
from gms.routes import Call, Routes
from gms.search import Search, find, matches, page
from gms.store import Store, Stored

Json = dict[str, Any]


class OpenApi:
    """The OpenAPI endpoints that DataHub's client uses."""

    def __init__(self, store: Store, registry: Registry, ingestion: Ingestion) -> None:
        self._store, self._registry, self._ingestion = store, registry, ingestion

    def mount(self, routes: Routes, *, relationships: bool) -> None:
        """Add the routes of all endpoints.

        Args:
            routes: Receives the routes.
            relationships: Whether the server has the endpoint that scrolls relationships.
        """
        entity = "/openapi/v3/entity"
        routes.add("POST", f"{entity}/scroll", self._scroll)
        routes.add("GET", rf"{entity}/(\w+)", self._list)
        routes.add("POST", rf"{entity}/(\w+)", self._write)
        routes.add("PATCH", rf"{entity}/(\w+)", self._patch)
        routes.add("POST", rf"{entity}/(\w+)/batchGet", self._get_batch)
        routes.add("GET", rf"{entity}/(\w+)/([^/?]+)", self._get)
        routes.add("DELETE", rf"{entity}/(\w+)/([^/?]+)", self._delete)
        routes.add("DELETE", rf"{entity}/(\w+)/([^/?]+)/(\w+)", self._delete_aspect)
        routes.add("GET", "/openapi/v1/registry/models/entity/specifications", self._specify)
        routes.add("GET", "/openapi/relationships/v1/?", self._relate)
        if relationships:
            routes.add("POST", "/openapi/v3/relationship/scroll", self._scroll_edges)

    def _write(self, call: Call) -> list[Json]:
        # The client sends every kind of change to this endpoint as an UPSERT.
        return self._take(call, "UPSERT")

    def _patch(self, call: Call) -> list[Json]:
        return self._take(call, "PATCH")

    def _take(self, call: Call, change: str) -> list[Json]:
        proposals = [
            Proposal(
                urn=entity["urn"],
                aspect=aspect,
                change=change,
                body=sent["value"],
                system=sent.get("systemMetadata") or {},
                headers=sent.get("headers") or {},
            )
            for entity in call.body
            for aspect, sent in entity.items()
            if aspect != "urn"
        ]
        self._ingestion.ingest(proposals, later=call.flag("async"))
        return [{"urn": it.urn, it.aspect: {"value": it.body}} for it in proposals]

    def _get(self, call: Call) -> Json:
        wanted = [it for name in ("aspects", "aspectNames") for it in call.query.get(name, [])]
        return self._show(unquote(call.path[1]), wanted, system=call.flag("systemMetadata"))

    def _get_batch(self, call: Call) -> list[Json]:
        system = call.flag("systemMetadata")
        shown = [
            self._show(asked["urn"], [it for it in asked if it != "urn"], system=system)
            for asked in call.body
        ]
        return [it for it in shown if len(it) > 1]

    def _delete(self, call: Call) -> Json:
        self._ingestion.delete(unquote(call.path[1]), "ingestion")
        return {}

    def _delete_aspect(self, call: Call) -> Json:
        _, urn, aspect = call.path
        self._ingestion.ingest([Proposal(unquote(urn), aspect, "DELETE", None, {}, {})])
        return {}

    def _show(self, urn: str, wanted: Sequence[str], *, system: bool) -> Json:
        self._registry.expect_readable(urn.split(":")[2])
        found = self._store.aspects(urn)
        names = [it for it in wanted or found if it in found]
        return {"urn": urn, **{it: _aspect(found[it], system=system) for it in names}}

    def _list(self, call: Call) -> Json:
        wanted = [it for name in ("aspects", "aspectNames") for it in call.query.get(name, [])]
        return self._answer(call, Search([call.path[0]], call.one("query", "*")), wanted)

    def _scroll(self, call: Call) -> Json:
        types = call.body.get("entities") or self._registry.entities()
        sort = [
            (it["field"], it.get("order") == "DESCENDING")
            for it in call.body.get("sortCriteria") or []
        ]
        search = Search(
            types,
            call.one("query", "*"),
            [it["criteria"] for it in (call.body.get("filter") or {}).get("and", [])],
            removed=call.flag("includeSoftDelete"),
            sort=sort,
        )
        return self._answer(call, search, call.body.get("aspects"))

    def _answer(self, call: Call, search: Search, wanted: Sequence[str] | None) -> Json:
        for entity in search.types:
            self._registry.expect_readable(entity)
        found = find(self._store, search)
        if call.one("sliceMax"):
            slices, own = int(call.one("sliceMax")), int(call.one("sliceId"))
            found = [urn for urn in found if zlib.crc32(urn.encode()) % slices == own]
        urns, following = page(found, call.one("scrollId"), int(call.one("count", "10")))
        system = call.flag("systemMetadata")
        if wanted is None:
            entities: list[Json] = [{"urn": urn} for urn in urns]
        else:
            shown = (self._show(urn, wanted, system=system) for urn in urns)
            entities = [it for it in shown if len(it) > 1]
        answer: Json = {"entities": entities, "totalCount": len(found), "facets": []}
        return {**answer, "scrollId": following} if following else answer

    def _specify(self, call: Call) -> Json:
        start, count = int(call.one("start", "0")), int(call.one("count", "5"))
        every = self._registry.specifications()
        elements = every[start : start + count]
        return {"elements": elements, "start": start, "count": len(elements), "total": len(every)}

    def _relate(self, call: Call) -> Json:
        urn, start = call.one("urn"), int(call.one("start", "0"))
        incoming = call.one("direction") == "INCOMING"
        found = [
            {"urn": edge.source if incoming else edge.destination, "relationshipType": edge.kind}
            for edge in edges(self._store, set(call.query.get("relationshipTypes", [])))
            if urn == (edge.destination if incoming else edge.source)
        ]
        shown = found[start : start + int(call.one("count", "200"))]
        return {"start": start, "count": len(shown), "total": len(found), "entities": shown}

    def _scroll_edges(self, call: Call) -> Json:
        every = [
            edge
            for edge in edges(self._store, set(call.query.get("relationshipTypes", [])))
            if self._fits(edge.source, call, "source")
            and self._fits(edge.destination, call, "destination")
        ]
        start, count = int(call.one("scrollId", "0")), int(call.one("count", "10"))
        shown = every[start : start + count]
        answer: Json = {"results": [_edge(it) for it in shown]}
        more = start + count < len(every)
        return {**answer, "scrollId": str(start + count)} if more else answer

    def _fits(self, urn: str, call: Call, side: str) -> bool:
        types = call.query.get(f"{side}Types")
        sent = call.body.get(f"{side}Filter") or {}
        any_of = [it["criteria"] for it in sent.get("and", [])]
        return (not types or self._registry.expect(urn) in types) and (
            matches(self._store, urn, any_of)
        )


def _aspect(stored: Stored, *, system: bool) -> Json:
    if not system:
        return {"value": stored.value}
    modified = {"time": stored.system.get("lastObserved", 0), "actor": stored.actor}
    return {"value": stored.value, "systemMetadata": {**stored.system, "aspectModified": modified}}


def _edge(edge: Edge) -> Json:
    return {
        "relationshipType": edge.kind,
        "source": {"urn": edge.source, "entityType": edge.source.split(":")[2]},
        "destination": {"urn": edge.destination, "entityType": edge.destination.split(":")[2]},
    }
