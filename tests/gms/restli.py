"""Serve the Rest.li interface, the older of the server's two REST interfaces."""

import json
import re
from typing import Any
from urllib.parse import unquote

from gms.ingest import Ingestion, Proposal
from gms.refusals import Refused
from gms.registry import Registry, is_series, java_name
from gms.routes import Call, Routes
from gms.store import Store, Stored

Json = dict[str, Any]


class Restli:
    """The Rest.li endpoints that DataHub's client still uses."""

    def __init__(self, store: Store, registry: Registry, ingestion: Ingestion) -> None:
        self._store, self._registry, self._ingestion = store, registry, ingestion

    def mount(self, routes: Routes) -> None:
        """Add the routes of all endpoints."""
        routes.add("POST", r"/aspects\?action=ingestProposal", self._ingest)
        routes.add("POST", r"/aspects\?action=ingestProposalBatch", self._ingest_batch)
        routes.add("POST", r"/aspects\?action=getTimeseriesAspectValues", self._get_series)
        routes.add("GET", r"/aspects/([^/?]+)", self._get_aspect)
        routes.add("GET", r"/entitiesV2/([^/?]+)", self._get_entity)
        routes.add("POST", r"/entities\?action=delete", self._delete)

    def _ingest(self, call: Call) -> Json:
        return self._take([call.body["proposal"]], call.body.get("async"))

    def _ingest_batch(self, call: Call) -> Json:
        return self._take(call.body["proposals"], call.body.get("async"))

    def _take(self, sent: list[Json], later: str | None) -> Json:
        self._ingestion.ingest([_read(it) for it in sent], later=later == "true")
        return {"value": "success"}

    def _get_aspect(self, call: Call) -> Json:
        urn, aspect = unquote(call.path[0]), call.one("aspect")
        self._registry.expect_aspect(self._registry.expect(urn), aspect)
        stored = self._store.get(urn, aspect)
        if stored is None:
            message = f"Did not find urn: {urn} aspect: {aspect} version: 0"
            raise Refused(404, message)
        return {"version": 0, "aspect": {java_name(aspect): stored.value}}

    def _get_entity(self, call: Call) -> Json:
        urn = unquote(call.path[0])
        entity = self._registry.expect(urn)
        listed = re.fullmatch(r"List\((.*)\)", call.one("aspects"))
        wanted = set(listed[1].split(",")) if listed else set(self._registry.aspects(entity))
        name, key = self._registry.key(urn)
        # The server returns a key aspect even for an entity that does not exist.
        found = {name: Stored(key, {}), **self._store.aspects(urn)}
        return {
            "urn": urn,
            "entityName": entity,
            "aspects": {
                aspect: _envelope(aspect, stored)
                for aspect, stored in found.items()
                if (aspect in wanted or aspect == name) and not is_series(aspect)
            },
        }

    def _get_series(self, call: Call) -> Json:
        urn, aspect = call.body["urn"], call.body["aspect"]
        self._registry.expect_aspect(self._registry.expect(urn), aspect)
        rules = [it["and"] for it in (call.body.get("filter") or {}).get("or", [])]
        values = [
            stored
            for stored in self._store.series(urn, aspect)
            if _in_time(stored, call.body) and (not rules or any(_fits(stored, it) for it in rules))
        ]
        return {
            "value": {
                "entityName": call.body["entity"],
                "aspectName": aspect,
                "values": [_series_value(it) for it in values[: call.body.get("limit", 10_000)]],
            }
        }

    def _delete(self, call: Call) -> Json:
        rows, series = self._ingestion.delete(call.body["urn"], "ingestion")
        return {"value": {"urn": call.body["urn"], "rows": rows, "timeseriesRows": series}}


def _read(sent: Json) -> Proposal:
    aspect = sent.get("aspect")
    return Proposal(
        urn=sent["entityUrn"],
        aspect=sent["aspectName"],
        change=sent["changeType"],
        body=json.loads(aspect["value"]) if aspect else None,
        system=sent.get("systemMetadata") or {},
        headers=sent.get("headers") or {},
    )


def _envelope(aspect: str, stored: Stored) -> Json:
    return {
        "name": aspect,
        "type": "VERSIONED",
        "version": 0,
        "value": stored.value,
        "systemMetadata": stored.system,
        "created": {"time": stored.system.get("lastObserved", 0), "actor": stored.actor},
    }


def _series_value(stored: Stored) -> Json:
    aspect = {"value": json.dumps(stored.value), "contentType": "application/json"}
    return {"aspect": aspect, "systemMetadata": stored.system}


def _in_time(stored: Stored, asked: Json) -> bool:
    time = stored.value["timestampMillis"]
    start, end = asked.get("startTimeMillis"), asked.get("endTimeMillis")
    return (start is None or start <= time) and (end is None or time <= end)


def _fits(stored: Stored, rules: list[Json]) -> bool:
    return all(str(stored.value.get(rule["field"])) in rule["values"] for rule in rules)
