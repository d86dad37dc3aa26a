"""Joins in two steps through a crosswalk, and composite keys."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from datahub_hyperjoin.joins.evidence import THROUGH, Cardinality, Evidence
from datahub_hyperjoin.joins.join import Join
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, pair_of


@dataclass(frozen=True, slots=True, order=True)
class Bridge:
    """Two columns and the crosswalk that connects them, the one with the smaller identifier left.

    A crosswalk is a table that holds codes and names of the same things in two columns. Codes of
    one table and names of another share no value, but both steps compare equal values.
    """

    left: ColumnId

    left_via: ColumnId
    """The column of the crosswalk that holds the left column's values."""

    right_via: ColumnId
    """The column of the crosswalk that holds the right column's values."""

    right: ColumnId

    @property
    def columns(self) -> tuple[ColumnId, ...]:
        """The columns that the join compares, from left to right."""
        return self.left, self.left_via, self.right_via, self.right

    @property
    def crosswalk(self) -> TableId:
        """The table that serves as the crosswalk."""
        return self.left_via.table

    @property
    def pair(self) -> Pair:
        """The two columns that the crosswalk connects."""
        return self.left, self.right

    @property
    def steps(self) -> tuple[Pair, Pair]:
        """The sorted pair of each step: left column to crosswalk, and crosswalk to right column."""
        return pair_of(self.left, self.left_via), pair_of(self.right_via, self.right)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrosswalkJoin:
    """A two-step join through a crosswalk, with the evidence of both steps."""

    bridge: Bridge
    joinability: float

    left_step: Evidence
    """Evidence for the first step: from the left column to a column of the crosswalk."""

    right_step: Evidence
    """Evidence for the second step: from the crosswalk's other column to the right column."""

    evidence: Evidence
    """Evidence for the whole join of the left and right columns through the crosswalk's rows.

    `shared` is the number of entries of the crosswalk that both columns hold. A side counts as
    unique if each row of the other side joins at most one of its rows.
    """

    @property
    def measured(self) -> Evidence:
        """The evidence of both steps together."""
        return self.evidence

    @property
    def left(self) -> ColumnId:
        """The left column of the two-step join."""
        return self.bridge.left

    @property
    def right(self) -> ColumnId:
        """The right column of the two-step join."""
        return self.bridge.right

    @property
    def pairs(self) -> tuple[tuple[ColumnId, ColumnId], ...]:
        """The two pairs of columns that must be equal, one pair for each step."""
        bridge = self.bridge
        return (bridge.left, bridge.left_via), (bridge.right_via, bridge.right)

    @property
    def as_join(self) -> Join:
        """This two-step join as a `Join` of its left and right columns."""
        bridge = self.bridge
        return Join(
            left=bridge.left,
            right=bridge.right,
            joinability=self.joinability,
            evidence=note_crosswalk(bridge, self.evidence),
            via=(bridge.left_via, bridge.right_via),
        )

    @property
    def containment(self) -> float:
        """The lowest of three containments: first step, second step, and both steps together."""
        return min(each.containment for each in (self.left_step, self.right_step, self.evidence))


def lone_joins(crosswalks: Iterable[CrosswalkJoin], joins: Iterable[Join]) -> Iterator[Join]:
    """Yield the two-step joins between columns that have no direct join, each as a `Join`."""
    joined = {(join.left, join.right) for join in joins}
    for crosswalk in crosswalks:
        if (crosswalk.left, crosswalk.right) not in joined:
            yield crosswalk.as_join


def note_crosswalk(bridge: Bridge, evidence: Evidence) -> Evidence:
    """Return the evidence, marked with the crosswalk: `values through items.csv`."""
    return replace(evidence, compared_as=f"{THROUGH}{bridge.crosswalk}")


ColumnPairs = tuple[tuple[ColumnId, ColumnId], ...]
"""The referring and the referenced column of each part of a composite reference."""

MIN_TUPLE_CONTAINMENT = 0.9
"""Minimum share of the referring table's distinct tuples that a composite key must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySearch:
    """A request to search a table's columns for composite keys."""

    table: TableId
    columns: tuple[str, ...]
    texts: tuple[str, ...] = ()
    """The text columns among `columns`, in the same order."""
    max_columns: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeEvidence:
    """Evidence for a composite reference, measured on all rows of both tables.

    The rows of a table that have a value in every column are its tuples.
    """

    evidence: Evidence
    """Measures of the join; the referring table is on the left."""

    tuples: int
    """Number of distinct tuples of the referring table."""

    matched: float
    """Share of the referring table's tuples, counted row by row, that the other table contains."""

    by_chance: tuple[float, ...] = ()
    """For each column, the value of `matched` after this column was shuffled. If the value is still
    high, the column adds no information to the other columns. Empty if it was not measured."""

    @property
    def is_unique(self) -> bool:
        """Whether the referenced columns form a unique key of their table."""
        return self.evidence.cardinality in {Cardinality.ONE_ONE, Cardinality.MANY_ONE}
