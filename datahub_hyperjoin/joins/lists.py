"""Lists of joins as text, which fit a terminal."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import fill

from tabulate import tabulate

from datahub_hyperjoin.joins.compound import CrosswalkJoin, lone_joins
from datahub_hyperjoin.joins.describe import FOLLOWING, note_in_words, role_in_words
from datahub_hyperjoin.joins.evidence import Evidence
from datahub_hyperjoin.joins.join import Derivation, Join, JoinedColumns, rename_columns
from datahub_hyperjoin.tables import ColumnId, short_names
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import number_of, percent

_MAX_JOINS = 25
DECLARED = "declared, not verified"
"""Words that mark a join of a foreign key that no values confirm."""
_HEADERS = (
    "column",
    "joins with",
    "role",
    "joinability",
    "shared values",
    "with a partner",
    "cardinality",
    "note",
)

_Rename = Callable[[ColumnId], ColumnId]


def short_columns(joins: Sequence[Join | CrosswalkJoin]) -> _Rename:
    """Return a function that gives tables the shortest names that tell them apart, for people."""
    known = {end.table for join in joins for pair in join.pairs for end in pair}
    known |= {join.via[0].table for join in joins if isinstance(join, Join) and join.via}
    names = short_names(known)
    return lambda column: replace(column, table=replace(column.table, name=names[column.table]))


def list_best_joins(
    joins: Sequence[Join],
    crosswalks: Sequence[CrosswalkJoin] = (),
    named: Sequence[Join] = (),
    derived: Mapping[Derivation, int] | None = None,
    *,
    width: int | None = None,
) -> str:
    """List the best joins as a text table, which fits a terminal of a `width`.

    `derived` counts the joins that are not listed, by the reason.
    """
    rename = short_columns([*joins, *crosswalks, *named])
    rows = [_row(rename_columns(join, rename)) for join in joins[:_MAX_JOINS]]
    none = "No join was verified on data." if named else "No joins found."
    lines = [
        f"{number_of(len(joins), 'join')} found, best first:" if joins else none,
        fit_table(_HEADERS, rows, width, names=slice(2)) if rows else "",
        *_count_more(joins),
        *_count_derived(derived or {}),
        *_list_crosswalks(crosswalks, joins, rename),
        *_list_named([rename_columns(join, rename) for join in named]),
    ]
    return fit_lines("\n".join(line for line in lines if line), width)


def shown_first(
    joins: Sequence[Join], crosswalks: Sequence[CrosswalkJoin] = ()
) -> frozenset[JoinedColumns]:
    """Return the columns of the joins that `list_best_joins` lists."""
    direct = (join.pairs for join in joins[:_MAX_JOINS])
    return frozenset([*direct, *(crosswalk.pairs for crosswalk in crosswalks[:_MAX_JOINS])])


def _row(join: Join) -> tuple[str, ...]:
    """Format a join as a row of the report's table, with the referring column first."""
    seen = join.directed
    return (
        *_sides(join.directed_pairs),
        role_in_words(join),
        f"{join.joinability:.2f}",
        f"{seen.measured.shared:,}",
        _with_partner(seen.measured),
        seen.measured.cardinality.words,
        note_in_words(seen),
    )


def _with_partner(evidence: Evidence) -> str:
    """Return the share of each side's rows that have a partner, or else of its values."""
    shares = [
        counts.matched_share
        for counts in (evidence.left_counts, evidence.right_counts)
        if counts and counts.matched_share is not None
    ]
    if len(shares) == 2:  # noqa: PLR2004 (both sides)
        return f"{percent(shares[0])} / {percent(shares[1])} of rows"
    left, right = evidence.left_containment, evidence.right_containment
    return f"{percent(left)} / {percent(right)} of values"


def _sides(pairs: JoinedColumns) -> Iterator[str]:
    """For each side of a join, yield its table and columns as text."""
    # A composite key names its table once, as in `teams.year + team`.
    for columns in zip(*pairs, strict=True):
        yield visible(" + ".join([str(columns[0]), *(column.path for column in columns[1:])]))


def _count_derived(derived: Mapping[Derivation, int]) -> Iterator[str]:
    if not derived:
        return
    yield "\nNot listed, as they follow from other joins or join no things:"
    yield from (f"{count:,} {FOLLOWING[reason]}" for reason, count in derived.items())
    yield "`--all`, or in a recipe `model.ranking.list_all: true`, lists them, too."


def _list_crosswalks(
    crosswalks: Sequence[CrosswalkJoin], joins: Sequence[Join], rename: _Rename
) -> Iterator[str]:
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
        steps = " and ".join(f"{rename(left)} = {rename(right)}" for left, right in crosswalk.pairs)
        yield visible(f"{steps} ({crosswalk.joinability:.2f})")
    yield from _count_more(crosswalks)


def _list_named(joins: Sequence[Join]) -> Iterator[str]:
    declared = [join for join in joins if join.catalog.declared]
    others = [join for join in joins if not join.catalog.declared]
    noun = "foreign key has" if len(declared) == 1 else "foreign keys have"
    yield from _list_unverified(declared, f"{noun} no values to compare yet", DECLARED)
    noun = "join is" if len(others) == 1 else "joins are"
    what = f"{noun} suggested by names, and not verified on data"
    yield from _list_unverified(others, what)


def _list_unverified(joins: Sequence[Join], what: str, mark: str = "") -> Iterator[str]:
    if not joins:
        return
    yield f"\n{len(joins)} {what}:"
    for join in joins[:_MAX_JOINS]:
        arrow = "→" if join.referenced else "="
        pairs = " and ".join(f"{left} {arrow} {right}" for left, right in join.directed_pairs)
        yield visible(f"{pairs} ({mark or f'{join.joinability:.2f}'})")
    yield from _count_more(joins)


def _count_more(joins: Sequence[object]) -> list[str]:
    more = len(joins) - _MAX_JOINS
    return [f"... and {more} more."] if more > 0 else []


_BREAK = re.compile(r" (?=[=→←] )|(?<= and) ")
"""Where the condition of a join is broken: before each second column, and after each pair."""


def fit_table(
    headers: Sequence[str], rows: Sequence[tuple[str, ...]], width: int | None, *, names: slice
) -> str:
    """Write rows as a text table without empty columns, whose lines fit a `width` if possible.

    `names` are the cells with the names of columns, which take most of the width.
    """
    filled = [at for at in range(len(headers)) if any(row[at] for row in rows)]
    named = [at for at in filled if at in range(len(headers))[names]]
    others = [at for at in filled if at not in named]
    table = _tabulate([headers[at] for at in filled], [[row[at] for at in filled] for row in rows])
    if _fits(table, width):
        return table
    joins = [" = ".join(row[at] for at in named) for row in rows]
    cells = [[row[at] for at in others] for row in rows]
    narrow = ["join", *(headers[at].replace(" ", "\n") for at in others)]
    broken = ([_BREAK.sub("\n", join), *own] for join, own in zip(joins, cells, strict=True))
    table = _tabulate(narrow, [*broken])
    if _fits(table, width):
        return table
    lines = [" · ".join(headers[at] for at in others)]
    for join, own in zip(joins, cells, strict=True):
        name = join if _fits(join, width) else _BREAK.sub("\n", join)
        lines += ["", name, f"  {' · '.join(filter(None, own))}"]
    return "\n".join(lines)


def _tabulate(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    # Otherwise tabulate would rewrite names that look like numbers.
    return tabulate(rows, headers=headers, disable_numparse=True)


def _fits(text: str, width: int | None) -> bool:
    return width is None or max(map(len, text.splitlines())) <= width


def fit_lines(text: str, width: int | None) -> str:
    """Break lines that are longer than a `width`, except inside words."""
    if width is None:
        return text
    return "\n".join(
        fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        if len(line) > width
        else line
        for line in text.splitlines()
    )
