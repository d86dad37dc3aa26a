"""Joins, suggestions, and the SQL of joins."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from math import inf

from typing_extensions import assert_never

from datahub_hyperjoin.joins.evidence import (
    Cardinality,
    CatalogEvidence,
    Evidence,
    KnownNamesakes,
    RowCounts,
    Verdict,
    is_in_two_steps,
)
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, pair_of
from datahub_hyperjoin.visible import visible

BANDS = {"high": 0.8, "medium": 0.65, "low": 0.0}
"""Lowest joinability of each confidence band, from the highest band to the lowest."""

UNVERIFIED = "unverified"
"""The confidence band of joins whose tables were not read, whatever the joinability."""

BAND_NAMES = (*BANDS, UNVERIFIED)

_NOTHING_KNOWN = CatalogEvidence()

_MAX_FAN_OUT, _MIN_CONTAINMENT = 1.02, 0.95
"""Limits within which a column with duplicates still counts as a key: the maximum fan-out of the
referring rows, and the minimum containment of the referring column."""


class Role(str, Enum):
    """The role of a join: how its two columns are related, for example as a reference."""

    REFERENCE = "reference"
    """The rows of one column refer to the unique values of the other, mostly many to one."""

    ONE_TO_ONE = "one-to-one"
    """Both columns are the keys of their tables, and one table extends the other."""

    SIBLING = "sibling"
    """Both columns refer to the same key, and neither is that key."""

    SAME_DOMAIN = "same domain"
    """The columns hold values of one kind, but neither is a key of the other."""

    @property
    def is_directed(self) -> bool:
        """Whether one column refers to the other."""
        return self in {Role.REFERENCE, Role.ONE_TO_ONE}

    @property
    def place(self) -> int:
        """The position of the role in sorted lists; references come first.

        >>> [role.value for role in sorted(Role, key=lambda role: role.place)]
        ['reference', 'one-to-one', 'sibling', 'same domain']
        """
        return _PLACES[self]


_PLACES = {role: place for place, role in enumerate(Role)}

ROLE_OF = {
    Cardinality.MANY_ONE: Role.REFERENCE,
    Cardinality.ONE_MANY: Role.REFERENCE,
    Cardinality.ONE_ONE: Role.ONE_TO_ONE,
    Cardinality.MANY_MANY: Role.SAME_DOMAIN,
}
"""The probable role of a join by its cardinality, if the catalog states no role."""


class Derivation(str, Enum):
    """Why a join is not listed by default: it follows from joins that are, or joins no things."""

    SAME_COLUMNS = "same columns"
    """The tables have the same columns, such as those of two years."""

    SAME_KEY = "same key"
    """The columns refer to one key, and repeat on both sides."""

    SAME_TABLES = "same tables"
    """The columns repeat on both sides, and the tables have a better join: by a key or, where none
    joins them, by other columns that repeat."""

    DATES = "dates"
    """The columns hold dates, and neither refers to a calendar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A ranked candidate for a query column, with its joinability."""

    query: ColumnId
    candidate: ColumnId

    rank: int
    """Rank among the suggestions for the query column, from 1."""

    joinability: float

    told: tuple[int, int] = (0, 0)
    """Numbers of accepted and of rejected joins whose relative the pair is: of columns with its
    columns' names, or of their value domains."""


def best_scores(suggestions: Iterable[Suggestion]) -> dict[Pair, float]:
    """Map each suggested pair to the greater of the joinabilities of its two directions."""
    scores: dict[Pair, float] = {}
    for suggestion in suggestions:
        pair = pair_of(suggestion.query, suggestion.candidate)
        scores[pair] = max(scores.get(pair, 0.0), suggestion.joinability)
    return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """How the catalog holds a join, which this package or a person wrote."""

    urn: str = ""

    name: str = ""
    """Name of the join, which is unique among the suggestions of this package."""

    band: str = ""
    """Confidence band of the score; empty without a score."""

    has_score: bool = True
    """Whether the catalog tells a joinability, which joins that people wrote do not have."""

    has_role: bool = True
    """Whether the catalog tells a role; otherwise the join has the one that the cardinality makes
    probable."""

    verdicts: tuple[Verdict, ...] = ()
    """People's decisions: none, one verdict, or both verdicts if people contradict each other."""

    removed: bool = False
    description: str = ""
    title: str = ""
    owners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A join of two columns, or of two composite keys: found by a run, or read from the catalog.

    A join of a run was verified on the data, unless no row of one of the tables was read, or one of
    the columns has no values. Its columns are sorted, so that a pair has one name whichever column
    it was suggested for. A join of the catalog has the relationship's source on the left.
    """

    left: ColumnId
    """The left column; of a composite key, the first of the left columns."""

    right: ColumnId
    """The right column; of a composite key, the first of the right columns."""

    joinability: float
    """Probability of the join in its role, in [0, 1]; 1 for a join that a person wrote."""

    evidence: Evidence | None
    """Measures of the data; None if the rows of at least one table were not read, or if the catalog
    does not tell them."""

    catalog: CatalogEvidence = _NOTHING_KNOWN
    role: Role = Role.SAME_DOMAIN

    referenced: ColumnId | None = None
    """The column that the other one refers to, if the role has a direction."""

    namesakes: KnownNamesakes | None = None
    """What is known about the references of columns that have the referring column's name. None if
    none of these columns refers to the same key, or if the catalog confirms this join."""

    further: tuple[tuple[ColumnId, ColumnId], ...] = ()
    """The further column pairs of a composite key, each with the column of the left table first."""

    via: tuple[ColumnId, ColumnId] | None = None
    """The two columns of a crosswalk that connect the left and the right column, in this order;
    None without such a crosswalk."""

    stated: Cardinality | None = None
    """The cardinality that the catalog states for a join without evidence; None if it does not."""

    published: Published | None = None
    """How the catalog holds the join; None for a join of a run."""

    @property
    def measured(self) -> Evidence:
        """The join's evidence, as measured on the data."""
        if self.evidence is None:
            message = f"{self.left} = {self.right} was not verified on data"
            raise TypeError(message)
        return self.evidence

    @property
    def urn(self) -> str:
        """URN of the relationship; empty for a join of a run."""
        return self.published.urn if self.published else ""

    @property
    def name(self) -> str:
        """Name of the join in the catalog; empty for a join of a run."""
        return self.published.name if self.published else ""

    @property
    def description(self) -> str:
        """Description that people wrote in the catalog; empty without one."""
        return self.published.description if self.published else ""

    @property
    def band(self) -> str:
        """Confidence band, such as `high`; empty if a person wrote the join."""
        if self.published:
            return self.published.band
        return UNVERIFIED if self.evidence is None else band(self.joinability)

    @property
    def score(self) -> float | None:
        """The joinability; None if a person wrote the join."""
        return None if self.is_written else self.joinability

    @property
    def known_role(self) -> Role | None:
        """The role; None if the catalog does not tell it."""
        return self.role if self.published is None or self.published.has_role else None

    @property
    def pairs(self) -> tuple[tuple[ColumnId, ColumnId], ...]:
        """All pairs of columns that the join compares, the left table's column first in each."""
        return ((self.left, self.right), *self.further)

    def paths_in(self, table: TableId) -> set[str]:
        """The paths of the joined columns in a table; of both sides, if it joins with itself."""
        return {column.path for pair in self.pairs for column in pair if column.table == table}

    @property
    def directed_pairs(self) -> tuple[tuple[ColumnId, ColumnId], ...]:
        """All pairs of columns, with the referring table's column first if there is one."""
        return self.directed.pairs

    @property
    def directed(self) -> "Join":
        """The join with the referring table on the left, if there is one."""
        return self.reversed if self.referenced == self.left else self

    @property
    def tables(self) -> tuple[TableId, TableId]:
        """The left and the right table."""
        return self.left.table, self.right.table

    @property
    def steps(self) -> tuple[tuple[ColumnId, ColumnId], ...]:
        """The two pairs of columns that a join through a crosswalk compares; empty otherwise."""
        return ((self.left, self.via[0]), (self.via[1], self.right)) if self.via else ()

    @property
    def referring(self) -> ColumnId | None:
        """The column that refers to the other; None if the join has no direction."""
        if self.referenced is None:
            return None
        return self.left if self.referenced == self.right else self.right

    @property
    def cardinality(self) -> Cardinality:
        """Cardinality from left to right: as measured, as the catalog states it, or the worst.

        Without evidence, a reference is many-to-one if the catalog or a person confirms it.
        """
        if self.evidence:
            return self.evidence.cardinality
        if self.stated:
            return self.stated
        if self.referenced is None or not self.catalog.is_confirmed:
            return Cardinality.MANY_MANY
        return Cardinality.MANY_ONE if self.referenced == self.right else Cardinality.ONE_MANY

    @property
    def is_uncounted(self) -> bool:
        """Whether nobody knows the cardinality: people joined two columns that no run has read."""
        return self.is_written and self.evidence is None and self.stated is None

    @property
    def compared_as(self) -> str:
        """The form in which values were compared; empty if as written, or in two steps alone."""
        evidence = self.evidence
        return "" if evidence is None or is_in_two_steps(evidence) else evidence.compared_as

    @property
    def left_counts(self) -> RowCounts | None:
        """The rows of the left table; None if unknown."""
        return self.evidence.left_counts if self.evidence else None

    @property
    def right_counts(self) -> RowCounts | None:
        """The rows of the right table; None if unknown."""
        return self.evidence.right_counts if self.evidence else None

    @property
    def verdict(self) -> Verdict | None:
        """People's decision about the join; None if nobody has decided."""
        return self.catalog.verdict

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What people decided in the catalog: both verdicts if they contradict each other."""
        return self.published.verdicts if self.published else ()

    @property
    def is_written(self) -> bool:
        """Whether a person wrote the join, so that it has no score."""
        return self.published is not None and not self.published.has_score

    @property
    def is_confirmed(self) -> bool:
        """Whether people accepted or wrote the join, or the catalog declares it."""
        return self.is_written or self.catalog.is_confirmed

    @property
    def strength(self) -> float:
        """The joinability of the join, or 1 if people confirmed the join."""
        return 1.0 if self.is_confirmed else self.joinability

    @property
    def is_verified(self) -> bool:
        """Whether the join was verified on the data, or a person wrote it."""
        return self.band != UNVERIFIED

    @property
    def is_reference(self) -> bool:
        """Whether one column refers to the other, or people confirmed the join."""
        # An unverified join counts only if people confirmed it. A path may use any such join.
        return self.is_confirmed or (self.is_verified and self.role.is_directed)

    @property
    def multiplies(self) -> bool:
        """Whether at least one left row matches several right rows."""
        return self.cardinality in {Cardinality.ONE_MANY, Cardinality.MANY_MANY}

    @property
    def to_one(self) -> bool:
        """Whether each left row matches at most one right row; rare duplicates are tolerated."""
        if not self.multiplies:
            return True
        if self.evidence is None or not (
            self.known_role is Role.ONE_TO_ONE or self.referenced == self.right
        ):
            return False
        # The mean also falls with rows that match nothing, so nearly all values must match.
        fan_out, contained = self.evidence.left_fan_out, self.evidence.left_containment
        return (fan_out or inf) <= _MAX_FAN_OUT and contained >= _MIN_CONTAINMENT

    @property
    def matches(self) -> float | None:
        """Mean number of joined rows per left row, with a value or without; None if unknown."""
        if self.evidence is None:
            return None
        mean, counts = self.evidence.left_fan_out, self.evidence.left_counts
        if counts is None or not counts.total:
            return mean
        if counts.matched_share is not None and not self.multiplies:
            return counts.matched_share
        return mean * counts.filled / counts.total

    @property
    def is_hidden(self) -> bool:
        """Whether the join is hidden in the catalog."""
        return self.published is not None and self.published.removed

    @property
    def open(self) -> bool:
        """Whether the join is neither rejected nor hidden."""
        return not self.is_hidden and self.verdict is not Verdict.REJECTED

    @property
    def is_listed(self) -> bool:
        """Whether people can decide about the join: not if a run withdrew it."""
        return self.open or self.verdict is Verdict.REJECTED

    @property
    def is_undecided(self) -> bool:
        """Whether a run suggests the join, and nobody has decided about it."""
        return self.verdict is None and not self.is_written

    @property
    def condition(self) -> str:
        """The join condition, written as in SQL: `orders.customer = customers.id`."""
        return " and ".join(f"{left} = {right}" for left, right in self.pairs)

    @property
    def arrows(self) -> str:
        """The join condition for people, with an arrow to each referenced column instead of `=`.

        >>> orders, customers = TableId("file", "orders"), TableId("file", "customers")
        >>> ends = {"left": ColumnId(orders, "customer"), "right": ColumnId(customers, "id")}
        >>> join = Join(**ends, joinability=0.9, evidence=None, referenced=ends["right"])
        >>> join.arrows, join.reversed.arrows
        ('orders.customer → customers.id', 'customers.id ← orders.customer')
        """
        arrow = "=" if self.referenced is None else "→" if self.referenced == self.right else "←"
        return visible(" and ".join(f"{left} {arrow} {right}" for left, right in self.pairs))

    @property
    def reversed(self) -> "Join":
        """The same join with left and right swapped."""
        return replace(
            self,
            left=self.right,
            right=self.left,
            evidence=self.evidence and self.evidence.reversed,
            further=tuple((right, left) for left, right in self.further),
            via=(self.via[1], self.via[0]) if self.via else None,
            stated=self.stated and self.stated.reversed,
        )

    def seen_from(self, table: TableId) -> "Join":
        """Return the join with the given table on the left."""
        return self if self.left.table == table else self.reversed

    def decided(self, verdict: Verdict | None) -> "Join":
        """Return the join as it is when people have decided so, and shown."""
        if verdict is self.verdict and not self.is_hidden:
            return self
        published = self.published and replace(self.published, removed=False)
        return replace(self, catalog=replace(self.catalog, verdict=verdict), published=published)


def band(joinability: float) -> str:
    """Return the confidence band of a joinability, such as `high`.

    >>> band(0.93), band(0.7), band(0.5)
    ('high', 'medium', 'low')
    """
    return next(name for name, lowest in BANDS.items() if joinability >= lowest)


def sort_joins(joins: Iterable[Join]) -> list[Join]:
    """Sort the joins of a run, the most useful first: the order of all lists, files and pages.

    Joins of a higher band of joinability come first. In each, references come before one-to-one
    joins, siblings and joins within a domain, whether they compare one pair of columns or several.
    Of one role, the more probable join comes first; of equally probable ones, names decide.
    """
    bands = [*BANDS]
    return sorted(
        joins,
        key=lambda join: (
            bands.index(band(join.joinability)),
            join.role.place,
            -join.joinability,
            join.pairs,
        ),
    )


def best_first(joins: Iterable[Join]) -> list[Join]:
    """Sort the joins of the catalog, the most useful first.

    Joins that people accepted, wrote or declared come first, and those that names alone suggest
    come last. Apart from that, the order is that of `sort_joins`.
    """
    return sorted(
        joins,
        key=lambda join: (
            not join.is_confirmed,
            not join.is_verified,
            join.role.place,
            -join.strength,
            -(join.score or 0.0),
            join.condition,
        ),
    )


def reference(join: Join) -> tuple[ColumnId, ColumnId] | None:
    """Return the referring and the referenced column of a join; None if neither is unique.

    If the role has no direction, the column whose values are unique is referenced; if both are
    unique, the one that contains more of the other's values.
    """
    left, right = join.left, join.right
    if join.referring and join.referenced:
        return join.referring, join.referenced
    match join.measured.cardinality:
        case Cardinality.ONE_MANY:
            return right, left
        case Cardinality.MANY_ONE:
            return left, right
        case Cardinality.ONE_ONE:
            within_right = join.measured.left_containment > join.measured.right_containment
            return (left, right) if within_right else (right, left)
        case Cardinality.MANY_MANY:
            return None
    assert_never(join.measured.cardinality)


FILE_DIALECT = "duckdb"
"""The SQL dialect of statements that read files on this machine."""


def rename_columns(join: Join, name: Callable[[ColumnId], ColumnId]) -> Join:
    """Return a copy of a join, with renamed columns."""
    return replace(
        join,
        left=name(join.left),
        right=name(join.right),
        referenced=name(join.referenced) if join.referenced else None,
        further=tuple((name(left), name(right)) for left, right in join.further),
        via=(name(join.via[0]), name(join.via[1])) if join.via else None,
    )


ROW_LIMIT = 100
"""Number of rows that the statement of a join returns at most, for people to look at."""

JoinedColumns = tuple[Pair, ...]
"""The columns of a join (`Join.pairs`), which identify its statement within a run."""


class RunSql(str, Enum):
    """The joins whose SQL is run to test it. The SQL of the other joins is written only."""

    SHOWN = "shown"
    """Joins of files on this machine and, where each statement is work for a server, joins that
    the output shows first."""

    ALL = "all"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The SQL statement of a join, or the reason why there is none."""

    sql: str = ""
    """The SQL text, with a row limit; empty if the join has no statement."""

    dialect: str = ""
    """The SQL dialect, as sqlglot names it: `duckdb`, `postgres`, `mysql`, `sqlite` or `spark`."""

    rows: int = 0
    """Number of rows that the statement returned without its limit; 0 if it was not run."""

    compared: str = ""
    """The form in which the statement compares values, in words; empty for a plain `=`."""

    reason: str = ""
    """Why the join has no statement; empty if it has one."""

    was_run: bool = True
    """Whether the statement was run, and returned the rows of the evidence. If not, it was written
    from the profiles of the columns."""

    untested: bool = False
    """Whether SQL could not be run to its end, so that an earlier statement may still be right."""
