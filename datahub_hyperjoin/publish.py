"""From what was found to what is written, by what stands in the catalog already."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from datahub.emitter.mce_builder import get_sys_time
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.catalog import (
    Catalog,
    Highlights,
    History,
    read_highlights,
    read_upstreams,
)
from datahub_hyperjoin.emit import (
    EmitConfig,
    ExistingState,
    Publication,
    WrittenState,
    WrittenStateHandler,
    emit_findings,
    find_unsupported,
    retract,
    without_ours,
)
from datahub_hyperjoin.relationship_aspect import join_urn
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.suggest import Findings
from datahub_hyperjoin.tables import Join, Pair, TableId, Verdict, pair_of
from datahub_hyperjoin.urns import column_id, column_urn, dataset_urn, query_urn

_WITNESSES = 20
"""Columns that are asked whether the last run's writes have arrived."""


def carry_over(findings: Findings, catalog: Catalog) -> list[Join]:
    """Joins of earlier runs that still stand although this run has not found them.

    Args:
        findings: What this run found, and which tables it could not read.
        catalog: What earlier runs wrote, and what people decided.

    Returns:
        Joins that people accepted, and joins of tables that could not be read this time, or whose
        database gave no answer.
    """
    found = {(join.left, join.right) for join in findings.joins}
    carried = []
    for relationship in catalog.relationships.values():
        join = relationship.join
        if join is None or relationship.removed or not relationship.known:
            continue
        pair = (join.left, join.right)
        said = catalog.knowledge.of(pair)
        unread = any(
            end.table in findings.faulty or any(home.holds(end.table) for home in catalog.silent)
            for end in (join.left, join.right)
        )
        if pair not in found and (
            said.verdict is Verdict.ACCEPTED or (unread and said.verdict is None)
        ):
            carried.append(replace(join, catalog=said))
    return carried


def prepare(findings: Findings, catalog: Catalog) -> Publication:
    """Puts what is to be written into the catalog's own names of columns.

    Args:
        findings: What this run found.
        catalog: The catalog's names, and what earlier runs wrote.

    Returns:
        This run's joins and those that are carried over, best first.
    """
    joins = [*findings.joins, *carry_over(findings, catalog)]
    renamed = [
        replace(join, left=catalog.field_path(join.left), right=catalog.field_path(join.right))
        for join in joins
    ]
    return Publication(
        suggestions=[
            replace(
                one,
                query=catalog.field_path(one.query),
                candidate=catalog.field_path(one.candidate),
            )
            for one in findings.suggestions
        ],
        joins=sorted(renamed, key=lambda join: (-join.joinability, join.left, join.right)),
        titles=_titles(catalog, renamed),
        now=get_sys_time(),
        types={catalog.field_path(column): kind for column, kind in findings.types.items()},
        model_version=findings.model_version,
        instances={table.id: table.instance for table in catalog.tables if table.instance},
    )


def _titles(catalog: Catalog, joins: Iterable[Join]) -> dict[TableId, str]:
    titles = {table: table.name for join in joins for table in (join.left.table, join.right.table)}
    titles |= {table: dataset.title for table, dataset in catalog.datasets.items()}
    return titles | {table.id: table.title for table in catalog.tables}


def recall(memory: WrittenStateHandler) -> History:
    """What earlier runs of a pipeline remember of relationships.

    Args:
        memory: Their ledger.

    Returns:
        Nothing, if there was none.
    """
    last = memory.last() or WrittenState()
    return History(
        written=_pairs(last.relationships),
        refused=_pairs(last.refused),
        hidden=last.hidden,
        columns=last.columns[:_WITNESSES],
    )


def _pairs(ends: Mapping[str, tuple[str, str]]) -> dict[str, Pair]:
    return {urn: pair_of(column_id(one), column_id(other)) for urn, (one, other) in ends.items()}


@dataclass(frozen=True, kw_only=True)
class PublishContext:
    """Where a run writes, and what it may rely on."""

    config: EmitConfig
    """Which layers are written."""

    graph: DataHubGraph | None
    """DataHub's server, if there is one."""

    dry: bool
    """Whether nothing may be written."""

    memory: WrittenStateHandler
    """What earlier runs wrote."""

    run_id: str
    """Which run this is."""

    report: HyperJoinReport
    """Who is told."""


def publish(
    publication: Publication, catalog: Catalog, desk: PublishContext
) -> Iterator[MetadataWorkUnit]:
    """Writes what was found, and takes back what earlier runs found and this one does not.

    Args:
        publication: What is to be written.
        catalog: What the catalog holds.
        desk: Where to write.

    Yields:
        Everything that should stand in the catalog, also where it stands there already.

    Raises:
        CatalogError: The server cannot be read, or takes no definitions.
    """
    last, ledger = desk.memory.last() or WrittenState(), WrittenState()
    config, standing = desk.config, ExistingState()
    if desk.graph:
        config = _supported(desk, desk.graph)
        standing = _survey(publication, catalog, replace(desk, config=config), desk.graph)
    ledger.refused = {
        urn: (column_urn(one), column_urn(other)) for urn, (one, other) in catalog.refused.items()
    }
    ledger.deleted_queries = sorted(standing.deleted)
    yield from emit_findings(
        publication,
        config=config,
        standing=standing,
        ledger=ledger,
        graph=None if desk.dry else desk.graph,
        count=desk.report.count,
    )
    yield from _take_back(last.without(standing.closed), ledger, desk)


def _supported(desk: PublishContext, graph: DataHubGraph) -> EmitConfig:
    """The layers that the server has room for."""
    missing = find_unsupported(graph, desk.config)
    if missing:
        desk.report.warn(
            "Layers not written",
            "DataHub's server lacks what they are made of; upgrade it or switch them off",
            "; ".join(f"emit.{layer} needs {what}" for layer, what in sorted(missing.items())),
        )
    off: dict[str, Any] = dict.fromkeys(missing, False)
    return replace(desk.config, **off)


def _take_back(
    last: WrittenState, ledger: WrittenState, desk: PublishContext
) -> Iterator[MetadataWorkUnit]:
    removal = desk.memory.removal
    if removal is None:
        desk.memory.keep(ledger.joined(last))
        return
    units, kept = retract(
        last,
        ledger,
        namespace=desk.config.namespace,
        threshold=removal.fail_safe_threshold,
        report=desk.report,
    )
    yield from units
    kept.hidden = _hidden(last, ledger, desk.run_id)
    desk.memory.keep(kept)


def _hidden(last: WrittenState, ledger: WrittenState, run_id: str) -> dict[str, str]:
    """What is hidden after this run, and by which run; a fail-safe may have left some of it."""
    gone = dict.fromkeys([*last.relationships, *last.queries], run_id)
    shown = {*ledger.relationships, *ledger.queries, *ledger.refused, *ledger.deleted_queries}
    return {urn: run for urn, run in (gone | last.hidden).items() if urn not in shown}


def _survey(
    publication: Publication, catalog: Catalog, desk: PublishContext, graph: DataHubGraph
) -> ExistingState:
    """What the catalog holds where a run is about to write."""
    config, last = desk.config, desk.memory.last() or WrittenState()
    relationships = catalog.relationships.values()
    theirs = [one for one in relationships if not one.ours]
    highlights, upstreams = Highlights(), {}
    if config.queries:
        urns = {query_urn(join_urn(join)) for join in publication.joins}
        highlights = read_highlights(
            graph, urns, written=last.queries, hidden=last.hidden, warn=desk.report.warn
        )
    if config.lineage:
        read = read_upstreams(graph, {dataset_urn(table) for table in publication.tables})
        upstreams = {urn: without_ours(lineage, last.lineage, urn) for urn, lineage in read.items()}
    return ExistingState(
        theirs=frozenset(one.urn for one in theirs),
        kept={one.urn: one.aspect for one in theirs if one.known and one.pairs and not one.removed},
        hidden=highlights.hidden | {one.urn for one in relationships if one.removed_by_us},
        closed=highlights.closed.union(last.deleted_queries),
        deleted=highlights.deleted.union(last.deleted_queries),
        upstreams=upstreams,
    )
