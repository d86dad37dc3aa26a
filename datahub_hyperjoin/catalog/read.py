"""Read DataHub's metadata about the tables of a run."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import StatusClass, StructuredPropertiesClass

from datahub_hyperjoin.catalog.catalog import Catalog, assemble_facts, related_columns
from datahub_hyperjoin.catalog.datasets import Dataset, mark_personal, name_labels, read_datasets
from datahub_hyperjoin.catalog.decisions import (
    by_urn,
    deleted_composites,
    infer_deleted,
    read_decisions,
    read_deleted_joins,
)
from datahub_hyperjoin.catalog.entities import fetch_each
from datahub_hyperjoin.catalog.errors import UnreadableCatalogError
from datahub_hyperjoin.catalog.filed_decisions import (
    Decision,
    JoinDecision,
    find_decided_columns,
    joins_decided,
)
from datahub_hyperjoin.catalog.known_tables import (
    KnownTables,
    find_datasets,
    find_elsewhere,
    select_known,
)
from datahub_hyperjoin.catalog.relationships import (
    Relationship,
    expect_absent,
    find_deleted,
    read_relationships,
    report_skipped,
)
from datahub_hyperjoin.catalog.renamed_tables import follow_renamed
from datahub_hyperjoin.catalog.scope import Scope
from datahub_hyperjoin.catalog.semantic_models import read_modelled_joins, with_modelled_keys
from datahub_hyperjoin.catalog.statistics import read_statistics
from datahub_hyperjoin.catalog.usage import count_joins
from datahub_hyperjoin.catalog.written_state import History
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.joins import JoinedColumns
from datahub_hyperjoin.metadata.urns import (
    REJECTED,
    column_id,
    dataset_urn,
    property_urn,
    table_id,
)
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import Pair, Table, TableId, pair_of, tables_of_members
from datahub_hyperjoin.visible import logger_of
from datahub_hyperjoin.wording import name_some


def _find_absent(
    graph: DataHubGraph, missing: Collection[TableId], warn: Warn
) -> frozenset[TableId]:
    """Warn about missing tables whose datasets are not soft-deleted, and return these tables."""
    # A missing table belonged to the last run, but does not belong to this one. A folder that
    # is not mounted looks like a folder whose tables were deleted. Only the catalog can tell:
    # when a table is deleted for good, a connector or a person also removes its dataset.
    by_urn = {dataset_urn(table): table for table in missing}
    statuses = fetch_each(graph, "dataset", sorted(by_urn), StatusClass)
    removed = {urn for urn, status in statuses.items() if status.removed}
    absent = frozenset(table for urn, table in by_urn.items() if urn not in removed)
    if absent:
        warn(
            "Tables not read",
            "The last run suggested joins of these tables, and this run does not have them. Their "
            "suggestions stay as they are. If a table is gone for good, remove its dataset in "
            "DataHub",
            f"{len(absent)}: {name_some(sorted(map(str, absent)))}",
        )
    return absent


logger = logger_of(__name__)

Key = TypeVar("Key")
Value = TypeVar("Value")


_CHECKED_COLUMNS = 20
"""Columns that are read to check whether the last run's writes have arrived."""


def read_catalog(
    graph: DataHubGraph, tables: Sequence[Table], *, scope: Scope, history: History, warn: Warn
) -> Catalog:
    """Read the tables' metadata and people's decisions about joins from DataHub."""
    # If the catalog knows no table, the run ends here, before the slower requests.
    earlier = frozenset(map(table_id, history.own.all_datasets))
    found, datasets = read_known(graph, tables, scope=scope, earlier=earlier, warn=warn)
    read_tables = {table.id for table in found.tables}
    members = tables_of_members(found.tables)
    unread = frozenset(datasets).difference(
        {*read_tables, *members} if scope.described else datasets
    )
    covered = unread | read_tables
    absent = _find_absent(graph, earlier - covered - members.keys(), warn)
    names = members | {table: table for table in (*datasets, *read_tables)}
    filed = find_decided_columns(scope.decisions, {**names, **found.matched}, warn)
    columns = {table: {path for path, _ in each.columns} for table, each in datasets.items()}
    decided = joins_decided(filed, columns)
    joins, decisions, composites = _read_joins(graph, scope, history, decided, warn)
    queries = _if_readable(
        lambda: count_joins(graph, datasets.values(), most=scope.max_queries, warn=warn), warn
    )
    statistics = _if_readable(lambda: read_statistics(graph, sorted(covered)), warn)
    scope = replace(scope, renamed={**members, **scope.renamed})
    decisions = follow_renamed(graph, decisions, datasets, covered=covered, scope=scope, warn=warn)
    labels = _if_readable(lambda: name_labels(graph, datasets.values()), warn)
    modelled = _if_readable(lambda: read_modelled_joins(graph, datasets, warn), warn)
    datasets = with_modelled_keys(datasets, modelled.values())
    facts = assemble_facts(
        datasets=datasets.values(),
        related={
            **{columns: join.model for columns, join in modelled.items() if not join.key},
            **related_columns(joins.relationships.values()),
        },
        decisions=decisions,
        deleted=composites,
        queries=queries,
        statistics=statistics,
    )
    return replace(
        joins,
        tables=mark_personal(found.tables, datasets, labels, scope.personal_tags),
        facts=replace(facts, unread=unread),
        datasets=datasets,
        absent=absent,
        matched=found.matched,
        filed=filed,
    )


def read_known(
    graph: DataHubGraph,
    tables: Sequence[Table],
    *,
    scope: Scope,
    earlier: Collection[TableId] = (),
    warn: Warn,
) -> tuple[KnownTables, dict[TableId, Dataset]]:
    """Read the datasets of a run, and find those of its tables."""
    read = read_datasets(
        graph, scope.instances, dataset_filter=scope.dataset_filter, warn=report_skipped(warn)
    )
    datasets = {dataset.table: dataset for dataset in read}
    found = find_datasets(tables, datasets, names=scope.folder, earlier=earlier)
    if scope.known_only:
        found = select_known(
            found,
            datasets,
            filtered=bool(scope.dataset_filter),
            elsewhere=lambda missing: _if_readable(lambda: find_elsewhere(graph, missing), warn),
            warn=warn,
        )
    return found, datasets


def _read_joins(
    graph: DataHubGraph, scope: Scope, history: History, filed: Sequence[JoinDecision], warn: Warn
) -> tuple[Catalog, dict[JoinedColumns, Decision], frozenset[str]]:
    """Read relationships, people's decisions, and the URNs of deleted composite joins."""
    relationships = _if_supported(
        lambda: read_relationships(
            graph,
            written=history.own.relationships,
            others={urn for one in history.others for urn in one.relationships},
            hiders=history.hiders,
            warn=warn,
        )
    )
    missing = _find_missing(graph, history, relationships, scope, warn)
    listed = read_deleted_joins(graph, scope.namespace, warn)
    if history.lost:
        missing |= infer_deleted(graph, scope.namespace, relationships, warn)
    rejected = by_urn(listed)
    rejected |= {urn: _pair(ends) for one in history.all for urn, ends in one.rejected.items()}
    ever_rejected = rejected | missing
    deleted = {urn: pair for urn, pair in ever_rejected.items() if urn not in relationships}
    decisions = _if_supported(
        lambda: read_decisions(
            graph,
            namespace=scope.namespace,
            relationships=relationships.values(),
            deleted=deleted,
            filed=filed,
            warn=warn,
        )
    )
    hidden_or_tagged = {
        relationship.urn: relationship.pairs[0]
        for relationship in relationships.values()
        if relationship.pairs
        and (
            relationship.hidden_by_people
            or (relationship.ours and REJECTED in relationship.tags - relationship.copied)
        )
    }
    catalog = Catalog(
        tables=(),
        relationships=relationships,
        rejected={**deleted, **hidden_or_tagged},
        listed=listed,
        deleted=sorted(pair for urn, pair in missing.items() if urn not in rejected),
    )
    return catalog, decisions, deleted_composites(deleted)


def _find_missing(
    graph: DataHubGraph,
    history: History,
    relationships: Mapping[str, Relationship],
    scope: Scope,
    warn: Warn,
) -> dict[str, Pair]:
    """Find the relationships that people hard-deleted after a pipeline's last run."""
    # Such a relationship leaves no trace in the catalog. It is recognised once, as written by the
    # last run and missing now, and recorded as rejected from then on, until a relationship with the
    # same URN exists again.
    # DataHub deletes what another pipeline has hidden after some time.
    hidden = {urn for one in history.all for urn in one.hidden}
    missing: dict[str, Pair] = {}
    for one in history.all:
        written = {urn: ends for urn, ends in one.relationships.items() if urn not in hidden}
        if written.keys() <= relationships.keys():
            continue
        columns = one.columns[:_CHECKED_COLUMNS]
        arrived = _have_writes_arrived(graph, columns, scope.namespace, warn)
        deleted = find_deleted(
            written, relationships, unseen=one.unseen, writes_arrived=arrived, warn=warn
        )
        expect_absent(graph, deleted)
        missing |= {urn: _pair(written[urn]) for urn in deleted}
    return missing


def _pair(ends: tuple[str, str]) -> Pair:
    return pair_of(*map(column_id, ends))


def _have_writes_arrived(
    graph: DataHubGraph, columns: Sequence[str], namespace: str, warn: Warn
) -> bool:
    """Return whether DataHub shows at least one structured property that the last run wrote."""
    prefix = property_urn(namespace, "")
    found = _if_readable(
        lambda: fetch_each(graph, "schemaField", columns, StructuredPropertiesClass), warn
    )
    return any(
        assignment.propertyUrn.startswith(prefix)
        for aspect in found.values()
        for assignment in aspect.properties
    )


def _if_supported(read: Callable[[], dict[Key, Value]]) -> dict[Key, Value]:
    """Call `read`; return an empty dictionary if the server lacks the entity type."""
    # There is no warning here, because writing entities of that type reports the problem.
    try:
        return read()
    except UnknownEntityTypeError as error:
        logger.info("%s", error)
        return {}


def _if_readable(read: Callable[[], dict[Key, Value]], warn: Warn) -> dict[Key, Value]:
    """Call `read`; if the call fails, warn and return an empty dictionary."""
    try:
        return _if_supported(read)
    except UnreadableCatalogError as error:
        warn(
            "Catalog partly read", "The run continues without this part of the catalog", str(error)
        )
        return {}
