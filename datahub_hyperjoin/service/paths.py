"""Find a path of joins between two datasets, for the page."""

from typing import TypedDict

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.graphql import all_joins, find_dataset, find_path
from datahub_hyperjoin.graphql.steps import Step
from datahub_hyperjoin.graphql.words import (
    comparison_in_words,
    decision_in_words,
    grain_in_words,
)
from datahub_hyperjoin.urns import table_id


class DescribedStep(TypedDict):
    """One join of a path, in words."""

    join: str
    """The joined columns as text, with an arrow to the key."""

    facts: list[str]
    """How many rows match, how values are compared, and who decided."""

    choices: list[str]
    """Other references between the same tables, which give other rows."""


class DescribedPath(TypedDict):
    """A path of joins, in words."""

    grain: str
    """The table whose rows do not repeat in the result."""

    steps: list[DescribedStep]
    """The joins, in order."""


def describe_path(graph: DataHubGraph, start: str, end: str) -> DescribedPath:
    """Describe the best path of joins between two datasets, ignoring many-to-many paths.

    Args:
        graph: DataHub's server.
        start: URN or name of the first dataset.
        end: URN or name of the last dataset.

    Raises:
        UnknownNameError: There is no such dataset.
        NoPathError: No path connects the datasets, or only many-to-many paths do.
        DeniedError: The server refuses the request.
        UnansweredError: The server cannot be reached or fails.
    """
    ends = [table_id(find_dataset(graph, name)) for name in (start, end)]
    # A path may lead over any table, so all joins are read.
    path = find_path(all_joins(graph), *ends)
    return {"grain": grain_in_words(path), "steps": [*map(_describe, path.steps)]}


def _describe(step: Step) -> DescribedStep:
    factor, (left, right) = step.multiplies_by, step.join.tables
    rows = (
        [] if factor is None else [f"on average, a row of {left} matches {factor:.3g} of {right}"]
    )
    compared = comparison_in_words(step.join)
    return {
        "join": step.join.arrows,
        "facts": [*rows, *([compared] if compared else []), decision_in_words(step.join)],
        "choices": [other.arrows for other in step.alternatives],
    }
