"""Value types for two-step joins through a crosswalk table.

A crosswalk is a table that holds codes and names of the same things in two columns. Codes of one
table and names of another share no value, but both steps compare equal values.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from datahub_hyperjoin.joins import Evidence, Join
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, pair_of

_THROUGH = "values through "


@dataclass(frozen=True, slots=True, order=True)
class Bridge:
    """Two columns and the crosswalk that connects them.

    The left column has the smaller identifier.
    """

    left: ColumnId
    """The left column."""

    left_via: ColumnId
    """The column of the crosswalk that holds the left column's values."""

    right_via: ColumnId
    """The column of the crosswalk that holds the right column's values."""

    right: ColumnId
    """The right column."""

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
        """The pair of each step: left column to crosswalk, and crosswalk to right column.

        The first is left column and crosswalk, the second crosswalk and right column.
        """
        return pair_of(self.left, self.left_via), pair_of(self.right_via, self.right)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrosswalkJoin:
    """A two-step join through a crosswalk, with the evidence of both steps."""

    bridge: Bridge
    """The two joined columns, and the two columns of the crosswalk."""

    joinability: float
    """Score in [0, 1]."""

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


def is_in_two_steps(evidence: Evidence) -> bool:
    """Return whether evidence was measured through a crosswalk."""
    return evidence.compared_as.startswith(_THROUGH)


def lone_joins(crosswalks: Iterable[CrosswalkJoin], joins: Iterable[Join]) -> Iterator[Join]:
    """Yield the two-step joins between columns that have no direct join.

    Yields:
        Each as a `Join` between its left and right columns.
    """
    joined = {(join.left, join.right) for join in joins}
    for crosswalk in crosswalks:
        if (crosswalk.left, crosswalk.right) not in joined:
            yield crosswalk.as_join


def note_crosswalk(bridge: Bridge, evidence: Evidence) -> Evidence:
    """Return a copy of the evidence, marked with the crosswalk through which values were compared.

    Returns:
        The evidence, which says through which table the values were compared.

    >>> from datahub_hyperjoin.joins import Cardinality
    >>> a, items = (TableId("file", name) for name in ("a.csv", "items.csv"))
    >>> ends = ColumnId(a, "x"), ColumnId(items, "code"), ColumnId(items, "name"), ColumnId(a, "y")
    >>> evidence = Evidence(
    ...     shared=1,
    ...     left_containment=1.0,
    ...     right_containment=1.0,
    ...     cardinality=Cardinality.ONE_ONE,
    ...     left_fan_out=1.0,
    ...     right_fan_out=1.0,
    ... )
    >>> note_crosswalk(Bridge(*ends), evidence).compared_as
    'values through items.csv'
    """
    return replace(evidence, compared_as=f"{_THROUGH}{bridge.crosswalk}")
