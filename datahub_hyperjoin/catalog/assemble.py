"""Build the catalog facts from DataHub's metadata."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from datahub_hyperjoin.catalog.merged_decisions import Decision
from datahub_hyperjoin.catalog_facts import CatalogFacts, ColumnStatistics, DeclaredKeys
from datahub_hyperjoin.joins import CatalogEvidence, JoinedColumns, Verdict
from datahub_hyperjoin.metadata.relationship_aspect import columns_urn
from datahub_hyperjoin.tables import ColumnId, Pair

if TYPE_CHECKING:
    from datahub_hyperjoin.catalog.datasets import Dataset
    from datahub_hyperjoin.catalog.relationships import Relationship


def declared_keys(datasets: "Iterable[Dataset]") -> DeclaredKeys:
    """Return the primary keys and foreign keys of datasets.

    A key with a column outside the catalog is ignored.

    Args:
        datasets: The datasets of the catalog.

    >>> from datahub_hyperjoin.catalog.datasets import Dataset
    >>> from datahub_hyperjoin.tables import TableId
    >>> columns = (("order", "order"), ("line", "line"))
    >>> def orders(*key: str) -> Dataset:
    ...     table = TableId("postgres", "shop.orders")
    ...     return Dataset(table=table, title="orders", columns=columns, primary_key=key)
    >>> [str(column) for column in declared_keys([orders("order")]).unique]
    ['shop.orders.order']
    >>> [key] = declared_keys([orders("order", "line")]).composite
    >>> [column.path for column in key]
    ['order', 'line']
    >>> declared_keys([orders("number")]) == DeclaredKeys()
    True
    """
    datasets = tuple(datasets)
    known = {
        ColumnId(dataset.table, path)
        for dataset in datasets
        for path, _field_path in dataset.columns
    }
    primary = [
        tuple(ColumnId(dataset.table, path) for path in dataset.primary_key)
        for dataset in datasets
        if dataset.primary_key
    ]
    whole = [key for key in primary if known.issuperset(key)]
    return DeclaredKeys(
        unique=frozenset(key[0] for key in whole if len(key) == 1),
        composite=frozenset(key for key in whole if len(key) > 1),
        foreign=tuple(
            key
            for dataset in datasets
            for key in dataset.foreign_keys
            if all(column in known for pair in key.pairs for column in pair)
        ),
    )


def assemble_facts(
    *,
    datasets: "Iterable[Dataset]",
    relationships: "Iterable[Relationship]" = (),
    decisions: Mapping[JoinedColumns, Decision] | None = None,
    deleted: Iterable[str] = (),
    queries: Mapping[Pair, int] | None = None,
    statistics: Mapping[ColumnId, ColumnStatistics] | None = None,
) -> CatalogFacts:
    """Build the catalog facts from all metadata that a run reads from DataHub.

    That is datasets, relationships, decisions, queries and statistics.

    Args:
        decisions: People's decision about each join that has one, by its columns.

    Returns:
        Facts about all columns, and about each pair that the catalog mentions.
    """
    datasets = tuple(datasets)
    related = related_columns(relationships)
    decisions = decisions or {}
    counts: dict[JoinedColumns, int] = {(pair,): count for pair, count in (queries or {}).items()}
    stated = {}
    for columns in sorted({*related, *decisions, *counts}):
        decision = decisions.get(columns)
        stated[columns] = CatalogEvidence(
            related=related.get(columns, ""),
            queries=counts.get(columns, 0),
            verdict=decision.verdict if decision else None,
            by=decision.by if decision else "",
        )
    facts = CatalogFacts(
        pairs={columns[0]: found for columns, found in stated.items() if len(columns) == 1},
        composites=_composites(stated, deleted),
        statistics=statistics or {},
        columns={
            dataset.table: frozenset(path for path, _ in dataset.columns)
            for dataset in datasets
            if dataset.columns
        },
        described={dataset.table: dataset.described for dataset in datasets if dataset.columns},
    )
    return facts.declaring(declared_keys(datasets))


def _composites(
    stated: Mapping[JoinedColumns, CatalogEvidence], deleted: Iterable[str]
) -> dict[str, CatalogEvidence]:
    """Map the URNs of composite joins to their evidence, and mark the `deleted` joins as rejected.

    Any other decision overrides a deletion.
    """
    composites = {columns_urn(columns): one for columns, one in stated.items() if len(columns) > 1}
    for urn in deleted:
        evidence = composites.get(urn, CatalogEvidence())
        if evidence.verdict is None:
            composites[urn] = replace(evidence, verdict=Verdict.REJECTED)
    return composites


def related_columns(relationships: "Iterable[Relationship]") -> dict[JoinedColumns, str]:
    """Map joined columns to the URN of a relationship that people or other tools created.

    Returns:
        URN of the relationship of each pair and of each composite key; the smallest if there are
        several.
    """
    related: dict[JoinedColumns, str] = {}
    for relationship in sorted(relationships, key=lambda relationship: relationship.urn):
        if relationship.pairs and not relationship.ours and not relationship.removed:
            related.setdefault(relationship.pairs, relationship.urn)
    return related
