"""Read the SQL of joins from the catalog's `query` entities.

DataHub shows these entities among the Highlighted Queries.
"""

from collections.abc import Iterable

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.graphql.operations import GraphQLObject, execute, parsing
from datahub_hyperjoin.joins import Statement
from datahub_hyperjoin.metadata.relationship_aspect import SQL_DIALECT, WITHDRAWN_BY
from datahub_hyperjoin.metadata.urns import query_urn


def sql_of_joins(graph: DataHubGraph, joins: Iterable[CatalogJoin]) -> dict[str, str]:
    """Read the SQL of joins from the catalog, as text.

    Returns:
        Statements by the URN of the join; joins without one are missing.
    """
    return {urn: statement.sql for urn, statement in statements_of_joins(graph, joins).items()}


def statements_of_joins(graph: DataHubGraph, joins: Iterable[CatalogJoin]) -> dict[str, Statement]:
    """Read the SQL of joins from the catalog, with its dialect.

    A run wrote each statement after it had returned the rows that the evidence promises, unless a
    person has edited it since.

    Returns:
        Statements by the URN of the join; joins without one are missing. The dialect is empty if
        an earlier version of the package wrote the statement.
    """
    queries = {query_urn(join.urn): join.urn for join in joins}
    if not queries:
        return {}
    data = execute(graph, "sql_of_joins", queries=[*queries])
    with parsing("sql_of_joins"):
        found = {entity["urn"]: _statement(entity) for entity in data["entities"] if entity}
        return {queries[urn]: statement for urn, statement in found.items() if statement.sql}


def _statement(entity: GraphQLObject) -> Statement:
    """Return the SQL of a `query` entity.

    The statement is empty if the entity has no SQL, or if a run withdrew the entity.
    """
    properties = entity.get("properties")
    if not properties:
        return Statement()
    marks = {entry["key"]: entry["value"] for entry in properties.get("customProperties") or ()}
    if WITHDRAWN_BY in marks:
        return Statement()
    return Statement(
        sql=str(properties["statement"]["value"]), dialect=str(marks.get(SQL_DIALECT) or "")
    )
