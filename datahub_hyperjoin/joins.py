"""Value types for joins: evidence, decisions, suggestions and published joins.

Like the types of `tables`, these are immutable and depend on no engine.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from typing_extensions import assert_never

from datahub_hyperjoin.tables import ColumnId, Pair, pair_of


class Cardinality(str, Enum):
    """The cardinality of a join from left to right, such as one-to-many.

    The values are those of DataHub's `ERModelRelationshipCardinality`.
    """

    ONE_ONE = "ONE_ONE"
    ONE_MANY = "ONE_N"
    MANY_ONE = "N_ONE"
    MANY_MANY = "N_N"

    @property
    def reversed(self) -> "Cardinality":
        """The cardinality from right to left.

        >>> Cardinality.MANY_ONE.reversed.name
        'ONE_MANY'
        """
        left, right = self.value.split("_")
        return Cardinality(f"{right}_{left}")

    @property
    def words(self) -> str:
        """The cardinality in words.

        >>> Cardinality.MANY_ONE.words
        'many-to-one'
        """
        return "-to-".join("one" if side == "ONE" else "many" for side in self.value.split("_"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """How a join divides the rows of one of its tables."""

    total: int
    """Number of rows of the table. It is an estimate for a table that was read in part."""

    filled: int
    """Number of rows with a value in every column that the join compares."""

    matched: int | None
    """Number of rows with a partner, which are those that an inner join returns; None if the rows
    of both tables repeat, and nobody counted them."""

    @property
    def without_value(self) -> int:
        """Number of rows that have no partner because they have no value."""
        return self.total - self.filled

    @property
    def unmatched(self) -> int | None:
        """Number of rows with a value that have no partner; None if unknown."""
        return None if self.matched is None else self.filled - self.matched

    @property
    def matched_share(self) -> float | None:
        """Share of all rows that have a partner, in [0, 1]; None if unknown."""
        return None if self.matched is None or not self.total else self.matched / self.total

    @property
    def are_all_matched(self) -> bool:
        """Whether each row of the table has a partner."""
        return self.matched == self.total


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Facts about a pair of columns, measured on their values in normal form."""

    shared: int
    """Number of distinct values that are on both sides."""

    left_containment: float
    """Share of the left side's distinct values that the right side holds, in [0, 1]."""

    right_containment: float
    """Share of the right side's distinct values that the left side holds, in [0, 1]."""

    cardinality: Cardinality
    """Cardinality from left to right."""

    left_fan_out: float
    """Mean number of joined rows per row of the left side that has a value."""

    right_fan_out: float
    """Mean number of joined rows per row of the right side that has a value."""

    rows: int = 0
    """Number of rows of the join; 0 also if an earlier version stored the evidence without it."""

    compared_as: str = ""
    """Name of the form in which values were compared, such as `countries`; empty if values were not
    converted."""

    left_counts: RowCounts | None = None
    """The rows of the left table; None if unknown."""

    right_counts: RowCounts | None = None
    """The rows of the right table; None if unknown."""

    @property
    def containment(self) -> float:
        """The greater of `left_containment` and `right_containment`."""
        return max(self.left_containment, self.right_containment)

    @property
    def reversed(self) -> "Evidence":
        """The evidence with left and right swapped."""
        return replace(
            self,
            left_containment=self.right_containment,
            right_containment=self.left_containment,
            cardinality=self.cardinality.reversed,
            left_fan_out=self.right_fan_out,
            right_fan_out=self.left_fan_out,
            left_counts=self.right_counts,
            right_counts=self.left_counts,
        )


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


class Verdict(str, Enum):
    """A person's decision about a pair of columns."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEvidence:
    """The catalog's facts and people's decisions about a pair of columns."""

    declared: str = ""
    """Name of the foreign key that declares the join; empty if none does."""

    related: str = ""
    """URN of a relationship that people or other tools created; empty if there is none."""

    queries: int = 0
    """Number of SQL queries in the catalog that join the two columns."""

    verdict: Verdict | None = None
    """Decision of a user; None if no one decided."""

    by: str = ""
    """URN of the user who decided; empty if unknown."""

    @property
    def is_confirmed(self) -> bool:
        """Whether the catalog or a person confirms the join.

        A rejection overrides everything else.

        A foreign key or a relationship confirms a join; SQL queries alone do not.

        >>> CatalogEvidence(declared="fk_carrier").is_confirmed
        True
        >>> CatalogEvidence(declared="fk_carrier", verdict=Verdict.REJECTED).is_confirmed
        False
        """
        if self.verdict is Verdict.REJECTED:
            return False
        return bool(self.declared or self.related or self.verdict)

    @property
    def descriptions(self) -> tuple[str, ...]:
        """English phrases for the catalog's facts and people's decisions.

        >>> CatalogEvidence(queries=2, verdict=Verdict.ACCEPTED).descriptions
        ('joined in 2 SQL queries', 'accepted by people')
        """
        noun = "query" if self.queries == 1 else "queries"
        words = [
            *([f"declared as the foreign key {self.declared}"] if self.declared else []),
            *([f"stated by {self.related}"] if self.related else []),
            *([f"joined in {self.queries} SQL {noun}"] if self.queries else []),
            *([f"{self.verdict.value} by {self.by or 'people'}"] if self.verdict else []),
        ]
        return tuple(words)


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
class KnownNamesakes:
    """What is known of the columns that have the name of a referring column."""

    known: int
    """Number of namesakes whose key is known from the catalog or from a person."""

    agreeing: int
    """Number of the `known` columns that refer to the same key as the referring column."""

    def describe(self, column: ColumnId, key: ColumnId) -> str:
        """Describe the known references in words.

        Args:
            key: The key that it refers to.

        >>> from datahub_hyperjoin.tables import TableId
        >>> customer, key = (ColumnId(TableId("file", t), t[:1]) for t in ("orders", "customers"))
        >>> KnownNamesakes(known=3, agreeing=2).describe(customer, key)
        '2 of 3 columns named o with a known key refer to customers.c'
        >>> KnownNamesakes(known=1, agreeing=1).describe(customer, key)
        'the only column named o with a known key refers to customers.c'
        """
        end = f"named {column.path} with a known key"
        if self.known == 1:
            return f"the only column {end} refers to {key}"
        verb = "refers" if self.agreeing == 1 else "refer"
        return f"{self.agreeing} of {self.known} columns {end} {verb} to {key}"


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

    catalog: CatalogEvidence = CatalogEvidence()
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
