"""Suggestions as structured properties: what people see on columns and datasets."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.emit.patches import set_properties
from datahub_hyperjoin.tables import ColumnId, Join, Suggestion, TableId
from datahub_hyperjoin.urns import (
    BEST_JOIN_SCORE,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    SUGGESTED_JOINS,
    column_urn,
    dataset_urn,
    property_urn,
)

Scored = tuple[ColumnId, float]

_MOST = 10
"""Joins listed for a dataset; its columns list theirs all."""


_MOST_BYTES = 32766
"""What DataHub's search index takes of one value."""


def labels(titles: Mapping[TableId, str]) -> dict[TableId, str]:
    """What people call each table: its title, or its full name where two share a title.

    >>> one, other = TableId("file", "a/airports.csv"), TableId("file", "b/airports.csv")
    >>> list(labels({one: "airports", other: "airports"}).values())
    ['a/airports.csv', 'b/airports.csv']
    """
    shared = Counter(titles.values())
    return {table: title if shared[title] == 1 else table.name for table, title in titles.items()}


def partners(
    suggestions: Sequence[Suggestion], joins: Sequence[Join]
) -> dict[ColumnId, list[Scored]]:
    """What each column joins with.

    Its own suggestions come first, by rank, then the columns it was suggested for.

    Args:
        suggestions: Key by key, best first.
        joins: The same without direction, best first.

    Returns:
        Columns and scores; a column is no one's partner twice.
    """
    found: dict[ColumnId, dict[ColumnId, float]] = defaultdict(dict)
    for suggestion in sorted(suggestions, key=lambda suggestion: suggestion.rank):
        found[suggestion.query][suggestion.candidate] = suggestion.joinability
    for join in joins:
        found[join.left].setdefault(join.right, join.joinability)
        found[join.right].setdefault(join.left, join.joinability)
    return {column: list(scores.items()) for column, scores in sorted(found.items())}


def _fit(text: str) -> str:
    """What fits into one value; only names of absurd length do not."""
    return text.encode()[:_MOST_BYTES].decode(errors="ignore")


def emit_column(
    column: ColumnId, scored: Sequence[Scored], names: Mapping[TableId, str], namespace: str
) -> MetadataWorkUnit:
    """The properties of one column.

    Args:
        column: The column.
        scored: What it joins with, best first.
        names: What people call the tables.
        namespace: What the properties' names begin with.

    Returns:
        One patch.
    """
    values: dict[str, Sequence[str] | Sequence[float]] = {
        JOINABLE_WITH: [column_urn(other) for other, _ in scored],
        JOIN_SUGGESTIONS: [
            _fit(f"{names[other.table]}.{other.path} ({score:.2f})") for other, score in scored
        ],
        BEST_JOIN_SCORE: [round(max(score for _, score in scored), 2)],
    }
    return set_properties(
        column_urn(column), {property_urn(namespace, name): own for name, own in values.items()}
    )


def _escape(name: str) -> str:
    r"""A name as Markdown, in which it must not turn into a link or into code.

    >>> _escape("fare[usd]_*")
    'fare\\[usd\\]_\\*'
    """
    return re.sub(r"([\\`*<>\[\]])", r"\\\1", name)


def _line(own: ColumnId, other: ColumnId, score: float, names: Mapping[TableId, str]) -> str:
    address = quote(dataset_urn(other.table), safe="")
    label = _escape(f"{names[other.table]}.{other.path}")
    link = f"[{label}](/dataset/{address}/Columns)"
    return _fit(f"{_escape(own.path)} joins with {link} · {score:.2f}")


def emit_dataset(
    table: TableId, joins: Sequence[Join], names: Mapping[TableId, str], namespace: str
) -> MetadataWorkUnit:
    """The property of one dataset: its best joins, with links.

    Args:
        table: The dataset.
        joins: Those it takes part in, best first.
        names: What people call the tables.
        namespace: What the property's name begins with.

    Returns:
        One patch.
    """
    lines = []
    for join in joins[:_MOST]:
        ends = (join.left, join.right)
        own, other = ends if join.left.table == table else ends[::-1]
        lines.append(_line(own, other, join.joinability, names))
    return set_properties(dataset_urn(table), {property_urn(namespace, SUGGESTED_JOINS): lines})
