"""Which layers a server has room for."""

from collections.abc import Iterator, Mapping

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.urns import ErModelRelationshipUrn, QueryUrn, StructuredPropertyUrn
from requests import HTTPError, RequestException

from datahub_hyperjoin.emit.config import EmitConfig

_Needs = Mapping[str, tuple[str, ...]]
"""The aspects of each entity."""

_NEEDS: Mapping[str, _Needs] = {
    "relationships": {
        "erModelRelationship": ("erModelRelationshipProperties", "globalTags", "status"),
        "tag": ("tagProperties",),
    },
    "properties": {
        "structuredProperty": ("propertyDefinition",),
        "schemaField": ("structuredProperties",),
        "dataset": ("structuredProperties",),
    },
    "queries": {"query": ("queryProperties", "querySubjects", "status")},
    "lineage": {"dataset": ("upstreamLineage",)},
}
"""What each layer writes."""

_EXAMPLES = {
    "erModelRelationship": ErModelRelationshipUrn("hyperjoin").urn(),
    "structuredProperty": StructuredPropertyUrn("hyperjoin").urn(),
    "query": QueryUrn("hyperjoin").urn(),
}
"""Urns that need not exist, of entities that a server may not know."""


def find_unsupported(graph: DataHubGraph, config: EmitConfig) -> dict[str, str]:
    """Asks a server whether it knows what is to be written.

    Args:
        graph: The server.
        config: Which layers are to be written.

    Returns:
        For each layer that it cannot take, what it lacks. A server that does not say is taken to
        know everything.
    """
    wanted = {layer: needs for layer, needs in _NEEDS.items() if getattr(config, layer)}
    registry = _read_registry(graph)
    found = {}
    for layer, needs in wanted.items():
        lacks = _ask(graph, needs) if registry is None else _look_up(registry, needs)
        if missing := ", ".join(lacks):
            found[layer] = missing
    return found


def _read_registry(graph: DataHubGraph) -> Mapping[str, set[str]] | None:
    """The aspects of each entity; the client knows how to read them since release 1.7."""
    read = getattr(graph, "get_entity_aspect_specs", None)
    specifications = read() if read else None
    return specifications.entity_aspects if specifications else None


def _look_up(registry: Mapping[str, set[str]], needs: _Needs) -> Iterator[str]:
    for entity, aspects in needs.items():
        if entity not in registry:
            yield f"the entity type {entity}"
            continue
        for aspect in aspects:
            if aspect not in registry[entity]:
                yield f"the aspect {aspect} of {entity}"


def _ask(graph: DataHubGraph, needs: _Needs) -> Iterator[str]:
    for entity, aspects in needs.items():
        if entity in _EXAMPLES and not _knows(graph, entity, aspects):
            yield f"the entity type {entity}"


def _knows(graph: DataHubGraph, entity: str, aspects: tuple[str, ...]) -> bool:
    try:
        graph.get_entities(entity, [_EXAMPLES[entity]], list(aspects))
    except HTTPError as error:
        text = error.response.text if error.response is not None else ""
        return f"entity with name {entity}".lower() not in text.lower()
    except (RequestException, ValueError):
        return True
    return True
