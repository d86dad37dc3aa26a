"""Keep people's decisions about joins when tables are renamed.

A renamed table has another URN, and so has every table of a platform that gets an instance. DataHub
names a successor itself if somebody deprecated the old dataset and set its replacement. Otherwise
a successor has the same columns, and the same statistics where the catalog has profiles of both.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    DataPlatformInstanceClass,
    DeprecationClass,
    SchemaMetadataClass,
    StatusClass,
)
from datahub.metadata.urns import DataPlatformInstanceUrn
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.decisions import copy_to_new_names
from datahub_hyperjoin.catalog.entities import Aspects, aspect_of, fetch, is_removed
from datahub_hyperjoin.catalog.filed_decisions import Decision
from datahub_hyperjoin.catalog.scope import PlatformInstance, Scope
from datahub_hyperjoin.catalog.statistics import read_statistics
from datahub_hyperjoin.joins import JoinedColumns
from datahub_hyperjoin.metadata.urns import dataset_urn, plain_path, table_id
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_ASPECTS = [
    aspect.ASPECT_NAME
    for aspect in (StatusClass, SchemaMetadataClass, DeprecationClass, DataPlatformInstanceClass)
]
_TOLERANCE = 0.1
"""By how much uniqueness and completeness of a column may differ between two names of a table."""


class _GoneTable(NamedTuple):
    table: TableId
    paths: frozenset[str]  # empty if its schema is gone, too
    decided: frozenset[str]  # the paths of the columns about which people decided
    instance: str  # empty if unknown


def follow_renamed(
    graph: DataHubGraph,
    decisions: Mapping[JoinedColumns, Decision],
    datasets: Mapping[TableId, Dataset],
    *,
    covered: AbstractSet[TableId],
    scope: Scope,
    warn: Warn,
) -> dict[JoinedColumns, Decision]:
    """Copy decisions about joins of renamed tables to the tables' new names."""
    # Only tables that the run does not cover may have been renamed. A table without a new
    # name of the recipe or of DataHub has one only if its dataset is gone.
    decided: dict[TableId, set[str]] = defaultdict(set)
    for column in (column for columns in decisions for pair in columns for column in pair):
        if column.table not in covered:
            decided[column.table].add(column.path)
    new_names = _find_new_names(graph, decided, datasets, scope=scope, warn=warn)
    return copy_to_new_names(decisions, new_names)


def _find_new_names(
    graph: DataHubGraph,
    decided: Mapping[TableId, Collection[str]],
    datasets: Mapping[TableId, Dataset],
    *,
    scope: Scope,
    warn: Warn,
) -> dict[TableId, TableId]:
    given = {old: new for old, new in scope.renamed.items() if old in decided}
    urns = {dataset_urn(table): table for table in decided if table not in given}
    found = fetch(graph, "dataset", sorted(urns), _ASPECTS)
    named, gone = dict(given), []
    for urn, table in urns.items():
        aspects = found.get(urn, {})
        replacement = _replacement(aspects)
        if replacement is not None and replacement in datasets:
            named[table] = replacement
        # A dataset that exists belongs to a part of the catalog that this run does not cover.
        elif SchemaMetadataClass.ASPECT_NAME not in aspects or is_removed(aspects):
            gone.append(_read_gone(table, aspects, decided[table]))
    choices = {one.table: _candidates(one, datasets.values(), scope.instances) for one in gone}
    choices = _same_content(graph, gone, choices)
    named |= _choose(choices, taken={*named.values()}, warn=warn)
    for old, new in sorted(named.items()):
        logger.info("Decisions about %s hold for %s", old, new)
    return named


def _replacement(aspects: Aspects) -> TableId | None:
    deprecation = aspect_of(aspects, DeprecationClass)
    if deprecation is None or not deprecation.deprecated or not deprecation.replacement:
        return None
    try:
        return table_id(deprecation.replacement)
    except InvalidUrnError:  # an entity of another type
        return None


def _read_gone(table: TableId, aspects: Aspects, decided: Collection[str]) -> _GoneTable:
    schema = aspect_of(aspects, SchemaMetadataClass)
    declared = aspect_of(aspects, DataPlatformInstanceClass)
    instance = declared.instance if declared else None
    paths = {plain_path(field.fieldPath) for field in schema.fields} if schema else set()
    instance = DataPlatformInstanceUrn.from_string(instance).instance if instance else ""
    # The root of a nested schema has an empty path.
    return _GoneTable(table, frozenset(paths - {""}), frozenset(decided), instance)


def _candidates(
    gone: _GoneTable, datasets: Iterable[Dataset], instances: Sequence[PlatformInstance]
) -> list[TableId]:
    """List the tables that may be a removed table under a new name."""
    # A platform that gets an instance puts its name before those of all tables.
    prefixes = {gone.instance, *(one.instance or "" for one in instances)}
    old_names = _bare_names(gone.table, prefixes)
    same_name, same_columns = [], []
    for dataset in datasets:
        paths = {path for path, _ in dataset.columns}
        table = dataset.table
        if (table.platform, table.env) != (gone.table.platform, gone.table.env):
            continue
        if gone.decided <= paths and not old_names.isdisjoint(_bare_names(table, prefixes)):
            same_name.append(table)
        if gone.paths and paths == gone.paths:
            same_columns.append(table)
    return same_name or same_columns


def _bare_names(table: TableId, instances: Iterable[str]) -> set[str]:
    """Return a table's name, with and without the platform instance at its start."""
    prefixes = {f"{instance}." for instance in instances if instance}
    return {table.name, *(table.name.removeprefix(prefix) for prefix in prefixes)}


def _same_content(
    graph: DataHubGraph, gone: Iterable[_GoneTable], choices: Mapping[TableId, Sequence[TableId]]
) -> dict[TableId, list[TableId]]:
    tables = {table for old, new in choices.items() if new for table in (old, *new)}
    statistics = read_statistics(graph, sorted(tables)) if tables else {}

    def is_alike(one: _GoneTable, table: TableId, path: str) -> bool:
        old, new = (statistics.get(ColumnId(each, path)) for each in (one.table, table))
        # A column without a profile refutes nothing.
        return not (old and new) or (
            abs(old.uniqueness - new.uniqueness) <= _TOLERANCE
            and abs(old.completeness - new.completeness) <= _TOLERANCE
        )

    return {
        one.table: [
            table
            for table in choices[one.table]
            if all(is_alike(one, table, path) for path in one.paths or one.decided)
        ]
        for one in gone
    }


def _choose(
    choices: Mapping[TableId, Sequence[TableId]], *, taken: Collection[TableId], warn: Warn
) -> dict[TableId, TableId]:
    """Map each removed table to its new name, if only one name is possible."""
    # A table succeeds one other table at most, so two claims of it decide nothing.
    claims = [table for tables in choices.values() for table in tables] + [*taken]
    chosen = {}
    for old, tables in sorted(choices.items()):
        if len(tables) == 1 and claims.count(tables[0]) == 1:
            chosen[old] = tables[0]
        elif tables:
            warn(
                "Which table is it now?",
                "People decided about joins of a table that is gone, and it cannot be told which "
                "table it is now. State it in `catalog.renamed`; until then these decisions wait",
                f"{dataset_urn(old)} may be {' or '.join(map(dataset_urn, tables))}",
            )
    return chosen
