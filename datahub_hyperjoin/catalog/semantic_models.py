"""Read the joins that the semantic models of other sources declare.

A relationship of a semantic model joins logical datasets, which it names by aliases. Lineage leads
from their columns to those of tables.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter
from datahub.metadata.schema_classes import (
    DatasetPropertiesClass,
    ERModelRelationshipCardinalityClass,
    StatusClass,
    SubTypesClass,
    UpstreamLineageClass,
)
from datahub.utilities.urns.urn import guess_entity_type

from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.entities import (
    aspect_of,
    fetch,
    fetch_each,
    is_removed,
    parse_entity,
    scroll,
)
from datahub_hyperjoin.catalog.relationships import report_skipped
from datahub_hyperjoin.catalog.versions import SemanticModelInfo, knows
from datahub_hyperjoin.catalog_facts import ForeignKey
from datahub_hyperjoin.joins import JoinedColumns
from datahub_hyperjoin.metadata.urns import (
    OWN_MODELS,
    SEMANTIC_MODEL,
    column_id,
    column_urn,
    dataset_urn,
    table_id,
)
from datahub_hyperjoin.names import find_spelling
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import ColumnId, TableId, in_order
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import name_some

_MEMBER, _LOGICAL = "semanticModelProperties", "Semantic Model Dataset"
_MOST_STEPS = 4
"""The most steps of lineage from a logical dataset to a table; most have one."""

_KINDS = ERModelRelationshipCardinalityClass


@dataclass(frozen=True, kw_only=True)
class ModelledJoin:
    """A join of columns that a semantic model declares."""

    model: str
    """URN of the semantic model."""

    name: str
    cardinality: str | ERModelRelationshipCardinalityClass | None
    pairs: tuple[tuple[ColumnId, ColumnId], ...]

    @property
    def key(self) -> ForeignKey | None:
        """The join as a foreign key; None if the model does not tell that one side is a key."""
        match self.cardinality:
            case _KINDS.ONE_ONE | _KINDS.N_ONE:
                return ForeignKey(name=self.name, pairs=self.pairs)
            case _KINDS.ONE_N:
                turned = tuple((right, left) for left, right in self.pairs)
                return ForeignKey(name=self.name, pairs=turned)
            case _:
                return None


class _Members(NamedTuple):
    """The datasets of semantic models."""

    by_alias: Mapping[tuple[str, str], TableId]
    """Each dataset by the URN of its model and its alias there."""

    logical: frozenset[TableId]
    """Those that exist for a model alone, and have no rows."""


class _Stated(NamedTuple):
    """A relationship as a semantic model states it."""

    join: ModelledJoin
    """The join without columns."""

    sides: tuple[tuple[ColumnId, ...], tuple[ColumnId, ...]]
    """The columns of both sides; none of a side whose alias is unknown."""


def read_modelled_joins(
    graph: DataHubGraph, datasets: Mapping[TableId, Dataset], warn: Warn
) -> dict[JoinedColumns, ModelledJoin]:
    """Read the joins that semantic models of other sources declare between datasets of a run."""
    models = _read_models(graph, warn) if knows(graph, SEMANTIC_MODEL) else {}
    if not models:
        return {}
    members = _read_members(graph, models, warn)
    stated = [*_list_relationships(models, members)]
    columns = {column for each in stated for side in each.sides for column in side}
    origins = _trace(graph, columns, datasets, members.logical)
    found: dict[JoinedColumns, ModelledJoin] = {}
    unknown: dict[str, None] = {}  # in order
    for join, (left, right) in stated:
        starts, ends = map(origins.get, left), map(origins.get, right)
        pairs = [(one, other) for one, other in zip(starts, ends, strict=False) if one and other]
        if pairs and len(pairs) == len(left) == len(right):
            modelled = replace(join, pairs=tuple(pairs))
            known = found.setdefault(in_order(pairs), modelled)
            if modelled.key and not known.key:
                found[in_order(pairs)] = modelled
        elif not origins.keys().isdisjoint((*left, *right)):
            unknown[visible(join.name)] = None
    if unknown:
        warn(
            "Joins of semantic models not read",
            "They lead to a dataset or a column that this run does not have. Read that dataset, "
            "too, or leave them",
            f"{len(unknown)}: {name_some([*unknown])}",
        )
    return found


def with_modelled_keys(
    datasets: Mapping[TableId, Dataset], joins: Iterable[ModelledJoin]
) -> dict[TableId, Dataset]:
    """Return datasets with the foreign keys that semantic models declare, beside their own."""
    declared = {frozenset(key.pairs) for one in datasets.values() for key in one.foreign_keys}
    keys: dict[TableId, list[ForeignKey]] = defaultdict(list)
    for key in filter(None, (join.key for join in joins)):
        if frozenset(key.pairs) not in declared:
            keys[key.pairs[0][0].table].append(key)
    return {
        table: replace(one, foreign_keys=(*one.foreign_keys, *keys[table]))
        if table in keys
        else one
        for table, one in datasets.items()
    }


def _read_models(graph: DataHubGraph, warn: Warn) -> dict[str, SemanticModelInfo]:
    names = [SEMANTIC_MODEL, StatusClass.ASPECT_NAME]
    found = {}
    for urn, aspects in scroll(graph, "semanticModel", names, warn=report_skipped(warn)):
        info = aspect_of(aspects, SemanticModelInfo)
        is_foreign = not (urn.startswith(OWN_MODELS) or is_removed(aspects))
        if info and info.relationships and is_foreign:
            found[urn] = info
    return dict(sorted(found.items()))


def _read_members(
    graph: DataHubGraph, models: Mapping[str, SemanticModelInfo], warn: Warn
) -> _Members:
    skip = report_skipped(warn)
    names = [_MEMBER, DatasetPropertiesClass.ASPECT_NAME, SubTypesClass.ASPECT_NAME]
    own: RawSearchFilter = [{"and": [{"field": "semanticModel", "values": [*models]}]}]
    read = dict(scroll(graph, "dataset", names, filters=own, warn=skip))
    # Where sources of release 1.7 list datasets in the model, tables may be among them.
    listed = {urn: info.datasets or () for urn, info in models.items()}
    missing = sorted({*chain(*listed.values())} - read.keys())
    read |= fetch(graph, "dataset", missing, names, warn=skip)
    urns = (*read, *chain(*listed.values()))
    parsed = {urn: parse_entity(urn, partial(table_id, urn), skip) for urn in urns}
    tables = {urn: table for urn, table in parsed.items() if table}
    named: dict[tuple[str, str], set[TableId]] = defaultdict(set)
    for model, own_tables in listed.items():
        # DataHub's pages take the name that they show for an alias.
        for urn in tables.keys() & own_tables:
            properties = aspect_of(read.get(urn, {}), DatasetPropertiesClass)
            name = properties.name if properties else None
            named[model, name or tables[urn].name].add(tables[urn])
    logical = set[TableId]()
    for urn in tables.keys() & read.keys():
        member: Any = read[urn].get(_MEMBER, (None,))[0]
        kinds = aspect_of(read[urn], SubTypesClass)
        if member:
            named[member.semanticModel, member.alias].add(tables[urn])
        if kinds and _LOGICAL in kinds.typeNames:
            logical.add(tables[urn])
    by_alias = {alias: found.pop() for alias, found in named.items() if len(found) == 1}
    return _Members(by_alias, frozenset(logical))


def _list_relationships(
    models: Mapping[str, SemanticModelInfo], members: _Members
) -> Iterator[_Stated]:
    for urn, info in models.items():
        for each in info.relationships or ():
            name = f"{each.name or f'{each.from_} to {each.to}'} of the semantic model {info.name}"
            join = ModelledJoin(model=urn, name=name, cardinality=each.cardinality, pairs=())
            left, right = (
                tuple(ColumnId(table, path) for path in paths) if table else ()
                for table, paths in (
                    (members.by_alias.get((urn, each.from_)), each.fromColumns),
                    (members.by_alias.get((urn, each.to)), each.toColumns),
                )
            )
            yield _Stated(join, (left, right))


def _trace(
    graph: DataHubGraph,
    columns: Iterable[ColumnId],
    datasets: Mapping[TableId, Dataset],
    logical: AbstractSet[TableId],
) -> dict[ColumnId, ColumnId]:
    """Find the column of a table of the run from which each of the given columns comes."""
    found: dict[ColumnId, ColumnId] = {}
    tables = datasets.keys() - logical
    now = {column: column for column in columns}
    for _ in range(_MOST_STEPS + 1):
        arrived = {start for start, at in now.items() if at.table in tables}
        for start in arrived:
            known = {path for path, _ in datasets[now[start].table].columns}
            if (path := find_spelling(now[start].path, known)) in known:
                found[start] = replace(now[start], path=path)
        left = {start: at for start, at in now.items() if start not in arrived}
        urns = sorted({dataset_urn(at.table) for at in left.values()})
        lineage = fetch_each(graph, "dataset", urns, UpstreamLineageClass) if urns else {}
        now = {
            start: upstream
            for start, at in left.items()
            if (upstream := _upstream(at, lineage.get(dataset_urn(at.table))))
        }
    return found


def _upstream(column: ColumnId, lineage: UpstreamLineageClass | None) -> ColumnId | None:
    """Return the only column from which a column comes; None if there is none or several."""
    if lineage is None:
        return None
    ends = {
        column_id(upstream)
        for edge in lineage.fineGrainedLineages or ()
        if column_urn(column) in (edge.downstreams or ())
        for upstream in edge.upstreams or ()
        if guess_entity_type(upstream) == "schemaField"
    }
    # Without lineage of columns, those of a view have the names of those of the table.
    tables = {table_id(each.dataset) for each in lineage.upstreams}
    ends = ends or {ColumnId(table, column.path) for table in tables}
    return ends.pop() if len(ends) == 1 else None
