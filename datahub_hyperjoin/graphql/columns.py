"""Decide about two columns that have no relationship, in properties of these columns.

People may know a join that no run suggests, and runs write no relationship for most columns of a
large value domain. The next run reads the decision, and verifies and publishes what is accepted.
"""

from typing import TYPE_CHECKING

from datahub.metadata.schema_classes import StructuredPropertiesClass

from datahub_hyperjoin.graphql.find import find_path_end, split_condition
from datahub_hyperjoin.graphql.operations import execute, requesting
from datahub_hyperjoin.joins import Join, Published, Verdict
from datahub_hyperjoin.metadata.urns import (
    DECIDING_PROPERTIES,
    NAMESPACE,
    column_urn,
    property_urn,
)
from datahub_hyperjoin.tables import ColumnId, pair_of

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph


def find_columns(graph: "DataHubGraph", condition: str) -> Join | None:
    """Find the two columns of a join condition; None if the text is no condition of two columns.

    Raises:
        UnknownNameError: A table or column does not exist, or its name is that of several.
    """
    pairs = split_condition(condition)
    if len(pairs) != 1:
        return None
    ends = [find_path_end(graph, name.strip()) for name in pairs[0]]
    columns = [end for end in ends if isinstance(end, ColumnId)]
    if len(columns) != len(pairs[0]) or columns[0] == columns[1]:
        return None
    left, right = pair_of(*columns)
    name = f"{left} = {right}"
    published = Published(urn="", name=name)
    return Join(left=left, right=right, joinability=0.0, evidence=None, published=published)


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
    for own, other in ((join.left, join.right), (join.right, join.left)):
        column, partner = column_urn(own), column_urn(other)
        listed = _read(graph, column)
        for name, stated in DECIDING_PROPERTIES.items():
            urn = property_urn(namespace, name)
            before = listed.get(urn, [])
            decided |= {stated} if partner in before else set()
            # One end is enough.
            wanted = stated is verdict and own == join.left
            after = [it for it in before if it != partner] + [partner] * wanted
            if set(after) != set(before):
                _write(graph, column, urn, after)
    return tuple(verdict for verdict in Verdict if verdict in decided)


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
