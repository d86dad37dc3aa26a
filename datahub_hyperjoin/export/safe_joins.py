"""Select the joins that do not repeat rows of the referring table.

A semantic layer joins on its own, so one wrong edge multiplies the sums of many reports. Only
references to a key and one-to-one joins are exported. All other joins are left out, each with a
reason.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.joins import Cardinality, Role
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.visible import visible


class LeftOut(str, Enum):
    """The reason why a join is not exported."""

    REJECTED = "rejected or hidden by people"
    UNVERIFIED = "not verified on data"
    WITHOUT_KEY = "without a key (siblings or one domain)"
    TWO_STEPS = "in two steps through a crosswalk"
    OTHER_FORM = "of values that are written differently"
    FAN_OUT = "to values that repeat"
    TWO_PLATFORMS = "between two platforms"
    DOTTED = "of columns inside structs, or with a dot in their names"
    COMPOSITE = "of several columns, which the format cannot hold"
    SELF_REFERENCE = "of a table with itself, which the format cannot hold"
    SECOND_KEY = "to a key beside the primary key, which the format cannot hold"
    NAMES = "with names that the format cannot hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeJoin:
    """A join that matches each row of one table with at most one row of the other."""

    referring: TableId
    """The referring table, each row of which matches at most one row of the referenced table."""

    referenced: TableId
    """The referenced table, which has at most one matching row for each row of the referring table.
    """

    columns: tuple[tuple[str, str], ...]
    """The referring and the referenced column of each pair; several for a composite key."""

    is_one_to_one: bool
    """Whether the values of the referring columns are unique, too."""

    role: Role | None
    """The role of the join; None for joins that people wrote."""

    joinability: float | None
    """Score in [0, 1]; None for joins that people wrote."""

    containment: float | None
    """Share of the referring side's distinct values that the referenced side holds; None if
    unknown."""

    is_confirmed: bool
    """Whether people accepted, wrote or declared the join."""

    urn: str
    """URN of the relationship."""

    has_empty: bool = False
    """Whether rows of the referring table are known to have no value to refer with."""

    @property
    def referring_columns(self) -> tuple[str, ...]:
        """The columns of the referring table."""
        return tuple(referring for referring, _ in self.columns)

    @property
    def referenced_columns(self) -> tuple[str, ...]:
        """The referenced columns, which form the key."""
        return tuple(referenced for _, referenced in self.columns)

    @property
    def condition(self) -> str:
        """The join condition for people, with names made visible."""
        return visible(
            " and ".join(
                f"{self.referring}.{referring} = {self.referenced}.{referenced}"
                for referring, referenced in self.columns
            )
        )

    @property
    def is_complete(self) -> bool:
        """Whether every value of the referring columns occurs in the key."""
        return self.containment == 1.0

    @property
    def keeps_rows(self) -> bool:
        """Whether every row of the referring table has a partner, and an inner join keeps it."""
        return self.is_complete and not self.has_empty

    @property
    def is_self_reference(self) -> bool:
        """Whether both sides are the same table."""
        return self.referring == self.referenced

    @property
    def ends(self) -> frozenset[tuple[TableId, tuple[str, ...]]]:
        """The tables and columns of both sides, in no order."""
        return frozenset(
            {(self.referring, self.referring_columns), (self.referenced, self.referenced_columns)}
        )


def select_safe(joins: Iterable[CatalogJoin]) -> tuple[tuple[SafeJoin, ...], Counter[LeftOut]]:
    """Select the joins that repeat no rows of the referring table; count the others.

    Returns:
        The safe joins, each once, and the number of the others by reason.
    """
    safe: dict[frozenset[tuple[TableId, tuple[str, ...]]], SafeJoin] = {}
    left_out: Counter[LeftOut] = Counter()
    for found in map(examine, joins):
        if isinstance(found, LeftOut):
            left_out[found] += 1
            continue
        known = safe.get(found.ends)
        safe[found.ends] = _merged(known, found) if known else found
    return tuple(safe.values()), left_out


def examine(join: CatalogJoin) -> SafeJoin | LeftOut:
    """Convert a join to a safe join, or return the reason why it is not exported."""
    directed = _directed(join)
    return _reason(directed) or _safe_join(directed)


def _directed(join: CatalogJoin) -> CatalogJoin:
    """Return a join with its referring table on the left."""
    if join.referenced is not None:
        return join if join.referenced == join.right else join.reversed
    return join.reversed if join.cardinality is Cardinality.ONE_MANY else join


def _reason(join: CatalogJoin) -> LeftOut | None:
    """Return why a join is not exported; None if it is safe.

    The referring table must be on the left.
    """
    paths = [column.path for pair in join.pairs for column in pair]
    reasons = {
        LeftOut.REJECTED: not join.open,
        LeftOut.UNVERIFIED: not join.is_verified and (join.multiplies or not join.is_confirmed),
        LeftOut.WITHOUT_KEY: join.role is not None and not join.role.is_directed,
        LeftOut.TWO_STEPS: join.via is not None,
        LeftOut.OTHER_FORM: bool(join.compared_as),
        # The few duplicates of a dirty key, which a path tolerates, repeat rows, too.
        LeftOut.FAN_OUT: join.multiplies,
        LeftOut.TWO_PLATFORMS: len({(table.platform, table.env) for table in join.tables}) > 1,
        LeftOut.DOTTED: any("." in path for path in paths),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def _safe_join(join: CatalogJoin) -> SafeJoin:
    columns = sorted((right.path, left.path) for left, right in join.pairs)
    return SafeJoin(
        referring=join.left.table,
        referenced=join.right.table,
        columns=tuple((left, right) for right, left in columns),
        # Of a reference, one row may refer to each key today, and several tomorrow.
        is_one_to_one=(
            join.likely_role is Role.ONE_TO_ONE and join.cardinality is Cardinality.ONE_ONE
        ),
        role=join.role,
        joinability=join.joinability,
        containment=join.left_containment,
        is_confirmed=join.is_confirmed,
        urn=join.urn,
        has_empty=bool(join.left_counts and join.left_counts.without_value),
    )


def _merged(known: SafeJoin, other: SafeJoin) -> SafeJoin:
    """Combine two safe joins of the same columns into one.

    The join with a measured containment wins, and one confirmation is enough.
    """
    measured = known if known.containment is not None else other
    return replace(measured, is_confirmed=known.is_confirmed or other.is_confirmed)


def word_reasons(left_out: Counter[LeftOut]) -> str:
    """Describe in one phrase how many joins were left out, and why.

    Args:
        left_out: Number of joins by reason.

    >>> word_reasons(Counter({LeftOut.FAN_OUT: 1, LeftOut.REJECTED: 2}))
    '2 rejected or hidden by people; 1 to values that repeat'
    """
    return "; ".join(f"{left_out[reason]} {reason.value}" for reason in LeftOut if left_out[reason])
