"""Mark what a run hides, and check that its changes have reached the catalog.

A server may accept a request and lose it, or refuse it. An entity that is missing later was deleted
by a person only if it has been in the catalog before, and what is still there has to be withdrawn
once more. DataHub keeps with each status only the ID of the run that wrote it. The checkpoint knows
which of these runs are ours, but it may be lost. So each entity that a run hides names that run.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from typing import TypeVar

from datahub.ingestion.api.committable import CommitPolicy, Committable
from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.source.state.entity_removal_state import GenericCheckpointState
from datahub.ingestion.source.state.stale_entity_removal_handler import StaleEntityRemovalHandler
from datahub.ingestion.source.state.stateful_ingestion_base import StateProviderWrapper
from datahub.metadata.schema_classes import StatusClass

from datahub_hyperjoin.catalog.entities import aspect_of, batches, by_type, is_removed
from datahub_hyperjoin.catalog.versions import send_now
from datahub_hyperjoin.catalog.written_state import WrittenStateHandler
from datahub_hyperjoin.client_errors import UNREADABLE, explain
from datahub_hyperjoin.emit.changes import find_changes
from datahub_hyperjoin.emit.layer import unit_of
from datahub_hyperjoin.emit.layers import OWN_ENTITIES
from datahub_hyperjoin.emit.patches import aspect_name, hides, removes
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)


_BATCH = 500
_PATIENCE, _PAUSE = 5.0, 0.2
"""Seconds without progress after which waiting ends, and seconds between two reads."""

Written = TypeVar("Written")


def mark_withdrawn(
    units: Iterable[MetadataWorkUnit], graph: DataHubGraph, *, run_id: str
) -> Iterator[MetadataWorkUnit]:
    """Store the ID of this run in the entities that the run hides."""
    for hiding, group in groupby(units, key=hides):
        while hiding and (chunk := list(islice(group, _BATCH))):
            try:
                yield from _marks(chunk, graph, run_id)
            except UNREADABLE as error:
                reason = explain(error, graph.config.token)
                logger.warning("Only the checkpoint knows what this run withdraws: %s", reason)
            yield from chunk
        yield from group


def _marks(
    units: Sequence[MetadataWorkUnit], graph: DataHubGraph, run_id: str
) -> Iterator[MetadataWorkUnit]:
    """Yield workunits that store the run's ID in the entities that the run will hide."""
    grouped = by_type(unit.get_urn() for unit in units)
    for entity, layer in OWN_ENTITIES.items():
        names = [layer.info.ASPECT_NAME, StatusClass.ASPECT_NAME]
        urns = grouped.get(entity)
        found = graph.get_entities(entity, urns, names) if urns else {}
        for urn, aspects in found.items():
            info = aspect_of(aspects, layer.info)
            if info and not is_removed(aspects):
                layer.note_withdrawal(info, run_id)
                yield unit_of(urn, info)


class ReadBack(Committable):
    """The last step of a run: a check that the run's changes have reached the catalog."""

    def __init__(
        self,
        handler: WrittenStateHandler,
        state: StateProviderWrapper,
        ctx: PipelineContext,
        platform: str,
    ) -> None:
        super().__init__(name="hyperjoin_read_back", commit_policy=CommitPolicy.ALWAYS)
        self._handler, self._state, self._ctx = handler, state, ctx
        self._removal = StaleEntityRemovalHandler.compute_job_id(platform)
        self._withdrawals: list[MetadataWorkUnit] = []
        # The framework commits in this order, and the checkpoints have to come last.
        ctx.checkpointers = {self.name: self, **ctx.checkpointers}

    def watch(self, units: Iterable[MetadataWorkUnit]) -> Iterator[MetadataWorkUnit]:
        """Pass on a run's workunits, and record the workunits that withdraw metadata."""
        for unit in units:
            if removes(unit):
                self._withdrawals.append(unit)
            yield unit

    def commit(self) -> None:
        """Record in the checkpoints which entities and withdrawals have not reached the catalog."""
        written, graph = self._handler.current(), self._ctx.graph
        pending = written and (written.unseen or self._withdrawals)
        if not written or not pending or not graph or self._ctx.dry_run_mode:
            return
        send_now()
        written.unseen = sorted(_await(written.unseen, partial(_find_absent, graph), graph))
        standing = _await(self._withdrawals, partial(find_changes, graph=graph), graph)
        if standing:
            logger.warning("The next run repeats %s withdrawals that did not arrive", len(standing))
            self._keep(standing)
        self._state.prepare_for_commit()

    def _keep(self, withdrawals: Iterable[MetadataWorkUnit]) -> None:
        aspects = {(unit.get_urn(), aspect_name(unit)) for unit in withdrawals}
        last, written = self._handler.last(), self._handler.current()
        if last and written:
            self._handler.store(written.merged_with(last.held_in(aspects)))
        removal = self._state.get_current_checkpoint(self._removal)
        if removal and isinstance(removal.state, GenericCheckpointState):
            for unit in withdrawals:
                if hides(unit):
                    removal.state.add_checkpoint_urn("*", unit.get_urn())


def _await(
    left: Sequence[Written], look: Callable[[Sequence[Written]], list[Written]], graph: DataHubGraph
) -> Sequence[Written]:
    """Wait until the changes in `left` reach the catalog; return the changes that do not arrive."""
    # `look` returns those of the given changes that are not in the catalog yet. The wait ends
    # when none has arrived for `_PATIENCE` seconds.
    end = time.monotonic() + _PATIENCE
    try:
        while left and time.monotonic() < end:
            if len(rest := look(left)) < len(left):
                left, end = rest, time.monotonic() + _PATIENCE
            else:
                time.sleep(_PAUSE)
    except UNREADABLE as error:
        reason = explain(error, graph.config.token)
        logger.warning("What this run wrote is not read back before the next run: %s", reason)
    return left


def _find_absent(graph: DataHubGraph, urns: Collection[str]) -> list[str]:
    present = {
        urn
        for entity, members in by_type(urns).items()
        for batch in batches(members, _BATCH)
        for urn in graph.get_entities(entity, batch, [OWN_ENTITIES[entity].info.ASPECT_NAME])
    }
    return [urn for urn in urns if urn not in present]
