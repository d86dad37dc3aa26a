"""The metadata that DataHub already has for the entities of a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    UpstreamLineageClass,
)

from datahub_hyperjoin.emit.patches import JOINABLE
from datahub_hyperjoin.emit.properties import Partner
from datahub_hyperjoin.emit.terms import Glossary
from datahub_hyperjoin.emit.written_parts import WrittenEdge
from datahub_hyperjoin.tables import ColumnId


@dataclass(frozen=True, kw_only=True)
class ExistingState:
    """The metadata in DataHub that limits what a run may write.

    It is empty if the run has no server.
    """

    foreign: frozenset[str] = frozenset()
    """URNs of relationships that a person wrote, or edited after this source wrote them."""

    edited: Mapping[str, ERModelRelationshipPropertiesClass] = field(default_factory=dict)
    """Current aspects, by URN, of relationships that this source wrote and a person edited later.
    """

    hidden: frozenset[str] = frozenset()
    """URNs of relationships and queries that earlier runs hid because their join disappeared."""

    closed_queries: frozenset[str] = frozenset()
    """URNs of queries and documents that a person edited, hid or deleted."""

    deleted_queries: frozenset[str] = frozenset()
    """URNs of the queries and documents in `closed_queries` that no longer exist."""

    present: frozenset[str] = frozenset()
    """URNs of the relationships and queries that the catalog has."""

    query_subjects: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """URNs of the datasets and columns that published queries show, by the query's URN."""

    listed: Mapping[ColumnId, Sequence[Partner]] = field(default_factory=dict)
    """For each column, the partners that earlier runs listed and this run cannot judge."""

    embedded: frozenset[str] = frozenset()
    """URNs of the datasets that have the aspect `embed`, even if it is empty."""

    foreign_embeds: frozenset[str] = frozenset()
    """URNs of the datasets whose embed somebody else wrote."""

    foreign_contexts: frozenset[str] = frozenset()
    """URNs of the columns whose instructions for agents somebody else wrote."""

    edited_terms: frozenset[str] = frozenset()
    """URNs of glossary terms that a person edited."""

    glossary: Glossary | None = None
    """The glossary terms of the run's columns; None if nobody read them."""

    upstreams: Mapping[str, UpstreamLineageClass] = field(default_factory=dict)
    """Lineage of datasets by URN, without the edges that this source wrote."""


def without_ours(
    lineage: UpstreamLineageClass, edges: Iterable[WrittenEdge], downstream: str
) -> UpstreamLineageClass:
    """Return a dataset's lineage without the edges that this source wrote.

    Args:
        lineage: The dataset's lineage.
        edges: The edges that the last run wrote, into any dataset.
        downstream: The dataset's URN.

    Returns:
        A copy of the lineage without these edges.
    """
    ours = {edge.datasets for edge in edges if edge.adds_table}
    return UpstreamLineageClass(
        upstreams=[edge for edge in lineage.upstreams if (edge.dataset, downstream) not in ours],
        fineGrainedLineages=[
            edge
            for edge in lineage.fineGrainedLineages or ()
            if edge.transformOperation != JOINABLE
        ],
    )
