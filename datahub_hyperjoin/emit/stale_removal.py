"""Remove relationships that this run no longer writes."""

from typing import Any

from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.api.source import MetadataWorkUnitProcessor
from datahub.ingestion.source.state.stale_entity_removal_handler import StaleEntityRemovalHandler
from datahub.ingestion.source.state.stateful_ingestion_base import (
    StatefulIngestionConfigBase,
    StatefulIngestionSourceBase,
)


def stale_removal(
    source: StatefulIngestionSourceBase,
    config: StatefulIngestionConfigBase[Any],
    ctx: PipelineContext,
) -> list[MetadataWorkUnitProcessor]:
    """Return DataHub's processor that removes outdated entities."""
    create = getattr(StaleEntityRemovalHandler, "create", None)
    return [create(source, config, ctx).workunit_processor] if create else []
