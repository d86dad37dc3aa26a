"""Write suggestions as structured properties, which people see on columns and datasets."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.emit.patches import set_properties
from datahub_hyperjoin.joins import Join, Suggestion
from datahub_hyperjoin.tables import ColumnId, TableId
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

_MAX_JOINS = 10
"""Joins listed for a dataset; its columns list all of theirs."""

_MAX_BYTES = 32766
"""Longest value that DataHub's search index accepts."""


def labels(titles: Mapping[TableId, str]) -> dict[TableId, str]:
    """Return the label of each table: its title, or its full name if two tables share the title.

    >>> first, second = TableId("file", "a/airports.csv"), TableId("file", "b/airports.csv")
    >>> list(labels({first: "airports", second: "airports"}).values())
    ['a/airports.csv', 'b/airports.csv']
    """
    shared = Counter(titles.values())
    return {table: title if shared[title] == 1 else table.name for table, title in titles.items()}


def partners(
    suggestions: Sequence[Suggestion], joins: Sequence[Join]
) -> dict[ColumnId, list[Scored]]:
    """Return the columns that each column joins with, without duplicates.

    A column's own suggestions come first, by rank, then the columns that it is a suggestion of.

    Args:
        suggestions: Ranked candidates of query columns, in any order.
        joins: Verified joins, best first.

    Returns:
        Columns and scores, by column.
    """
    scores_of: dict[ColumnId, dict[ColumnId, float]] = defaultdict(dict)
    for suggestion in sorted(suggestions, key=lambda suggestion: suggestion.rank):
        scores_of[suggestion.query][suggestion.candidate] = suggestion.joinability
    # A pair may be ranked for one of its columns only; the other column lists it with its score.
    for join in joins:
        scores_of[join.left].setdefault(join.right, join.joinability)
        scores_of[join.right].setdefault(join.left, join.joinability)
    return {column: list(scores.items()) for column, scores in sorted(scores_of.items())}


def _fit(text: str) -> str:
    """Truncate a text to the maximum size of a property value; only very long names exceed it."""
    return text.encode()[:_MAX_BYTES].decode(errors="ignore")


def emit_column(
    column: ColumnId, scored: Sequence[Scored], names: Mapping[TableId, str], namespace: str
) -> MetadataWorkUnit:
    """Write the properties of one column.

    Args:
        column: The column.
        scored: Columns that it joins with, best first.
        names: Labels of tables.
        namespace: Prefix of the properties' names.

    Returns:
        One patch.
    """
    values: dict[str, Sequence[str] | Sequence[float]] = {
        JOINABLE_WITH: [column_urn(partner) for partner, _ in scored],
        JOIN_SUGGESTIONS: [
            _fit(f"{names[partner.table]}.{partner.path} ({score:.2f})")
            for partner, score in scored
        ],
        BEST_JOIN_SCORE: [round(max(score for _, score in scored), 2)],
    }
    return set_properties(
        column_urn(column), {property_urn(namespace, name): value for name, value in values.items()}
    )


def _escape(name: str) -> str:
    r"""Escape a name for Markdown, so that it does not become a link or code.

    >>> _escape("fare[usd]_*")
    'fare\\[usd\\]_\\*'
    """
    return re.sub(r"([\\`*<>\[\]])", r"\\\1", name)


def _line(column: ColumnId, partner: ColumnId, score: float, names: Mapping[TableId, str]) -> str:
    address = quote(dataset_urn(partner.table), safe="")
    label = _escape(f"{names[partner.table]}.{partner.path}")
    link = f"[{label}](/dataset/{address}/Columns)"
    return _fit(f"{_escape(column.path)} joins with {link} · {score:.2f}")


def emit_dataset(
    table: TableId, joins: Sequence[Join], names: Mapping[TableId, str], namespace: str
) -> MetadataWorkUnit:
    """Write the property of one dataset: its best joins, with links.

    Args:
        table: The dataset.
        joins: The joins that it takes part in, best first.
        names: Labels of tables.
        namespace: Prefix of the property's name.

    Returns:
        One patch.
    """
    lines = []
    for join in joins[:_MAX_JOINS]:
        ends = (join.left, join.right)
        column, partner = ends if join.left.table == table else ends[::-1]
        lines.append(_line(column, partner, join.joinability, names))
    return set_properties(dataset_urn(table), {property_urn(namespace, SUGGESTED_JOINS): lines})
