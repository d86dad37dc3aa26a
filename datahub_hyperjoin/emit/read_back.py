"""Read back from the catalog what a run has written.

A server may accept a request and lose it. An entity that is missing later was deleted by a person
only if it has been in the catalog before.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Collection
from datetime import timedelta

from datahub.configuration.common import GraphError
from datahub.ingestion.api.committable import CommitPolicy, Committable
from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.source.state.stateful_ingestion_base import StateProviderWrapper
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    QueryPropertiesClass,
)
from datahub.utilities import partition_executor
from datahub.utilities.urns.urn import guess_entity_type
from requests import RequestException

from datahub_hyperjoin.client_errors import explain
from datahub_hyperjoin.emit.written_state import WrittenStateHandler

logger = logging.getLogger(__name__)

_BATCH = 500
_PATIENCE, _PAUSE = 5.0, 0.2
"""Seconds without anything new after which nothing more is expected, and between two looks."""
_ASPECTS = {
    "erModelRelationship": ERModelRelationshipPropertiesClass.ASPECT_NAME,
    "query": QueryPropertiesClass.ASPECT_NAME,
}


class ReadBack(Committable):
    """Reads back what the run has written, and records it, before the checkpoints are stored.

    What the server has not processed by then is read by the next run.

    Args:
        handler: Holds the written state of this run.
        state: The source's `state_provider`, which stores the checkpoints.
        ctx: The run's context.
    """

    def __init__(
        self, handler: WrittenStateHandler, state: StateProviderWrapper, ctx: PipelineContext
    ) -> None:
        super().__init__(name="hyperjoin_read_back", commit_policy=CommitPolicy.ALWAYS)
        self._handler, self._state, self._ctx = handler, state, ctx
        # The framework commits in this order, and the checkpoints have to come last.
        ctx.checkpointers = {self.name: self, **ctx.checkpointers}

    def commit(self) -> None:
        """Record which entities are in the catalog now."""
        written, graph = self._handler.current(), self._ctx.graph
        if not written or not written.unseen or not graph or self._ctx.dry_run_mode:
            return
        _send_now()
        try:
            written.unseen = sorted(_await(graph, set(written.unseen)))
        except (RequestException, GraphError, ValueError, TypeError, AttributeError) as error:
            reason = explain(error, graph.config.token)
            logger.warning("What this run wrote is not read back before the next run: %s", reason)
        self._state.prepare_for_commit()


def _send_now() -> None:
    """Make DataHub's sink send its last records, for which it would wait half a minute.

    It sends them when it closes, too, but that is after the checkpoints are stored.
    """
    for executor in getattr(partition_executor, "_live_executors", ()):
        executor.min_process_interval = timedelta()


def _await(graph: DataHubGraph, unseen: set[str]) -> set[str]:
    """Wait until entities are in the catalog, and return those that do not arrive."""
    end = time.monotonic() + _PATIENCE
    while unseen and time.monotonic() < end:
        if arrived := _find_present(graph, unseen):
            unseen = unseen - arrived
            end = time.monotonic() + _PATIENCE
        else:
            time.sleep(_PAUSE)
    return unseen


def _find_present(graph: DataHubGraph, urns: Collection[str]) -> set[str]:
    by_type: dict[str, list[str]] = defaultdict(list)
    for urn in sorted(urns):
        by_type[guess_entity_type(urn)].append(urn)
    return {
        urn
        for entity, members in by_type.items()
        for start in range(0, len(members), _BATCH)
        for urn in graph.get_entities(entity, members[start : start + _BATCH], [_ASPECTS[entity]])
    }
