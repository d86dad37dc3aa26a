"""The joins of the catalog, and their order in lists."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

from datahub_hyperjoin.joins import Cardinality, Role, RowCounts, Verdict
from datahub_hyperjoin.metadata.confidence_bands import UNVERIFIED
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.visible import visible

_OVERRIDING = (Verdict.REJECTED, Verdict.ACCEPTED)
"""The verdicts of people, in order of precedence: a rejection outweighs an acceptance."""

_MAX_FAN_OUT, _MIN_CONTAINMENT = 1.02, 0.95
"""Limits within which a column with duplicates still counts as a key: the maximum fan-out of the
referring rows, and the minimum containment of the referring column."""

_ROLE_OF = {
    Cardinality.MANY_ONE: Role.REFERENCE,
    Cardinality.ONE_MANY: Role.REFERENCE,
    Cardinality.ONE_ONE: Role.ONE_TO_ONE,
    Cardinality.MANY_MANY: Role.SAME_DOMAIN,
}
"""The probable role of a join by its cardinality, if the catalog states no role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogJoin:
    """A join in the catalog, written by this package or by a person."""

    urn: str
    """URN of the relationship."""

    name: str
    """Name of the join, which is unique among the suggestions of this package."""

    pairs: tuple[tuple[ColumnId, ColumnId], ...]
    """Pairs of columns that must be equal, each with the left table's column first. A composite key
    has several pairs."""

    cardinality: Cardinality
    """Cardinality of the join, from the left to the right table."""

    joinability: float | None = None
    """Score in [0, 1]; None for joins that people wrote."""

    band: str = ""
    """Confidence band of the score; empty without a score."""

    role: Role | None = None
    """The role of the join; None for joins that people wrote."""

    referenced: ColumnId | None = None
    """The referenced column of the first pair of columns; None if the join has no direction."""

    declared: bool = False
    """Whether a foreign key, or a relationship that someone else wrote, declares the join."""

    left_fan_out: float | None = None
    """Mean number of joined rows per left row that has a value; None if unknown."""

    right_fan_out: float | None = None
    """Mean number of joined rows per right row that has a value; None if unknown."""

    left_containment: float | None = None
    """Share of the left side's distinct values that the right side holds; None if unknown."""

    right_containment: float | None = None
    """Share of the right side's distinct values that the left side holds; None if unknown."""

    left_counts: RowCounts | None = None
    """The rows of the left table; None if unknown."""

    right_counts: RowCounts | None = None
    """The rows of the right table; None if unknown."""

    compared_as: str = ""
    """Name of the form in which values were compared, such as `countries`; empty if values were not
    converted."""

    via: tuple[ColumnId, ColumnId] | None = None
    """The columns of a crosswalk that are equal to the left and to the right column; None for a
    join in one step."""

    verdicts: tuple[Verdict, ...] = ()
    """People's decisions: none, one verdict, or both verdicts if people contradict each other."""

    removed: bool = False
    """Whether the join is hidden in the catalog."""

    description: str = ""
    """Description that people wrote; empty without one."""

    title: str = ""
    """Name that people gave the join; empty without one."""

    owners: tuple[str, ...] = ()
    """URNs of the owners of the join."""

    @property
    def left(self) -> ColumnId:
        """The left column.

        For a composite key, the first of the left columns.
        """
        return self.pairs[0][0]

    @property
    def right(self) -> ColumnId:
        """The right column.

        For a composite key, the first of the right columns.
        """
        return self.pairs[0][1]

    @property
    def tables(self) -> tuple[TableId, TableId]:
        """The left and the right table."""
        return self.left.table, self.right.table

    @property
    def verdict(self) -> Verdict | None:
        """People's decision about the join; None if nobody has decided.

        A rejection overrides an acceptance.
        """
        return next((verdict for verdict in _OVERRIDING if verdict in self.verdicts), None)

    @property
    def strength(self) -> float:
        """The joinability of the join, or 1 if people confirmed the join."""
        return 1.0 if self.joinability is None or self.is_confirmed else self.joinability

    @property
    def is_confirmed(self) -> bool:
        """Whether people accepted or wrote the join, or the catalog declares it.

        A foreign key, or a relationship that someone else wrote, declares a join.
        """
        written = self.joinability is None
        return self.verdict is Verdict.ACCEPTED or written or self.declared

    @property
    def likely_role(self) -> Role:
        """The role of the join, or a probable role if the role is unknown.

        The probable role follows from the cardinality.
        """
        return self.role or _ROLE_OF[self.cardinality]

    @property
    def is_verified(self) -> bool:
        """Whether the join's confidence band differs from `unverified`."""
        return self.band != UNVERIFIED

    @property
    def is_reference(self) -> bool:
        """Whether one column refers to the other, or people confirmed the join.

        An unverified join counts only if people confirmed it. A path may use any such join.
        """
        return self.is_confirmed or (self.is_verified and self.likely_role.is_directed)

    @property
    def multiplies(self) -> bool:
        """Whether at least one left row matches several right rows."""
        return self.cardinality in {Cardinality.ONE_MANY, Cardinality.MANY_MANY}

    @property
    def to_one(self) -> bool:
        """Whether each left row matches at most one right row.

        Rare duplicates are tolerated.
        """
        return not self.multiplies or self._leads_to_dirty_key

    @property
    def _leads_to_dirty_key(self) -> bool:
        to_key = self.role is Role.ONE_TO_ONE or self.referenced == self.right
        # The mean also falls with rows that match nothing, so nearly all values must match.
        return (
            to_key
            and (self.left_fan_out or inf) <= _MAX_FAN_OUT
            and (self.left_containment or 0.0) >= _MIN_CONTAINMENT
        )

    @property
    def matches(self) -> float | None:
        """Mean number of joined rows per left row, with a value or without; None if unknown."""
        mean, counts = self.left_fan_out, self.left_counts
        if mean is None or counts is None or not counts.total:
            return mean
        if counts.matched_share is not None and not self.multiplies:
            return counts.matched_share
        return mean * counts.filled / counts.total

    @property
    def open(self) -> bool:
        """Whether the join is neither rejected nor hidden."""
        return not self.removed and self.verdict is not Verdict.REJECTED

    @property
    def condition(self) -> str:
        """The join condition, written as in SQL.

        >>> orders, customers = TableId("file", "orders"), TableId("file", "customers")
        >>> pair = (ColumnId(orders, "customer"), ColumnId(customers, "id"))
        >>> CatalogJoin(
        ...     urn="", name="", pairs=(pair,), cardinality=Cardinality.MANY_ONE
        ... ).condition
        'orders.customer = customers.id'
        """
        return " and ".join(f"{left} = {right}" for left, right in self.pairs)

    @property
    def arrows(self) -> str:
        """The join condition for people, with an arrow to each referenced column instead of `=`.

        Without a referenced column, the condition is written as in SQL. Names are made visible.

        >>> orders, customers = TableId("file", "orders"), TableId("file", "customers")
        >>> pair = (ColumnId(orders, "customer"), ColumnId(customers, "id"))
        >>> join = CatalogJoin(
        ...     urn="", name="", pairs=(pair,), cardinality=Cardinality.MANY_ONE, referenced=pair[1]
        ... )
        >>> join.arrows, join.reversed.arrows
        ('orders.customer → customers.id', 'customers.id ← orders.customer')
        """
        if self.referenced is None:
            return visible(self.condition)
        arrow = "→" if self.referenced == self.right else "←"
        return visible(" and ".join(f"{left} {arrow} {right}" for left, right in self.pairs))

    @property
    def reversed(self) -> "CatalogJoin":
        """The same join with left and right swapped."""
        return replace(
            self,
            pairs=tuple((right, left) for left, right in self.pairs),
            cardinality=self.cardinality.reversed,
            left_fan_out=self.right_fan_out,
            right_fan_out=self.left_fan_out,
            left_containment=self.right_containment,
            right_containment=self.left_containment,
            left_counts=self.right_counts,
            right_counts=self.left_counts,
            via=(self.via[1], self.via[0]) if self.via else None,
        )


def with_left_table(join: CatalogJoin, table: TableId) -> CatalogJoin:
    """Return a join with the given table on the left."""
    return join if join.left.table == table else join.reversed


def best_first(joins: Iterable[CatalogJoin]) -> list[CatalogJoin]:
    """Sort joins, the most useful first.

    Joins that people accepted, wrote or declared come first, and those that names alone suggest
    come last. Apart from that, the order is that of the joins of a run: see `joins.sort_joins`.
    """
    return sorted(
        joins,
        key=lambda join: (
            not join.is_confirmed,
            not join.is_verified,
            join.likely_role.place,
            -join.strength,
            -(join.joinability or 0.0),
            join.condition,
        ),
    )
