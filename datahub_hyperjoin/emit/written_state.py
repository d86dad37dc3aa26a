"""What earlier runs wrote: a state of our own, kept by DataHub's stateful ingestion.

The framework takes back whole entities, and not those of every type. Our properties and edges of
lineage stand on entities of other people, and queries are a type that it leaves alone: all of them
are remembered here.
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
    """An edge of lineage between two columns."""

    upstream: str
    """Urn of the column it comes from."""

    downstream: str
    """Urn of the column it leads to."""

    coarse: bool
    """Whether we also wrote the edge between their datasets, which was not there before."""

    @property
    def parents(self) -> tuple[str, str]:
        """The datasets of the two columns.

        Returns:
            The upstream one first.
        """
        upstream, downstream = map(SchemaFieldUrn.from_string, (self.upstream, self.downstream))
        return upstream.parent, downstream.parent


class WrittenState(CheckpointStateBase):
    """What a run wrote, and what people have refused of it; everything by urn."""

    # A later version may remember more.
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    relationships: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """Relationships, with the two columns that each joins."""

    columns: list[str] = Field(default_factory=list)
    """Columns that have our properties."""

    datasets: list[str] = Field(default_factory=list)
    """Datasets that have our property."""

    queries: list[str] = Field(default_factory=list)
    """Queries."""

    lineage: list[WrittenEdge] = Field(default_factory=list)
    """Edges between columns."""

    refused: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """Relationships that people deleted, hid or rejected, with the columns that each joined: they
    are never written again, even when nothing else remembers them."""

    hidden: dict[str, str] = Field(default_factory=dict)
    """Relationships and queries that runs hid since their join is gone, with the id of the run."""

    deleted_queries: list[str] = Field(default_factory=list)
    """Queries that people deleted for good: they are never written again either."""

    def prepare_for_commit(self) -> None:
        """Puts everything into order: the same content makes the same state."""
        self.relationships = dict(sorted(self.relationships.items()))
        self.refused = dict(sorted(self.refused.items()))
        self.hidden = dict(sorted(self.hidden.items()))
        self.columns, self.datasets = _ordered(self.columns), _ordered(self.datasets)
        self.queries = _ordered(self.queries)
        self.deleted_queries = _ordered(self.deleted_queries)
        self.lineage = sorted(set(self.lineage))

    def joined(self, other: "WrittenState") -> Self:
        """What stands in either.

        Args:
            other: The ledger that gives way where both speak of the same relationship.
        """
        edges = {edge[:2]: edge for edge in (*other.lineage, *self.lineage)}
        both = self.model_copy(
            update={
                "relationships": other.relationships | self.relationships,
                "columns": [*self.columns, *other.columns],
                "datasets": [*self.datasets, *other.datasets],
                "queries": [*self.queries, *other.queries],
                "lineage": list(edges.values()),
                "refused": other.refused | self.refused,
                "hidden": other.hidden | self.hidden,
                "deleted_queries": [*self.deleted_queries, *other.deleted_queries],
            }
        )
        both.prepare_for_commit()
        return both

    def without(self, queries: Container[str]) -> Self:
        """The same, but for queries that are no longer ours.

        Args:
            queries: Their urns.
        """
        kept = [query for query in self.queries if query not in queries]
        return self.model_copy(update={"queries": kept})


def _ordered(urns: Iterable[str]) -> list[str]:
    return sorted(set(urns))


class WrittenStateHandler(StatefulIngestionUsecaseHandlerBase[WrittenState]):
    """Keeps a ledger from run to run.

    Args:
        state: The source's `state_provider`.
        ctx: The run's context.
    """

    def __init__(self, state: StateProviderWrapper, ctx: PipelineContext) -> None:
        self._state, self._ctx = state, ctx
        state.register_stateful_ingestion_usecase_handler(self)

    @property
    def job_id(self) -> JobId:
        """The name under which the state is kept.

        Returns:
            Another than that of the framework's own removal.
        """
        return JobId("hyperjoin_ledger")

    @property
    def _config(self) -> StatefulIngestionConfig | None:
        return self._state.stateful_ingestion_config

    @property
    def removal(self) -> StatefulStaleMetadataRemovalConfig | None:
        """How what is stale is taken back.

        Returns:
            None if the recipe does not let anything be taken back.
        """
        config = self._config
        if not isinstance(config, StatefulStaleMetadataRemovalConfig):
            return None
        allowed = self.is_checkpointing_enabled() and config.remove_stale_metadata
        return config if allowed else None

    def is_checkpointing_enabled(self) -> bool:
        """Whether runs remember anything.

        Returns:
            What the recipe says, or without its word whether there is a server and a pipeline's
            name.
        """
        return self._state.is_stateful_ingestion_configured()

    def create_checkpoint(self) -> Checkpoint[WrittenState] | None:
        """An empty ledger for this run.

        Returns:
            None if this run is not remembered.
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
        """What the last run wrote.

        Returns:
            None if there was none, or if it is not to be looked at.
        """
        checkpoint = self._state.get_last_checkpoint(self.job_id, WrittenState)
        return checkpoint.state if checkpoint else None

    def keep(self, ledger: WrittenState) -> None:
        """Remembers what this run wrote; a run that never says so leaves the last one's word.

        Args:
            ledger: What it wrote.
        """
        checkpoint = self._state.get_current_checkpoint(self.job_id)
        if checkpoint:
            checkpoint.state = ledger


def stale_removal(
    source: StatefulIngestionSourceBase,
    config: StatefulIngestionConfigBase[Any],
    ctx: PipelineContext,
) -> list[MetadataWorkUnitProcessor]:
    """The framework's removal of stale entities, where the source has to add it.

    Args:
        source: The source.
        config: Its recipe.
        ctx: The run's context.

    Returns:
        None of them with DataHub 1.7, whose sources have it by themselves.
    """
    create = getattr(StaleEntityRemovalHandler, "create", None)
    return [create(source, config, ctx).workunit_processor] if create else []
