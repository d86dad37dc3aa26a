"""Puts together what the catalog's parts say."""

from collections.abc import Iterable, Mapping

from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.decisions import Decision
from datahub_hyperjoin.catalog.keys import declared_pairs, unique_columns
from datahub_hyperjoin.catalog.relationships import Relationship
from datahub_hyperjoin.catalog_facts import CatalogFacts, ColumnStatistics
from datahub_hyperjoin.tables import CatalogEvidence, ColumnId, Pair


def assemble_facts(
    *,
    datasets: Iterable[Dataset],
    relationships: Iterable[Relationship] = (),
    decisions: Mapping[Pair, Decision] | None = None,
    queries: Mapping[Pair, int] | None = None,
    statistics: Mapping[ColumnId, ColumnStatistics] | None = None,
) -> CatalogFacts:
    """Makes one body of knowledge of what was read separately.

    Args:
        datasets: The tables, with their columns and declared keys.
        relationships: Everyone's, ours among them.
        decisions: What people decided.
        queries: How many queries join a pair.
        statistics: What the catalog's profiles say of columns.

    Returns:
        What is said of each pair that anything is said of, and of columns.
    """
    datasets = tuple(datasets)
    declared, related = declared_pairs(datasets), related_pairs(relationships)
    decisions, queries = decisions or {}, queries or {}
    pairs = {}
    for pair in sorted({*declared, *related, *decisions, *queries}):
        decision = decisions.get(pair)
        pairs[pair] = CatalogEvidence(
            declared=declared.get(pair, ""),
            related=related.get(pair, ""),
            queries=queries.get(pair, 0),
            verdict=decision.verdict if decision else None,
            by=decision.by if decision else "",
        )
    return CatalogFacts(
        pairs=pairs,
        unique=unique_columns(datasets),
        statistics=statistics or {},
        columns={
            dataset.table: frozenset(path for path, _ in dataset.columns)
            for dataset in datasets
            if dataset.columns
        },
    )


def related_pairs(relationships: Iterable[Relationship]) -> dict[Pair, str]:
    """The pairs that other people's relationships join.

    Args:
        relationships: Everyone's; ours and the hidden ones state nothing.

    Returns:
        The relationship's urn for each pair; of several, the smallest.
    """
    related: dict[Pair, str] = {}
    for one in sorted(relationships, key=lambda one: one.urn):
        if not one.ours and not one.removed:
            for pair in one.pairs:
                related.setdefault(pair, one.urn)
    return related
