"""Find tables that disappeared since the last run, although their datasets are not soft-deleted."""

from collections.abc import Collection

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import StatusClass

from datahub_hyperjoin.catalog.entities import aspect_of, fetch
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.wording import name_some


def find_absent(
    graph: DataHubGraph, missing: Collection[TableId], warn: Warn
) -> frozenset[TableId]:
    """Warn about missing tables whose datasets are not soft-deleted, and return these tables.

    A missing table belonged to the last run, but does not belong to this one. A folder that is not
    mounted looks like a folder whose tables were deleted. Only the catalog can tell: when a table
    is deleted for good, a connector or a person also removes its dataset.

    Args:
        missing: Tables of the last run that this run does not read.
    """
    by_urn = {dataset_urn(table): table for table in missing}
    statuses = fetch(graph, "dataset", sorted(by_urn), [StatusClass.ASPECT_NAME])
    removed = {
        urn
        for urn, aspects in statuses.items()
        if (status := aspect_of(aspects, StatusClass)) and status.removed
    }
    absent = frozenset(table for urn, table in by_urn.items() if urn not in removed)
    if absent:
        warn(
            "Tables not read",
            "The last run suggested joins of these tables, and this run does not have them. Their "
            "suggestions stay as they are. If a table is gone for good, remove its dataset in "
            "DataHub",
            f"{len(absent)}: {name_some(sorted(map(str, absent)))}",
        )
    return absent
