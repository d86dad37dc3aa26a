"""Keep pipelines from overwriting each other's metadata about joins.

Every pipeline keeps its written state in a checkpoint of its own. A pipeline that was renamed is
another pipeline, too: the record of what people deleted continues in the old name's checkpoint.

Pipelines with different models find mostly the same joins, with other scores. Of those that show a
join, the one that ran first writes it, and the others take over its score and its role.
"""

import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter
from datahub.ingestion.source.state.checkpoint import Checkpoint
from datahub.ingestion.source.state.stale_entity_removal_handler import StaleEntityRemovalHandler
from datahub.ingestion.source.state_provider.datahub_ingestion_checkpointing_provider import (
    DatahubIngestionCheckpointingProvider,
)
from datahub.metadata.schema_classes import (
    DatahubIngestionCheckpointClass,
    DataJobKeyClass,
    StructuredPropertiesClass,
)
from datahub.metadata.urns import DataFlowUrn, DataJobUrn

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.entities import reading, scroll
from datahub_hyperjoin.catalog.errors import UnreadableCatalogError
from datahub_hyperjoin.catalog.relationships import Relationship
from datahub_hyperjoin.catalog.written_state import JOB, WrittenState
from datahub_hyperjoin.emit.existing import ExistingState
from datahub_hyperjoin.emit.patches import aspect_name, hides
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.joins import Join, Verdict, sort_joins
from datahub_hyperjoin.metadata.relationships import catalog_evidence, join_urn
from datahub_hyperjoin.metadata.urns import column_urn, plain_path
from datahub_hyperjoin.progress import Warn

_ACTIVE_DAYS, _RECENT_DAYS = 45, 8
_DAY = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPipeline:
    """Another HyperJoin pipeline that writes to the same catalog."""

    name: str
    state: WrittenState
    active: bool
    """Whether the pipeline has run in the last 45 days. Other runs may remove what an inactive
    pipeline wrote."""

    recent: bool
    """Whether the pipeline has run in the last 8 days, so that its evidence is not much older than
    this run's evidence."""


def read_other_pipelines(
    graph: DataHubGraph, own: str | None, warn: Warn
) -> tuple[OtherPipeline, ...]:
    """Read the written states of all other pipelines."""
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
    own: RawSearchFilter = [{"and": [{"field": "jobId", "condition": "EQUAL", "values": [JOB]}]}]
    key = [DataJobKeyClass.ASPECT_NAME]
    # DataHub hides the entities that hold checkpoints.
    for urn, _ in scroll(graph, "dataJob", key, filters=own, removed=True):
        job = DataJobUrn.from_string(urn)
        if job.job_id == JOB:
            yield DataFlowUrn.from_string(job.flow).flow_id


def checkpoint_jobs(pipeline: str) -> Iterator[str]:
    """Yield the URNs of the entities that hold the checkpoints of a pipeline."""
    provider = DatahubIngestionCheckpointingProvider
    for job in (JOB, StaleEntityRemovalHandler.compute_job_id("hyperjoin")):
        yield provider.get_data_job_urn(provider.orchestrator_name, pipeline, job)


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
    """Remove from a written state everything that other active pipelines also wrote."""
    for pipeline in others:
        if pipeline.active:
            last = last.without(pipeline.state)
    return last


def shared_joins(
    catalog: Catalog, own: Container[str], others: Sequence[OtherPipeline]
) -> list[Join]:
    """Return the joins that other active pipelines wrote and that this run does not write."""
    # Joins that are hidden in DataHub or rejected are left out. A column and a dataset have
    # one list of joins, whichever pipeline writes it.
    shown = {urn for other in others if other.active for urn in other.state.relationships}
    return [
        join
        for urn, relationship in catalog.relationships.items()
        if urn in shown and urn not in own and not relationship.removed
        if (join := relationship.join)
        and catalog_evidence(join.pairs, catalog.facts).verdict is not Verdict.REJECTED
    ]


def protected(catalog: Catalog, others: Iterable[OtherPipeline]) -> set[str]:
    """Return the URNs of the entities that this run must not hide (soft-delete)."""
    # Hidden ones are among them: to hide once more what a person hid would make it look like the
    # work of this run, which shows it again later.
    kept = {urn for urn, found in catalog.relationships.items() if not found.ours or found.removed}
    shown = ({*other.state.relationships, *other.state.queries} for other in others if other.active)
    return kept.union(*shown)


def keep_shown(
    units: Iterable[MetadataWorkUnit], protected: Container[str]
) -> Iterator[MetadataWorkUnit]:
    """Drop the workunits that would hide (soft-delete) a protected entity."""
    # `protected` is complete only when the framework hides, which is after all other metadata.
    # DataHub's framework hides every entity that a pipeline wrote once and no longer writes.
    for unit in units:
        if not (hides(unit) and unit.get_urn() in protected):
            yield unit


def find_older_pipelines(
    others: Iterable[OtherPipeline], own: WrittenState | None, name: str | None
) -> tuple[OtherPipeline, ...]:
    """Return the active pipelines that are older than this pipeline."""
    recent = (one for one in others if one.recent)
    if own is None:
        return tuple(recent)
    return tuple(one for one in recent if (one.state.since, one.name) < (own.since, name or ""))


@dataclass(frozen=True, kw_only=True)
class ForeignMetadata:
    """The metadata that this run does not write, because other pipelines write it."""

    relationships: Mapping[str, Relationship] = field(default_factory=dict)
    """Relationships of this run's joins that other pipelines write, by URN."""

    queries: frozenset[str] = frozenset()
    described: frozenset[str] = frozenset()
    """URNs of columns and datasets whose lists of joins other pipelines write."""

    def adopt(self, publication: Publication) -> Publication:
        """Use other pipelines' scores and roles for the joins that they also write."""
        shown = {urn: relationship.join for urn, relationship in self.relationships.items()}
        joins = [_adopt(join, shown.get(join_urn(join))) for join in publication.joins]
        return replace(publication, joins=sort_joins(joins))

    def protect(self, existing: ExistingState) -> ExistingState:
        """Return a copy of `existing` that protects what other pipelines write."""
        aspects = {urn: one.aspect for urn, one in self.relationships.items()}
        return replace(
            existing,
            closed=existing.closed.union(aspects, self.queries),
            edited={**existing.edited, **aspects},
        )

    def changed_entities(self, publication: Publication, last: WrittenState) -> frozenset[str]:
        """Return the columns and datasets whose joins changed since this pipeline's last run."""
        joins = {join_urn(join): join for join in publication.linking}
        changed = {urn: ends for urn, ends in last.relationships.items() if urn not in joins}
        known = last.relationships.keys() | self.relationships.keys()
        new = [join for urn, join in joins.items() if urn not in known]
        changed |= {join_urn(join): (column_urn(join.left), column_urn(join.right)) for join in new}
        columns = [column for ends in changed.values() for column in ends]
        columns += [column_urn(end) for join in new for pair in join.further for end in pair]
        return WrittenState(relationships=changed).all_datasets.union(columns)

    def without_foreign_properties(
        self, units: Iterable[MetadataWorkUnit], changed: Container[str]
    ) -> Iterator[MetadataWorkUnit]:
        """Drop properties that older pipelines write, but not on entities in `changed`."""
        # The entities are columns and datasets. Where the joins of one did not change,
        # the older pipelines already list this pipeline's joins, too.
        name = StructuredPropertiesClass.ASPECT_NAME
        for unit in units:
            urn = unit.get_urn()
            if urn in changed or urn not in self.described or aspect_name(unit) != name:
                yield unit


def read_foreign_metadata(
    publication: Publication,
    catalog: Catalog,
    older: Sequence[OtherPipeline],
    others: Sequence[OtherPipeline],
) -> ForeignMetadata:
    """Find the metadata that this run must not write, because other pipelines write it."""
    # If only one of two pipelines has verified a join, that pipeline writes it.
    states = [one.state for one in older]
    by_older = {urn for state in states for urn in state.relationships}
    of_others = {urn for one in others if one.recent for urn in one.state.relationships}
    leads = {(True, False): of_others, (False, True): frozenset[str]()}
    foreign = {}
    for join in publication.linking:
        urn = join_urn(join)
        shown = catalog.relationships.get(urn)
        if shown and shown.join and not shown.removed:
            is_verified = (shown.join.evidence is not None, join.evidence is not None)
            if urn in leads.get(is_verified, by_older):
                foreign[urn] = shown
    return ForeignMetadata(
        relationships=foreign,
        # Every pipeline adds terms to its columns; they exist once for all.
        queries=frozenset(urn for it in states for urn in it.queries if urn not in it.terms),
        described=frozenset(urn for it in states for urn in (*it.columns, *it.datasets)),
    )


def _adopt(join: Join, shown: Join | None) -> Join:
    if shown is None:
        return join
    ends = {(end.table, plain_path(end.path)): end for end in (join.left, join.right)}
    key = shown.referenced
    referenced = ends.get((key.table, plain_path(key.path))) if key else None
    return replace(join, joinability=shown.joinability, role=shown.role, referenced=referenced)
