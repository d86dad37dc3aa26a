"""Record the metadata that a run wrote, so that the next run can withdraw it.

DataHub's stateful ingestion removes whole entities only, and not those of every type. Our
properties and lineage edges are parts of other people's entities, and queries are a type that the
framework does not remove. This state records all of them, in a checkpoint of its own.
"""

from collections.abc import Container, Iterable
from typing import Any, NamedTuple

from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.api.ingestion_job_checkpointing_provider_base import JobId
from datahub.ingestion.api.source import MetadataWorkUnitProcessor
from datahub.ingestion.source.state.checkpoint import Checkpoint, CheckpointStateBase
from datahub.ingestion.source.state.stale_entity_removal_handler import (
    StaleEntityRemovalHandler,
    StatefulStaleMetadataRemovalConfig,
)
from datahub.ingestion.source.state.stateful_ingestion_base import (
    StatefulIngestionConfig,
    StatefulIngestionConfigBase,
    StatefulIngestionSourceBase,
    StateProviderWrapper,
)
from datahub.ingestion.source.state.use_case_handler import StatefulIngestionUsecaseHandlerBase
from datahub.metadata.urns import SchemaFieldUrn
from pydantic import ConfigDict, Field
from typing_extensions import Self


class WrittenEdge(NamedTuple):
    """A lineage edge between two columns."""

    upstream: str
    """URN of the upstream column."""

    downstream: str
    """URN of the downstream column."""

    adds_table: bool
    """Whether this source also wrote the edge between their datasets."""

    @property
    def datasets(self) -> tuple[str, str]:
        """URNs of the upstream and the downstream dataset."""
        upstream, downstream = map(SchemaFieldUrn.from_string, (self.upstream, self.downstream))
        return upstream.parent, downstream.parent


class WrittenState(CheckpointStateBase):
    """URNs of the metadata that a run wrote, and of metadata that people rejected or deleted."""

    # A later version may store more.
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    relationships: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """Relationships, each with the two columns that it joins."""

    columns: list[str] = Field(default_factory=list)
    """Columns that have our properties."""

    datasets: list[str] = Field(default_factory=list)
    """Datasets that have our property."""

    queries: list[str] = Field(default_factory=list)
    """Queries that show a join."""

    lineage: list[WrittenEdge] = Field(default_factory=list)
    """Lineage edges between columns."""

    rejected: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """Relationships that people deleted, hid or rejected, each with the two columns that it joined.
    They are never written again, even after DataHub has deleted them for good."""

    hidden: dict[str, str] = Field(default_factory=dict)
    """Relationships and queries that were hidden with their join, each with the ID of the run."""

    deleted_queries: list[str] = Field(default_factory=list)
    """Queries that people deleted for good; they are never written again either."""

    def prepare_for_commit(self) -> None:
        """Sort all fields, so that states with equal content are stored identically."""
        self.relationships = dict(sorted(self.relationships.items()))
        self.rejected = dict(sorted(self.rejected.items()))
        self.hidden = dict(sorted(self.hidden.items()))
        self.columns, self.datasets = _ordered(self.columns), _ordered(self.datasets)
        self.queries = _ordered(self.queries)
        self.deleted_queries = _ordered(self.deleted_queries)
        self.lineage = sorted(set(self.lineage))

    def merged_with(self, other: "WrittenState") -> Self:
        """Return the union of two states.

        Args:
            other: The other state; where both have an entry for the same URN or edge, the entry of
                this state is kept.
        """
        edges = {edge[:2]: edge for edge in (*other.lineage, *self.lineage)}
        both = self.model_copy(
            update={
                "relationships": other.relationships | self.relationships,
                "columns": [*self.columns, *other.columns],
                "datasets": [*self.datasets, *other.datasets],
                "queries": [*self.queries, *other.queries],
                "lineage": list(edges.values()),
                "rejected": other.rejected | self.rejected,
                "hidden": other.hidden | self.hidden,
                "deleted_queries": [*self.deleted_queries, *other.deleted_queries],
            }
        )
        both.prepare_for_commit()
        return both

    def without_queries(self, queries: Container[str]) -> Self:
        """Return a copy of the state without the given queries.

        Args:
            queries: URNs of queries that this source no longer manages.
        """
        kept = [query for query in self.queries if query not in queries]
        return self.model_copy(update={"queries": kept})


def _ordered(urns: Iterable[str]) -> list[str]:
    return sorted(set(urns))


class WrittenStateHandler(StatefulIngestionUsecaseHandlerBase[WrittenState]):
    """Handler that loads the last run's written state and stores this run's written state.

    Args:
        state: The source's `state_provider`.
        ctx: The run's context.
    """

    def __init__(self, state: StateProviderWrapper, ctx: PipelineContext) -> None:
        self._state, self._ctx = state, ctx
        state.register_stateful_ingestion_usecase_handler(self)

    @property
    def job_id(self) -> JobId:
        """Name of the checkpoint that holds the written state.

        DataHub's own removal of stale entities has another checkpoint.
        """
        return JobId("hyperjoin_written_state")

    @property
    def _config(self) -> StatefulIngestionConfig | None:
        return self._state.stateful_ingestion_config

    @property
    def removal(self) -> StatefulStaleMetadataRemovalConfig | None:
        """Settings for removing stale metadata; None if the recipe does not allow removal."""
        config = self._config
        if not isinstance(config, StatefulStaleMetadataRemovalConfig):
            return None
        allowed = self.is_checkpointing_enabled() and config.remove_stale_metadata
        return config if allowed else None

    def is_checkpointing_enabled(self) -> bool:
        """Return whether stateful ingestion is enabled.

        Returns:
            The recipe's setting; by default, whether there are a server and a pipeline name.
        """
        return self._state.is_stateful_ingestion_configured()

    def create_checkpoint(self) -> Checkpoint[WrittenState] | None:
        """Create a checkpoint with an empty state for this run.

        Returns:
            None if the state of this run is not stored.
        """
        config, pipeline = self._config, self._ctx.pipeline_name
        if not self.is_checkpointing_enabled() or not config or not pipeline:
            return None
        if config.ignore_new_state:
            return None
        return Checkpoint(
            job_name=self.job_id,
            pipeline_name=pipeline,
            run_id=self._ctx.run_id,
            state=WrittenState(),
        )

    def last(self) -> WrittenState | None:
        """Load the state that the last run wrote.

        Returns:
            None if there was no run, or if the recipe ignores its state.
        """
        checkpoint = self._state.get_last_checkpoint(self.job_id, WrittenState)
        return checkpoint.state if checkpoint else None

    def store(self, written: WrittenState) -> None:
        """Store the written state of this run.

        A run that does not call this method keeps the last state.

        Args:
            written: The state.
        """
        checkpoint = self._state.get_current_checkpoint(self.job_id)
        if checkpoint:
            checkpoint.state = written


def stale_removal(
    source: StatefulIngestionSourceBase,
    config: StatefulIngestionConfigBase[Any],
    ctx: PipelineContext,
) -> list[MetadataWorkUnitProcessor]:
    """Return the processor that removes stale entities, for DataHub versions before 1.7.

    Args:
        source: The source.
        config: Its recipe.
        ctx: The run's context.

    Returns:
        An empty list from DataHub 1.7 on, where the base class of sources adds the processor.
    """
    create = getattr(StaleEntityRemovalHandler, "create", None)
    return [create(source, config, ctx).workunit_processor] if create else []
