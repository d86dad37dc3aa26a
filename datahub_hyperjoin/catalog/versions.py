"""What differs between the releases of DataHub's client and server that this package works with."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.api.decorators import SourceCapability, SupportStatus
from datahub.ingestion.api.source import MetadataWorkUnitProcessor
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.source.state.stale_entity_removal_handler import StaleEntityRemovalHandler
from datahub.ingestion.source.state.stateful_ingestion_base import (
    StatefulIngestionConfigBase,
    StatefulIngestionSourceBase,
)
from datahub.metadata.schema_classes import ASPECT_NAME_MAP, StatusClass
from datahub.utilities import partition_executor

from datahub_hyperjoin.metadata.urns import AI_CONTEXT, SEMANTIC_MODEL

# DataHub renamed its levels in 1.7.0.8 and kept no aliases.
SUPPORT: SupportStatus = getattr(SupportStatus, "ALPHA", None) or SupportStatus.TESTING  # type: ignore[attr-defined]

# Release 1.5.0.1 has no capability of glossary terms; they are the next thing to tags.
TERMS: SourceCapability = getattr(SourceCapability, "GLOSSARY_TERMS", SourceCapability.TAGS)

SINCE_1_7 = frozenset({AI_CONTEXT, SEMANTIC_MODEL})
"""The aspects that clients and servers have since release 1.7."""

if TYPE_CHECKING:
    from datahub.metadata.schema_classes import SemanticModelInfoClass

    SemanticModelInfo = SemanticModelInfoClass
else:
    # Runs with older clients neither read nor write semantic models.
    SemanticModelInfo = ASPECT_NAME_MAP.get(SEMANTIC_MODEL, StatusClass)


def can_scroll(graph: DataHubGraph) -> bool:
    """Return whether the client reads entities page by page, since release 1.6."""
    return hasattr(graph, "scroll_entities")


def read_registry(graph: DataHubGraph) -> Mapping[str, set[str]] | None:
    """Return the aspects that the server supports, by entity type; None before release 1.7."""
    read = getattr(graph, "get_entity_aspect_specs", None)
    specifications = read() if read else None
    return specifications.entity_aspects if specifications else None


def knows(graph: DataHubGraph, aspect: str) -> bool:
    """Return whether client and server support an aspect of `SINCE_1_7`."""
    # A client without it cannot tell what somebody else wrote there.
    return aspect in ASPECT_NAME_MAP and graph.server_config.is_version_at_least(1, 7, 0)


def instructions_in(aspect: object) -> str:
    """Return the instructions of an aspect `aiContext`, for which older clients have no class."""
    return getattr(aspect, "instructions", None) or ""


def stale_removal(
    source: StatefulIngestionSourceBase,
    config: StatefulIngestionConfigBase[Any],
    ctx: PipelineContext,
) -> list[MetadataWorkUnitProcessor]:
    """Return DataHub's processor that hides relationships that a run no longer writes."""
    # From release 1.7 on, the base class of sources adds it.
    create = getattr(StaleEntityRemovalHandler, "create", None)
    return [create(source, config, ctx).workunit_processor] if create else []


def send_now() -> None:
    """Make DataHub's sink send its remaining records at once, rather than in half a minute."""
    # It sends them when it closes, too, but that is after the checkpoints are stored.
    for executor in getattr(partition_executor, "_live_executors", ()):
        executor.min_process_interval = timedelta()
