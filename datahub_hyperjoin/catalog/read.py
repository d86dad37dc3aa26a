"""Read DataHub's metadata about the tables of a run."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import StatusClass, StructuredPropertiesClass

from datahub_hyperjoin.catalog.catalog import Catalog, assemble_facts
from datahub_hyperjoin.catalog.datasets import Dataset, mark_personal, name_labels, read_datasets
from datahub_hyperjoin.catalog.decisions import (
    by_urn,
    deleted_composites,
    infer_deleted,
    read_decisions,
    read_deleted_joins,
)
from datahub_hyperjoin.catalog.entities import aspect_of, fetch
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
    History,
    Relationship,
    expect_absent,
    find_deleted,
    read_relationships,
    report_skipped,
)
from datahub_hyperjoin.catalog.renamed_tables import follow_renamed
from datahub_hyperjoin.catalog.scope import Scope
from datahub_hyperjoin.catalog.statistics import read_statistics
from datahub_hyperjoin.catalog.usage import count_joins
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.joins import JoinedColumns
from datahub_hyperjoin.metadata.urns import REJECTED, dataset_urn, property_urn
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import ColumnId, Pair, Table, TableId
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
    statuses = fetch(graph, "dataset", sorted(by_urn), [StatusClass.ASPECT_NAME])
    removed = {
        urn
        for urn, aspects in statuses.items()
        if (status := aspect_of(aspects, StatusClass)) and status.removed
    }
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


# A relationship that people hard-deleted leaves no trace in the catalog. It is recognised once, as
# written by the last run and missing now, and recorded as rejected from then on, until a
# relationship with the same URN exists again.


@dataclass(frozen=True)
class _JoinHistory:
    relationships: dict[str, Relationship]
    rejected: dict[str, Pair]
    listed: list[tuple[ColumnId, ColumnId]]
    deleted: list[Pair]
    decisions: dict[JoinedColumns, Decision]
    deleted_composites: frozenset[str]


def read_catalog(
    graph: DataHubGraph, tables: Sequence[Table], *, scope: Scope, history: History, warn: Warn
) -> Catalog:
    """Read the tables' metadata and people's decisions about joins from DataHub."""
    # If the catalog knows no table, the run ends here, before the slower requests.
    found, datasets = read_known(graph, tables, scope=scope, earlier=history.tables, warn=warn)
    read_tables = {table.id for table in found.tables}
    unread = frozenset(datasets).difference(read_tables if scope.described else datasets)
    covered = unread | read_tables
    absent = _find_absent(graph, history.tables - covered, warn)
    names = {table: table for table in (*datasets, *read_tables)}
    filed = find_decided_columns(scope.decisions, {**names, **found.matched}, warn)
    columns = {
        table: frozenset(path for path, _ in each.columns) for table, each in datasets.items()
    }
    decided = joins_decided(filed, columns)
    joins = _read_join_history(graph, scope=scope, history=history, filed=decided, warn=warn)
    queries = _if_readable(
        lambda: count_joins(graph, datasets.values(), most=scope.max_queries, warn=warn), warn
    )
    statistics = _if_readable(lambda: read_statistics(graph, sorted(covered)), warn)
    decisions = follow_renamed(
        graph, joins.decisions, datasets, covered=covered, scope=scope, warn=warn
    )
    labels = _if_readable(lambda: name_labels(graph, datasets.values()), warn)
    facts = assemble_facts(
        datasets=datasets.values(),
        relationships=joins.relationships.values(),
        decisions=decisions,
        deleted=joins.deleted_composites,
        queries=queries,
        statistics=statistics,
    )
    return Catalog(
        tables=mark_personal(found.tables, datasets, labels, scope.personal_tags),
        facts=replace(facts, unread=unread),
        datasets=datasets,
        relationships=joins.relationships,
        rejected=joins.rejected,
        listed=joins.listed,
        deleted=joins.deleted,
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


# A relationship that people hard-deleted leaves no trace in the catalog. It is recognised
# once, as written by the last run and missing now, and recorded as rejected from then on,
# until a relationship with the same URN exists again.
def _read_join_history(
    graph: DataHubGraph,
    *,
    scope: Scope,
    history: History,
    filed: Sequence[JoinDecision],
    warn: Warn,
) -> _JoinHistory:
    relationships = _if_supported(
        lambda: read_relationships(
            graph,
            written=history.written,
            others={urn for one in history.others for urn in one.written},
            hiders=history.hiders,
            warn=warn,
        )
    )
    missing = _find_missing(graph, history, relationships, scope, warn)
    listed = read_deleted_joins(graph, scope.namespace, warn)
    if history.lost:
        missing |= infer_deleted(graph, scope.namespace, relationships, warn)
    rejected = by_urn(listed)
    rejected |= {urn: pair for one in history.all for urn, pair in one.rejected.items()}
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
        and (relationship.hidden_by_people or (relationship.ours and REJECTED in relationship.tags))
    }
    return _JoinHistory(
        relationships=relationships,
        rejected={**deleted, **hidden_or_tagged},
        listed=listed,
        deleted=sorted(pair for urn, pair in missing.items() if urn not in rejected),
        decisions=decisions,
        deleted_composites=deleted_composites(deleted),
    )


def _find_missing(
    graph: DataHubGraph,
    history: History,
    relationships: Mapping[str, Relationship],
    scope: Scope,
    warn: Warn,
) -> dict[str, Pair]:
    """Find the relationships that people hard-deleted after a pipeline's last run."""
    # DataHub deletes what another pipeline has hidden after some time.
    hidden = {urn for one in history.all for urn in one.hidden}
    missing: dict[str, Pair] = {}
    for one in history.all:
        written = {urn: pair for urn, pair in one.written.items() if urn not in hidden}
        if written.keys() <= relationships.keys():
            continue
        arrived = _have_writes_arrived(graph, one, scope.namespace, warn)
        deleted = find_deleted(
            written, relationships, unseen=one.unseen, writes_arrived=arrived, warn=warn
        )
        expect_absent(graph, deleted)
        missing |= {urn: written[urn] for urn in deleted}
    return missing


def _have_writes_arrived(graph: DataHubGraph, history: History, namespace: str, warn: Warn) -> bool:
    """Return whether DataHub shows at least one structured property that the last run wrote."""
    prefix = property_urn(namespace, "")
    name = StructuredPropertiesClass.ASPECT_NAME
    columns = _if_readable(lambda: fetch(graph, "schemaField", history.columns, [name]), warn)
    aspects = (aspect_of(column, StructuredPropertiesClass) for column in columns.values())
    return any(
        assignment.propertyUrn.startswith(prefix)
        for aspect in aspects
        if aspect
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
