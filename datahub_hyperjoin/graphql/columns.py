"""Decide about two columns that have no relationship, in properties of these columns.

People may know a join that no run suggests, and runs write no relationship for most columns of a
large value domain. The next run reads the decision, and verifies and publishes what is accepted.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from datahub.metadata.schema_classes import StructuredPropertiesClass

from datahub_hyperjoin.graphql.operations import execute, parsing, requesting
from datahub_hyperjoin.graphql.pairs import parse_column
from datahub_hyperjoin.joins import Join, Verdict
from datahub_hyperjoin.metadata.urns import (
    DECIDING_PROPERTIES,
    NAMESPACE,
    column_id,
    column_urn,
    dataset_urn,
    plain_path,
    property_urn,
)
from datahub_hyperjoin.tables import ColumnId

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph


def decide_columns(
    graph: "DataHubGraph", join: Join, verdict: Verdict | None, *, namespace: str = NAMESPACE
) -> tuple[Verdict, ...]:
    """Accept or reject two columns, or undo that if `verdict` is None.

    Returns:
        What had been decided.

    Raises:
        DeniedError: The server refuses the change, or no run has defined the properties.
    """
    decided = set[Verdict]()
    left, right = _stored_urn(graph, join.left), _stored_urn(graph, join.right)
    for own, other in ((left, right), (right, left)):
        listed, partner = _read(graph, own), column_id(other)
        for name, stated in DECIDING_PROPERTIES.items():
            urn = property_urn(namespace, name)
            before = listed.get(urn, [])
            rest = [it for it in before if parse_column(it) != partner]
            decided |= {stated} if len(rest) < len(before) else set()
            # One end is enough.
            after = rest + [other] * (stated is verdict and own == left)
            if set(after) != set(before):
                _write(graph, own, urn, after)
    return tuple(verdict for verdict in Verdict if verdict in decided)


def _stored_urn(graph: "DataHubGraph", column: ColumnId) -> str:
    """Return the URN of a column with the path that DataHub has for it."""
    data = execute(graph, "describe_datasets", datasets=[dataset_urn(column.table)])
    with parsing("describe_datasets"):
        schemas = [(entity or {}).get("schemaMetadata") for entity in data["entities"]]
        paths = [each["fieldPath"] for schema in schemas if schema for each in schema["fields"]]
        path = next((path for path in paths if plain_path(path) == column.path), column.path)
        return column_urn(replace(column, path=path))


def _read(graph: "DataHubGraph", column: str) -> dict[str, list[str]]:
    with requesting(graph, "structuredProperties"):
        found = graph.get_aspect(column, StructuredPropertiesClass)
        assigned = found.properties if found else []
        return {each.propertyUrn: [*map(str, each.values)] for each in assigned}


def _write(graph: "DataHubGraph", column: str, urn: str, partners: list[str]) -> None:
    if partners:
        values = [{"stringValue": partner} for partner in partners]
        execute(graph, "state_partners", column=column, property=urn, partners=values)
    else:
        execute(graph, "forget_partners", column=column, property=urn)
