"""Write joins and suggestions as structured properties of columns and datasets."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import StructuredPropertiesClass

from datahub_hyperjoin.emit.patches import set_properties
from datahub_hyperjoin.joins import Join, Role, Suggestion
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.urns import (
    BEST_JOIN_SCORE,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    SUGGESTED_JOINS,
    column_id,
    column_urn,
    dataset_urn,
    property_urn,
)

_RELATIONS = {
    Role.REFERENCE: ("referenced", "refers here"),
    Role.ONE_TO_ONE: ("one to one", "one to one"),
    Role.SIBLING: ("same key", "same key"),
    Role.SAME_DOMAIN: ("same domain", "same domain"),
}
"""What a partner is to a column that refers to it, and to a column that it refers to."""

_SENTENCES = {
    Role.REFERENCE: ("refers to", "is referenced by"),
    Role.ONE_TO_ONE: ("is one to one with", "is one to one with"),
    Role.SIBLING: ("refers to the same key as", "refers to the same key as"),
    Role.SAME_DOMAIN: ("has the same domain as", "has the same domain as"),
}
"""Verbs between a column and its partner, in the same two cases."""

_MAX_JOINS = 10
"""Joins listed for a dataset; its columns list all of theirs."""

_NOTES = re.compile(r" \((\d\.\d\d)(?:, (.+))?\)$")
"""The end of a suggestion's text: its score, and what the partner is to the column."""

_MAX_BYTES = 32766
"""Longest value that DataHub's search index accepts."""


def labels(titles: Mapping[TableId, str]) -> dict[TableId, str]:
    """Label each table with its title, or with its full name if the title is not unique.

    >>> first, second = TableId("file", "a/airports.csv"), TableId("file", "b/airports.csv")
    >>> list(labels({first: "airports", second: "airports"}).values())
    ['a/airports.csv', 'b/airports.csv']
    """
    shared = Counter(titles.values())
    return {table: title if shared[title] == 1 else table.name for table, title in titles.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Partner:
    """A column that another column joins with."""

    column: ColumnId
    """The partner."""

    score: float
    """Joinability, in [0, 1]."""

    relation: str = ""
    """What it is to the other column, such as `referenced` or `same domain`; empty if unknown."""


def partners(
    suggestions: Sequence[Suggestion], joins: Sequence[Join]
) -> dict[ColumnId, list[Partner]]:
    """Return the join partners of each column, without duplicates.

    A column's own suggestions come first, by rank, then the columns that it is a suggestion of.

    Args:
        suggestions: Ranked candidates of query columns, in any order.
        joins: Verified joins, best first.

    Returns:
        The partners, by column.
    """
    scores_of: dict[ColumnId, dict[ColumnId, float]] = defaultdict(dict)
    relations: dict[tuple[ColumnId, ColumnId], str] = {}
    for suggestion in sorted(suggestions, key=lambda suggestion: suggestion.rank):
        scores_of[suggestion.query][suggestion.candidate] = suggestion.joinability
    # Several joins may contain a pair. That of the pair alone describes it best.
    for join in sorted(joins, key=lambda join: len(join.pairs)):
        for left, right in join.pairs:
            leads_right = join.referenced != join.left
            relations.setdefault((left, right), _relation(join, leads_on=leads_right))
            relations.setdefault((right, left), _relation(join, leads_on=not leads_right))
    # A pair may be ranked for one of its columns only; the other column lists it with its score.
    for join in joins:
        for left, right in join.pairs:
            scores_of[left].setdefault(right, join.joinability)
            scores_of[right].setdefault(left, join.joinability)
    return {
        column: [
            Partner(column=other, score=score, relation=relations.get((column, other), ""))
            for other, score in scores.items()
        ]
        for column, scores in sorted(scores_of.items())
    }


def with_listed(
    found: Mapping[ColumnId, Sequence[Partner]], listed: Mapping[ColumnId, Sequence[Partner]]
) -> dict[ColumnId, list[Partner]]:
    """Add the partners that stay listed although a run did not find them.

    Args:
        found: The partners of each column that the run found.
        listed: The partners that stay.

    Returns:
        The partners of all columns, those that the run found first.
    """
    merged = {column: [*partners] for column, partners in found.items()}
    for column, kept in listed.items():
        own = merged.setdefault(column, [])
        known = {partner.column for partner in own}
        own += [partner for partner in kept if partner.column not in known]
    return dict(sorted(merged.items()))


def _relation(join: Join, *, leads_on: bool) -> str:
    """Describe how a column's join partner relates to the column.

    `leads_on` tells whether the column refers to the partner; only references differ by it.
    """
    relation = _RELATIONS[join.role][0 if leads_on else 1]
    if join.via:
        return f"through {join.via[0].table}, in two steps"
    return f"{relation}, in a key of {len(join.pairs)} columns" if join.further else relation


def read_partners(properties: StructuredPropertiesClass, namespace: str) -> list[Partner]:
    """Read the join partners that `emit_column` wrote for a column.

    Args:
        properties: The column's structured properties, of any author.
        namespace: Prefix of the properties' names.

    Returns:
        The partners, best first; none if the properties are not as this source wrote them.
    """
    values = {each.propertyUrn: each.values for each in properties.properties}
    urns, texts = (
        values.get(property_urn(namespace, name), []) for name in (JOINABLE_WITH, JOIN_SUGGESTIONS)
    )
    notes = [_NOTES.search(str(text)) for text in texts]
    if len(urns) != len(notes):
        return []
    return [
        Partner(column=column_id(str(urn)), score=float(found[1]), relation=found[2] or "")
        for urn, found in zip(urns, notes, strict=True)
        if found
    ]


def _fit(text: str) -> str:
    """Truncate a text to the maximum size of a property value.

    Only very long names exceed this size.
    """
    return text.encode()[:_MAX_BYTES].decode(errors="ignore")


def emit_column(
    column: ColumnId, joined: Sequence[Partner], names: Mapping[TableId, str], namespace: str
) -> MetadataWorkUnit:
    """Write the join partners of one column as structured properties.

    Args:
        column: The column.
        joined: Its partners, best first.
        names: Labels of tables.
        namespace: Prefix of the properties' names.

    Returns:
        One patch.
    """
    values: dict[str, Sequence[str] | Sequence[float]] = {
        JOINABLE_WITH: [column_urn(partner.column) for partner in joined],
        JOIN_SUGGESTIONS: [_suggest(partner, names) for partner in joined],
        BEST_JOIN_SCORE: [round(max(partner.score for partner in joined), 2)],
    }
    return set_properties(
        column_urn(column), {property_urn(namespace, name): value for name, value in values.items()}
    )


def _suggest(partner: Partner, names: Mapping[TableId, str]) -> str:
    notes = ", ".join(filter(None, [f"{partner.score:.2f}", partner.relation]))
    return _fit(f"{names[partner.column.table]}.{partner.column.path} ({notes})")


def _escape(name: str) -> str:
    r"""Escape a name for Markdown, so that it does not become a link or code.

    >>> _escape("fare[usd]_*")
    'fare\\[usd\\]_\\*'
    """
    return re.sub(r"([\\`*<>\[\]])", r"\\\1", name)


def emit_dataset(
    table: TableId, joins: Sequence[Join], names: Mapping[TableId, str], namespace: str
) -> MetadataWorkUnit:
    """Write the best joins of one dataset as a structured property.

    Each join links to the other dataset.

    Args:
        table: The dataset.
        joins: The joins that it takes part in.
        names: Labels of tables.
        namespace: Prefix of the property's name.

    Returns:
        One patch. References come first, then one-to-one joins, siblings and joins within a domain;
        what people or the catalog confirm precedes all of them.
    """
    lines = [_line(join, table, names) for join in sorted(joins, key=_by_use)[:_MAX_JOINS]]
    return set_properties(dataset_urn(table), {property_urn(namespace, SUGGESTED_JOINS): lines})


def _by_use(join: Join) -> tuple[bool, int, float, ColumnId, ColumnId]:
    return not join.catalog.connects, join.role.place, -join.joinability, join.left, join.right


def _line(join: Join, table: TableId, names: Mapping[TableId, str]) -> str:
    """Describe a join in one line of Markdown, as seen from one of its tables.

    The line links to the other table.
    """
    from_left = join.left.table == table
    own, other = [*zip(*join.pairs, strict=True)][:: 1 if from_left else -1]
    leads_on = join.referenced != (join.left if from_left else join.right)
    verb = _SENTENCES[join.role][0 if leads_on else 1]
    address = quote(dataset_urn(other[0].table), safe="")
    label = _escape(f"{names[other[0].table]}.{_paths(other)}")
    link = f"[{label}](/dataset/{address}/Columns)"
    through = f" through {_escape(str(join.via[0].table))}" if join.via else ""
    return _fit(f"{_escape(_paths(own))} {verb} {link}{through} · {join.joinability:.2f}")


def _paths(columns: Sequence[ColumnId]) -> str:
    """Return the path of a single column, or the paths of several columns in parentheses."""
    paths = ", ".join(column.path for column in columns)
    return f"({paths})" if len(columns) > 1 else paths
