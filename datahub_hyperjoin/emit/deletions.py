"""List the suggestions that people rejected in the catalog, where they outlast checkpoints."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.emit.patches import remove_properties, set_properties
from datahub_hyperjoin.tables import Pair
from datahub_hyperjoin.urns import DELETED_JOINS, column_urn, property_urn


def emit_deletions(
    rejected: Iterable[Pair], listed: Iterable[Pair], namespace: str
) -> Iterator[MetadataWorkUnit]:
    """List each rejected pair in a structured property of one of its columns.

    Args:
        rejected: The pairs that people deleted, hid or rejected.
        listed: The pairs that the catalog lists now; those that are no longer rejected go.
        namespace: Prefix of the property's name.

    Yields:
        One patch for each column.
    """
    key = property_urn(namespace, DELETED_JOINS)
    values: dict[str, list[str]] = defaultdict(list)
    for left, right in sorted({*rejected}):
        values[column_urn(left)].append(column_urn(right))
    for column, others in values.items():
        yield set_properties(column, {key: others})
    for column in sorted({column_urn(left) for left, _ in listed} - values.keys()):
        yield remove_properties(column, [key])
