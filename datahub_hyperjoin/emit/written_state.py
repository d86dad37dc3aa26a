"""Record the metadata that a run wrote, so that the next run can withdraw it.

DataHub's stateful ingestion removes whole entities only, and not those of every type. Our
properties and lineage edges are parts of other people's entities, and queries are a type that the
framework does not remove. This state records all of them, in a checkpoint of its own.
"""

from collections.abc import Container, Iterable
from collections.abc import Set as AbstractSet
from itertools import chain

from datahub.ingestion.api.ingestion_job_checkpointing_provider_base import JobId
from datahub.ingestion.source.state.checkpoint import CheckpointStateBase
from datahub.metadata.schema_classes import (
    EmbedClass,
    GlossaryTermsClass,
    StatusClass,
    StructuredPropertiesClass,
    UpstreamLineageClass,
)
from pydantic import ConfigDict, Field
from typing_extensions import Self

from datahub_hyperjoin.emit.written_parts import (
    WrittenEdge,
    dataset_of_column,
    filtered_terms,
    united_terms,
)
from datahub_hyperjoin.metadata.urns import AI_CONTEXT, query_urn

JOB = JobId("hyperjoin_written_state")
"""Name of the checkpoint that holds the written state; the same in all pipelines."""


class WrittenState(CheckpointStateBase):
    """The record of the metadata that a run wrote, and of metadata that people rejected or removed.

    Entities are recorded by their URNs.
    """

    # A later version may store more.
    model_config = ConfigDict(extra="ignore")

    relationships: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """Relationships, each with the two columns that it joins."""

    columns: list[str] = Field(default_factory=list)
    """Columns that have structured properties of this project."""

    datasets: list[str] = Field(default_factory=list)
    """Datasets that have the structured property of this project."""

    queries: list[str] = Field(default_factory=list)
    """URNs of queries that show a join, documents that say how to join a dataset, and glossary
    terms."""

    lineage: list[WrittenEdge] = Field(default_factory=list)
    """Lineage edges between columns."""

    embeds: dict[str, str] = Field(default_factory=dict)
    """Address that the Preview tab of each dataset shows, by the dataset's URN."""

    contexts: dict[str, str] = Field(default_factory=dict)
    """Instructions for agents, by the URN of the column."""

    terms: dict[str, list[str]] = Field(default_factory=dict)
    """Columns of each glossary term."""

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
        self.relationships = dict(sorted(self.relationships.items()))
        self.rejected = dict(sorted(self.rejected.items()))
        self.hidden = dict(sorted(self.hidden.items()))
        self.embeds = dict(sorted(self.embeds.items()))
        self.contexts = dict(sorted(self.contexts.items()))
        self.scores = dict(sorted(self.scores.items()))
        self.columns, self.datasets = _ordered(self.columns), _ordered(self.datasets)
        self.queries = _ordered(self.queries)
        self.deleted_queries = _ordered(self.deleted_queries)
        self.unseen = _ordered(self.unseen)
        self.lineage = sorted(set(self.lineage))
        self.terms = {urn: _ordered(self.terms[urn]) for urn in sorted(self.terms)}
        removed = self.removed_terms
        self.removed_terms = {urn: _ordered(removed[urn]) for urn in sorted(removed)}

    def merged_with(self, other: "WrittenState") -> Self:
        """Return the union of two states.

        Args:
            other: The other state; where both have an entry for the same URN or edge, the entry of
                this state is kept.
        """
        # If both states have an edge, this state's entry counts.
        edges = {edge[:2]: edge for edge in (*other.lineage, *self.lineage)}
        both = self.model_copy(
            update={
                "relationships": other.relationships | self.relationships,
                "columns": [*self.columns, *other.columns],
                "datasets": [*self.datasets, *other.datasets],
                "queries": [*self.queries, *other.queries],
                "lineage": list(edges.values()),
                "terms": united_terms(self.terms, other.terms),
                "removed_terms": united_terms(self.removed_terms, other.removed_terms),
                "rejected": other.rejected | self.rejected,
                "hidden": other.hidden | self.hidden,
                "embeds": other.embeds | self.embeds,
                "contexts": other.contexts | self.contexts,
                "scores": other.scores | self.scores,
                "deleted_queries": [*self.deleted_queries, *other.deleted_queries],
                "unseen": [*self.unseen, *other.unseen],
            }
        )
        both.prepare_for_commit()
        return both

    @property
    def all_datasets(self) -> frozenset[str]:
        """The URNs of all datasets that the written metadata is about."""
        joined = chain(self.columns, self.contexts, *self.relationships.values())
        flowing = chain(*(edge.datasets for edge in self.lineage))
        termed = map(dataset_of_column, chain(*self.terms.values()))
        own = chain(self.datasets, self.embeds, termed)
        return frozenset(chain(own, map(dataset_of_column, joined), flowing))

    def about(self, datasets: AbstractSet[str], queries: AbstractSet[str]) -> Self:
        """Return the entries of the state that concern the given datasets or queries.

        Relationships are left out: they are either written again or no longer wanted.

        Args:
            datasets: URNs of datasets.
            queries: Queries that show rows of these datasets.
        """
        terms = filtered_terms(self.terms, lambda column: dataset_of_column(column) in datasets)
        shown = (
            queries
            | terms.keys()
            | {
                query_urn(urn)
                for urn, columns in self.relationships.items()
                if not datasets.isdisjoint(map(dataset_of_column, columns))
            }
        )
        return type(self)(
            columns=[column for column in self.columns if dataset_of_column(column) in datasets],
            datasets=[dataset for dataset in self.datasets if dataset in datasets],
            embeds={urn: url for urn, url in self.embeds.items() if urn in datasets},
            contexts={
                urn: text
                for urn, text in self.contexts.items()
                if dataset_of_column(urn) in datasets
            },
            queries=[query for query in self.queries if query in shown],
            lineage=[edge for edge in self.lineage if not datasets.isdisjoint(edge.datasets)],
            terms=terms,
        )

    def held_in(self, aspects: AbstractSet[tuple[str, str]]) -> Self:
        """Return the entries of the state that DataHub stores in the given aspects.

        Args:
            aspects: URN of the entity and name of the aspect, of each.
        """
        status = {urn for urn, name in aspects if name == StatusClass.ASPECT_NAME}
        properties = {urn for urn, name in aspects if name == StructuredPropertiesClass.ASPECT_NAME}
        lineage = {urn for urn, name in aspects if name == UpstreamLineageClass.ASPECT_NAME}
        embeds = {urn for urn, name in aspects if name == EmbedClass.ASPECT_NAME}
        contexts = {urn for urn, name in aspects if name == AI_CONTEXT}
        termed = {urn for urn, name in aspects if name == GlossaryTermsClass.ASPECT_NAME}
        return type(self)(
            relationships={urn: ends for urn, ends in self.relationships.items() if urn in status},
            columns=[column for column in self.columns if column in properties],
            datasets=[dataset for dataset in self.datasets if dataset in properties],
            embeds={urn: url for urn, url in self.embeds.items() if urn in embeds},
            contexts={urn: text for urn, text in self.contexts.items() if urn in contexts},
            queries=[query for query in self.queries if query in status],
            lineage=[edge for edge in self.lineage if edge.datasets[1] in lineage],
            terms=filtered_terms(self.terms, lambda column: column in termed),
        )

    def without(self, part: "WrittenState") -> Self:
        """Return a copy without the entries of `part`; all relationships are kept.

        Args:
            part: The other state.
        """
        edges = {edge[:2] for edge in part.lineage}
        return self.model_copy(
            update={
                "columns": sorted({*self.columns} - {*part.columns}),
                "datasets": sorted({*self.datasets} - {*part.datasets}),
                "embeds": {
                    urn: self.embeds[urn] for urn in self.embeds.keys() - part.embeds.keys()
                },
                "contexts": {
                    urn: self.contexts[urn] for urn in self.contexts.keys() - part.contexts.keys()
                },
                "queries": sorted({*self.queries} - {*part.queries}),
                "lineage": [edge for edge in self.lineage if edge[:2] not in edges],
                "terms": {
                    urn: sorted({*columns}.difference(part.terms.get(urn, ())))
                    for urn, columns in self.terms.items()
                },
            }
        )

    def with_seen(self, present: AbstractSet[str]) -> Self:
        """Return a copy whose field `unseen` lists the written entities not yet in the catalog.

        Args:
            present: URNs of relationships and queries that the catalog has.
        """
        gone = {*self.rejected, *self.deleted_queries}
        unseen = {*self.relationships, *self.queries} - gone - present
        return self.model_copy(update={"unseen": sorted(unseen)})

    def without_embeds(self, datasets: Container[str]) -> Self:
        """Return a copy without the `embed` aspects of the given datasets.

        Args:
            datasets: URNs of datasets whose embed somebody else has written since.
        """
        kept = {urn: url for urn, url in self.embeds.items() if urn not in datasets}
        return self.model_copy(update={"embeds": kept})

    def without_contexts(self, columns: Container[str]) -> Self:
        """Return a copy without the given columns' instructions for agents.

        Args:
            columns: URNs of columns whose instructions somebody else has written since.
        """
        kept = {urn: text for urn, text in self.contexts.items() if urn not in columns}
        return self.model_copy(update={"contexts": kept})

    def without_queries(self, queries: Container[str]) -> Self:
        """Return a copy without the given queries.

        Args:
            queries: URNs of queries that this source no longer manages.
        """
        kept = [query for query in self.queries if query not in queries]
        return self.model_copy(update={"queries": kept})


def _ordered(urns: Iterable[str]) -> list[str]:
    return sorted(set(urns))
