"""Everything a run found, layer by layer, in the order in which DataHub must receive it."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import StatusClass

from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.emit.define import define
from datahub_hyperjoin.emit.definitions import define_properties, define_tags
from datahub_hyperjoin.emit.existing_state import ExistingState
from datahub_hyperjoin.emit.lineage import direct, emit_lineage
from datahub_hyperjoin.emit.properties import emit_column, emit_dataset, labels, partners
from datahub_hyperjoin.emit.queries import emit_query
from datahub_hyperjoin.emit.relationships import emit_relationship
from datahub_hyperjoin.emit.sql import join_statement
from datahub_hyperjoin.emit.written_state import WrittenEdge, WrittenState
from datahub_hyperjoin.relationship_aspect import join_urn, pairs_in
from datahub_hyperjoin.tables import ColumnId, DataType, Join, Suggestion, TableId
from datahub_hyperjoin.urns import column_urn, dataset_urn, query_urn

CountUp = Callable[[str, int], None]
"""Adds to a counter of the run."""


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What is written, in the catalog's own names of columns."""

    suggestions: Sequence[Suggestion]
    """Key by key, best first."""

    joins: Sequence[Join]
    """The same without direction, best first, with evidence."""

    titles: Mapping[TableId, str]
    """What each table is called."""

    model_version: str
    """What suggested them."""

    types: Mapping[ColumnId, DataType] = field(default_factory=dict)
    """What the columns hold."""

    instances: Mapping[TableId, str] = field(default_factory=dict)
    """The platform instances that tables' names begin with."""

    now: int = 0
    """When, in milliseconds since 1970; what stands in the catalog already keeps its time."""

    @property
    def tables(self) -> frozenset[TableId]:
        """The tables that take part in joins."""
        return frozenset(end.table for join in self.joins for end in (join.left, join.right))


def emit_findings(
    publication: Publication,
    *,
    config: EmitConfig,
    standing: ExistingState,
    ledger: WrittenState,
    graph: DataHubGraph | None,
    count: CountUp,
) -> Iterator[MetadataWorkUnit]:
    """Turns suggestions into metadata.

    Args:
        publication: What to write.
        config: Which layers.
        standing: What the catalog holds already.
        ledger: Gets everything that is written.
        graph: The server, if there is one: definitions are committed there before any value
            is sent, since the server refuses values of properties it does not know.
        count: Told of joins that a layer cannot show.

    Yields:
        Layer by layer; before each, if there is no server, what it refers to.

    Raises:
        RefusedError: The server takes no definitions.
    """
    if config.relationships:
        yield from define(define_tags(), graph)
        yield from _relationships(publication, standing, ledger)
    if config.properties:
        yield from define(define_properties(config.namespace), graph)
        yield from _properties(publication, config.namespace, ledger)
    if config.queries:
        yield from _queries(publication, standing, ledger, count)
    if config.lineage:
        yield from _lineage(publication, standing, ledger, count)


def _relationships(
    publication: Publication, standing: ExistingState, ledger: WrittenState
) -> Iterator[MetadataWorkUnit]:
    written = {join_urn(join): join for join in publication.joins}
    for urn, join in written.items():
        if urn not in standing.theirs:
            yield from emit_relationship(join, publication.model_version)
            if urn in standing.hidden:
                yield _shown(urn)
            ledger.relationships[urn] = (column_urn(join.left), column_urn(join.right))
    for urn, aspect in standing.kept.items():
        # As it is, so that stateful ingestion does not take it for gone.
        yield MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect).as_workunit()
        left, right = pairs_in(aspect)[0]
        ledger.relationships[urn] = (column_urn(left), column_urn(right))


def _shown(urn: str, *, primary: bool = True) -> MetadataWorkUnit:
    """Shows again what an earlier run hid."""
    proposal = MetadataChangeProposalWrapper(entityUrn=urn, aspect=StatusClass(removed=False))
    return proposal.as_workunit(is_primary_source=primary)


def _properties(
    publication: Publication, namespace: str, ledger: WrittenState
) -> Iterator[MetadataWorkUnit]:
    names = labels(publication.titles)
    for column, scored in partners(publication.suggestions, publication.joins).items():
        yield emit_column(column, scored, names, namespace)
        ledger.columns.append(column_urn(column))
    for table, own in _by_table(publication.joins).items():
        yield emit_dataset(table, own, names, namespace)
        ledger.datasets.append(dataset_urn(table))


def _queries(
    publication: Publication, standing: ExistingState, ledger: WrittenState, count: CountUp
) -> Iterator[MetadataWorkUnit]:
    names = labels(publication.titles)
    for join in publication.joins:
        urn = query_urn(join_urn(join))
        statement = join_statement(join, types=publication.types, instances=publication.instances)
        if statement is None:
            count("joins_without_query", 1)
        if statement is None or urn in standing.closed:
            continue
        yield from emit_query(
            join,
            statement=statement,
            model_version=publication.model_version,
            names=names,
            now=publication.now,
        )
        if urn in standing.hidden:
            yield _shown(urn, primary=False)
        ledger.queries.append(urn)


def _lineage(
    publication: Publication, standing: ExistingState, ledger: WrittenState, count: CountUp
) -> Iterator[MetadataWorkUnit]:
    lineage = direct(publication.joins, standing.upstreams)
    count("circles_in_lineage", lineage.circular)
    yield from emit_lineage(lineage.edges)
    for edge in lineage.edges:
        ledger.lineage.append(
            WrittenEdge(column_urn(edge.upstream), column_urn(edge.downstream), edge.adds_table)
        )


def _by_table(joins: Sequence[Join]) -> dict[TableId, list[Join]]:
    found: dict[TableId, list[Join]] = defaultdict(list)
    for join in joins:
        for table in {join.left.table, join.right.table}:
            found[table].append(join)
    return dict(sorted(found.items()))
