"""Record in the catalog which suggestions people deleted, hid or rejected.

There they survive the loss of a checkpoint.
"""

from collections.abc import Iterator

from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.emit.deletions import emit_deletions
from datahub_hyperjoin.metadata.relationship_aspect import columns_urn


def emit_rejected(catalog: Catalog, namespace: str) -> Iterator[MetadataWorkUnit]:
    """Yield the metadata that stores which suggestions people deleted, hid or rejected.

    Each pair is stored at one of its two columns.

    A column of a table that the catalog shows lists the other one, because the other table may be
    gone. A relationship of several columns cannot be listed so: its pairs alone are not rejected.
    """
    rejected = [
        (left, right) if left.table in catalog.datasets else (right, left)
        for urn, (left, right) in catalog.rejected.items()
        if urn == columns_urn([(left, right)])
    ]
    yield from emit_deletions(
        [(catalog.field_path(column), catalog.field_path(other)) for column, other in rejected],
        listed={catalog.field_path(column) for column, _ in catalog.listed},
        namespace=namespace,
    )
