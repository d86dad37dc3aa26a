"""Read the upstream lineage of datasets."""

from collections.abc import Iterable

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import UpstreamLineageClass

from datahub_hyperjoin.catalog.entities import aspect_of, fetch


def read_upstreams(graph: DataHubGraph, urns: Iterable[str]) -> dict[str, UpstreamLineageClass]:
    """Read the upstream lineage of the given datasets."""
    entities = fetch(graph, "dataset", urns, [UpstreamLineageClass.ASPECT_NAME])
    lineages = {urn: aspect_of(aspects, UpstreamLineageClass) for urn, aspects in entities.items()}
    return {urn: lineage for urn, lineage in lineages.items() if lineage is not None}
