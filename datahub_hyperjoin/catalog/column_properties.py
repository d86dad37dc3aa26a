"""Read the structured properties of columns."""

from collections.abc import Iterable

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import StructuredPropertiesClass

from datahub_hyperjoin.catalog.entities import aspect_of, fetch


def read_column_properties(
    graph: DataHubGraph, urns: Iterable[str]
) -> dict[str, StructuredPropertiesClass]:
    """Read the structured properties of the given columns."""
    entities = fetch(graph, "schemaField", urns, [StructuredPropertiesClass.ASPECT_NAME])
    found = {
        urn: aspect_of(aspects, StructuredPropertiesClass) for urn, aspects in entities.items()
    }
    return {urn: properties for urn, properties in found.items() if properties}
