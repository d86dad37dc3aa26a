"""Write the metadata about a run's joins in the order that DataHub requires.

The layers of metadata are relationships, structured properties, queries, documents and lineage.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from datahub.configuration.common import OperationalError
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import StatusClass
from requests import RequestException

from datahub_hyperjoin.client_errors import explain
from datahub_hyperjoin.emit.config import EmitConfig, LineageForm
from datahub_hyperjoin.emit.contexts import emit_contexts
from datahub_hyperjoin.emit.definitions import define_properties, define_tags
from datahub_hyperjoin.emit.documents import emit_guide, emit_overview
from datahub_hyperjoin.emit.embeds import embed_url, emit_embed
from datahub_hyperjoin.emit.errors import RefusedError
from datahub_hyperjoin.emit.existing_state import ExistingState
from datahub_hyperjoin.emit.guide import write_guide
from datahub_hyperjoin.emit.lineage import build_lineage, emit_lineage
from datahub_hyperjoin.emit.patches import add_terms, change_tags
from datahub_hyperjoin.emit.properties import (
    emit_column,
    emit_dataset,
    labels,
    partners,
    with_listed,
)
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.emit.queries import emit_query, query_of
from datahub_hyperjoin.emit.terms import create_term, find_terms, name_terms
from datahub_hyperjoin.emit.written_parts import WrittenEdge
from datahub_hyperjoin.emit.written_state import WrittenState
from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.graphql.published import catalog_join
from datahub_hyperjoin.joins import CrosswalkJoin, Join, Role, Statement, lone_joins
from datahub_hyperjoin.metadata.confidence_bands import BAND_NAMES, band_of
from datahub_hyperjoin.metadata.relationship_aspect import join_urn, pairs_in, to_aspect
from datahub_hyperjoin.metadata.role_context import RoleContext
from datahub_hyperjoin.metadata.urns import (
    AUTHOR,
    JOIN_OVERVIEW,
    band_urn,
    column_urn,
    dataset_urn,
    document_urn,
    role_urn,
)
from datahub_hyperjoin.progress import Count
from datahub_hyperjoin.tables import TableId


def create_missing_definitions(
    proposals: Iterable[MetadataChangeProposalWrapper], graph: DataHubGraph | None
) -> Iterator[MetadataWorkUnit]:
    """Create the structured properties and tags that do not exist yet.

    Args:
        graph: DataHub's server. Definitions that it has are kept, since a person may have changed
            them. The others are committed at once, because the server rejects metadata that refers
            to an unknown definition. None if the run has no server.
    """
    if graph is None:
        for proposal in proposals:
            yield proposal.as_workunit(is_primary_source=False)
        return
    wanted = list(proposals)
    existing = _read_existing(wanted, graph)
    for proposal in wanted:
        if (proposal.entityUrn, proposal.aspectName) not in existing:
            _commit(proposal, graph)


def _read_existing(
    proposals: Iterable[MetadataChangeProposalWrapper], graph: DataHubGraph
) -> set[tuple[str | None, str | None]]:
    """Return the URN and aspect name of each proposed aspect that the server already has.

    The set may be incomplete if the server cannot be read. That does no harm, because each proposal
    only creates: the server keeps an aspect that it has.
    """
    existing: set[tuple[str | None, str | None]] = set()
    for entity_type, group in groupby(proposals, key=lambda proposal: proposal.entityType):
        members = list(group)
        urns = sorted({str(proposal.entityUrn) for proposal in members})
        names = sorted({str(proposal.aspectName) for proposal in members})
        try:
            entities = graph.get_entities(entity_type, urns, names)
        except (RequestException, ValueError, TypeError):
            continue
        existing.update((urn, name) for urn, aspects in entities.items() for name in aspects)
    return existing


def _commit(proposal: MetadataChangeProposalWrapper, graph: DataHubGraph) -> None:
    try:
        graph.emit_mcp(proposal)
    except OperationalError as error:
        reason = explain(error, graph.config.token)
        raise RefusedError.definition(str(proposal.entityUrn), reason=reason) from error


_OUR_TAGS = (*map(band_urn, BAND_NAMES), *map(role_urn, Role))


def emit_relationship(
    join: Join, model_version: str, *, no_sql: str = ""
) -> Iterator[MetadataWorkUnit]:
    """Write a join as a relationship with two tags: the join's role and its confidence band.

    Args:
        no_sql: Why the join has no SQL, if it was sought and not found.

    Yields:
        The relationship, which stateful ingestion removes with its join, and a patch of its tags.
        The tags' contexts hold the joinability and the facts of the evidence, because GraphQL shows
        no other text of a relationship that programs may write.
    """
    urn, aspect = join_urn(join), to_aspect(join, model_version)
    if no_sql:
        aspect.customProperties["no_sql"] = no_sql
    yield MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect).as_workunit()
    contexts = {
        band_urn(band_of(join)): f"{join.joinability:.4f}",
        role_urn(join.role): RoleContext.of(join).text,
    }
    yield change_tags(urn, contexts, stale=[tag for tag in _OUR_TAGS if tag not in contexts])


def emit_findings(
    publication: Publication,
    *,
    config: EmitConfig,
    existing: ExistingState,
    written: WrittenState,
    graph: DataHubGraph | None,
    count: Count,
) -> Iterator[MetadataWorkUnit]:
    """Convert joins to the kinds of metadata that the recipe selects.

    Args:
        publication: The joins.
        config: The layers to write.
        existing: The metadata that DataHub holds already.
        written: Receives everything that is written.
        graph: DataHub's server. It rejects values of unknown properties, so definitions are
            committed there before any value is sent. None if the run has no server.
        count: Receives the number of joins that a layer cannot represent.

    Yields:
        The metadata of each layer; without a server, each layer follows its definitions.

    Raises:
        RefusedError: The server rejects a definition.
    """
    if config.relationships:
        yield from create_missing_definitions(define_tags(), graph)
        yield from _relationships(publication, existing, written)
    if config.properties:
        yield from create_missing_definitions(define_properties(config.namespace), graph)
        yield from _properties(publication, existing, config.namespace, written)
    if config.queries:
        yield from _queries(publication, existing, written, count)
    if config.documents or config.ai_context:
        yield from _for_agents(publication, existing, config, written)
    if config.glossary_terms:
        yield from _terms(publication, existing, config.namespace, written)
    if config.lineage:
        yield from _lineage(publication, existing, config.lineage, written, count)
    if config.embed:
        yield from _embeds(publication, existing, config.embed, written)


def _relationships(
    publication: Publication, existing: ExistingState, written: WrittenState
) -> Iterator[MetadataWorkUnit]:
    joins = {join_urn(join): join for join in publication.linking}
    for urn, join in joins.items():
        if urn not in existing.foreign:
            statement = publication.statements.get(join.pairs, Statement())
            yield from emit_relationship(join, publication.model_version, no_sql=statement.reason)
            if urn in existing.hidden:
                yield _show_again(urn)
            written.relationships[urn] = (column_urn(join.left), column_urn(join.right))
    for urn, aspect in existing.edited.items():
        # Stateful ingestion removes every entity that a run does not write, so an edited
        # relationship is written as it is.
        yield MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect).as_workunit()
        left, right = pairs_in(aspect)[0]
        written.relationships[urn] = (column_urn(left), column_urn(right))


def _show_again(urn: str, *, primary: bool = True) -> MetadataWorkUnit:
    """Unhide an entity; if `primary` is true, let stateful ingestion hide it again later."""
    proposal = MetadataChangeProposalWrapper(entityUrn=urn, aspect=StatusClass(removed=False))
    return proposal.as_workunit(is_primary_source=primary)


def _properties(
    publication: Publication, existing: ExistingState, namespace: str, written: WrittenState
) -> Iterator[MetadataWorkUnit]:
    kept = {partner.column.table for listed in existing.listed.values() for partner in listed}
    names = labels({table: table.name for table in kept} | dict(publication.titles))
    joins = [*publication.joins, *lone_joins(publication.crosswalks, publication.joins)]
    found = with_listed(partners(joins, publication.ranks), existing.listed)
    shared = partners(publication.shared)
    also = {column: shared[column] for column in found.keys() & shared.keys()}
    for column, joined in with_listed(found, also).items():
        if column in also:
            # The other pipelines must not list the same joins in another order.
            joined.sort(key=lambda partner: (-partner.score, partner.column))
        yield emit_column(column, joined, names, namespace)
        written.columns.append(column_urn(column))
    shared_by_table = _by_table(publication.shared)
    for table, joins in _by_table(publication.linking).items():
        yield emit_dataset(table, [*joins, *shared_by_table.get(table, ())], names, namespace)
        written.datasets.append(dataset_urn(table))


def _queries(
    publication: Publication, existing: ExistingState, written: WrittenState, count: Count
) -> Iterator[MetadataWorkUnit]:
    """Write a `query` entity for each join whose SQL was tested.

    Joins in one step come first, then joins through crosswalks. Some are skipped: queries that a
    person changed or deleted, and crosswalks between columns that already have a query. A join in
    one step that has no SQL is counted instead.
    """
    names, shown = labels(publication.titles), {*written.queries}
    joins: list[Join | CrosswalkJoin] = [*publication.linking, *publication.crosswalks]
    for join in joins:
        urn = query_of(join)
        statement = publication.statements.get(join.pairs, Statement())
        if not statement.sql and isinstance(join, Join):
            count("joins_without_query", 1)
        if not statement.sql or urn in existing.closed_queries or urn in shown:
            continue
        yield from emit_query(
            join,
            statement=statement,
            model_version=publication.model_version,
            names=names,
            now=publication.now,
        )
        if urn in existing.hidden:
            yield _show_again(urn, primary=False)
        written.queries.append(urn)
        shown.add(urn)


def _for_agents(
    publication: Publication, existing: ExistingState, config: EmitConfig, written: WrittenState
) -> Iterator[MetadataWorkUnit]:
    if config.documents:
        yield from _documents(publication, existing, written)
    if config.ai_context:
        unread = publication.unread - publication.described
        joins = _joins_for_agents(publication)
        read = {table: found for table, found in joins.items() if table not in unread}
        yield from emit_contexts(read, existing.foreign_contexts, written.contexts)


def _documents(
    publication: Publication, existing: ExistingState, written: WrittenState
) -> Iterator[MetadataWorkUnit]:
    """Write the documents that tell agents how to join tables.

    Documents that a person changed or deleted are skipped. So are documents of tables that this run
    did not read, because their SQL was not run.
    """
    names, version, now = labels(publication.titles), publication.model_version, publication.now
    statements = {
        join_urn(join): statement.sql
        for join in publication.joins
        if (statement := publication.statements.get(join.pairs)) and statement.sql
    }
    kept = existing.closed_queries | {
        document_urn(table)
        for table in publication.unread - publication.described
        if document_urn(table) in existing.present
    }
    guides: list[tuple[str, Iterator[MetadataWorkUnit]]] = []
    for table, found in _joins_for_agents(publication).items():
        text = write_guide(table, found, statements)
        units = emit_guide(table, label=names[table], text=text, model_version=version, now=now)
        guides.append((document_urn(table), units))
    if guides:
        guides.append((JOIN_OVERVIEW, iter([emit_overview(model_version=version, now=now)])))
    for urn, units in guides:
        if urn not in kept:
            yield from units
            if urn in existing.hidden:
                yield _show_again(urn, primary=False)
            written.queries.append(urn)


def _joins_for_agents(publication: Publication) -> dict[TableId, list[CatalogJoin]]:
    """Return the joins of each table, including joins that only other pipelines write.

    An agent knows nothing of value domains, so their implied joins are listed, too.
    """
    shared = _by_table(publication.shared)
    return {
        table: [catalog_join(join) for join in (*own, *shared.get(table, ()))]
        for table, own in _by_table(publication.joins).items()
    }


def _terms(
    publication: Publication, existing: ExistingState, namespace: str, written: WrittenState
) -> Iterator[MetadataWorkUnit]:
    """Write groups of columns as glossary terms, except terms that people hid or deleted."""
    glossary = existing.glossary or find_terms(publication.joins, {}, namespace)
    written.removed_terms = {urn: sorted(glossary.removed[urn]) for urn in glossary.removed}
    names = name_terms(glossary.terms, publication.titles)
    of_column: dict[str, list[str]] = defaultdict(list)
    for term, group in sorted(glossary.terms.items()):
        written.terms[term] = sorted(glossary.columns_of(term))
        if term in existing.closed_queries or not written.terms[term]:
            continue
        if term not in existing.present:
            yield from create_term(term, group, names[term], publication.titles, namespace)
        if term in existing.hidden:
            yield _show_again(term, primary=False)
        written.queries.append(term)
        for column in written.terms[term]:
            of_column[column].append(term)
    for column, terms in sorted(of_column.items()):
        yield add_terms(column, terms, exists=column in glossary.termed, actor=AUTHOR)


def _lineage(
    publication: Publication,
    existing: ExistingState,
    form: LineageForm,
    written: WrittenState,
    count: Count,
) -> Iterator[MetadataWorkUnit]:
    queries = frozenset(written.queries)
    lineage = build_lineage(publication.linking, existing.upstreams, form=form, queries=queries)
    count("joins_skipped_as_lineage_cycles", lineage.skipped_cycles)
    yield from emit_lineage(lineage.edges)
    for edge in lineage.edges:
        written.lineage.append(
            WrittenEdge(column_urn(edge.upstream), column_urn(edge.downstream), edge.adds_table)
        )


def _embeds(
    publication: Publication, existing: ExistingState, service: str, written: WrittenState
) -> Iterator[MetadataWorkUnit]:
    """Make the Preview tab of each table show its joins, unless the tab shows another page."""
    for dataset in map(dataset_urn, _by_table(publication.linking)):
        if dataset not in existing.foreign_embeds:
            url = embed_url(service, dataset)
            yield emit_embed(dataset, url, exists=dataset in existing.embedded)
            written.embeds[dataset] = url


def _by_table(joins: Sequence[Join]) -> dict[TableId, list[Join]]:
    by_table: dict[TableId, list[Join]] = defaultdict(list)
    for join in joins:
        for table in {join.left.table, join.right.table}:
            by_table[table].append(join)
    return dict(sorted(by_table.items()))
