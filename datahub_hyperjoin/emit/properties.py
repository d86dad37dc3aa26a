"""Suggestions as structured properties: what people see on columns and datasets."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.specific.aspect_helpers.structured_properties import HasStructuredPropertiesPatch

from datahub_hyperjoin.emit.definitions import (
    BEST_JOIN_SCORE,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    SUGGESTED_JOINS,
    property_urn,
)
from datahub_hyperjoin.emit.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, Join, Suggestion, TableId

Scored = tuple[ColumnId, float]

_MOST = 10
"""Joins listed for a dataset; its columns list theirs all."""


class _Patch(HasStructuredPropertiesPatch):
    """Sets our properties and leaves those of others alone."""


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

    Its own suggestions come first, in their order, then the columns it was suggested for.

    Args:
        suggestions: Key by key, best first.
        joins: The same without direction, best first.

    Returns:
        Columns and scores; a column is no one's partner twice.
    """
    found: dict[ColumnId, dict[ColumnId, float]] = defaultdict(dict)
    for suggestion in suggestions:
        found[suggestion.query][suggestion.candidate] = suggestion.joinability
    for join in joins:
        found[join.left].setdefault(join.right, join.joinability)
        found[join.right].setdefault(join.left, join.joinability)
    return {column: list(scores.items()) for column, scores in sorted(found.items())}


def _workunits(patch: _Patch) -> Iterator[MetadataWorkUnit]:
    # Not ours: as primary source we would soft-delete the dataset once its suggestions are gone.
    for proposal in patch.build():
        yield MetadataWorkUnit(
            id=f"{patch.urn}-{proposal.aspectName}", mcp_raw=proposal, is_primary_source=False
        )


def emit_column(
    column: ColumnId, scored: Sequence[Scored], names: Mapping[TableId, str], namespace: str
) -> Iterator[MetadataWorkUnit]:
    """The properties of one column.

    Args:
        column: The column.
        scored: What it joins with, best first.
        names: What people call the tables.
        namespace: What the properties' names begin with.

    Yields:
        One patch.
    """
    patch = _Patch(column_urn(column))
    patch.set_structured_property(
        property_urn(namespace, JOINABLE_WITH), [column_urn(other) for other, _ in scored]
    )
    patch.set_structured_property(
        property_urn(namespace, JOIN_SUGGESTIONS),
        [f"{names[other.table]}.{other.path} ({score:.2f})" for other, score in scored],
    )
    patch.set_structured_property(
        property_urn(namespace, BEST_JOIN_SCORE), round(max(score for _, score in scored), 2)
    )
    yield from _workunits(patch)


def _line(own: ColumnId, other: ColumnId, score: float, names: Mapping[TableId, str]) -> str:
    address = quote(dataset_urn(other.table), safe="")
    label = f"{names[other.table]}.{other.path}"
    return f"`{own.path}` joins with [{label}](/dataset/{address}/Columns) · {score:.2f}"


def emit_dataset(
    table: TableId, joins: Sequence[Join], names: Mapping[TableId, str], namespace: str
) -> Iterator[MetadataWorkUnit]:
    """The property of one dataset: its best joins, with links.

    Args:
        table: The dataset.
        joins: Those it takes part in, best first.
        names: What people call the tables.
        namespace: What the property's name begins with.

    Yields:
        One patch.
    """
    lines: list[str | float] = []
    for join in joins[:_MOST]:
        ends = (join.left, join.right)
        own, other = ends if join.left.table == table else ends[::-1]
        lines.append(_line(own, other, join.joinability, names))
    patch = _Patch(dataset_urn(table))
    patch.set_structured_property(property_urn(namespace, SUGGESTED_JOINS), lines)
    yield from _workunits(patch)
