"""The tables of a run, and the catalog facts about them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from datahub_hyperjoin.catalog_facts import CatalogFacts, ColumnStatistics, DeclaredKeys
from datahub_hyperjoin.decision_file import FiledDecision, WrittenDecision
from datahub_hyperjoin.joins import CatalogEvidence, JoinedColumns, Verdict
from datahub_hyperjoin.names import find_spelling
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import ColumnId, Pair, Table, TableId, tables_of_members

if TYPE_CHECKING:
    from datahub_hyperjoin.catalog.datasets import Dataset
    from datahub_hyperjoin.catalog.filed_decisions import Decision
    from datahub_hyperjoin.catalog.relationships import Relationship


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """The tables of a run, with their metadata from DataHub."""

    tables: Sequence[Table]
    facts: CatalogFacts = field(default_factory=CatalogFacts)
    datasets: Mapping[TableId, "Dataset"] = field(default_factory=dict)
    relationships: Mapping[str, "Relationship"] = field(default_factory=dict)
    rejected: Mapping[str, Pair] = field(default_factory=dict)
    """Relationships of earlier runs that people deleted, hid or rejected, by URN. They are recorded
    because DataHub hard-deletes hidden entities after some time."""

    listed: Sequence[tuple[ColumnId, ColumnId]] = ()
    """Rejected pairs that are stored at one of their columns, which is the first of the pair."""

    deleted: Sequence[Pair] = ()
    """Pairs of earlier runs whose relationships people have hard-deleted since the last run."""

    absent: frozenset[TableId] = frozenset()
    """Tables of earlier runs that this run does not read, although nobody removed them."""

    matched: Mapping[TableId, TableId] = field(default_factory=dict)
    """Maps a table to its dataset, for each table whose dataset has another name."""

    filed: Sequence[FiledDecision] = ()

    def field_path(self, column: ColumnId) -> ColumnId:
        """Replace a column's plain path with the field path that DataHub uses."""
        dataset = self.datasets.get(column.table)
        paths = dict(dataset.columns) if dataset else {}
        path = find_spelling(column.path, paths)
        return ColumnId(column.table, paths.get(path, path))


def declared_keys(datasets: "Iterable[Dataset]") -> DeclaredKeys:
    """Return the primary keys and foreign keys of datasets."""
    datasets = tuple(datasets)
    paths = {dataset.table: {path for path, _ in dataset.columns} for dataset in datasets}
    known = {ColumnId(table, path) for table, own in paths.items() for path in own}

    # DataHub's Unity source spells the columns of a key as its author did, not as the table does.
    def spelled(column: ColumnId) -> ColumnId:
        return replace(column, path=find_spelling(column.path, paths.get(column.table, ())))

    keys = DeclaredKeys.of(
        (tuple(ColumnId(it.table, path) for path in it.primary_key) for it in datasets),
        (key for dataset in datasets for key in dataset.foreign_keys),
    ).renamed(spelled)
    return replace(
        keys,
        unique=keys.unique & known,
        composite=frozenset(filter(known.issuperset, keys.composite)),
        foreign=tuple(key for key in keys.foreign if known.issuperset(chain(*key.pairs))),
    )


def assemble_facts(
    *,
    datasets: "Iterable[Dataset]",
    related: Mapping[JoinedColumns, str] | None = None,
    decisions: "Mapping[JoinedColumns, Decision] | None" = None,
    deleted: Iterable[str] = (),
    queries: Mapping[Pair, int] | None = None,
    statistics: Mapping[ColumnId, ColumnStatistics] | None = None,
) -> CatalogFacts:
    """Build the catalog facts from all metadata that a run reads from DataHub."""
    datasets = tuple(datasets)
    related, decisions = related or {}, decisions or {}
    counts: dict[JoinedColumns, int] = {(pair,): count for pair, count in (queries or {}).items()}
    stated = {}
    for columns in sorted({*related, *decisions, *counts}):
        decision = decisions.get(columns)
        stated[columns] = CatalogEvidence(
            related=related.get(columns, ""),
            queries=counts.get(columns, 0),
            verdict=decision.verdict if decision else None,
            by=decision.by if decision else "",
            when=decision.when if decision else 0,
            why=decision.why if decision else "",
        )
    known = [dataset for dataset in datasets if dataset.columns]
    facts = CatalogFacts(
        pairs={columns[0]: found for columns, found in stated.items() if len(columns) == 1},
        composites=_composites(stated, deleted),
        statistics=statistics or {},
        columns={each.table: frozenset(path for path, _ in each.columns) for each in known},
        described={each.table: each.described for each in known},
    )
    return facts.declaring(declared_keys(datasets))


def _composites(
    stated: Mapping[JoinedColumns, CatalogEvidence], deleted: Iterable[str]
) -> dict[str, CatalogEvidence]:
    """Map the URNs of composite joins to their evidence; the `deleted` ones are rejected."""
    from datahub_hyperjoin.metadata.relationships import columns_urn  # noqa: PLC0415 (slow)

    composites = {columns_urn(columns): one for columns, one in stated.items() if len(columns) > 1}
    for urn in deleted:
        evidence = composites.get(urn, CatalogEvidence())
        if evidence.verdict is None:
            composites[urn] = replace(evidence, verdict=Verdict.REJECTED)
    return composites


def related_columns(relationships: "Iterable[Relationship]") -> dict[JoinedColumns, str]:
    """Map joined columns to the URN of a relationship that people or other tools created."""
    related: dict[JoinedColumns, str] = {}
    for relationship in sorted(relationships, key=lambda relationship: relationship.urn):
        if relationship.pairs and not relationship.ours and not relationship.removed:
            related.setdefault(relationship.pairs, relationship.urn)
    return related


def build_catalog_without_server(
    tables: Sequence[Table], decisions: Sequence[WrittenDecision], warn: Warn
) -> Catalog:
    """Build a `Catalog` from the tables of a run and the recipe's file of decisions."""
    if not decisions:
        return Catalog(tables=tables)
    # Decisions name tables as DataHub does, whose URNs take long to import.
    from datahub_hyperjoin.catalog.filed_decisions import (  # noqa: PLC0415
        find_decided_columns,
        joins_decided,
        merge_decisions,
    )

    names = tables_of_members(tables) | {table.id: table.id for table in tables}
    filed = find_decided_columns(decisions, names, warn)
    facts = assemble_facts(datasets=(), decisions=merge_decisions(joins_decided(filed), warn))
    return Catalog(tables=tables, facts=facts, filed=filed)
