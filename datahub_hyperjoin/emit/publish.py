"""Write the joins of a run to the catalog, and withdraw outdated metadata."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from datahub.emitter.mce_builder import get_sys_time
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import StatusClass
from datahub.utilities.urns.urn import guess_entity_type

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.written_state import History, WrittenState
from datahub_hyperjoin.emit import EmitConfig, WrittenStateHandler
from datahub_hyperjoin.emit.existing import ExistingState, Reading, read_existing
from datahub_hyperjoin.emit.layer import OwnEntities, Writing, unit_of
from datahub_hyperjoin.emit.layers import LAYERS, find_unsupported, withdraw, write_layers
from datahub_hyperjoin.emit.patches import remove_properties, set_properties
from datahub_hyperjoin.emit.pipelines import (
    OtherPipeline,
    read_foreign_metadata,
    shared_joins,
    without_shared,
)
from datahub_hyperjoin.emit.publication import (
    Publication,
    keep_written_scores,
    rename_steps,
    scores_to_remember,
)
from datahub_hyperjoin.emit.relationships import copy_decision
from datahub_hyperjoin.emit.watched_joins import Watched
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import Join, Statement, Verdict, rename_columns, sort_joins
from datahub_hyperjoin.metadata.relationships import catalog_evidence, columns_urn, join_urn
from datahub_hyperjoin.metadata.urns import (
    DELETED_JOINS,
    column_id,
    column_urn,
    dataset_urn,
    property_urn,
    query_urn,
)
from datahub_hyperjoin.model.domains import drop_redundant_joins
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.tables import TableId


def _emit_rejected(catalog: Catalog, namespace: str) -> Iterator[MetadataWorkUnit]:
    """Store which suggestions people deleted, where it survives the loss of a checkpoint."""
    # A column of a table that the catalog shows lists the other one, because the other table
    # may be gone. A relationship of several columns cannot be listed so: its pairs alone are
    # not rejected.
    key, values = property_urn(namespace, DELETED_JOINS), defaultdict[str, list[str]](list)
    rejected = {
        (left, right) if left.table in catalog.datasets else (right, left)
        for urn, (left, right) in catalog.rejected.items()
        if urn == columns_urn([(left, right)])
    }
    for column, other in sorted(tuple(map(catalog.field_path, pair)) for pair in rejected):
        values[column_urn(column)].append(column_urn(other))
    for urn, others in values.items():
        yield set_properties(urn, {key: others})
    listed = {column_urn(catalog.field_path(column)) for column, _ in catalog.listed}
    for urn in sorted(listed - values.keys()):
        yield remove_properties(urn, [key])


_NOT_RUN = Statement(untested=True)


def carry_over(findings: Findings, catalog: Catalog) -> list[Join]:
    """Return joins of earlier runs that stay published although this run did not find them."""
    # What people accepted stays, and what is undecided of tables that this run did not read: what
    # is not verified is not refuted. What names alone suggested is judged by names again.
    if not catalog.relationships:
        return []
    unread = findings.unread | catalog.absent
    verified, named = (
        {join_urn(rename_columns(join, catalog.field_path)) for join in joins}
        for joins in (findings.all_joins, findings.named)
    )
    carried = []
    for relationship in catalog.relationships.values():
        join = relationship.join
        if join is None or relationship.removed or not relationship.recorded:
            continue
        evidence, guessed = catalog_evidence(join.pairs, catalog.facts), join.evidence is None
        left = unread - findings.described if guessed else unread
        is_open = evidence.verdict is None and not left.isdisjoint(
            (join.left.table, join.right.table)
        )
        current = verified | named if guessed else verified
        if relationship.urn not in current and (is_open or evidence.verdict is Verdict.ACCEPTED):
            carried.append(replace(join, catalog=evidence))
    return carried


def _about_unread_tables(
    last: WrittenState, publication: Publication, existing: ExistingState, config: EmitConfig
) -> WrittenState:
    """Return the part of the written state about tables that this run could not read."""
    if not publication.unread:
        return WrittenState()
    unread = set(map(dataset_urn, publication.unread))
    shown = {urn for urn, subjects in existing.query_subjects.items() if unread & subjects}
    kept = last.about(unread, shown)
    listing = set(map(column_urn, existing.listed))
    # Of tables that were judged by names, all that stays is written again.
    judged = set(map(dataset_urn, publication.described))
    kept.columns = [
        urn
        for urn in kept.columns
        if urn in listing or dataset_urn(column_id(urn).table) not in judged
    ]
    kept.datasets = [urn for urn in kept.datasets if urn not in judged]
    on = [layer for layer in LAYERS if layer.is_on(config)]
    entities = {layer.entity for layer in on if isinstance(layer, OwnEntities)}
    return WrittenState(
        queries=[urn for urn in kept.queries if guess_entity_type(urn) in entities],
        **{name: getattr(kept, name) for layer in on for name in layer.fields},
    )


def _untested_queries(last: WrittenState, publication: Publication) -> list[str]:
    """Return the URNs of earlier `query` entities whose SQL this run could not test."""
    joins = [(join, join.pairs) for join in publication.joins]
    joins += [(crosswalk.as_join, crosswalk.pairs) for crosswalk in publication.crosswalks]
    untested = [
        join for join, pairs in joins if publication.statements.get(pairs, _NOT_RUN).untested
    ]
    return sorted({query_urn(join_urn(join)) for join in untested}.intersection(last.queries))


_LARGE_DOMAIN = 4
"""A value domain with at least this many columns is published as a star of joins; a smaller domain
is published with all its joins."""


def build_publication(
    findings: Findings,
    catalog: Catalog,
    others: Sequence[OtherPipeline] = (),
    watched: Sequence[Watched] = (),
) -> Publication:
    """Collect the joins that a run writes to the catalog."""
    name, carried = catalog.field_path, carry_over(findings, catalog)
    # What an earlier run verified is better known than what names suggest now.
    known = set(map(join_urn, carried))
    named = [it for it in findings.named if join_urn(rename_columns(it, name)) not in known]
    joins = [*findings.all_joins, *named, *carried]
    renamed = [rename_columns(join, name) for join in joins]
    others_joins = shared_joins(catalog, {*map(join_urn, renamed)}, others)
    shared = [rename_columns(join, name) for join in others_joins]
    large = [domain for domain in findings.domains if len(domain.members) >= _LARGE_DOMAIN]
    visible = {urn for urn, entry in catalog.relationships.items() if not entry.removed}
    shown = {
        join.pairs
        for join, own in zip(joins, renamed, strict=True)
        if visible and join_urn(own) in visible
    }
    kept = {join.pairs for join in drop_redundant_joins(findings.joins, large, shown)}
    implied = [join for join in findings.all_joins if join.pairs not in kept]
    return Publication(
        joins=sort_joins(renamed),
        ranks={(name(it.query), name(it.candidate)): it.rank for it in findings.suggestions},
        implied=frozenset(rename_columns(join, name).pairs for join in implied),
        derived={
            rename_columns(join, name).pairs: why
            for why, some in findings.derived.items()
            for join in some
        },
        crosswalks=[rename_steps(join, name) for join in findings.crosswalks],
        shared=shared,
        titles=_titles(catalog, [*renamed, *shared, *(each.join for each in watched)]),
        watched=watched,
        unread=findings.unread | catalog.absent,
        described=findings.described,
        now=get_sys_time(),
        model_version=findings.model_version,
        statements={
            tuple((name(left), name(right)) for left, right in pairs): statement
            for pairs, statement in findings.statements.items()
            if statement.was_run
        },
    )


def _titles(catalog: Catalog, joins: Iterable[Join]) -> dict[TableId, str]:
    ends = (end for join in joins for end in (join.left, join.right, *(join.via or ())))
    titles = {end.table: end.table.name for end in ends}
    titles |= {table: dataset.title for table, dataset in catalog.datasets.items()}
    return titles | {table.id: table.title for table in catalog.tables}


def load_history(handler: WrittenStateHandler, others: Iterable[OtherPipeline] = ()) -> History:
    """Load what earlier runs wrote and what people rejected."""
    last, states = handler.last(), tuple(other.state for other in others)
    lost = last is None and not states and handler.is_checkpointing_enabled()
    return History(own=last or WrittenState(), others=states, lost=lost)


@dataclass(frozen=True, kw_only=True)
class PublishContext:
    """The settings, the server and the state that a run needs to write metadata."""

    config: EmitConfig
    graph: DataHubGraph | None
    dry: bool
    handler: WrittenStateHandler
    run_id: str
    report: HyperJoinReport
    others: Sequence[OtherPipeline] = ()
    """The other pipelines, whose metadata stays."""

    older: Sequence[OtherPipeline] = ()
    """The older pipelines, which write all joins that this pipeline shares with them."""


def publish(
    publication: Publication, catalog: Catalog, context: PublishContext
) -> Iterator[MetadataWorkUnit]:
    """Yield the metadata that publishes this run's joins and withdraws outdated joins."""
    last, written = context.handler.last() or WrittenState(), WrittenState()
    config, existing = context.config, ExistingState()
    publication = keep_written_scores(publication, catalog, last.scores)
    foreign = read_foreign_metadata(publication, catalog, context.older, context.others)
    publication, written.since = foreign.adopt(publication), last.since or publication.now
    written.scores = scores_to_remember(publication)
    written.model_version = publication.model_version
    if context.graph:
        config = _supported(context, context.graph)
        history, warn = load_history(context.handler, context.others), context.report.warn
        reading = Reading(graph=context.graph, config=config, history=history, warn=warn)
        existing = foreign.protect(read_existing(publication, catalog, reading))
    written.rejected = {
        urn: (column_urn(left), column_urn(right))
        for urn, (left, right) in catalog.rejected.items()
    }
    written.deleted_queries = sorted(existing.deleted_queries)
    run = Writing(
        publication=publication,
        config=config,
        existing=existing,
        written=written,
        # Without a graph, definitions become workunits, which a dry run drops like all others.
        graph=None if context.dry else context.graph,
        count=context.report.count,
        run_id=context.run_id,
    )
    changed = foreign.changed_entities(publication, last)
    yield from foreign.without_foreign_properties(write_layers(run), changed)
    if config.properties:
        yield from _emit_rejected(catalog, config.namespace)
    managed = last.without(existing.left_alone)
    written.queries.extend(_untested_queries(managed, publication) if config.queries else ())
    kept = _about_unread_tables(managed, publication, existing, config)
    if config.relationships:
        yield from _tag_others(existing, managed, written, hide=bool(context.handler.removal))
    # The fail-safe counts only what this run could judge.
    yield from _withdraw(managed.without(kept), written.merged_with(kept), existing, context)


def _tag_others(
    existing: ExistingState, last: WrittenState, written: WrittenState, *, hide: bool
) -> Iterator[MetadataWorkUnit]:
    """Update the tags of relationships that this run does not write, such as of rejected joins.

    What the last run wrote is hidden.
    """
    gone = {*last.relationships} - written.relationships.keys()
    for urn, (entry, evidence) in existing.decided.items():
        if urn in written.relationships:
            continue
        units = [*copy_decision(urn, entry, evidence)]
        yield from units
        # The framework hides no entity of which a run writes anything.
        if units and hide and urn in gone and not entry.removed:
            yield unit_of(urn, StatusClass(removed=True), primary=False)


def _supported(context: PublishContext, graph: DataHubGraph) -> EmitConfig:
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
    """Map the URN of each hidden entity to the ID of the run that hid it."""
    # Entities that a fail-safe kept visible may be included. That does no harm: a run shows
    # only entities that the catalog really hides.
    withdrawn = dict.fromkeys([*last.relationships, *last.queries], run_id)
    visible = {*written.relationships, *written.queries}
    visible |= {*written.rejected, *written.deleted_queries}
    # An entity that was hidden before stays the work of that earlier run.
    hidden = withdrawn | last.hidden
    return {urn: run for urn, run in hidden.items() if urn not in visible}
