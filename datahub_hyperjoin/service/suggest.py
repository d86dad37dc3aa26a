"""Look at two columns that a person thinks to join, before the person decides about them."""

from collections.abc import Callable

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.graphql.errors import UnknownNameError
from datahub_hyperjoin.graphql.find import find_decidable, find_path_end
from datahub_hyperjoin.graphql.read import read_columns
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.joins.describe import decision_in_words, describe
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId

Measure = Callable[[Join], Join | None]
"""Counts the rows of a join on the data; None if that is not possible."""

_FACTS = ("cardinality", "rows", "values", "compare")
_LATER = "The next run counts the rows of what is accepted"
_UNREAD = (
    "The rows were not counted: the recipe of this service has not both tables, or a column has no "
    "values"
)


def look_at_columns(
    graph: DataHubGraph, one: str, other: str, measure: Measure | None
) -> dict[str, object]:
    """Describe the join of two columns, with its rows if they can be counted.

    Args:
        graph: DataHub's server, with the person's rights.
        one: Name or URN of a column.
        other: Name or URN of the other column.
        measure: Counts the rows; None if the service has no recipe.

    Raises:
        UnknownNameError: The person sees no such column, or several.
        HyperJoinError: The rows cannot be counted.
    """
    # By the names alone, a join of two tables without any would be looked for among all joins.
    join = find_decidable(graph, " = ".join(_find_column(graph, name) for name in (one, other)))
    seen = (_measure(graph, join, measure) if measure else None) or join
    words = describe(seen) if seen.evidence else {}
    note = "" if seen.evidence else _UNREAD if measure else _LATER
    decided = [decision_in_words(join)] if join.verdict else []
    return {
        "join": join.urn,
        "columns": join.arrows,
        "verdict": join.verdict.value if join.verdict else "",
        "facts": [*(words[fact] for fact in _FACTS if fact in words), *decided],
        "note": note,
    }


def _find_column(graph: DataHubGraph, name: str) -> str:
    """Return the URN of the column that a name or URN refers to."""
    end = find_path_end(graph, name)
    if not isinstance(end, ColumnId):
        raise UnknownNameError.nothing(kind="column", name=name, near=())
    return column_urn(end)


def _measure(graph: DataHubGraph, join: Join, measure: Measure) -> Join | None:
    # The recipe may read more than the person may see.
    for column in (end for pair in join.pairs for end in pair):
        if column.path not in read_columns(graph, dataset_urn(column.table)):
            raise UnknownNameError.column(column.path, column.table.name, near=())
    return measure(join)
