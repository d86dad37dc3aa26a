"""Build the catalog facts from the metadata that was read from DataHub."""

from collections.abc import Iterable, Mapping

from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.decisions import Decision
from datahub_hyperjoin.catalog.keys import declared_keys
from datahub_hyperjoin.catalog.relationships import Relationship
from datahub_hyperjoin.catalog_facts import CatalogFacts, ColumnStatistics
from datahub_hyperjoin.joins import CatalogEvidence
from datahub_hyperjoin.tables import ColumnId, Pair


def assemble_facts(
    *,
    datasets: Iterable[Dataset],
    relationships: Iterable[Relationship] = (),
    decisions: Mapping[Pair, Decision] | None = None,
    queries: Mapping[Pair, int] | None = None,
    statistics: Mapping[ColumnId, ColumnStatistics] | None = None,
) -> CatalogFacts:
    """Build catalog facts from datasets, relationships, decisions, queries and statistics.

    Args:
        datasets: The datasets, with their columns and declared keys.
        relationships: Relationships of all authors, ours included.
        decisions: People's decision about each pair that has one.
        queries: Number of SQL queries that join a pair.
        statistics: Statistics from the catalog's profiles of columns.

    Returns:
        Facts about all columns, and about each pair that the catalog mentions.
    """
    datasets = tuple(datasets)
    related = related_pairs(relationships)
    decisions, queries = decisions or {}, queries or {}
    pairs = {}
    for pair in sorted({*related, *decisions, *queries}):
        decision = decisions.get(pair)
        pairs[pair] = CatalogEvidence(
            related=related.get(pair, ""),
            queries=queries.get(pair, 0),
            verdict=decision.verdict if decision else None,
            by=decision.by if decision else "",
        )
    facts = CatalogFacts(
        pairs=pairs,
        statistics=statistics or {},
        columns={
            dataset.table: frozenset(path for path, _ in dataset.columns)
            for dataset in datasets
            if dataset.columns
        },
    )
    return facts.declaring(declared_keys(datasets))


def related_pairs(relationships: Iterable[Relationship]) -> dict[Pair, str]:
    """Return the pairs joined by relationships that people or other tools created.

    Args:
        relationships: Relationships of all authors; ours and hidden ones are ignored.

    Returns:
        URN of the relationship of each pair; the smallest if there are several.
    """
    related: dict[Pair, str] = {}
    for relationship in sorted(relationships, key=lambda relationship: relationship.urn):
        if not relationship.ours and not relationship.removed:
            for pair in relationship.pairs:
                related.setdefault(pair, relationship.urn)
    return related
