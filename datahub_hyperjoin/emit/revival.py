"""Relationships that come back after a run without them."""

from collections.abc import Container, Iterable, Iterator

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import StatusClass


def revive(
    units: Iterable[MetadataWorkUnit], *, known: Container[str]
) -> Iterator[MetadataWorkUnit]:
    """Shows again what an earlier run took away, and leaves hidden what people hid.

    Stateful ingestion hides a relationship that a run does not find; when the next run finds it,
    the last one did not write it. What people hid goes on being found, so the last run did.

    Args:
        units: What a run writes.
        known: Urns of what the last run wrote.

    Yields:
        The same, and the status of our own entities that the last run did not write.
    """
    for unit in units:
        yield unit
        if unit.is_primary_source and unit.get_urn() not in known:
            yield MetadataChangeProposalWrapper(
                entityUrn=unit.get_urn(), aspect=StatusClass(removed=False)
            ).as_workunit()
