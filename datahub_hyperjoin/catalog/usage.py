"""Count how many SQL queries in the catalog join each pair of columns."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from heapq import nlargest

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import QueryPropertiesClass, QuerySubjectsClass

from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.entities import Aspects, aspect_of, parse_entity, scroll
from datahub_hyperjoin.catalog.relationships import report_skipped
from datahub_hyperjoin.catalog.sql_joins import list_joined_pairs
from datahub_hyperjoin.catalog.sql_names import TableLookup
from datahub_hyperjoin.metadata.relationship_aspect import MODEL_VERSION
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import Pair, TableId

_LONGEST = 100_000
"""Maximum length of a statement that is parsed, in characters; longer ones take minutes."""

_ASPECTS = [QueryPropertiesClass.ASPECT_NAME, QuerySubjectsClass.ASPECT_NAME]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SqlQuery:
    """A SQL query in the catalog."""

    changed: int
    """Time of the last change, in milliseconds since 1970."""

    urn: str
    """URN of the query."""

    statement: str
    """The SQL of the query."""

    platform: str
    """The platform on which the query ran."""

    subjects: frozenset[TableId]
    """The tables that the query reads, as far as the run knows them."""


def count_joins(
    graph: DataHubGraph, datasets: Iterable[Dataset], *, most: int, warn: Warn
) -> dict[Pair, int]:
    """Count how many of the newest SQL queries in the catalog join each pair of columns.

    Parsing a statement takes some milliseconds, a large one seconds.

    Args:
        most: Maximum number of SQL queries to read, newest first; 0 sends no request.

    Returns:
        Number of SQL queries for each pair that any of them joins.
    """
    if not most:
        return {}
    columns = {dataset.table: [path for path, _ in dataset.columns] for dataset in datasets}
    tables = {dataset_urn(table): table for table in columns}
    skip = report_skipped(warn)
    queries = (
        parse_entity(urn, partial(read_query, urn, aspects, tables), skip)
        for urn, aspects in scroll(graph, "query", _ASPECTS, warn=skip)
    )
    # Search does not sort by age; the heap keeps no more than `most` statements in memory.
    newest = nlargest(most, (query for query in queries if query))
    return count_statements(newest, TableLookup(columns), warn)


def read_query(urn: str, aspects: Aspects, tables: Mapping[str, TableId]) -> SqlQuery | None:
    """Build a `SqlQuery` from the aspects of an entity.

    Args:
        tables: The tables whose joins are counted, by the URNs of their datasets.

    Returns:
        None for a query that this package published, one that uses none of the tables, and one that
        is too long to parse.
    """
    properties = aspect_of(aspects, QueryPropertiesClass)
    used = aspect_of(aspects, QuerySubjectsClass)
    if properties is None or used is None or MODEL_VERSION in properties.customProperties:
        return None
    named = [tables.get(subject.entity) for subject in used.subjects]
    subjects = frozenset(table for table in named if table)
    statement = properties.statement.value
    if not subjects or len(statement) > _LONGEST:
        return None
    # A query over several platforms has no platform of its own; the smallest name is the same in
    # every run.
    platform = min(table.platform for table in subjects)
    return SqlQuery(
        changed=properties.lastModified.time,
        urn=urn,
        statement=statement,
        platform=platform,
        subjects=subjects,
    )


def count_statements(
    queries: Iterable[SqlQuery], tables: TableLookup, warn: Warn
) -> dict[Pair, int]:
    """Count how many of the given SQL queries join each pair.

    Args:
        warn: Receives the number of statements that cannot be parsed.

    Returns:
        Number of SQL queries for each pair; a query that joins a pair twice counts once.
    """
    joined: Counter[Pair] = Counter()
    read, unparsed = 0, []
    for query in queries:
        read += 1
        pairs = list_joined_pairs(
            query.statement, platform=query.platform, tables=tables, subjects=query.subjects
        )
        if pairs is None:
            unparsed.append(query.urn)
        else:
            joined.update(pairs)
    if unparsed:
        warn(
            "SQL queries not parsed",
            "The joins in these SQL queries are not counted as evidence",
            f"{len(unparsed)} of {read}, for example {unparsed[0]}",
        )
    return dict(joined)
