"""Search entities by the fields of DataHub's search index."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from datahub.metadata.urns import Urn

from gms.refusals import Malformed
from gms.store import Store
from gms.world import enum_type

Json = dict[str, Any]
Values = Sequence[str | float]
Conjunction = Sequence[Json]

_PROPERTY = "structuredProperties."


@dataclass(frozen=True)
class Search:
    """A search request."""

    types: Sequence[str]
    query: str = "*"
    any_of: Sequence[Conjunction] = ()
    removed: bool = False
    """Whether soft-deleted entities are found too."""
    sort: Sequence[tuple[str, bool]] = field(default_factory=tuple)
    """Names of the fields to sort by, each with whether its greatest value comes first."""


def find(store: Store, search: Search) -> list[str]:
    """Return the URNs of all matching entities, sorted by the request's fields or by URN."""
    fields = {rule["field"].removesuffix(".keyword") for each in search.any_of for rule in each}
    for field_name in fields:
        _expect_property(store, field_name)
    hide = not (search.removed or "removed" in fields)
    found = [
        urn
        for entity in search.types
        for urn in store.urns(entity)
        if not (hide and _is_removed(store, urn))
        and (search.query in ("*", "") or _mentions(store, urn, search.query))
        and matches(store, urn, search.any_of)
    ]
    for name, descending in reversed(search.sort):
        with_it = [urn for urn in found if _values(store, urn, name)]
        without = [urn for urn in found if not _values(store, urn, name)]
        with_it.sort(key=lambda urn: _values(store, urn, name)[0], reverse=descending)
        found = with_it + without
    return found


def matches(store: Store, urn: str, any_of: Sequence[Conjunction]) -> bool:
    """Return whether an entity passes all filters of at least one conjunction.

    Without conjunctions, every entity passes.
    """
    return not any_of or any(
        all(_passes(store, urn, rule) != bool(rule.get("negated")) for rule in rules)
        for rules in any_of
    )


def page(
    urns: Sequence[str], scroll_id: str | None, count: int
) -> tuple[Sequence[str], str | None]:
    """Return one page of URNs, and the start of the next page or None."""
    start = int(scroll_id or 0)
    end = start + count
    return urns[start:end], str(end) if end < len(urns) else None


def facet(store: Store, urns: Iterable[str], name: str) -> list[tuple[str, int]]:
    """Count the entities for each value of a field, and sort by frequency."""
    counts: dict[str, int] = {}
    for urn in urns:
        for value in _values(store, urn, name):
            counts[str(value)] = counts.get(str(value), 0) + 1
    return sorted(counts.items(), key=lambda it: (-it[1], it[0]))


def _passes(store: Store, urn: str, rule: Json) -> bool:
    found = _values(store, urn, rule["field"])
    wanted = rule.get("values") or ([rule["value"]] if rule.get("value") else [])
    condition = rule.get("condition") or "EQUAL"
    if condition == "EXISTS":
        return bool(found)
    if condition not in _CONDITIONS:
        message = f"the double has no condition {condition}"
        raise Malformed(message)
    return any(_CONDITIONS[condition](one, other) for one in found for other in wanted)


def _expect_property(store: Store, name: str) -> None:
    """Reject a filter on a soft-deleted structured property.

    A filter on an unknown property matches nothing, and is no error.
    """
    urn = f"urn:li:structuredProperty:{name.removeprefix(_PROPERTY)}"
    if name.startswith(_PROPERTY) and _is_removed(store, urn):
        message = f"Cannot filter on deleted Structured Property [{urn}]"
        raise Malformed(message)


def _equal(found: str | float, wanted: str) -> bool:
    return found == float(wanted) if isinstance(found, float) else found == wanted


_CONDITIONS: dict[str, Callable[[Any, str], bool]] = {
    "EQUAL": _equal,
    "IN": _equal,
    "IEQUAL": lambda found, wanted: str(found).lower() == wanted.lower(),
    "CONTAIN": lambda found, wanted: wanted in str(found),
    "START_WITH": lambda found, wanted: str(found).startswith(wanted),
    "END_WITH": lambda found, wanted: str(found).endswith(wanted),
    "GREATER_THAN": lambda found, wanted: type(found)(wanted) < found,
    "GREATER_THAN_OR_EQUAL_TO": lambda found, wanted: type(found)(wanted) <= found,
    "LESS_THAN": lambda found, wanted: type(found)(wanted) > found,
    "LESS_THAN_OR_EQUAL_TO": lambda found, wanted: type(found)(wanted) >= found,
}


def _mentions(store: Store, urn: str, query: str) -> bool:
    """Return whether the URN, names and description together contain every word of the query."""
    text = " ".join(
        str(it)
        for name in ("urn", "name", "title", "description")
        for it in _values(store, urn, name)
    )
    return all(word.strip('"*').lower() in text.lower() for word in query.split())


def _is_removed(store: Store, urn: str) -> bool:
    return bool(store.value(urn, "status").get("removed"))


def _values(store: Store, urn: str, name: str) -> Values:
    plain = name.removesuffix(".keyword")
    if plain.startswith(_PROPERTY):
        return _property(store, urn, plain.removeprefix(_PROPERTY))
    if plain not in _FIELDS:
        message = f"the double does not index the field {name}"
        raise Malformed(message)
    return _FIELDS[plain](store, urn)


def _property(store: Store, urn: str, name: str) -> Values:
    return [
        value["double"] if "double" in value else value["string"]
        for assigned in store.value(urn, "structuredProperties").get("properties", ())
        if assigned["propertyUrn"] == f"urn:li:structuredProperty:{name}"
        for value in assigned["values"]
    ]


def _of_key(part: str) -> Callable[[Store, str], Values]:
    def read(_: Store, urn: str) -> Values:
        parsed = Urn.from_string(urn)
        return [str(getattr(parsed, part))] if parsed.entity_type == "dataset" else []

    return read


def _of(name: str, *aspects: str) -> Callable[[Store, str], Values]:
    def read(store: Store, urn: str) -> Values:
        found = (store.value(urn, aspect).get(name) for aspect in aspects)
        return [str(it) for it in found if it is not None]

    return read


def _each(aspect: str, array: str, name: str) -> Callable[[Store, str], Values]:
    return lambda store, urn: [it[name] for it in store.value(urn, aspect).get(array) or ()]


def _custom(store: Store, urn: str) -> Values:
    holders = ("datasetProperties", "erModelRelationshipProperties", "queryProperties")
    bags = (store.value(urn, aspect).get("customProperties") or {} for aspect in holders)
    return [f"{key}={value}" for bag in bags for key, value in bag.items()]


def _state(store: Store, urn: str) -> Values:
    status = store.value(urn, "documentInfo").get("status")
    return [str(status["state"])] if status else []


def _shown(store: Store, urn: str) -> Values:
    settings = store.value(urn, "documentSettings")
    return [str(settings["showInGlobalContext"]).lower()] if settings else []


def _time(stamp: str) -> Callable[[Store, str], Values]:
    def read(store: Store, urn: str) -> Values:
        stamps = (store.value(urn, it).get(stamp) for it in ("queryProperties", "documentInfo"))
        return [float(it["time"]) for it in stamps if it]

    return read


def _removed(store: Store, urn: str) -> Values:
    status = store.value(urn, "status")
    return [str(status["removed"]).lower()] if status else []


def _lowercased(store: Store, urn: str) -> Values:
    return [] if urn == urn.lower() or not store.exists(urn) else [urn.lower()]


_RELATIONSHIP = "erModelRelationshipProperties"
_FIELDS: dict[str, Callable[[Store, str], Values]] = {
    "urn": lambda _, urn: [urn],
    "_entityType": lambda _, urn: [enum_type(Urn.from_string(urn).entity_type)],
    "removed": _removed,
    "platform": _of_key("platform"),
    "origin": _of_key("env"),
    "env": lambda _, __: [],
    "platformInstance": _of("instance", "dataPlatformInstance"),
    "lowercasedUrn": _lowercased,
    "name": _of("name", "datasetProperties", _RELATIONSHIP, "queryProperties", "tagProperties"),
    "title": _of("title", "documentInfo"),
    "description": _of("description", "datasetProperties", "queryProperties", "tagProperties"),
    "source": _of("source", _RELATIONSHIP, "queryProperties"),
    "destination": _of("destination", _RELATIONSHIP),
    "statement": lambda store, urn: [
        it["value"] for it in [store.value(urn, "queryProperties").get("statement")] if it
    ],
    "entities": _each("querySubjects", "subjects", "entity"),
    "createdAt": _time("created"),
    "lastModifiedAt": _time("lastModified"),
    "state": _state,
    "showInGlobalContext": _shown,
    "relatedAssets": _each("documentInfo", "relatedAssets", "asset"),
    "tags": _each("globalTags", "tags", "tag"),
    "glossaryTerms": _each("glossaryTerms", "terms", "urn"),
    "owners": _each("ownership", "owners", "owner"),
    "customProperties": _custom,
    "qualifiedName": _of("qualifiedName", "propertyDefinition"),
    "semanticModel": _of("semanticModel", "semanticModelProperties"),
    "jobId": _of("jobId", "dataJobKey"),
}
