"""Write joins and suggestions as structured properties of columns and datasets."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import StructuredPropertiesClass

from datahub_hyperjoin.emit.patches import set_properties
from datahub_hyperjoin.joins import Join, Role
from datahub_hyperjoin.metadata.confidence_bands import NOT_VERIFIED
from datahub_hyperjoin.metadata.urns import (
    BEST_JOIN_SCORE,
    JOIN_LINKS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    SUGGESTED_JOINS,
    column_id,
    column_page,
    column_urn,
    dataset_urn,
    flat_property_urn,
    property_urn,
)
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.visible import markdown, visible

_RELATIONS = {
    Role.REFERENCE: ("many to one", "one to many"),
    Role.ONE_TO_ONE: ("one to one", "one to one"),
    Role.SIBLING: ("same key", "same key"),
    Role.SAME_DOMAIN: ("same domain", "same domain"),
}
"""For each role, the relation of the referring column to its partner, and the reverse relation."""

_SENTENCES = {
    Role.REFERENCE: ("refers to", "is referenced by"),
    Role.ONE_TO_ONE: ("is one to one with", "is one to one with"),
    Role.SIBLING: ("refers to the same key as", "refers to the same key as"),
    Role.SAME_DOMAIN: ("has the same domain as", "has the same domain as"),
}
"""For each role, the verb between the referring column and its partner, and the reverse verb."""

_MAX_JOINS = 10
"""Maximum number of joins that a dataset's property lists; the properties of columns list all."""

_KINDS = "|".join(sorted({kind for kinds in _RELATIONS.values() for kind in kinds}))
_NOTES = re.compile(
    rf" \((\d\.\d\d)?(?:, )?(?:(\d+ % of (?:values|rows)), )?((?:{_KINDS}|through ).*)?\)$"
)
"""The end of a suggestion's text: the score if it is below 1.00, the share of the column's rows or
values that have a partner, and the relation between both columns."""

_NO_RANKS: Mapping[tuple[ColumnId, ColumnId], int] = {}

_MAX_BYTES = 32766
"""Maximum length in bytes of a value that DataHub's search index accepts."""


def labels(titles: Mapping[TableId, str]) -> dict[TableId, str]:
    """Label each table with its title, plus its folder or schema if the title is not unique.

    >>> first, second = TableId("file", "a/airports.csv"), TableId("file", "b/airports.csv")
    >>> list(labels({first: "airports", second: "airports"}).values())
    ['airports in a', 'airports in b']
    """
    shared = {title for title, count in Counter(titles.values()).items() if count > 1}
    longer = {
        table: f"{title} in {table.parent}" if title in shared and table.parent else title
        for table, title in titles.items()
    }
    repeated = Counter(longer.values())
    return {table: name if repeated[name] == 1 else table.name for table, name in longer.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Partner:
    """A column that joins with a given column."""

    column: ColumnId
    """The partner."""

    score: float
    """Joinability, in [0, 1]."""

    relation: str = ""
    """How the given column relates to the partner, as in `many to one`; empty if unknown."""

    share: str = ""
    """How many of the given column's rows or values have a partner, as in `96 % of rows`; or empty.
    """

    @property
    def is_verified(self) -> bool:
        """Whether the join was verified on the data."""
        return not self.relation.endswith(NOT_VERIFIED)

    @property
    def notes(self) -> str:
        """Score (unless it is 1.00), `share` and `relation` as text, separated by commas."""
        return ", ".join(filter(None, [_score(self.score), self.share, self.relation]))


def partners(
    joins: Sequence[Join], ranks: Mapping[tuple[ColumnId, ColumnId], int] = _NO_RANKS
) -> dict[ColumnId, list[Partner]]:
    """Return the join partners of each column, best first and without duplicates.

    Args:
        ranks: The rank of each suggested partner of a column.

    Returns:
        The partners, by column and best first: first the suggestions in the order of the ranking,
        then the others. Of these, those that people or the catalog confirm come first, then
        references, one-to-one joins, siblings and joins within a domain. Those that were not
        verified come last of those that nobody confirmed.
    """
    found: dict[ColumnId, dict[ColumnId, Partner]] = defaultdict(dict)
    for join in sorted(joins, key=_by_use):
        for left, right in join.pairs:
            leads_right = join.referenced != join.left
            for own, other, leads_on in (
                (left, right, leads_right),
                (right, left, not leads_right),
            ):
                partner = Partner(
                    column=other,
                    score=join.joinability,
                    relation=_relation(join, leads_on=leads_on),
                    share=_share(join, of_left=own is left),
                )
                # Several joins may contain a pair. That of the pair alone describes it best.
                if other not in found[own] or not join.further:
                    found[own][other] = partner
    return {column: _by_rank(column, own, ranks) for column, own in sorted(found.items())}


def _by_rank(
    column: ColumnId,
    found: Mapping[ColumnId, Partner],
    ranks: Mapping[tuple[ColumnId, ColumnId], int],
) -> list[Partner]:
    """Sort a column's partners by rank; partners without a rank come last."""
    return sorted(found.values(), key=lambda each: ranks.get((column, each.column), inf))


def with_listed(
    found: Mapping[ColumnId, Sequence[Partner]], listed: Mapping[ColumnId, Sequence[Partner]]
) -> dict[ColumnId, list[Partner]]:
    """Append each column's join partners in `listed` to its partners in `found`, each only once.

    Args:
        found: The partners of each column that the run found.
    """
    merged = {column: [*partners] for column, partners in found.items()}
    for column, kept in listed.items():
        own = merged.setdefault(column, [])
        known = {partner.column for partner in own}
        own += [partner for partner in kept if partner.column not in known]
    return dict(sorted(merged.items()))


def _relation(join: Join, *, leads_on: bool) -> str:
    """Describe how a column relates to its join partner.

    Only references depend on `leads_on`, which is true if the column refers to its partner.
    """
    relation = _RELATIONS[join.role][0 if leads_on else 1]
    if join.via:
        return visible(f"through {join.via[0].table}, in two steps")
    if join.evidence is None:
        return f"{relation}, {NOT_VERIFIED}"
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
    # The two lists belong together by position. If a person edited one, neither can be trusted.
    if len(urns) != len(notes):
        return []
    return [
        Partner(
            column=column_id(str(urn)),
            score=float(found[1] or 1),
            relation=found[3] or "",
            share=found[2] or "",
        )
        for urn, found in zip(urns, notes, strict=True)
        if found
    ]


def _fit(text: str) -> str:
    """Cut a text to the maximum length of a property value.

    Only very long names exceed this size, and the cut may split a character.
    """
    return text.encode()[:_MAX_BYTES].decode(errors="ignore")


def emit_column(
    column: ColumnId, joined: Sequence[Partner], names: Mapping[TableId, str], namespace: str
) -> MetadataWorkUnit:
    """Write the join partners of one column as structured properties."""
    best = max((partner.score for partner in joined if partner.is_verified), default=0.0)
    values: dict[str, Sequence[str] | Sequence[float]] = {
        JOINABLE_WITH: [column_urn(partner.column) for partner in joined],
        JOIN_SUGGESTIONS: [_suggest(partner, names) for partner in joined],
        BEST_JOIN_SCORE: [round(best, 2)],
    }
    properties = {property_urn(namespace, name): value for name, value in values.items()}
    links = [
        _fit(f"{_link([partner.column], names)} · {markdown(partner.notes)}") for partner in joined
    ]
    return set_properties(
        column_urn(column), {flat_property_urn(namespace, JOIN_LINKS): links, **properties}
    )


def _suggest(partner: Partner, names: Mapping[TableId, str]) -> str:
    return _fit(f"{_label([partner.column], names)} ({partner.notes})")


def _label(columns: Sequence[ColumnId], names: Mapping[TableId, str]) -> str:
    """Return a label that consists of column names, followed by the name of their table.

    DataHub's pages cut off the end of long names, so the columns come first.
    """
    return visible(f"{_paths(columns)} · {names[columns[0].table]}")


def _link(columns: Sequence[ColumnId], names: Mapping[TableId, str]) -> str:
    """Return a Markdown link to columns of one table.

    DataHub's page then shows the schema filtered by the first column.
    """
    return f"[{markdown(_label(columns, names))}]({column_page(columns[0])})"


def _score(score: float) -> str:
    """Format a score with two decimals, or return an empty text if it rounds to 1.00."""
    text = f"{score:.2f}"
    return "" if text == "1.00" else text


def _share(join: Join, *, of_left: bool) -> str:
    """Describe the share of a column's rows, or else of its values, that have a join partner.

    The text is empty for a key of several columns, because a share of its values says little about
    one column.
    """
    if join.evidence is None or join.further:
        return ""
    contained = join.evidence if of_left else join.evidence.reversed
    share, of = contained.left_containment, "values"
    if (counts := contained.left_counts) and counts.matched_share is not None:
        share, of = counts.matched_share, "rows"
    # Rounded down: `100 %` is a promise.
    return f"{max(floor(share * 100 + 1e-9), 1)} % of {of}"


def emit_dataset(
    table: TableId, joins: Sequence[Join], names: Mapping[TableId, str], namespace: str
) -> MetadataWorkUnit:
    """Write the best joins of one dataset as a structured property.

    Each join links to the other dataset.

    Returns:
        One patch. References come first, then one-to-one joins, siblings and joins within a domain;
        what people or the catalog confirm precedes all of them.
    """
    lines = [_line(join, table, names) for join in sorted(joins, key=_by_use)[:_MAX_JOINS]]
    return set_properties(dataset_urn(table), {property_urn(namespace, SUGGESTED_JOINS): lines})


def _by_use(join: Join) -> tuple[bool, bool, int, float, ColumnId, ColumnId]:
    guessed = join.evidence is None
    return (
        not join.catalog.is_confirmed,
        guessed,
        join.role.place,
        -join.joinability,
        join.left,
        join.right,
    )


def _line(join: Join, table: TableId, names: Mapping[TableId, str]) -> str:
    """Describe a join in one line of Markdown, as seen from one of its tables.

    The line links to the other table.
    """
    from_left = join.left.table == table
    own, other = [*zip(*join.pairs, strict=True)][:: 1 if from_left else -1]
    leads_on = join.referenced != (join.left if from_left else join.right)
    verb = _SENTENCES[join.role][0 if leads_on else 1]
    through = f" through {markdown(str(join.via[0].table))}" if join.via else ""
    doubt = NOT_VERIFIED if join.evidence is None else ""
    share = _share(join, of_left=from_left)
    notes = ", ".join(filter(None, [_score(join.joinability), share, doubt]))
    line = f"{markdown(_paths(own))} {verb} {_link(other, names)}{through}"
    return _fit(f"{line} · {notes}" if notes else line)


def _paths(columns: Sequence[ColumnId]) -> str:
    """Return the paths of columns as text, in parentheses if there are several."""
    paths = ", ".join(column.path for column in columns)
    return f"({paths})" if len(columns) > 1 else paths
