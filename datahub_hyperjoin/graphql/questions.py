"""What can be asked of the catalog about joins."""

from collections.abc import Iterator

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.graphql.ask import GraphQLAnswer, ask, search
from datahub_hyperjoin.graphql.joins import CatalogJoin, best_first, from_table, read_joins
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.urns import (
    BEST_JOIN_SCORE,
    JOINABLE_WITH,
    band_urn,
    column_id,
    plain_path,
    property_urn,
    table_id,
)


def joins_of_dataset(
    graph: DataHubGraph, dataset: str, *, min_score: float = 0.0, hidden: bool = False
) -> list[CatalogJoin]:
    """The joins of a dataset.

    Args:
        graph: DataHub's server.
        dataset: Its urn.
        min_score: Leaves out suggestions of a lower joinability, but nothing that people accepted
            or wrote themselves.
        hidden: Whether those that were hidden come, too.

    Returns:
        Its joins, best first, with the dataset on the left.
    """
    found = read_joins(search(graph, "joins_of_dataset", dataset=dataset, hidden=hidden))
    own = table_id(dataset)
    return best_first(from_table(join, own) for join in found if join.strength >= min_score)


def joins_of_column(
    graph: DataHubGraph, dataset: str, column: str, *, min_score: float = 0.0, hidden: bool = False
) -> list[CatalogJoin]:
    """The joins of one column, composite ones that it is a part of among them.

    Args:
        graph: DataHub's server.
        dataset: Urn of its dataset.
        column: Its path, plain or as the catalog writes it.
        min_score: As for a dataset.
        hidden: As for a dataset.

    Returns:
        Its joins, best first, with its dataset on the left.
    """
    path = plain_path(column)
    return [
        join
        for join in joins_of_dataset(graph, dataset, min_score=min_score, hidden=hidden)
        if any(_mentions(pair, join.left.table, path) for pair in join.pairs)
    ]


def _mentions(pair: tuple[ColumnId, ColumnId], table: TableId, path: str) -> bool:
    return any(column.table == table and column.path == path for column in pair)


def all_joins(graph: DataHubGraph, *, hidden: bool = False) -> list[CatalogJoin]:
    """Every join of the catalog.

    Args:
        graph: DataHub's server.
        hidden: Whether those that were hidden come, too.

    Returns:
        All joins, best first.
    """
    return best_first(read_joins(_scroll(graph, hidden=hidden)))


def _scroll(graph: DataHubGraph, *, hidden: bool) -> Iterator[GraphQLAnswer]:
    cursor = None
    while True:
        answer = ask(graph, "all_joins", cursor=cursor, hidden=hidden)["scrollAcrossEntities"]
        yield from (result["entity"] for result in answer["searchResults"])
        cursor = answer["nextScrollId"]
        if not cursor or not answer["searchResults"]:
            return


def joins_in_band(graph: DataHubGraph, band: str) -> list[CatalogJoin]:
    """Suggestions of a confidence band.

    Args:
        graph: DataHub's server.
        band: `high`, `medium` or `low`.

    Returns:
        Those that are not hidden, best first.
    """
    return best_first(read_joins(search(graph, "joins_in_band", tags=[band_urn(band)])))


def joinable_columns(graph: DataHubGraph, column: str, *, namespace: str) -> list[ColumnId]:
    """The columns that join with a column, as its structured property lists them.

    Args:
        graph: DataHub's server.
        column: Urn of the column, with its path as the catalog writes it.
        namespace: What the properties' names begin with.

    Returns:
        Columns, best first; none, if the property is not set.
    """
    entity = ask(graph, "joinable_columns", column=column)["entity"]
    listed = _values(entity, property_urn(namespace, JOINABLE_WITH))
    return [column_id(value["stringValue"]) for value in listed]


def columns_above(
    graph: DataHubGraph, score: float, *, namespace: str
) -> list[tuple[ColumnId, float]]:
    """Columns whose best join is at least so good.

    Args:
        graph: DataHub's server.
        score: The least joinability.
        namespace: What the properties' names begin with.

    Returns:
        Columns and the joinability of their best joins, best first.
    """
    own = property_urn(namespace, BEST_JOIN_SCORE)
    field = f"structuredProperties.{namespace}.{BEST_JOIN_SCORE}"
    found = search(graph, "columns_above", field=field, score=str(score))
    return [
        (column_id(entity["urn"]), value["numberValue"])
        for entity in found
        for value in _values(entity, own)
    ]


def _values(entity: GraphQLAnswer | None, own: str) -> list[GraphQLAnswer]:
    """The values of one structured property of an entity."""
    assigned = ((entity or {}).get("structuredProperties") or {}).get("properties") or ()
    return [
        value
        for one in assigned
        if one["structuredProperty"]["urn"] == own
        for value in one["values"]
    ]
