"""Keep what earlier runs wrote about tables that this run cannot read.

Such metadata stays as earlier runs wrote it.
"""

from dataclasses import replace

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import StructuredPropertiesClass
from datahub.utilities.urns.urn import guess_entity_type

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.entities import fetch_each
from datahub_hyperjoin.emit import (
    EmitConfig,
    ExistingState,
    Partner,
    Publication,
    WrittenState,
    read_partners,
)
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import Join, Statement, Verdict
from datahub_hyperjoin.metadata.relationship_aspect import catalog_evidence, join_urn
from datahub_hyperjoin.metadata.urns import column_id, column_urn, dataset_urn, query_urn
from datahub_hyperjoin.publishing.renamed_columns import rename_columns
from datahub_hyperjoin.tables import ColumnId, TableId, pair_of

_NOT_RUN = Statement(untested=True)


def carry_over(findings: Findings, catalog: Catalog) -> list[Join]:
    """Return joins of earlier runs that stay published although this run did not find them.

    Args:
        findings: The results of this run, with the tables that it could not read.

    Returns:
        Joins that people accepted, and undecided joins of tables that this run did not read: what
        is not verified is not refuted. What names alone suggested is judged by names again.
    """
    if not catalog.relationships:
        return []
    unread = findings.unread | catalog.absent
    verified, named = (
        {join_urn(rename_columns(join, catalog.field_path)) for join in joins}
        for joins in (findings.joins, findings.named)
    )
    carried = []
    for relationship in catalog.relationships.values():
        join = relationship.join
        if join is None or relationship.removed or not relationship.recorded:
            continue
        pair = (join.left, join.right)
        evidence = catalog_evidence(join.pairs, catalog.facts)
        judged = findings.described if join.evidence is None else frozenset()
        is_open = evidence.verdict is None and any(end.table in unread - judged for end in pair)
        current = verified | named if join.evidence is None else verified
        if relationship.urn not in current and (is_open or evidence.verdict is Verdict.ACCEPTED):
            carried.append(replace(join, catalog=evidence))
    return carried


def about_unread_tables(
    last: WrittenState, publication: Publication, existing: ExistingState, config: EmitConfig
) -> WrittenState:
    """Return the part of the written state about tables that this run could not read."""
    if not publication.unread:
        return WrittenState()
    unread = {dataset_urn(table) for table in publication.unread}
    shown = {urn for urn, subjects in existing.query_subjects.items() if unread & subjects}
    kept = last.about(unread, shown)
    listing = {column_urn(column) for column in existing.listed}
    # Of tables that were judged by names, all that stays is written again.
    judged = set(map(dataset_urn, publication.described))
    columns = [
        urn
        for urn in kept.columns
        if urn in listing or dataset_urn(column_id(urn).table) not in judged
    ]
    datasets = [urn for urn in kept.datasets if urn not in judged]
    shows = {
        "query": config.queries,
        "document": config.documents,
        "glossaryTerm": config.glossary_terms,
    }
    return WrittenState(
        columns=columns if config.properties else [],
        datasets=datasets if config.properties else [],
        queries=[urn for urn in kept.queries if shows[guess_entity_type(urn)]],
        lineage=kept.lineage if config.lineage else [],
        embeds=kept.embeds if config.embed else {},
        contexts=kept.contexts if config.ai_context else {},
        terms=kept.terms if config.glossary_terms else {},
    )


def _is_unjudged(partner: Partner, tables: set[TableId], publication: Publication) -> bool:
    """Return whether this run was unable to check a join partner that the catalog lists.

    Neither data nor names could tell whether the partner still joins.
    """
    judged = frozenset() if partner.is_verified else publication.described
    return bool(tables & (publication.unread - judged))


def untested_queries(last: WrittenState, publication: Publication) -> list[str]:
    """Return the URNs of earlier `query` entities whose SQL this run could not test."""
    joins = [(join, join.pairs) for join in publication.joins]
    joins += [(crosswalk.as_join, crosswalk.pairs) for crosswalk in publication.crosswalks]
    untested = [
        join for join, pairs in joins if publication.statements.get(pairs, _NOT_RUN).untested
    ]
    return sorted({query_urn(join_urn(join)) for join in untested}.intersection(last.queries))


def read_listed(
    last: WrittenState,
    publication: Publication,
    catalog: Catalog,
    graph: DataHubGraph,
    namespace: str,
) -> dict[ColumnId, list[Partner]]:
    """Read the join partners that the catalog lists but that this run cannot check.

    Not every join has a relationship: those within a value domain and those through a crosswalk
    are listed with their columns only.
    """
    if not publication.unread:
        return {}
    # A property names the crosswalk of a join only in this text, see `emit.properties`.
    through = {f"through {table}, in two steps" for table in publication.unread}
    listed: dict[ColumnId, list[Partner]] = {}
    for urn, properties in fetch_each(
        graph, "schemaField", last.columns, StructuredPropertiesClass
    ).items():
        column = column_id(urn)
        kept = [
            replace(it, column=catalog.field_path(it.column))
            for it in read_partners(properties, namespace)
            if _is_unjudged(it, {column.table, it.column.table}, publication)
            or it.relation in through
            if catalog.facts.of(pair_of(column, it.column)).verdict is not Verdict.REJECTED
        ]
        if kept:
            listed[catalog.field_path(column)] = kept
    return listed
