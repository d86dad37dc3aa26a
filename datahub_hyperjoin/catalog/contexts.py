"""Read the columns' instructions for AI agents."""

from collections.abc import Iterable

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.catalog.entities import fetch
from datahub_hyperjoin.metadata.urns import AI_CONTEXT


def read_contexts(graph: DataHubGraph, urns: Iterable[str]) -> dict[str, str]:
    """Read each column's instructions for AI agents."""
    entities = fetch(graph, "schemaField", urns, [AI_CONTEXT])
    found = {
        urn: aspects[AI_CONTEXT][0] for urn, aspects in entities.items() if AI_CONTEXT in aspects
    }
    # Clients before release 1.7 have no class for the aspect.
    texts = {urn: getattr(aspect, "instructions", None) for urn, aspect in found.items()}
    return {urn: text for urn, text in texts.items() if text}
