"""Read what other pipelines wrote.

A run then leaves their metadata alone.

Every pipeline keeps its written state in a checkpoint of its own. A pipeline that was renamed is
another pipeline, too: the record of what people deleted continues in the old name's checkpoint.
"""

import time
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter
from datahub.ingestion.source.state.checkpoint import Checkpoint
from datahub.ingestion.source.state_provider.datahub_ingestion_checkpointing_provider import (
    DatahubIngestionCheckpointingProvider,
)
from datahub.metadata.schema_classes import (
    DatahubIngestionCheckpointClass,
    DataJobKeyClass,
)
from datahub.metadata.urns import DataFlowUrn, DataJobUrn

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.entities import reading, scroll
from datahub_hyperjoin.catalog.errors import UnreadableCatalogError
from datahub_hyperjoin.emit import WrittenState
from datahub_hyperjoin.emit.patches import hides
from datahub_hyperjoin.emit.written_state import JOB
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.joins import Join, Verdict
from datahub_hyperjoin.metadata.relationship_aspect import catalog_evidence
from datahub_hyperjoin.progress import Warn

_ACTIVE_DAYS, _RECENT_DAYS = 45, 8
_DAY = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPipeline:
    """Another HyperJoin pipeline that writes to the same catalog."""

    name: str
    """The `pipeline_name` in the recipe of the pipeline."""

    state: WrittenState
    """What the last run of the pipeline wrote."""

    active: bool
    """Whether the pipeline has run in the last 45 days. Other runs may remove what an inactive
    pipeline wrote."""

    recent: bool
    """Whether the pipeline has run in the last 8 days, so that its evidence is not much older than
    this run's evidence."""


def read_other_pipelines(
    graph: DataHubGraph, own: str | None, warn: Warn
) -> tuple[OtherPipeline, ...]:
    """Read the written states of all other pipelines.

    Args:
        own: The `pipeline_name` of this run, which is left out.

    Returns:
        The other pipelines that have a written state, sorted by name.
    """
    try:
        with reading(graph, "The pipelines of this source"):
            names = sorted({*_list_pipelines(graph)} - {own})
        found = [_read_pipeline(graph, name, warn) for name in names]
    except (UnreadableCatalogError, UnknownEntityTypeError) as error:
        warn(
            "Other pipelines not read",
            "Suggestions that they still show may be withdrawn, and those that people deleted from "
            "them may be suggested again",
            str(error),
        )
        return ()
    return tuple(pipeline for pipeline in found if pipeline)


def _list_pipelines(graph: DataHubGraph) -> Iterator[str]:
    """Yield the names of all pipelines that have a written state."""
    filters: RawSearchFilter = [
        {"and": [{"field": "jobId", "condition": "EQUAL", "values": [str(JOB)]}]}
    ]
    # DataHub hides the entities that hold checkpoints.
    for urn, _ in scroll(
        graph, "dataJob", [DataJobKeyClass.ASPECT_NAME], filters=filters, removed=True
    ):
        job = DataJobUrn.from_string(urn)
        if job.job_id == JOB:
            yield DataFlowUrn.from_string(job.flow).flow_id


def _read_pipeline(graph: DataHubGraph, name: str, warn: Warn) -> OtherPipeline | None:
    provider = DatahubIngestionCheckpointingProvider
    urn = provider.get_data_job_urn(provider.orchestrator_name, name, JOB)
    with reading(graph, f"The checkpoint of the pipeline {name!r}"):
        aspect = graph.get_latest_timeseries_value(
            urn, DatahubIngestionCheckpointClass, {"pipelineName": name}
        )
    try:
        checkpoint = Checkpoint.create_from_checkpoint_aspect(JOB, aspect, WrittenState)
    except Exception as error:  # noqa: BLE001 - the client raises whatever the decoding raises
        warn(
            "Checkpoint not read",
            "This pipeline counts as one that wrote nothing. Run it again",
            f"{name}: {type(error).__name__}",
        )
        return None
    if aspect is None or checkpoint is None:
        return None
    age = time.time() * 1000 - aspect.timestampMillis
    return OtherPipeline(
        name=name,
        state=checkpoint.state,
        active=age < _ACTIVE_DAYS * _DAY,
        recent=age < min(_RECENT_DAYS, _ACTIVE_DAYS) * _DAY,
    )


def without_shared(last: WrittenState, others: Iterable[OtherPipeline]) -> WrittenState:
    """Remove from a written state everything that other active pipelines also wrote.

    Returns:
        The part of the state that only this pipeline may withdraw.
    """
    for pipeline in others:
        if pipeline.active:
            last = last.without(pipeline.state)
    return last


def shared_joins(
    catalog: Catalog, own: Container[str], others: Sequence[OtherPipeline]
) -> list[Join]:
    """Return the joins that other active pipelines wrote and that this run does not write.

    Joins that are hidden in DataHub or rejected are left out. A column and a dataset have one list
    of joins, whichever pipeline writes it.
    """
    shown = {urn for other in others if other.active for urn in other.state.relationships}
    return [
        join
        for urn, relationship in catalog.relationships.items()
        if urn in shown and urn not in own and not relationship.removed
        if (join := relationship.join)
        and catalog_evidence(join.pairs, catalog.facts).verdict is not Verdict.REJECTED
    ]


def protected(catalog: Catalog, others: Iterable[OtherPipeline]) -> set[str]:
    """Return the URNs of the entities that this run must not hide (soft-delete).

    Returns:
        URNs of relationships that people edited, of those that are hidden already, and of what
        other active pipelines show. To hide once more what a person hid would make it look like
        the work of this run, which shows it again later.
    """
    kept = {urn for urn, found in catalog.relationships.items() if not found.ours or found.removed}
    shown = ({*other.state.relationships, *other.state.queries} for other in others if other.active)
    return kept.union(*shown)


def keep_shown(
    units: Iterable[MetadataWorkUnit], protected: Container[str]
) -> Iterator[MetadataWorkUnit]:
    """Drop the workunits that would hide (soft-delete) a protected entity.

    DataHub's framework hides every entity that a pipeline wrote once and no longer writes.

    Args:
        protected: URNs of entities that people edited or that other pipelines show. They need to be
            complete only when the framework hides, which is after all other metadata.
    """
    for unit in units:
        if not (hides(unit) and unit.get_urn() in protected):
            yield unit
