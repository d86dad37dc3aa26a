"""Find the kinds of metadata that the DataHub server does not support."""

from collections.abc import Iterator, Mapping

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import ASPECT_NAME_MAP
from datahub.metadata.urns import (
    DocumentUrn,
    ErModelRelationshipUrn,
    QueryUrn,
    StructuredPropertyUrn,
)
from requests import HTTPError, RequestException

from datahub_hyperjoin.client_errors import is_unknown_entity
from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.metadata.urns import AI_CONTEXT

_Needs = Mapping[str, tuple[str, ...]]
"""Names of aspects, by entity type."""

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
    "documents": {"document": ("documentInfo", "documentSettings", "status")},
    "ai_context": {"schemaField": (AI_CONTEXT,)},
    "glossary_terms": {
        "glossaryNode": ("glossaryNodeInfo",),
        "glossaryTerm": ("glossaryTermInfo", "status"),
        "schemaField": ("glossaryTerms",),
    },
    "lineage": {"dataset": ("upstreamLineage",)},
}
"""For each kind of metadata, the entity types and aspects that writing it needs."""

_EXAMPLES = {
    "erModelRelationship": ErModelRelationshipUrn("hyperjoin").urn(),
    "structuredProperty": StructuredPropertyUrn("hyperjoin").urn(),
    "query": QueryUrn("hyperjoin").urn(),
    "document": DocumentUrn("hyperjoin").urn(),
}
"""A URN of each entity type that a server may not know; the entities need not exist."""


def find_unsupported(graph: DataHubGraph, config: EmitConfig) -> dict[str, str]:
    """Find the enabled kinds of metadata that the DataHub server does not support.

    Args:
        graph: DataHub's server.
        config: The layers to write.

    Returns:
        For each unsupported layer, the entity types and aspects that the server lacks. A server
        that cannot be asked counts as one that supports every layer.
    """
    wanted = {layer: needs for layer, needs in _NEEDS.items() if getattr(config, layer)}
    registry = _read_registry(graph)
    unsupported = {}
    for layer, needs in wanted.items():
        lacks = _ask(graph, needs) if registry is None else _look_up(registry, needs)
        if missing := ", ".join(lacks):
            unsupported[layer] = missing
    return unsupported


def _read_registry(graph: DataHubGraph) -> Mapping[str, set[str]] | None:
    """Return the aspects that the server supports, by entity type; None if unknown.

    Clients of DataHub before version 1.7 cannot read these aspects.
    """
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
    # Without a registry only missing entity types can be found: the server names them in an error.
    for entity, aspects in needs.items():
        if AI_CONTEXT in aspects and not _knows_contexts(graph):
            yield f"the aspect {AI_CONTEXT} of {entity}"
        if entity in _EXAMPLES and not _knows(graph, entity, aspects):
            yield f"the entity type {entity}"


def _knows_contexts(graph: DataHubGraph) -> bool:
    """Return whether both the DataHub client and the server support the aspect `aiContext`.

    It holds instructions for AI agents. A client without it cannot tell whose instructions a
    column has.
    """
    return AI_CONTEXT in ASPECT_NAME_MAP and graph.server_config.is_version_at_least(1, 7, 0)


def _knows(graph: DataHubGraph, entity: str, aspects: tuple[str, ...]) -> bool:
    try:
        graph.get_entities(entity, [_EXAMPLES[entity]], list(aspects))
    except HTTPError as error:
        return not is_unknown_entity(entity, error)
    except (RequestException, ValueError):
        return True
    return True
