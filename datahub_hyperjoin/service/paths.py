"""Find a path of joins between two datasets, for the page."""

from typing import TypedDict

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.graphql import all_joins, find_path
from datahub_hyperjoin.graphql.path_ends import find_path_end
from datahub_hyperjoin.graphql.steps import Step
from datahub_hyperjoin.graphql.words import (
    comparison_in_words,
    decision_in_words,
    grain_in_words,
    join_in_brief,
)


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

    rivals: list[str]
    """Other paths of as many joins, and how their rows differ."""

    direct: list[str]
    """Direct joins between the path's first and last dataset. The path does not use them."""


def describe_path(graph: DataHubGraph, start: str, end: str) -> DescribedPath:
    """Describe the best path of joins between two datasets, ignoring many-to-many paths.

    Args:
        start: URN or name of the first dataset, or of a column of it.
    """
    # A path may lead over any table, so all joins are read.
    joins = all_joins(graph)
    first, last = (find_path_end(graph, name, joins) for name in (start, end))
    path = find_path(joins, first, last)
    return {
        "grain": grain_in_words(path),
        "steps": [*map(_describe, path.steps)],
        "rivals": [*path.rivals_in_words],
        "direct": [*map(join_in_brief, path.direct)],
    }


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
