"""Read the addresses of the pages that DataHub's Preview tabs show."""

from collections.abc import Iterable

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import EmbedClass

from datahub_hyperjoin.catalog.entities import aspect_of, fetch


def read_embeds(graph: DataHubGraph, urns: Iterable[str]) -> dict[str, EmbedClass]:
    """Read the address of the page in each dataset's Preview tab."""
    entities = fetch(graph, "dataset", urns, [EmbedClass.ASPECT_NAME])
    embeds = {urn: aspect_of(aspects, EmbedClass) for urn, aspects in entities.items()}
    return {urn: embed for urn, embed in embeds.items() if embed is not None}
