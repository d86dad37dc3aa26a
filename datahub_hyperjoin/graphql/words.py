"""Describe joins and paths in English, for people and AI agents."""

from collections.abc import Sequence

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.graphql.safety import single_join_path
from datahub_hyperjoin.graphql.steps import JoinPath
from datahub_hyperjoin.metadata.confidence_bands import NOT_VERIFIED
from datahub_hyperjoin.tables import ColumnId
from datahub_hyperjoin.visible import visible

_LONGEST_REASON = 200
"""Maximum number of characters shown of a person's description, which may be a page long."""

_NEARLY_ALL = 0.999
"""Greatest share that is not told as everything."""

Phrases = dict[str, str]
"""Phrases by their keys, in the order in which an agent reads them."""


def describe_join(join: CatalogJoin) -> Phrases:
    """Describe a join in phrases: its columns, role, rows and decision."""
    words = {
        "join": join.arrows,
        "role": _role(join),
        "cardinality": _cardinality(join),
        "grain": grain_in_words(single_join_path(join)),
        "rows": _rows(join),
        "values": _values(join),
        "compare": comparison_in_words(join),
        "decided": decision_in_words(join),
        "description": shorten(join.description),
    }
    return {key: visible(text) for key, text in words.items() if text}


def summarize_join(join: CatalogJoin) -> Phrases:
    """Describe a join in two phrases, for lists."""
    return {
        "join": join.arrows,
        "means": f"{join.cardinality.words}; {decision_in_words(join)}",
    }


def _role(join: CatalogJoin) -> str:
    """Describe the role of a join, and name the key."""
    if join.role is None or join.referenced is None:
        return join.role.value if join.role else ""
    at = [right if join.referenced == join.right else left for left, right in join.pairs]
    return f"{join.role.value}; the key is {_columns(at)}"


def _columns(columns: Sequence[ColumnId]) -> str:
    """Format columns of one table as text."""
    table, paths = columns[0].table, [column.path for column in columns]
    return f"{table.name}.{paths[0]}" if len(paths) == 1 else f"{table.name} ({', '.join(paths)})"


def _cardinality(join: CatalogJoin) -> str:
    left, right = join.tables
    amount = "any number of rows" if join.multiplies else "at most one row"
    source = "" if join.left_fan_out is not None else ", as stated; nobody measured it"
    return f"{join.cardinality.words}: each row of {left} matches {amount} of {right}{source}"


def grain_in_words(path: JoinPath) -> str:
    """Name the table whose rows do not repeat in the result of a path."""
    if path.grain is None:
        return "none: rows of every table may repeat, so do not sum over the result"
    few = "" if path.is_safe else ", and a few more: a key on the way has duplicates"
    return f"one row for each row of {visible(str(path.grain))} that matches{few}"


def _rows(join: CatalogJoin) -> str:
    """Describe how many rows match in each direction."""
    left, right = join.tables
    ends = ((left, right, join), (right, left, join.reversed))
    return "; ".join(
        f"on average, {seen.matches:.3g} rows of {other} match a row of {one}"
        if seen.multiplies
        else share_in_words(seen, f"of {one}")
        for one, other, seen in ends
        if seen.matches is not None
    )


def share_in_words(join: CatalogJoin, where: str) -> str:
    """Describe the share of the left rows that match, where each matches one right row at most.

    Args:
        join: The join, of which it is known how many rows match.
        where: Tells which rows these are, as in `of orders`.
    """
    counts = join.left_counts
    if counts is None or counts.matched_share is None:
        return f"{_tenths(join.left_fan_out or 0.0)} of the rows {where} with a value match"
    empty = f", {_tenths(counts.without_value / counts.total)} have no value"
    share = _tenths(counts.matched_share)
    return f"{share} of the rows {where} match{empty if counts.without_value else ''}"


def _tenths(share: float) -> str:
    """Return a share in percent, which is 100.0% only if it is everything."""
    return f"{share if share == 1 else min(share, _NEARLY_ALL):.1%}"


def _values(join: CatalogJoin) -> str:
    """Describe how many distinct values of each column occur in the other column."""
    ends = ((join.left, join.right, join.left_containment),
            (join.right, join.left, join.right_containment))  # fmt: skip
    return "; ".join(
        f"{share:.1%} of the distinct values of {one} occur in {other.table.name}"
        for one, other, share in ends
        if share is not None
    )


def comparison_in_words(join: CatalogJoin) -> str:
    """Describe how values are compared; empty if they are compared as written."""
    if join.via:
        into, out = join.via
        return visible(f"in two steps: {join.left} = {into}, then {out} = {join.right}")
    return f"values are equal only as {join.compared_as}" if join.compared_as else ""


def join_in_brief(join: CatalogJoin) -> str:
    """Describe a join in one line: its columns, joinability, role and fan-out."""
    score = "" if join.joinability is None else f"{join.joinability:.2f}"
    doubt = "" if join.is_verified else NOT_VERIFIED
    fan_out = "" if join.matches is None else f"{join.matches:.3g} rows per row"
    facts = filter(None, [score, doubt, join.role.value if join.role else "", fan_out])
    return f"{join.arrows} ({', '.join(facts)})"


def decision_in_words(join: CatalogJoin) -> str:
    """Describe people's decision about a join, or else the origin of the join."""
    if join.verdict:
        return f"{join.verdict.value} by people"
    if join.joinability is None:
        return "created by a person"
    if join.declared:
        return "declared by a foreign key or a person's relationship"
    return f"suggested with joinability {join.joinability:.2f}; nobody decided"


def shorten(text: str, most: int = _LONGEST_REASON) -> str:
    """Shorten a text, and mark the cut with an ellipsis.

    Args:
        most: Maximum number of characters.

    >>> shorten("the same IATA code", most=9)
    'the same…'
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
