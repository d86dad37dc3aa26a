"""What the page holds, numbered and small enough to travel inside it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    Evidence,
    Join,
    Suggestion,
    TableId,
    TableProfile,
)

MOST_JOINS = 20_000

Record = tuple[str | int | float | bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Tables, columns and joins; they point at each other by their place in these lists."""

    publishers: tuple[str, ...]
    """The first folders of the tables' names, those with the most joins first."""

    tables: tuple[Record, ...]
    """Name, title, publisher, rows and columns of each table that could be read."""

    columns: tuple[Record, ...]
    """Table, path, whether it is a key column, type and distinct values."""

    joins: tuple[Record, ...]
    """Left and right column; for each of them its rank among the other's suggestions, 0 for none,
    and its score; then shared values, containments, cardinality and fan-outs, left first;
    and what values were taken for and what the catalog says."""

    left_out: int
    """Joins beyond those that a page shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A join, and what the suggestions of either direction say of it."""

    join: Join
    forth: Suggestion | None
    back: Suggestion | None

    @property
    def order(self) -> tuple[int, float, ColumnId, ColumnId]:
        """Every key column's best comes before any key column's second."""
        ranks = [found.rank for found in (self.forth, self.back) if found]
        best = min(ranks, default=MOST_JOINS)
        return best, -self.join.joinability, self.join.left, self.join.right

    def record(self, place: dict[ColumnId, int]) -> Record:
        """The pair as the page's script reads it."""
        join, evidence = self.join, self.join.evidence
        return (
            place[join.left],
            place[join.right],
            *_standing(self.forth, join),
            *_standing(self.back, join),
            *_facts(evidence),
            "; ".join(_sayings(join)),
        )


def _sayings(join: Join) -> Iterator[str]:
    if join.evidence.compared_as:
        yield f"compared as {join.evidence.compared_as}"
    yield from join.catalog.sayings


def _standing(found: Suggestion | None, join: Join) -> Iterator[int | float]:
    yield found.rank if found else 0
    yield round(found.joinability if found else join.joinability, 3)


def _facts(evidence: Evidence) -> Iterator[str | int | float]:
    yield evidence.shared
    yield round(evidence.left_containment, 4)
    yield round(evidence.right_containment, 4)
    yield evidence.cardinality.value
    yield float(f"{evidence.left_fan_out:.3g}")
    yield float(f"{evidence.right_fan_out:.3g}")


def publisher_of(table: TableId) -> str:
    """Whose table it is.

    Args:
        table: Which table.

    Returns:
        The first folder of its name; its platform, when the name has no folder.

    Example:
        >>> publisher_of(TableId("file", "lahman/core/Batting.csv"))
        'lahman'
    """
    folder, slash, _ = table.name.partition("/")
    return folder if slash else table.platform


def list_contents(
    profiles: Sequence[TableProfile],
    *,
    keys: Sequence[ColumnId],
    suggestions: Sequence[Suggestion],
    joins: Sequence[Join],
) -> Contents:
    """Numbers what was found.

    Args:
        profiles: Every table; those with a fault are left out.
        keys: The columns asked about.
        suggestions: What was found for them.
        joins: The same without direction, with evidence.

    Returns:
        Tables, columns and joins.
    """
    asked = set(keys)
    found = {(each.query, each.candidate): each for each in suggestions}
    pairs = sorted(
        (
            _Pair(
                join=join,
                forth=found.get((join.left, join.right)),
                back=found.get((join.right, join.left)),
            )
            for join in joins
        ),
        key=lambda pair: pair.order,
    )
    shown = pairs[:MOST_JOINS]
    ends = [end for pair in shown for end in (pair.join.left, pair.join.right)]
    read = sorted(
        (profile for profile in profiles if not profile.fault), key=lambda each: each.table.id
    )
    publishers = _publishers(read, ends)
    tables = {profile.table.id: number for number, profile in enumerate(read)}
    columns = {column: number for number, column in enumerate(sorted({*keys, *ends}))}
    known = {column.id: column for profile in read for column in profile.columns}
    return Contents(
        publishers=tuple(publishers),
        tables=tuple(_table(profile, publishers) for profile in read),
        columns=tuple(
            _column(known[column], tables[column.table], is_key=column in asked)
            for column in columns
        ),
        joins=tuple(pair.record(columns) for pair in shown),
        left_out=len(pairs) - len(shown),
    )


def _publishers(read: Sequence[TableProfile], ends: Sequence[ColumnId]) -> dict[str, int]:
    counts = Counter(publisher_of(end.table) for end in ends)
    names = {publisher_of(profile.table.id) for profile in read}
    ordered = sorted(names, key=lambda name: (-counts[name], name))
    return {name: number for number, name in enumerate(ordered)}


def _table(profile: TableProfile, publishers: dict[str, int]) -> Record:
    table = profile.table
    publisher = publishers[publisher_of(table.id)]
    return table.id.name, table.title, publisher, profile.rows, len(profile.columns)


def _column(column: ColumnProfile, table: int, *, is_key: bool) -> Record:
    return table, column.id.path, is_key, column.type.value, column.distinct
