"""Collect the data of the page as numbered records, small enough to embed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from datahub_hyperjoin.joins import Evidence, Join, Suggestion
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, TableId, TableProfile

MOST_JOINS = 20_000
"""Joins that a page shows at most."""

Record = tuple[str | int | float | bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Tables, columns and joins, which refer to each other by their index in these lists."""

    publishers: tuple[str, ...]
    """Publishers of the tables, those with the most joins first."""

    tables: tuple[Record, ...]
    """Name, title, publisher, row count and column count of each readable table."""

    columns: tuple[Record, ...]
    """Table, path, whether it is a key column, type and number of distinct values."""

    joins: tuple[Record, ...]
    """Left and right column; rank and score of the right column as a suggestion for the left one,
    and then the reverse, with rank 0 where it is not suggested; number of shared values;
    containments, cardinality and fan-outs, left side first; and notes on the evidence."""

    left_out: int
    """Number of joins that the page does not show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A join with its suggestions in both directions."""

    join: Join
    forward: Suggestion | None
    """Suggests the right column for the left one."""
    backward: Suggestion | None
    """Suggests the left column for the right one."""

    @property
    def order(self) -> tuple[int, float, ColumnId, ColumnId]:
        """Sort key: the best join of each key column precedes all second-best joins."""
        ranks = [suggestion.rank for suggestion in (self.forward, self.backward) if suggestion]
        best = min(ranks, default=MOST_JOINS)
        return best, -self.join.joinability, self.join.left, self.join.right

    def record(self, indices: dict[ColumnId, int]) -> Record:
        """Return the record that the page's script reads."""
        join, evidence = self.join, self.join.evidence
        return (
            indices[join.left],
            indices[join.right],
            *_rank_and_score(self.forward, join),
            *_rank_and_score(self.backward, join),
            *_evidence_values(evidence),
            "; ".join(_notes(join)),
        )


def _notes(join: Join) -> Iterator[str]:
    if join.evidence.compared_as:
        yield f"compared as {join.evidence.compared_as}"
    yield from join.catalog.descriptions


def _rank_and_score(suggestion: Suggestion | None, join: Join) -> Iterator[int | float]:
    yield suggestion.rank if suggestion else 0
    yield round(suggestion.joinability if suggestion else join.joinability, 3)


def _evidence_values(evidence: Evidence) -> Iterator[str | int | float]:
    yield evidence.shared
    yield round(evidence.left_containment, 4)
    yield round(evidence.right_containment, 4)
    yield evidence.cardinality.value
    yield float(f"{evidence.left_fan_out:.3g}")
    yield float(f"{evidence.right_fan_out:.3g}")


def publisher_of(table: TableId) -> str:
    """Return the publisher of a table.

    Args:
        table: The table.

    Returns:
        The first folder of its name, or its platform if the name has no folder.

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
    """Collect and number the data of the page.

    Args:
        profiles: Profiles of all tables; those with an error are not listed.
        keys: The key columns.
        suggestions: The suggestions for the key columns.
        joins: The suggested joins, with evidence.

    Returns:
        Tables, columns and joins.
    """
    key_columns = set(keys)
    by_pair = {(each.query, each.candidate): each for each in suggestions}
    pairs = sorted(
        (
            _Pair(
                join=join,
                forward=by_pair.get((join.left, join.right)),
                backward=by_pair.get((join.right, join.left)),
            )
            for join in joins
        ),
        key=lambda pair: pair.order,
    )
    shown = pairs[:MOST_JOINS]
    ends = [end for pair in shown for end in (pair.join.left, pair.join.right)]
    readable = sorted(
        (profile for profile in profiles if not profile.fault), key=lambda each: each.table.id
    )
    publishers = _publishers(readable, ends)
    tables = {profile.table.id: number for number, profile in enumerate(readable)}
    columns = {column: number for number, column in enumerate(sorted({*keys, *ends}))}
    column_profiles = {column.id: column for profile in readable for column in profile.columns}
    return Contents(
        publishers=tuple(publishers),
        tables=tuple(_table(profile, publishers) for profile in readable),
        columns=tuple(
            _column(column_profiles[column], tables[column.table], is_key=column in key_columns)
            for column in columns
        ),
        joins=tuple(pair.record(columns) for pair in shown),
        left_out=len(pairs) - len(shown),
    )


def _publishers(readable: Sequence[TableProfile], ends: Sequence[ColumnId]) -> dict[str, int]:
    counts = Counter(publisher_of(end.table) for end in ends)
    names = {publisher_of(profile.table.id) for profile in readable}
    ordered = sorted(names, key=lambda name: (-counts[name], name))
    return {name: number for number, name in enumerate(ordered)}


def _table(profile: TableProfile, publishers: dict[str, int]) -> Record:
    table = profile.table
    publisher = publishers[publisher_of(table.id)]
    return table.id.name, table.title, publisher, profile.rows, len(profile.columns)


def _column(column: ColumnProfile, table: int, *, is_key: bool) -> Record:
    return table, column.id.path, is_key, column.type.value, column.distinct
