"""Record the metadata that a run wrote, so that the next run can withdraw it.

DataHub's stateful ingestion removes whole entities only, and not those of every type. Our
properties and lineage edges are parts of other people's entities, and queries are a type that the
framework does not remove. This state records all of them, in a checkpoint of its own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.api.ingestion_job_checkpointing_provider_base import JobId
from datahub.ingestion.source.state.checkpoint import Checkpoint, CheckpointStateBase
from datahub.ingestion.source.state.stale_entity_removal_handler import (
    StatefulStaleMetadataRemovalConfig,
)
from datahub.ingestion.source.state.stateful_ingestion_base import (
    StatefulIngestionConfig,
    StateProviderWrapper,
)
from datahub.ingestion.source.state.use_case_handler import StatefulIngestionUsecaseHandlerBase
from datahub.metadata.schema_classes import (
    EmbedClass,
    GlossaryTermsClass,
    StatusClass,
    StructuredPropertiesClass,
    UpstreamLineageClass,
)
from datahub.metadata.urns import SchemaFieldUrn
from pydantic import ConfigDict, Field
from typing_extensions import Self

from datahub_hyperjoin.metadata.urns import AI_CONTEXT, query_urn


class WrittenEdge(NamedTuple):
    """A lineage edge between two columns."""

    upstream: str
    downstream: str
    adds_table: bool
    """Whether this source also wrote the edge between the datasets of the two columns."""

    @property
    def datasets(self) -> tuple[str, str]:
        """The URNs of the upstream and the downstream dataset."""
        return _dataset_of_column(self.upstream), _dataset_of_column(self.downstream)


def _dataset_of_column(column: str) -> str:
    """Return the URN of a column's dataset."""
    return SchemaFieldUrn.from_string(column).parent


class _Part(NamedTuple):
    """What the entries of one field of the written state are about, and where DataHub has them."""

    aspect: str
    datasets: Callable[[Any], Iterable[str]]
    """Returns the URNs of the datasets that an entry is about."""

    holder: Callable[[Any], str] = str
    """Returns the URN of the entity that has the aspect."""


def _of_column(column: str) -> tuple[str, ...]:
    return (_dataset_of_column(column),)


# An entry of `lineage` is an edge, one of `terms` a term with a column, and any other a URN.
_PARTS: Mapping[str, _Part] = {
    "columns": _Part(StructuredPropertiesClass.ASPECT_NAME, _of_column),
    "datasets": _Part(StructuredPropertiesClass.ASPECT_NAME, lambda dataset: (dataset,)),
    "queries": _Part(StatusClass.ASPECT_NAME, lambda _: ()),
    "lineage": _Part(
        UpstreamLineageClass.ASPECT_NAME, lambda edge: edge.datasets, lambda edge: edge.datasets[1]
    ),
    "embeds": _Part(EmbedClass.ASPECT_NAME, lambda dataset: (dataset,)),
    "contexts": _Part(AI_CONTEXT, _of_column),
    "terms": _Part(GlossaryTermsClass.ASPECT_NAME, lambda it: _of_column(it[1]), lambda it: it[1]),
}
"""The fields of the written state whose entries `withdraw` takes back."""


JOB = JobId("hyperjoin_written_state")
"""Name of the checkpoint that holds the written state; the same in all pipelines."""


class WrittenState(CheckpointStateBase):
    """The record of the metadata that a run wrote, and of what people rejected or removed."""

    # A later version may store more.
    model_config = ConfigDict(extra="ignore")

    relationships: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """Relationships, each with the two columns that it joins."""

    columns: list[str] = Field(default_factory=list)
    datasets: list[str] = Field(default_factory=list)
    queries: list[str] = Field(default_factory=list)
    """URNs of queries that show a join, documents that say how to join a dataset, glossary terms,
    assertions of watched joins, and semantic models."""

    lineage: list[WrittenEdge] = Field(default_factory=list)
    embeds: dict[str, str] = Field(default_factory=dict)
    """Address that the Preview tab of each dataset shows, by the dataset's URN."""

    contexts: dict[str, str] = Field(default_factory=dict)
    terms: dict[str, list[str]] = Field(default_factory=dict)
    removed_terms: dict[str, list[str]] = Field(default_factory=dict)
    """Columns from which people removed each glossary term."""

    rejected: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """Relationships that people deleted, hid or rejected, each with the two columns that it joined.
    They are never written again, even after DataHub has deleted them for good."""

    hidden: dict[str, str] = Field(default_factory=dict)
    """Relationships and queries that were hidden with their join, each with the ID of the run."""

    deleted_queries: list[str] = Field(default_factory=list)
    """Queries that people deleted for good; they are never written again."""

    unseen: list[str] = Field(default_factory=list)
    """Relationships and queries that no run has read back from the catalog since they were written.
    If one is missing, its write was lost: nobody has deleted it."""

    scores: dict[str, float] = Field(default_factory=dict)
    """Joinability of each join without a relationship, by the URN that its relationship would have.
    Only the properties of columns list these joins."""

    model_version: str = ""
    """The model that suggested the joins of the run. Aspects that the run left unchanged may name
    an earlier model."""

    since: int = 0
    """The time of the pipeline's first run, in milliseconds since 1970. If several pipelines find
    the same join, the pipeline with the earliest first run writes the join."""

    def prepare_for_commit(self) -> None:
        """Sort all fields, so that the same state is always stored as the same bytes."""
        for name in type(self).model_fields:
            setattr(self, name, _ordered(getattr(self, name)))

    def merged_with(self, other: "WrittenState") -> Self:
        """Return the union of two states; where both have an entry, that of this state is kept."""
        both = self.model_copy(
            update={
                name: _united(held, getattr(other, name))
                for name in type(self).model_fields
                if isinstance(held := getattr(self, name), list | dict)
            }
        )
        edges = {edge[:2]: edge for edge in (*other.lineage, *self.lineage)}
        both.lineage = list(edges.values())
        both.prepare_for_commit()
        return both

    @property
    def size(self) -> int:
        """The number of entries that can be withdrawn."""
        return sum(1 for name in _PARTS for _ in self.entries(name))

    @property
    def all_datasets(self) -> frozenset[str]:
        """The URNs of all datasets that the written metadata is about."""
        own = (
            part.datasets(entry) for name, part in _PARTS.items() for entry in self.entries(name)
        )
        joined = map(_dataset_of_column, chain(*self.relationships.values()))
        return frozenset(chain(*own, joined))

    def about(self, datasets: AbstractSet[str], queries: AbstractSet[str]) -> Self:
        """Return the entries that concern the given datasets or queries that show their rows."""
        # Relationships are left out: they are either written again or no longer wanted.
        found = self._kept(
            lambda name, entry: not datasets.isdisjoint(_PARTS[name].datasets(entry))
        )
        joins = {
            query_urn(urn)
            for urn, columns in self.relationships.items()
            if not datasets.isdisjoint(map(_dataset_of_column, columns))
        }
        shown = queries | found["terms"].keys() | joins
        found["queries"] = [query for query in self.queries if query in shown]
        return type(self)(**found)

    def held_in(self, aspects: AbstractSet[tuple[str, str]]) -> Self:
        """Return the entries that DataHub stores in aspects, given as URNs and aspects' names."""

        def is_held(name: str, entry: Any) -> bool:  # noqa: ANN401 (an entry of any field)
            return (_PARTS[name].holder(entry), _PARTS[name].aspect) in aspects

        hidden = {urn for urn, name in aspects if name == StatusClass.ASPECT_NAME}
        relationships = {urn: ends for urn, ends in self.relationships.items() if urn in hidden}
        return type(self)(relationships=relationships, **self._kept(is_held))

    def without(self, other: "WrittenState") -> Self:
        """Return a copy without the entries of another state; all relationships are kept."""
        gone = {name: {_key(entry) for entry in other.entries(name)} for name in _PARTS}
        return self.model_copy(update=self._kept(lambda name, entry: _key(entry) not in gone[name]))

    def entries(self, name: str) -> Iterator[Any]:
        """Yield the entries of a field: URNs, edges, or terms with their columns."""
        held = getattr(self, name)
        if name == "terms":
            return ((term, column) for term, columns in held.items() for column in columns)
        return iter(held)

    def _kept(self, keep: Callable[[str, Any], bool]) -> dict[str, Any]:
        """Return the entries of each part that fulfil a condition, by the name of the field."""
        found: dict[str, Any] = {}
        for name in _PARTS:
            held = getattr(self, name)
            kept = [entry for entry in self.entries(name) if keep(name, entry)]
            if name == "terms":
                found[name] = {}
                for term, column in kept:
                    found[name].setdefault(term, []).append(column)
            else:
                found[name] = {urn: held[urn] for urn in kept} if isinstance(held, dict) else kept
        return found

    def with_seen(self, present: AbstractSet[str]) -> Self:
        """Return a copy whose field `unseen` lists the written entities not yet in the catalog."""
        gone = {*self.rejected, *self.deleted_queries}
        unseen = {*self.relationships, *self.queries} - gone - present
        return self.model_copy(update={"unseen": sorted(unseen)})


def _key(entry: Any) -> Any:  # noqa: ANN401 (an entry of any field)
    # An edge is the same whether or not it adds an edge between its tables.
    return entry[:2] if isinstance(entry, WrittenEdge) else entry


def _ordered(held: Any) -> Any:  # noqa: ANN401 (the value of any field)
    match held:
        case dict():
            return {
                urn: sorted(set(value)) if isinstance(value, list) else value
                for urn, value in sorted(held.items())
            }
        case list():
            return sorted(set(held))
        case _:
            return held


def _united(one: Any, other: Any) -> Any:  # noqa: ANN401 (the values of any field)
    if isinstance(one, list):
        return [*one, *other]
    return {
        urn: [*one.get(urn, ()), *other.get(urn, ())] if isinstance(value, list) else value
        for urn, value in {**other, **one}.items()
    }


@dataclass(frozen=True, kw_only=True)
class History:
    """What the last runs of this pipeline and of all others wrote."""

    own: WrittenState = field(default_factory=WrittenState)
    others: tuple[WrittenState, ...] = ()
    lost: bool = False
    """Whether the catalog lacks the checkpoint that earlier runs should have left."""

    @property
    def all(self) -> tuple[WrittenState, ...]:
        """The states of this pipeline and of all others."""
        return (self.own, *self.others)

    @property
    def hiders(self) -> frozenset[str]:
        """The IDs of the runs that hid relationships or queries."""
        return frozenset(run for state in self.all for run in state.hidden.values())


class WrittenStateHandler(StatefulIngestionUsecaseHandlerBase[WrittenState]):
    """Loads the last run's written state, and stores this run's written state."""

    def __init__(self, state: StateProviderWrapper, ctx: PipelineContext) -> None:
        self._state, self._ctx = state, ctx
        state.register_stateful_ingestion_usecase_handler(self)

    @property
    def job_id(self) -> JobId:
        """The name under which DataHub stores the checkpoint of the written state."""
        return JOB

    @property
    def _config(self) -> StatefulIngestionConfig | None:
        return self._state.stateful_ingestion_config

    @property
    def removal(self) -> StatefulStaleMetadataRemovalConfig | None:
        """The settings for removing outdated metadata; None if removal is off."""
        config = self._config
        if isinstance(config, StatefulStaleMetadataRemovalConfig) and config.remove_stale_metadata:
            return config if self.is_checkpointing_enabled() else None
        return None

    def is_checkpointing_enabled(self) -> bool:
        """Return whether stateful ingestion is enabled."""
        return self._state.is_stateful_ingestion_configured()

    def create_checkpoint(self) -> Checkpoint[WrittenState] | None:
        """Create a checkpoint with an empty state for this run."""
        config, pipeline = self._config, self._ctx.pipeline_name
        enabled = self.is_checkpointing_enabled() and config and not config.ignore_new_state
        if not enabled or not pipeline:
            return None
        run = self._ctx.run_id
        return Checkpoint(self.job_id, pipeline_name=pipeline, run_id=run, state=WrittenState())

    def last(self) -> WrittenState | None:
        """Load the state that the last run wrote."""
        checkpoint = self._state.get_last_checkpoint(self.job_id, WrittenState)
        return checkpoint.state if checkpoint else None

    def current(self) -> WrittenState | None:
        """Return the state of this run, which the handler will store."""
        checkpoint = self._state.get_current_checkpoint(self.job_id)
        return checkpoint.state if checkpoint else None

    def store(self, written: WrittenState) -> None:
        """Store the written state of this run."""
        # A run that does not call this keeps the last state.
        checkpoint = self._state.get_current_checkpoint(self.job_id)
        if checkpoint:
            checkpoint.state = written
