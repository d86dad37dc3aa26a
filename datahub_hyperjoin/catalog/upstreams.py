"""The lineage that datasets have already."""

from collections.abc import Iterable

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import UpstreamLineageClass

from datahub_hyperjoin.catalog.bulk import aspect_of, fetch


def read_upstreams(graph: DataHubGraph, urns: Iterable[str]) -> dict[str, UpstreamLineageClass]:
    """Reads what flows into some datasets.

    Args:
        graph: DataHub's server.
        urns: The datasets.

    Returns:
        The lineage of those that have any, by urn.
    """
    found = fetch(graph, "dataset", urns, [UpstreamLineageClass.ASPECT_NAME])
    read = {urn: aspect_of(aspects, UpstreamLineageClass) for urn, aspects in found.items()}
    return {urn: lineage for urn, lineage in read.items() if lineage is not None}
