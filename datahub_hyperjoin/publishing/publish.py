"""Write the joins of a run to the catalog, and withdraw outdated metadata."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from datahub.emitter.mce_builder import get_sys_time
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import EmbedClass, UpstreamLineageClass

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.column_terms import read_column_terms
from datahub_hyperjoin.catalog.contexts import read_contexts
from datahub_hyperjoin.catalog.entities import fetch_each
from datahub_hyperjoin.catalog.published_entities import PublishedEntities, read_published_entities
from datahub_hyperjoin.catalog.relationships import History
from datahub_hyperjoin.emit import (
    EmitConfig,
    ExistingState,
    Publication,
    WrittenState,
    WrittenStateHandler,
    emit_findings,
    find_foreign_contexts,
    find_foreign_embeds,
    find_unsupported,
    withdraw,
    without_ours,
)
from datahub_hyperjoin.emit.deletions import emit_deletions
from datahub_hyperjoin.emit.terms import Glossary, find_terms, is_own_term
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import Join, sort_joins
from datahub_hyperjoin.metadata.relationship_aspect import columns_urn, join_urn
from datahub_hyperjoin.metadata.urns import column_id, column_urn, dataset_urn, table_id
from datahub_hyperjoin.model.domains import drop_redundant_joins
from datahub_hyperjoin.publishing.kept_metadata import (
    about_unread_tables,
    carry_over,
    read_listed,
    untested_queries,
)
from datahub_hyperjoin.publishing.older_pipelines import read_foreign_metadata
from datahub_hyperjoin.publishing.pipelines import OtherPipeline, shared_joins, without_shared
from datahub_hyperjoin.publishing.renamed_columns import rename_columns, rename_steps
from datahub_hyperjoin.publishing.settled_scores import keep_written_scores, scores_to_remember
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.tables import Pair, TableId, pair_of


def read_glossary(
    publication: Publication,
    last: WrittenState,
    others: Iterable[WrittenState],
    graph: DataHubGraph,
    namespace: str,
) -> Glossary:
    """Find the glossary terms of joinable columns, and the terms that people removed from columns.

    A term was removed by a person if an earlier run added it, it is gone, and no ingestion changed
    the terms of the column since. A term that is back is no longer removed.
    """
    known: dict[str, set[str]] = defaultdict(set)
    for state in (last, *others):
        for term, written in (*state.terms.items(), *state.removed_terms.items()):
            known[term].update(written)
    ends = (column for join in publication.joins for pair in join.pairs for column in pair)
    members = {*map(column_urn, ends)}.union(*known.values())
    present = read_column_terms(graph, sorted(members))
    removed = {
        term: {
            column
            for column in columns & present.keys()
            if term not in present[column].terms
            and (present[column].by_person or column in last.removed_terms.get(term, ()))
        }
        for term, columns in known.items()
    }
    for column, own in present.items():
        for term in filter(partial(is_own_term, namespace=namespace), own.terms):
            known[term].add(column)
    found = find_terms(publication.joins, known, namespace)
    return replace(
        found,
        removed={term: gone for term, gone in removed.items() if gone},
        termed=frozenset(present),
    )


# A dataset has one page in its Preview tab, and a column one text for agents. A run writes either
# only if it is free or its own.


def read_foreign_parts(
    existing: ExistingState,
    publication: Publication,
    last: WrittenState,
    *,
    config: EmitConfig,
    graph: DataHubGraph,
) -> ExistingState:
    """Add to `existing` the Preview pages and agent instructions that others wrote.

    Also add the datasets that have an `embed` aspect.
    """
    embeds, contexts = {}, {}
    if config.embed or last.embeds:
        tables = map(dataset_urn, publication.tables if config.embed else ())
        embeds = fetch_each(graph, "dataset", {*tables, *last.embeds}, EmbedClass)
    if config.ai_context or last.contexts:
        joins = publication.joins if config.ai_context else ()
        columns = {column_urn(end) for join in joins for pair in join.pairs for end in pair}
        contexts = read_contexts(graph, columns.union(last.contexts))
    return replace(
        existing,
        embedded=frozenset(embeds),
        foreign_embeds=frozenset(find_foreign_embeds(embeds, last.embeds, config.embed)),
        foreign_contexts=frozenset(find_foreign_contexts(contexts, last.contexts)),
    )


# There they survive the loss of a checkpoint.


def emit_rejected(catalog: Catalog, namespace: str) -> Iterator[MetadataWorkUnit]:
    """Yield the metadata that stores which suggestions people deleted, hid or rejected.

    Each pair is stored at one of its two columns.

    A column of a table that the catalog shows lists the other one, because the other table may be
    gone. A relationship of several columns cannot be listed so: its pairs alone are not rejected.
    """
    rejected = [
        (left, right) if left.table in catalog.datasets else (right, left)
        for urn, (left, right) in catalog.rejected.items()
        if urn == columns_urn([(left, right)])
    ]
    yield from emit_deletions(
        [(catalog.field_path(column), catalog.field_path(other)) for column, other in rejected],
        listed={catalog.field_path(column) for column, _ in catalog.listed},
        namespace=namespace,
    )


_LARGE_DOMAIN = 4
"""A value domain with at least this many columns is published as a star of joins; a smaller domain
is published with all its joins."""
_CHECKED_COLUMNS = 20
"""Columns that are read to check whether the last run's writes have arrived."""


def build_publication(
    findings: Findings, catalog: Catalog, others: Sequence[OtherPipeline] = ()
) -> Publication:
    """Collect the joins that a run writes to the catalog.

    Columns are named by the catalog's field paths.

    Returns:
        The joins of this run and those that are carried over, best first.
    """
    carried = carry_over(findings, catalog)
    # What an earlier run verified is better known than what names suggest now.
    known = set(map(join_urn, carried))
    named = [
        join
        for join in findings.named
        if join_urn(rename_columns(join, catalog.field_path)) not in known
    ]
    joins = [*findings.joins, *named, *carried]
    renamed = [rename_columns(join, catalog.field_path) for join in joins]
    shared = [
        rename_columns(join, catalog.field_path)
        for join in shared_joins(catalog, {*map(join_urn, renamed)}, others)
    ]
    large = [domain for domain in findings.domains if len(domain.members) >= _LARGE_DOMAIN]
    visible = {urn for urn, entry in catalog.relationships.items() if not entry.removed}
    shown = {
        join.pairs
        for join, own in zip(joins, renamed, strict=True)
        if visible and join_urn(own) in visible
    }
    kept = {join.pairs for join in drop_redundant_joins(findings.joins, large, shown)}
    implied = [join for join in findings.joins if join.pairs not in kept]
    return Publication(
        joins=sort_joins(renamed),
        ranks={
            (catalog.field_path(each.query), catalog.field_path(each.candidate)): each.rank
            for each in findings.suggestions
        },
        implied=frozenset(rename_columns(join, catalog.field_path).pairs for join in implied),
        crosswalks=[rename_steps(join, catalog.field_path) for join in findings.crosswalks],
        shared=shared,
        titles=_titles(catalog, [*renamed, *shared]),
        unread=findings.unread | catalog.absent,
        described=findings.described,
        now=get_sys_time(),
        model_version=findings.model_version,
        statements={
            tuple((catalog.field_path(left), catalog.field_path(right)) for left, right in pairs): (
                statement
            )
            for pairs, statement in findings.statements.items()
            if statement.was_run
        },
    )


def _titles(catalog: Catalog, joins: Iterable[Join]) -> dict[TableId, str]:
    titles = {table: table.name for join in joins for table in (join.left.table, join.right.table)}
    titles |= {table: dataset.title for table, dataset in catalog.datasets.items()}
    return titles | {table.id: table.title for table in catalog.tables}


def load_history(handler: WrittenStateHandler, others: Iterable[OtherPipeline] = ()) -> History:
    """Load what earlier runs wrote and what people rejected.

    Returns:
        A history without joins of its own if there was no run.
    """
    own = _history(handler.last() or WrittenState())
    known = tuple(_history(other.state) for other in others)
    lost = handler.last() is None and not known and handler.is_checkpointing_enabled()
    return replace(own, others=known, lost=lost)


def _history(last: WrittenState) -> History:
    return History(
        written=_pairs(last.relationships),
        rejected=_pairs(last.rejected),
        hidden=last.hidden,
        columns=last.columns[:_CHECKED_COLUMNS],
        unseen=frozenset(last.unseen),
        tables=frozenset(map(table_id, last.all_datasets)),
    )


def _pairs(ends: Mapping[str, tuple[str, str]]) -> dict[str, Pair]:
    return {urn: pair_of(column_id(left), column_id(right)) for urn, (left, right) in ends.items()}


@dataclass(frozen=True, kw_only=True)
class PublishContext:
    """The settings, the server and the state that a run needs to write metadata."""

    config: EmitConfig
    """The settings that select the metadata to write."""

    graph: DataHubGraph | None
    """DataHub's server, if there is one."""

    dry: bool
    """Whether nothing may be written."""

    handler: WrittenStateHandler
    """The handler that loads and stores the written state."""

    run_id: str
    """ID of this run."""

    report: HyperJoinReport
    """The report that receives counts and warnings."""

    others: Sequence[OtherPipeline] = ()
    """The other pipelines, whose metadata stays."""

    older: Sequence[OtherPipeline] = ()
    """The older pipelines, which write all joins that this pipeline shares with them."""

    @property
    def hiders(self) -> frozenset[str]:
        """IDs of all runs that hid relationships or queries, in any pipeline."""
        states = [self.handler.last() or WrittenState(), *(one.state for one in self.others)]
        return frozenset(run for state in states for run in state.hidden.values())


def publish(
    publication: Publication, catalog: Catalog, context: PublishContext
) -> Iterator[MetadataWorkUnit]:
    """Yield the metadata that publishes this run's joins and withdraws outdated joins.

    Yields:
        All metadata that the catalog should hold, including what it holds already.
    """
    last, written = context.handler.last() or WrittenState(), WrittenState()
    config, existing = context.config, ExistingState()
    publication = keep_written_scores(publication, catalog, last.scores)
    foreign = read_foreign_metadata(publication, catalog, context.older, context.others)
    publication, written.since = foreign.adopt(publication), last.since or publication.now
    written.scores = scores_to_remember(publication)
    written.model_version = publication.model_version
    if context.graph:
        config = _supported(context, context.graph)
        existing = foreign.protect(
            _read_existing(publication, catalog, replace(context, config=config), context.graph)
        )
    written.rejected = {
        urn: (column_urn(left), column_urn(right))
        for urn, (left, right) in catalog.rejected.items()
    }
    written.deleted_queries = sorted(existing.deleted_queries)
    # Without a graph, definitions become workunits, which a dry run drops like all others.
    units = emit_findings(
        publication,
        config=config,
        existing=existing,
        written=written,
        graph=None if context.dry else context.graph,
        count=context.report.count,
    )
    yield from foreign.without_foreign_properties(
        units, foreign.changed_entities(publication, last)
    )
    if config.properties:
        yield from emit_rejected(catalog, config.namespace)
    left_alone = existing.closed_queries | existing.edited_terms
    managed = last.without_queries(left_alone).without_embeds(existing.foreign_embeds)
    managed = managed.without_contexts(existing.foreign_contexts)
    written.queries.extend(untested_queries(managed, publication) if config.queries else ())
    kept = about_unread_tables(managed, publication, existing, config)
    # The fail-safe counts only what this run could judge.
    yield from _withdraw(managed.without(kept), written.merged_with(kept), existing, context)


def _supported(context: PublishContext, graph: DataHubGraph) -> EmitConfig:
    """Return the settings, but switch off the metadata that the server does not support."""
    missing = find_unsupported(graph, context.config)
    # The preset for agents asks for what the server has.
    optional = {"ai_context"} if context.config.agents else set[str]()
    told = {layer: needs for layer, needs in missing.items() if layer not in optional}
    if told:
        context.report.warn(
            "Layers not written",
            "DataHub's server does not support them. Upgrade the server, or set these keys to "
            "`false`",
            "; ".join(f"emit.{layer} needs {needs}" for layer, needs in sorted(told.items())),
        )
    off: dict[str, Any] = dict.fromkeys(missing, False)
    return replace(context.config, **off)


def _withdraw(
    last: WrittenState, written: WrittenState, existing: ExistingState, context: PublishContext
) -> Iterator[MetadataWorkUnit]:
    """Yield the changes that withdraw outdated metadata, if the recipe allows that.

    In any case, the new written state is stored.
    """
    removal = context.handler.removal
    if removal is None:
        # What is outdated stays in the state, for a later run that may remove it.
        context.handler.store(written.merged_with(last).with_seen(existing.present))
        return
    units, stored = withdraw(
        without_shared(last, context.others),
        written,
        namespace=context.config.namespace,
        threshold=removal.fail_safe_threshold,
        warn=context.report.warn,
    )
    yield from units
    stored.hidden = _hidden(last, written, context.run_id)
    context.handler.store(stored.with_seen(existing.present))


def _hidden(last: WrittenState, written: WrittenState, run_id: str) -> dict[str, str]:
    """Map the URN of each hidden entity to the ID of the run that hid it.

    Entities that a fail-safe kept visible may be included. That does no harm: a run shows only
    entities that the catalog really hides.
    """
    withdrawn = dict.fromkeys([*last.relationships, *last.queries], run_id)
    visible = {
        *written.relationships,
        *written.queries,
        *written.rejected,
        *written.deleted_queries,
    }
    # An entity that was hidden before stays the work of that earlier run.
    hidden = withdrawn | last.hidden
    return {urn: run for urn, run in hidden.items() if urn not in visible}


def _read_existing(
    publication: Publication, catalog: Catalog, context: PublishContext, graph: DataHubGraph
) -> ExistingState:
    """Read the metadata that DataHub already has for the entities of this run."""
    config, last = context.config, context.handler.last() or WrittenState()
    relationships = catalog.relationships.values()
    foreign = [relationship for relationship in relationships if not relationship.ours]
    queries, upstreams, listed = PublishedEntities(), {}, {}
    # Of a layer that is off now, people's edits stay, too.
    glossary = None
    if config.glossary_terms:
        states = [other.state for other in context.others]
        glossary = read_glossary(publication, last, states, graph, config.namespace)
    terms = {*glossary.terms} if glossary else set()
    if wanted := publication.shown_by(config).union(last.queries, terms):
        queries = read_published_entities(
            graph,
            wanted,
            written=last.queries,
            unseen=last.unseen,
            hiders=context.hiders,
            warn=context.report.warn,
        )
    if config.properties:
        listed = read_listed(last, publication, catalog, graph, config.namespace)
    if config.lineage:
        read = fetch_each(
            graph,
            "dataset",
            {dataset_urn(table) for table in publication.tables},
            UpstreamLineageClass,
        )
        upstreams = {urn: without_ours(lineage, last.lineage, urn) for urn, lineage in read.items()}
    existing = ExistingState(
        foreign=frozenset(relationship.urn for relationship in foreign),
        edited={
            relationship.urn: relationship.aspect
            for relationship in foreign
            if relationship.recorded and relationship.pairs and not relationship.removed
        },
        hidden=queries.hidden | {entry.urn for entry in relationships if entry.removed_by_us},
        closed_queries=queries.closed.union(last.deleted_queries),
        deleted_queries=queries.deleted.union(last.deleted_queries) - queries.existing,
        present=queries.existing.union(catalog.relationships),
        query_subjects=queries.subjects,
        listed=listed,
        glossary=glossary,
        edited_terms=queries.edited_terms,
        upstreams=upstreams,
    )
    return read_foreign_parts(existing, publication, last, config=config, graph=graph)
