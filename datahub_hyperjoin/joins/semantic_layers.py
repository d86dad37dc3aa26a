"""The joins that a semantic layer may make by itself, in exports and in DataHub.

A semantic layer joins on its own, so one wrong edge multiplies the sums of many reports. Only safe
references to a key and one-to-one joins are among its joins. All others are left out, each with a
reason.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from datahub_hyperjoin.joins.evidence import Cardinality
from datahub_hyperjoin.joins.join import Join, Role
from datahub_hyperjoin.joins.safety import MIN_SCORE, is_safe
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import percent


class LeftOut(str, Enum):
    """The reason why a join is not exported."""

    REJECTED = "rejected or hidden by people"
    UNVERIFIED = "not verified on data"
    WITHOUT_KEY = "without a key (siblings or one domain)"
    TWO_STEPS = "in two steps through a crosswalk"
    OTHER_FORM = "of values that are written differently"
    FAN_OUT = "to values that repeat"
    IMPROBABLE = f"below a joinability of {MIN_SCORE:g}, and confirmed by nobody"
    TWO_PLATFORMS = "between two platforms"
    DOTTED = "of columns inside structs, or with a dot in their names"
    COMPOSITE = "of several columns, which the format cannot hold"
    SELF_REFERENCE = "of a table with itself, which the format cannot hold"
    SECOND_KEY = "to a key beside the primary key, which the format cannot hold"
    NAMES = "with names that the format cannot hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeJoin:
    """A join that matches each row of its left table with at most one row of the right one."""

    join: Join
    """The join, with the referring table on the left."""

    columns: tuple[tuple[str, str], ...]
    """The referring and the referenced column of each pair, in the order of the key."""

    is_confirmed: bool
    """Whether people accepted, wrote or declared a join of these columns."""

    @property
    def referring(self) -> TableId:
        """The referring table."""
        return self.join.left.table

    @property
    def referenced(self) -> TableId:
        """The referenced table."""
        return self.join.right.table

    @property
    def referring_columns(self) -> tuple[str, ...]:
        """The columns of the referring table."""
        return tuple(referring for referring, _ in self.columns)

    @property
    def referenced_columns(self) -> tuple[str, ...]:
        """The referenced columns, which form the key."""
        return tuple(referenced for _, referenced in self.columns)

    @property
    def kind(self) -> str:
        """`one_to_one` or `many_to_one`, from the referring table to the referenced one."""
        return "one_to_one" if self.is_one_to_one else "many_to_one"

    @property
    def is_one_to_one(self) -> bool:
        """Whether the values of the referring columns are unique, too."""
        # Of a reference, one row may refer to each key today, and several tomorrow.
        join = self.join
        return join.role is Role.ONE_TO_ONE and join.cardinality is Cardinality.ONE_ONE

    @property
    def containment(self) -> float | None:
        """Share of the referring side's distinct values that are in the key; None if unknown."""
        return self.join.evidence.left_containment if self.join.evidence else None

    @property
    def condition(self) -> str:
        """The join condition for people, with names made visible."""
        sides = (
            f"{self.referring}.{left} = {self.referenced}.{right}" for left, right in self.columns
        )
        return visible(" and ".join(sides))

    @property
    def is_complete(self) -> bool:
        """Whether every value of the referring columns occurs in the key."""
        return self.containment == 1.0

    @property
    def keeps_rows(self) -> bool:
        """Whether every row of the referring table has a partner, and an inner join keeps it."""
        counts = self.join.left_counts
        return self.is_complete and not (counts and counts.without_value)

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


def select_safe(joins: Iterable[Join]) -> tuple[tuple[SafeJoin, ...], Counter[LeftOut]]:
    """Select the joins that repeat no rows of the referring table; count the others by reason."""
    safe: dict[frozenset[tuple[TableId, tuple[str, ...]]], SafeJoin] = {}
    left_out: Counter[LeftOut] = Counter()
    for found in map(examine, joins):
        if isinstance(found, LeftOut):
            left_out[found] += 1
            continue
        known = safe.get(found.ends)
        safe[found.ends] = _merged(known, found) if known else found
    return tuple(safe.values()), left_out


def examine(join: Join) -> SafeJoin | LeftOut:
    """Convert a join to a safe join, or return the reason why it is not exported."""
    turned = join.directed
    if join.referenced is None and join.cardinality is Cardinality.ONE_MANY:
        turned = join.reversed
    if reason := _reason(turned):
        return reason
    paths = sorted((right.path, left.path) for left, right in turned.pairs)
    columns = tuple((left, right) for right, left in paths)
    return SafeJoin(join=turned, columns=columns, is_confirmed=join.is_confirmed)


def _reason(join: Join) -> LeftOut | None:
    """Return why a join, with its referring table on the left, is not exported; None if it is."""
    paths = [column.path for pair in join.pairs for column in pair]
    reasons = {
        LeftOut.REJECTED: not join.open,
        LeftOut.UNVERIFIED: not join.is_verified and (join.multiplies or not join.is_confirmed),
        LeftOut.WITHOUT_KEY: join.known_role is not None and not join.role.is_directed,
        LeftOut.TWO_STEPS: join.via is not None,
        LeftOut.OTHER_FORM: bool(join.compared_as),
        # The few duplicates of a dirty key, which a path tolerates, repeat rows, too.
        LeftOut.FAN_OUT: join.multiplies,
        LeftOut.TWO_PLATFORMS: len({(table.platform, table.env) for table in join.tables}) > 1,
        LeftOut.DOTTED: any("." in path for path in paths),
    }
    if named := next((reason for reason, applies in reasons.items() if applies), None):
        return named
    # The other reasons why a join is not safe have names above.
    return None if is_safe(join) else LeftOut.IMPROBABLE


def _merged(known: SafeJoin, other: SafeJoin) -> SafeJoin:
    """Combine two safe joins of the same columns into one."""
    # The join with a measured containment wins, and one confirmation is enough.
    measured = known if known.containment is not None else other
    return replace(measured, is_confirmed=known.is_confirmed or other.is_confirmed)


def word_reasons(left_out: Counter[LeftOut]) -> str:
    """Describe in one phrase how many joins were left out, and why.

    >>> word_reasons(Counter({LeftOut.FAN_OUT: 1, LeftOut.REJECTED: 2}))
    '2 rejected or hidden by people; 1 to values that repeat'
    """
    return "; ".join(f"{left_out[reason]} {reason.value}" for reason in LeftOut if left_out[reason])


def describe_evidence(join: SafeJoin) -> str:
    """Describe a join's evidence in one line."""
    words = [
        join.kind.replace("_", "-"),
        *(
            [f"{percent(share)} of the values match"]
            if (share := join.containment) is not None
            else []
        ),
        *([f"joinability {join.join.score:.2f}"] if join.join.score is not None else []),
        *(["confirmed by people or the catalog"] if join.is_confirmed else []),
    ]
    return ", ".join(words)


def advise(join: SafeJoin, referring: str, referenced: str) -> str:
    """Tell agents what a join between two tables, given by their names, does to the rows."""
    keep = "" if join.keeps_rows else " Use a left join: rows without a match may exist."
    return (
        f"Each row of {referring} has at most one row of {referenced} "
        f"({describe_evidence(join)}).{keep}"
    )
