"""List joins and joinable columns of the catalog."""

from collections.abc import Iterator

from datahub.ingestion.graph.client import DataHubGraph
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.graphql.joins import CatalogJoin, best_first, with_left_table
from datahub_hyperjoin.graphql.operations import GraphQLObject, execute, parsing, search
from datahub_hyperjoin.graphql.parse import read_joins
from datahub_hyperjoin.metadata.urns import (
    BEST_JOIN_SCORE,
    JOINABLE_WITH,
    band_urn,
    column_id,
    plain_path,
    property_urn,
    table_id,
)
from datahub_hyperjoin.tables import ColumnId, TableId


def joins_of_dataset(
    graph: DataHubGraph, dataset: str, *, min_score: float = 0.0, hidden: bool = False
) -> list[CatalogJoin]:
    """List the joins of a dataset, best first; hidden joins are left out unless `hidden` is set.

    Args:
        graph: DataHub's server.
        dataset: URN of the dataset.
        min_score: Lowest joinability of suggestions; joins that people accepted or wrote are always
            listed.
        hidden: Whether to also list joins that are hidden (soft-deleted) in DataHub.

    Returns:
        Joins, best first, with the dataset on the left.
    """
    joins = read_joins(search(graph, "joins_of_dataset", dataset=dataset, hidden=hidden))
    table = table_id(dataset)
    return best_first(with_left_table(join, table) for join in joins if join.strength >= min_score)


def joins_of_column(
    graph: DataHubGraph, dataset: str, column: str, *, min_score: float = 0.0, hidden: bool = False
) -> list[CatalogJoin]:
    """List the joins of a column, including composite joins.

    Args:
        graph: DataHub's server.
        dataset: URN of the column's dataset.
        column: Plain path or DataHub field path of the column.
        min_score: Lowest joinability of suggestions; joins that people accepted or wrote are always
            listed.
        hidden: Whether hidden joins are listed.

    Returns:
        Joins, best first, with the dataset on the left.
    """
    path = plain_path(column)
    return [
        join
        for join in joins_of_dataset(graph, dataset, min_score=min_score, hidden=hidden)
        if any(_includes(pair, join.left.table, path) for pair in join.pairs)
    ]


def _includes(pair: tuple[ColumnId, ColumnId], table: TableId, path: str) -> bool:
    return any(column.table == table and column.path == path for column in pair)


def all_joins(graph: DataHubGraph, *, hidden: bool = False) -> list[CatalogJoin]:
    """List the joins in the catalog, best first; hidden joins are left out unless `hidden` is set.

    Args:
        graph: DataHub's server.
        hidden: Whether hidden joins are listed.

    Returns:
        Joins, best first.
    """
    return best_first(read_joins(_scroll(graph, hidden=hidden)))


def _scroll(graph: DataHubGraph, *, hidden: bool) -> Iterator[GraphQLObject]:
    cursor = None
    while True:
        data = execute(graph, "all_joins", cursor=cursor, hidden=hidden)
        with parsing("all_joins"):
            page = data["scrollAcrossEntities"]
            entities = [result["entity"] for result in page["searchResults"]]
            cursor = page["nextScrollId"]
        yield from entities
        if not cursor or not entities:
            return


def joins_in_band(graph: DataHubGraph, band: str) -> list[CatalogJoin]:
    """List the suggested joins in a confidence band, such as `high`.

    Args:
        graph: DataHub's server.
        band: `high`, `medium`, `low` or `unverified`.

    Returns:
        Joins that are not hidden, best first.
    """
    return best_first(read_joins(search(graph, "joins_in_band", tags=[band_urn(band)])))


def joinable_columns(graph: DataHubGraph, column: str, *, namespace: str) -> list[ColumnId]:
    """List the columns that join with a given column, best first.

    The list comes from a structured property of the column.

    Args:
        graph: DataHub's server.
        column: URN of the column, with its DataHub field path.
        namespace: Namespace of the structured properties.

    Returns:
        Columns, best first; empty if the property is not set.
    """
    data = execute(graph, "joinable_columns", column=column)
    with parsing("joinable_columns"):
        values = _values(data["entity"], property_urn(namespace, JOINABLE_WITH))
        columns = [_column(value["stringValue"]) for value in values]
    return [column for column in columns if column]


def _column(urn: str) -> ColumnId | None:
    """Convert a URN to a column; return None if it is not the URN of a column.

    People can set such a value.
    """
    try:
        return column_id(urn)
    except InvalidUrnError:
        return None


def columns_above(
    graph: DataHubGraph, score: float, *, namespace: str
) -> list[tuple[ColumnId, float]]:
    """List the columns whose best join has at least a given joinability.

    Args:
        graph: DataHub's server.
        score: Lowest joinability.
        namespace: Namespace of the structured properties.

    Returns:
        Columns and the joinability of their best joins, best first.
    """
    urn = property_urn(namespace, BEST_JOIN_SCORE)
    field = f"structuredProperties.{namespace}.{BEST_JOIN_SCORE}"
    entities = search(graph, "columns_above", field=field, score=str(score))
    with parsing("columns_above"):
        found = [
            (_column(entity["urn"]), value["numberValue"])
            for entity in entities
            for value in _values(entity, urn)
        ]
    return [(column, best) for column, best in found if column]


def _values(entity: GraphQLObject | None, urn: str) -> list[GraphQLObject]:
    """Return an entity's values of the structured property with the URN `urn`."""
    assignments = ((entity or {}).get("structuredProperties") or {}).get("properties") or ()
    return [
        value
        for assignment in assignments
        if assignment["structuredProperty"]["urn"] == urn
        for value in assignment["values"]
    ]
