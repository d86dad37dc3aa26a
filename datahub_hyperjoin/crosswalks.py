"""Value types of joins in two steps, through a crosswalk.

A crosswalk is a table that holds codes and names of the same things in two columns. Codes of one
table and names of another share no value, but both steps compare equal values.
"""

from dataclasses import dataclass, replace

from datahub_hyperjoin.joins import Evidence, Join
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, pair_of

_THROUGH = "values through "


@dataclass(frozen=True, slots=True, order=True)
class Bridge:
    """Two columns and the crosswalk that connects them; the left column has the smaller id."""

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
        """The table of the two middle columns."""
        return self.left_via.table

    @property
    def pair(self) -> Pair:
        """The two columns that the crosswalk connects."""
        return self.left, self.right

    @property
    def steps(self) -> tuple[Pair, Pair]:
        """The pair that the left column forms with the crosswalk, and that of the right one."""
        return pair_of(self.left, self.left_via), pair_of(self.right_via, self.right)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrosswalkJoin:
    """A join in two steps, with the evidence of each step and of both together."""

    bridge: Bridge
    """The columns."""

    joinability: float
    """Score in [0, 1]."""

    left_step: Evidence
    """Measures of the left column and the crosswalk's."""

    right_step: Evidence
    """Measures of the crosswalk's column and the right one."""

    evidence: Evidence
    """Measures of the left and the right column, connected by the rows of the crosswalk.

    `shared` is the number of entries of the crosswalk that both columns hold. A side counts as
    unique if each row of the other side joins at most one of its rows.
    """

    @property
    def left(self) -> ColumnId:
        """The left column."""
        return self.bridge.left

    @property
    def right(self) -> ColumnId:
        """The right column."""
        return self.bridge.right

    @property
    def pairs(self) -> tuple[tuple[ColumnId, ColumnId], ...]:
        """The columns that must be equal: those of the left step, then those of the right one."""
        bridge = self.bridge
        return (bridge.left, bridge.left_via), (bridge.right_via, bridge.right)

    @property
    def as_join(self) -> Join:
        """The pair of the left and the right column, as a join through the crosswalk."""
        bridge = self.bridge
        return Join(
            left=bridge.left,
            right=bridge.right,
            joinability=self.joinability,
            evidence=as_compared(bridge, self.evidence),
            via=(bridge.left_via, bridge.right_via),
        )

    @property
    def containment(self) -> float:
        """The lowest containment of the two steps and of both together."""
        return min(each.containment for each in (self.left_step, self.right_step, self.evidence))


def as_compared(bridge: Bridge, evidence: Evidence) -> Evidence:
    """Return the evidence of both steps as evidence of a pair that share no value.

    Args:
        bridge: The steps.
        evidence: Evidence of both steps together.

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
    >>> as_compared(Bridge(*ends), evidence).compared_as
    'values through items.csv'
    """
    return replace(evidence, compared_as=f"{_THROUGH}{bridge.crosswalk}")
