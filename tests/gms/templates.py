"""Convert arrays into nested objects, so that patches can address array elements by key."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

_STAMP = {"time": 0, "actor": "urn:li:corpuser:unknown"}
_SEPARATOR = "\N{SYMBOL FOR UNIT SEPARATOR}"


@dataclass(frozen=True)
class Template:
    """Rules for turning the arrays of one aspect into objects, and back."""

    default: Json
    arrays: Mapping[str, Sequence[str]] = field(default_factory=dict)
    open: Callable[[Json], Json] = dict
    close: Callable[[Json], Json] = dict


def key_of(element: Json, name: str) -> str:
    """Return the value of an array element's key field.

    In its name, unit separators mark steps into nested records.

    >>> key_of({"tag": "a"}, "attribution␟source"), key_of({"tag": "a"}, "tag")
    ('', 'a')
    """
    found: Any = element
    for step in name.split(_SEPARATOR):
        found = found.get(step) if isinstance(found, dict) else None
    return "" if found is None else str(found)


def to_map(elements: Sequence[Any], keys: Sequence[str]) -> Json:
    """Convert an array into nested objects, one level for each key field.

    >>> to_map([{"tag": "a", "context": "x"}], ["tag"])
    {'a': {'tag': 'a', 'context': 'x'}}
    >>> to_map(["a"], [])
    {'a': 'a'}
    """
    found: Json = {}
    for element in elements:
        if not keys:
            found[str(element)] = element
            continue
        level = found
        for key in keys:
            level = level.setdefault(key_of(element, key), {})
        level.update(element)
    return found


def to_list(level: Any, keys: Sequence[str], *, restore: bool) -> list[Any]:  # noqa: ANN401 - JSON
    """Convert nested objects back into an array.

    Args:
        level: The objects after a patch.
        keys: The keys of the levels.
        restore: Whether an element without a key receives it from its level.
    """
    if isinstance(level, list):
        return level
    return _collect(level, keys, restore=restore) if keys else list(level.values())


def _collect(level: Any, keys: Sequence[str], *, restore: bool) -> list[Any]:  # noqa: ANN401 - JSON
    if isinstance(level, list):
        return level
    if not keys:
        return [level]
    found = []
    for key, below in level.items():
        for element in _collect(below, keys[1:], restore=restore):
            if restore and key and _SEPARATOR not in keys[0] and isinstance(element, dict):
                element.setdefault(keys[0], key)
            found.append(element)
    return found


def _open_lineage(aspect: Json) -> Json:
    opened: Json = {}
    for edge in aspect.get("fineGrainedLineages") or []:
        downstreams = edge.get("downstreams") or []
        if len(downstreams) != 1:
            message = (
                "Patching not supported on fine grained lineages with not exactly one downstream"
            )
            raise ValueError(message)
        operation = edge.get("transformOperation") or "NONE"
        level = opened.setdefault(operation, {}).setdefault(downstreams[0], {})
        level = level.setdefault(edge.get("query") or "NONE", {})
        for upstream in edge.get("upstreams") or []:
            level[upstream] = {
                "confidenceScore": edge.get("confidenceScore", 1.0),
                "upstreamType": edge["upstreamType"],
                "downstreamType": edge["downstreamType"],
            }
    return {**aspect, "fineGrainedLineages": opened}


def _close_lineage(patched: Json) -> Json:
    opened = patched.get("fineGrainedLineages") or {}
    if isinstance(opened, list):
        return patched
    edges = [
        _edge(operation, downstream, query, upstreams)
        for operation, downstreams in opened.items()
        for downstream, queries in downstreams.items()
        for query, upstreams in queries.items()
        if upstreams
    ]
    return {**patched, "fineGrainedLineages": edges}


def _edge(operation: str, downstream: str, query: str, upstreams: dict[str, Json]) -> Json:
    edge: Json = {
        "downstreams": [downstream],
        "upstreams": list(upstreams),
        "upstreamType": "FIELD_SET",
        "downstreamType": "FIELD",
        "transformOperation": operation,
        # The server stores one confidence for all of them, the lowest.
        "confidenceScore": min(
            [1.0, *(it.get("confidenceScore", 1.0) for it in upstreams.values())]
        ),
    }
    for own in upstreams.values():
        edge |= {name: own[name] for name in ("upstreamType", "downstreamType") if name in own}
    return edge if query == "NONE" else {**edge, "query": query}


TEMPLATES = {
    "status": Template({"removed": False}),
    "globalTags": Template({"tags": []}, {"tags": ["tag"]}),
    "glossaryTerms": Template({"terms": [], "auditStamp": _STAMP}, {"terms": ["urn"]}),
    "ownership": Template({"owners": [], "lastModified": _STAMP}, {"owners": ["owner", "type"]}),
    "structuredProperties": Template({"properties": []}, {"properties": ["propertyUrn"]}),
    "datasetProperties": Template({"customProperties": {}, "tags": []}, {"tags": []}),
    "upstreamLineage": Template(
        {"upstreams": [], "fineGrainedLineages": []},
        {"upstreams": ["dataset"]},
        _open_lineage,
        _close_lineage,
    ),
}
"""Templates of the aspects whose patches need not name the key fields of arrays."""
