"""Read the SQL of joins from the catalog's `query` entities.

DataHub shows these entities among the Highlighted Queries.
"""

from collections.abc import Iterable

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.graphql.operations import GraphQLObject, execute, parsing
from datahub_hyperjoin.relationship_aspect import WITHDRAWN_BY
from datahub_hyperjoin.urns import query_urn


def sql_of_joins(graph: DataHubGraph, joins: Iterable[CatalogJoin]) -> dict[str, str]:
    """Read the SQL of joins from the catalog.

    A run wrote each statement after it had returned the rows that the evidence promises, unless a
    person has edited it since.

    Args:
        graph: DataHub's server.
        joins: The joins.

    Returns:
        Statements by the URN of the join; joins without one are missing.
    """
    queries = {query_urn(join.urn): join.urn for join in joins}
    if not queries:
        return {}
    data = execute(graph, "sql_of_joins", queries=[*queries])
    with parsing("sql_of_joins"):
        found = {entity["urn"]: _statement(entity) for entity in data["entities"] if entity}
        return {queries[urn]: sql for urn, sql in found.items() if sql}


def _statement(entity: GraphQLObject) -> str:
    """Return the SQL of a `query` entity.

    The text is empty if the entity has no SQL, or if a run withdrew the entity.
    """
    properties = entity.get("properties")
    if not properties:
        return ""
    marks = {entry["key"] for entry in properties.get("customProperties") or ()}
    return "" if WITHDRAWN_BY in marks else str(properties["statement"]["value"])
