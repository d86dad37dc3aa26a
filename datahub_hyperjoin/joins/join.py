"""Joins, joins through crosswalks, suggestions, and the SQL of joins."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from typing_extensions import assert_never

from datahub_hyperjoin.joins.evidence import Cardinality, CatalogEvidence, Evidence, KnownNamesakes
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, pair_of

_NOTHING_KNOWN = CatalogEvidence()


class Role(str, Enum):
    """The role of a join: how its two columns are related, for example as a reference."""

    REFERENCE = "reference"
    """Many to one: the rows of one column refer to the unique values of the other."""

    ONE_TO_ONE = "one-to-one"
    """Both columns are unique, and one table extends the other."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A ranked candidate for a query column, with its joinability."""

    query: ColumnId
    """The column that the ranking is for."""

    candidate: ColumnId
    """The column that probably joins with the query column."""

    rank: int
    """Rank among the suggestions for the query column, from 1."""

    joinability: float
    """Score shown to users, in [0, 1]."""


def best_scores(suggestions: Iterable[Suggestion]) -> dict[Pair, float]:
    """Map each suggested pair to its joinability.

    A pair may be suggested in both directions; the greater joinability counts.
    """
    scores: dict[Pair, float] = {}
    for suggestion in suggestions:
        pair = pair_of(suggestion.query, suggestion.candidate)
        scores[pair] = max(scores.get(pair, 0.0), suggestion.joinability)
    return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A join of two columns, ready to be written to the catalog.

    It was verified on the data, unless no row of one of the tables was read, or one of the columns
    has no values.

    The columns are sorted, so that a pair has one name whichever column it was suggested for.
    """

    left: ColumnId
    """The column whose identifier sorts first."""

    right: ColumnId
    """The other column, whose identifier sorts second."""

    joinability: float
    """The higher of the scores of the two directions, in [0, 1]."""

    evidence: Evidence | None
    """Measures of the data; None if the rows of at least one table were not read."""

    catalog: CatalogEvidence = _NOTHING_KNOWN
    """The catalog's facts and people's decisions."""

    role: Role = Role.SAME_DOMAIN
    """The relation of the columns. The joinability is the probability of a join in this role."""

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

    @property
    def measured(self) -> Evidence:
        """The join's evidence, as measured on the data."""
        if self.evidence is None:
            message = f"{self.left} = {self.right} was not verified on data"
            raise TypeError(message)
        return self.evidence

    @property
    def pairs(self) -> tuple[tuple[ColumnId, ColumnId], ...]:
        """All pairs of columns that the join compares.

        The left table's column comes first in each pair.
        """
        return ((self.left, self.right), *self.further)

    @property
    def directed_pairs(self) -> tuple[tuple[ColumnId, ColumnId], ...]:
        """All pairs of columns, with the referring table's column first if there is one."""
        if self.referenced != self.left:
            return self.pairs
        return tuple((right, left) for left, right in self.pairs)

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


def sort_joins(joins: Iterable[Join]) -> list[Join]:
    """Sort joins, the most useful first.

    Lists, tables, files and pages show the joins of a run in this order. References come first,
    then one-to-one joins, siblings and joins within a domain, whether they compare one pair of
    columns or several. Of one role, the more probable join comes first; of equally probable ones,
    names decide.
    """
    return sorted(joins, key=lambda join: (join.role.place, -join.joinability, join.pairs))


def reference(join: Join) -> tuple[ColumnId, ColumnId] | None:
    """Return the referring and the referenced column of a join.

    Returns:
        The columns in the direction of the join's role. If the role has none, the column whose
        values are unique is referenced; if both are unique, the one that contains more of the
        other's values. None if neither is unique.
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


FILE_DIALECT = "duckdb"
"""The SQL dialect of statements that read files on this machine."""

JoinedColumns = tuple[Pair, ...]
"""The columns of a join (`Join.pairs`), which identify its statement within a run."""


class RunSql(str, Enum):
    """The joins whose SQL is run to test it. The SQL of the other joins is written only."""

    SHOWN = "shown"
    """Joins of files on this machine and, where each statement is work for a server, joins that
    the output shows first."""

    ALL = "all"
    """All joins."""

    NONE = "none"
    """No join."""


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
