"""How often the SQL queries of the catalog join two columns."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import QueryPropertiesClass, QuerySubjectsClass

from datahub_hyperjoin.catalog.bulk import Aspects, aspect_of, scroll
from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.relationships import Warn, left_out
from datahub_hyperjoin.catalog.sql_names import Schemas
from datahub_hyperjoin.catalog.statements import find_joins
from datahub_hyperjoin.tables import Pair, TableId
from datahub_hyperjoin.urns import dataset_urn

_LONGEST = 100_000
"""Characters of a statement beyond which the parser takes minutes."""

_ASPECTS = [QueryPropertiesClass.ASPECT_NAME, QuerySubjectsClass.ASPECT_NAME]
_OURS = "model_version"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Query:
    """A SQL query that people or their tools ran."""

    changed: int
    """When, in milliseconds since 1970."""

    urn: str
    """Which one."""

    statement: str
    """Its SQL."""

    platform: str
    """Where it ran."""

    subjects: frozenset[TableId]
    """The known tables that it is about."""


def count_joined(
    graph: DataHubGraph, datasets: Iterable[Dataset], *, most: int, warn: Warn
) -> dict[Pair, int]:
    """Counts the queries that join two columns.

    Parsing a statement takes some milliseconds, a big one seconds.

    Args:
        graph: DataHub's server.
        datasets: The tables to count for, with their columns.
        most: How many queries to read, newest first; 0 asks for none.
        warn: Is told of queries that cannot be read.

    Returns:
        How many queries join a pair, for each pair that any does.
    """
    if not most:
        return {}
    columns = {one.table: [path for path, _ in one.columns] for one in datasets}
    tables = {dataset_urn(table): table for table in columns}
    found = scroll(graph, "query", _ASPECTS, warn=left_out(warn))
    queries = (read_query(urn, aspects, tables) for urn, aspects in found)
    newest = nlargest(most, (query for query in queries if query))
    return count_in(newest, Schemas(columns), warn)


def read_query(urn: str, aspects: Aspects, tables: Mapping[str, TableId]) -> Query | None:
    """Reads one query from its aspects.

    Args:
        urn: Which one.
        aspects: What the catalog holds of it.
        tables: The tables that count, by their datasets' urns.

    Returns:
        None for a query that shows a suggestion of ours, for one about none of the tables, and for
        one of extreme length.
    """
    properties = aspect_of(aspects, QueryPropertiesClass)
    about = aspect_of(aspects, QuerySubjectsClass)
    if properties is None or about is None or _OURS in properties.customProperties:
        return None
    named = [tables.get(subject.entity) for subject in about.subjects]
    subjects = frozenset(table for table in named if table)
    statement = properties.statement.value
    if not subjects or len(statement) > _LONGEST:
        return None
    return Query(
        changed=properties.lastModified.time,
        urn=urn,
        statement=statement,
        platform=min(table.platform for table in subjects),
        subjects=subjects,
    )


def count_in(queries: Iterable[Query], schemas: Schemas, warn: Warn) -> dict[Pair, int]:
    """Counts queries by the pairs of columns that they join.

    Args:
        queries: What to parse.
        schemas: The tables there are.
        warn: Is told how many statements cannot be read.

    Returns:
        How many queries join a pair; one that joins it twice counts once.
    """
    joined: Counter[Pair] = Counter()
    read, unread = 0, []
    for query in queries:
        read += 1
        pairs = find_joins(
            query.statement, platform=query.platform, schemas=schemas, subjects=query.subjects
        )
        if pairs is None:
            unread.append(query.urn)
        else:
            joined.update(pairs)
    if unread:
        warn(
            "SQL queries not understood",
            "What they join is not counted",
            f"{len(unread)} of {read}, for example {unread[0]}",
        )
    return dict(joined)
