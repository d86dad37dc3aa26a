"""Store rejected pairs in the structured property *Deleted joins*.

There they survive the loss of a checkpoint.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.emit.patches import remove_properties, set_properties
from datahub_hyperjoin.metadata.urns import DELETED_JOINS, column_urn, property_urn
from datahub_hyperjoin.tables import ColumnId


def emit_deletions(
    rejected: Iterable[tuple[ColumnId, ColumnId]], *, listed: Iterable[ColumnId], namespace: str
) -> Iterator[MetadataWorkUnit]:
    """Write rejected pairs into the property *Deleted joins* of their first columns.

    The columns in `listed` that no longer have a pair lose the property.

    Args:
        rejected: The pairs that people deleted, hid or rejected; the first column lists the other.
        listed: The columns that list pairs now; the property of those without a pair goes.
    """
    key = property_urn(namespace, DELETED_JOINS)
    values: dict[str, list[str]] = defaultdict(list)
    for column, other in sorted({*rejected}):
        values[column_urn(column)].append(column_urn(other))
    for urn, others in values.items():
        yield set_properties(urn, {key: others})
    for urn in sorted({*map(column_urn, listed)} - values.keys()):
        yield remove_properties(urn, [key])
