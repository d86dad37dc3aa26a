"""List the best joins of a run as text."""

from collections.abc import Iterator, Sequence

from tabulate import tabulate

from datahub_hyperjoin.joins import CrosswalkJoin, Evidence, Join, JoinedColumns, lone_joins
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import percent

_MAX_JOINS = 25
DECLARED = "declared, not verified"
"""Words that mark a join of a foreign key that no values confirm."""
_HEADERS = (
    "column",
    "joins with",
    "role",
    "joinability",
    "shared values",
    "containment",
    "rows with partner",
    "cardinality",
)


def list_best_joins(
    joins: Sequence[Join],
    crosswalks: Sequence[CrosswalkJoin] = (),
    named: Sequence[Join] = (),
) -> str:
    """List the best joins as a text table.

    Args:
        named: The joins that were not verified on data, best first.

    Returns:
        Up to 25 joins of each kind, in the given order, and the number of the others.
    """
    rows = [*map(_row, joins[:_MAX_JOINS])]
    more = len(joins) - len(rows)
    noun = "join" if len(joins) == 1 else "joins"
    lines = [
        f"{len(joins)} {noun} found, best first:" if joins else _say_none(named),
        tabulate(rows, headers=_HEADERS, disable_numparse=True) if rows else "",
        f"... and {more} more." if more else "",
        *_list_crosswalks(crosswalks, joins),
        *_list_named(named),
    ]
    return "\n".join(line for line in lines if line)


def shown_first(
    joins: Sequence[Join], crosswalks: Sequence[CrosswalkJoin] = ()
) -> frozenset[JoinedColumns]:
    """Return the columns of the joins that `list_best_joins` lists."""
    direct = (join.pairs for join in joins[:_MAX_JOINS])
    return frozenset([*direct, *(crosswalk.pairs for crosswalk in crosswalks[:_MAX_JOINS])])


def _say_none(named: Sequence[Join]) -> str:
    return "No join was verified on data." if named else "No joins found."


def _row(join: Join) -> tuple[str, ...]:
    """Format a join as a row of the report's table, with the referring column first."""
    evidence, pairs = join.measured, join.pairs
    if join.referenced == join.left:
        evidence, pairs = evidence.reversed, tuple((right, left) for left, right in pairs)
    return (
        *_sides(pairs),
        join.role.value,
        f"{join.joinability:.2f}",
        f"{evidence.shared} {evidence.compared_as}".rstrip(),
        f"{evidence.left_containment:.0%} / {evidence.right_containment:.0%}",
        _matched(evidence),
        evidence.cardinality.words,
    )


def _matched(evidence: Evidence) -> str:
    """Return the share of each table's rows that have a partner; empty if unknown."""
    shares = [
        percent(counts.matched_share)
        for counts in (evidence.left_counts, evidence.right_counts)
        if counts and counts.matched_share is not None
    ]
    return " / ".join(shares)


def _sides(pairs: JoinedColumns) -> Iterator[str]:
    """For each side of a join, yield its table and columns as text.

    A composite key names its table once, as in `teams.year + team`.
    """
    for columns in zip(*pairs, strict=True):
        yield visible(" + ".join([str(columns[0]), *(column.path for column in columns[1:])]))


def _list_crosswalks(crosswalks: Sequence[CrosswalkJoin], joins: Sequence[Join]) -> Iterator[str]:
    if not crosswalks:
        return
    noun = "pair of columns joins" if len(crosswalks) == 1 else "pairs of columns join"
    # The page lists these among the joins, so the reader has to know how many they add.
    further = sum(1 for _ in lone_joins(crosswalks, joins))
    yield (
        f"\n{len(crosswalks)} {noun} in two steps, through a table with codes and names "
        f"({further} besides the joins above):"
    )
    for crosswalk in crosswalks[:_MAX_JOINS]:
        steps = " and ".join(f"{left} = {right}" for left, right in crosswalk.pairs)
        yield visible(f"{steps} ({crosswalk.joinability:.2f})")
    if len(crosswalks) > _MAX_JOINS:
        yield f"... and {len(crosswalks) - _MAX_JOINS} more."


def _list_named(joins: Sequence[Join]) -> Iterator[str]:
    declared = [join for join in joins if join.catalog.declared]
    others = [join for join in joins if not join.catalog.declared]
    noun = "foreign key has" if len(declared) == 1 else "foreign keys have"
    yield from _list_unverified(declared, f"{noun} no values to compare yet", DECLARED)
    noun = "join is" if len(others) == 1 else "joins are"
    yield from _list_unverified(others, f"{noun} suggested by names, and not verified on data", "")


def _list_unverified(joins: Sequence[Join], what: str, mark: str) -> Iterator[str]:
    if not joins:
        return
    yield f"\n{len(joins)} {what}:"
    for join in joins[:_MAX_JOINS]:
        arrow = "→" if join.referenced else "="
        pairs = " and ".join(f"{left} {arrow} {right}" for left, right in join.directed_pairs)
        yield visible(f"{pairs} ({mark or f'{join.joinability:.2f}'})")
    if len(joins) > _MAX_JOINS:
        yield f"... and {len(joins) - _MAX_JOINS} more."
