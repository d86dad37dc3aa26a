"""Value types of joins: evidence, decisions, suggestions and published joins.

Like tables, they are immutable and depend on no engine.
"""

from dataclasses import dataclass, replace
from enum import Enum

from datahub_hyperjoin.tables import ColumnId


class Cardinality(str, Enum):
    """Cardinality of a join, read from left to right: one-to-one, one-to-many and so on.

    The values are those of DataHub's `ERModelRelationshipCardinality`.
    """

    ONE_ONE = "ONE_ONE"
    ONE_MANY = "ONE_N"
    MANY_ONE = "N_ONE"
    MANY_MANY = "N_N"

    @property
    def reversed(self) -> "Cardinality":
        """The same cardinality read from right to left.

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
class Evidence:
    """Measures of the join of a left and a right column, compared in normal form."""

    shared: int
    """Number of distinct values that are on both sides."""

    left_containment: float
    """Share of the left side's distinct values that the right side holds, in [0, 1]."""

    right_containment: float
    """Share of the right side's distinct values that the left side holds, in [0, 1]."""

    cardinality: Cardinality
    """Cardinality from left to right."""

    left_fan_out: float
    """Mean rows of the join for each row of the left side that has a value."""

    right_fan_out: float
    """Mean rows of the join for each row of the right side that has a value."""

    compared_as: str = ""
    """The entity kind as which values were compared, as in `countries`; empty for values as
    written."""

    @property
    def containment(self) -> float:
        """The greater of the left and the right containment."""
        return max(self.left_containment, self.right_containment)

    @property
    def reversed(self) -> "Evidence":
        """The same evidence with the right column on the left."""
        return replace(
            self,
            left_containment=self.right_containment,
            right_containment=self.left_containment,
            cardinality=self.cardinality.reversed,
            left_fan_out=self.right_fan_out,
            right_fan_out=self.left_fan_out,
        )


class Verdict(str, Enum):
    """The decision of a person about a pair of columns."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEvidence:
    """Statements of the catalog and its users about a pair of columns."""

    declared: str = ""
    """Name of the foreign key that declares the join; empty if none does."""

    related: str = ""
    """URN of a relationship that someone else wrote; empty if there is none."""

    queries: int = 0
    """Number of SQL queries in the catalog that join the two columns."""

    verdict: Verdict | None = None
    """Decision of a user; None if no one decided."""

    by: str = ""
    """URN of the user who decided; empty if unknown."""

    @property
    def connects(self) -> bool:
        """Whether the catalog states that the columns join, and no user rejected the join.

        >>> CatalogEvidence(declared="fk_carrier").connects
        True
        >>> CatalogEvidence(declared="fk_carrier", verdict=Verdict.REJECTED).connects
        False
        """
        if self.verdict is Verdict.REJECTED:
            return False
        return bool(self.declared or self.related or self.verdict)

    @property
    def descriptions(self) -> tuple[str, ...]:
        """The statements as phrases, one per statement.

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
    """A candidate that the ranking suggests for a query column."""

    query: ColumnId
    """The column that the ranking is for."""

    candidate: ColumnId
    """The column that probably joins with it."""

    rank: int
    """Rank among the suggestions for the query column, from 1."""

    joinability: float
    """Score shown to users, in [0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A verified pair of columns, which is written to the catalog.

    The columns are sorted, so that a pair has one name whichever column it was suggested for.
    """

    left: ColumnId
    """The smaller identifier."""

    right: ColumnId
    """The greater identifier."""

    joinability: float
    """The higher score of both directions, in [0, 1]."""

    evidence: Evidence
    """Measures of the data."""

    catalog: CatalogEvidence = CatalogEvidence()
    """Statements of the catalog and its users."""
