"""What is known about a pair of columns: measures of the data, the catalog's facts, decisions."""

import re
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cache

from datahub_hyperjoin.tables import ColumnId
from datahub_hyperjoin.wording import day_of, number_of


class Cardinality(str, Enum):
    """The cardinality of a join from left to right, by DataHub's names."""

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
    of both tables repeat, and the profiles do not hold all their values."""

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
    """Facts about a pair of columns, measured on their values in normal form.

    The fields of the two sides have the same names after `left_` and `right_`. `Evidence.reversed`
    and the forms in which DataHub stores evidence rely on these names.
    """

    shared: int
    """Number of distinct values on both sides; -1 if the catalog does not tell it."""

    left_containment: float
    """Share of the left side's distinct values that the right side holds, in [0, 1]."""

    right_containment: float
    """Share of the right side's distinct values that the left side holds, in [0, 1]."""

    cardinality: Cardinality

    left_fan_out: float
    """Mean number of joined rows per row of the left side that has a value."""

    right_fan_out: float
    """Mean number of joined rows per row of the right side that has a value."""

    rows: int = 0
    """Number of rows of the join; 0 also if unknown."""

    compared_as: str = ""
    """Name of the form in which values were compared, such as `countries`; empty if values were not
    converted."""

    rows_as_written: int = 0
    """Number of rows that a join of the values as written has, if they were converted."""

    placeholders: str = ""
    """The values that are not compared, since they stand for a missing key, such as `-1`. One that
    is no usual word for that may be secret, and is not named."""

    left_counts: RowCounts | None = None
    right_counts: RowCounts | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """The `placeholders`, one by one."""
        return tuple(filter(None, self.placeholders.split(", ")))

    @property
    def containment(self) -> float:
        """The greater of `left_containment` and `right_containment`."""
        return max(self.left_containment, self.right_containment)

    @property
    def reversed(self) -> "Evidence":
        """The evidence with left and right swapped."""
        names = _opposites(type(self))  # type: ignore[arg-type] # a class has a hash
        swapped = {own: getattr(self, other) for own, other in names.items()}
        return replace(self, cardinality=self.cardinality.reversed, **swapped)


@cache
def _opposites(kind: type[Evidence]) -> dict[str, str]:
    """Map the names of the fields of one side to those of the other."""
    sides = {"left": "right", "right": "left"}
    parts = (each.name.partition("_") for each in fields(kind))
    return {f"{side}_{rest}": f"{sides[side]}_{rest}" for side, _, rest in parts if side in sides}


SCORE_DIGITS = 4
"""Number of decimals with which joinabilities and measures are written."""


def rounded_share(share: float) -> float:
    """Round a share for a file or the catalog; it is then 1 only if it is everything.

    >>> rounded_share(0.99999), rounded_share(1.0), rounded_share(0.33333)
    (0.9999, 1.0, 0.3333)
    """
    return 1.0 if share == 1.0 else min(round(share, SCORE_DIGITS), 1 - 10**-SCORE_DIGITS)


THROUGH = "values through "
"""The start of `Evidence.compared_as` of a join in two steps; the crosswalk follows."""


def is_in_two_steps(evidence: Evidence) -> bool:
    """Return whether evidence was measured through a crosswalk."""
    return evidence.compared_as.startswith(THROUGH)


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

    stated: bool = False
    """Whether the catalog declares the join without telling by what, as the tags of a join do."""

    queries: int = 0
    """Number of SQL queries in the catalog that join the two columns."""

    verdict: Verdict | None = None

    by: str = ""
    """URN of the user who decided; empty if unknown."""

    when: int = 0
    """When the decision was made, in milliseconds since 1970; 0 if unknown."""

    why: str = ""
    """Reason for the decision; empty if nobody gave one."""

    told: tuple[int, int] = (0, 0)
    """Numbers of accepted and of rejected joins whose relative this one is, as they changed its
    score."""

    @property
    def is_declared(self) -> bool:
        """Whether a foreign key, or a relationship that someone else wrote, declares the join."""
        return bool(self.declared or self.related or self.stated)

    @property
    def is_confirmed(self) -> bool:
        """Whether the catalog or a person confirms the join.

        A rejection overrides everything else. SQL queries alone do not confirm a join.

        >>> CatalogEvidence(declared="fk_carrier").is_confirmed
        True
        >>> CatalogEvidence(declared="fk_carrier", verdict=Verdict.REJECTED).is_confirmed
        False
        """
        if self.verdict is Verdict.REJECTED:
            return False
        return self.is_declared or self.verdict is Verdict.ACCEPTED

    @property
    def descriptions(self) -> tuple[str, ...]:
        """English phrases for the catalog's facts and people's decisions.

        >>> CatalogEvidence(told=(2, 1)).descriptions
        ('people accepted 2 joins and rejected 1 join of such columns',)
        >>> CatalogEvidence(queries=2, verdict=Verdict.ACCEPTED).descriptions
        ('joined in 2 SQL queries', 'accepted by people')
        >>> CatalogEvidence(verdict=Verdict.REJECTED, by="Ann", when=1, why="ages").descriptions
        ('rejected by Ann on 1970-01-01: ages',)
        """
        noun = "query" if self.queries == 1 else "queries"
        words = [
            *([f"declared as the foreign key {self.declared}"] if self.declared else []),
            *([f"stated by {self.related}"] if self.related else []),
            *(["declared in the catalog"] if self.stated else []),
            *([f"joined in {self.queries} SQL {noun}"] if self.queries else []),
            *self._decision_in_words,
            *([f"people {self._told_in_words}"] if any(self.told) else []),
        ]
        return tuple(words)

    @property
    def _decision_in_words(self) -> tuple[str, ...]:
        if self.verdict is None:
            return ()
        day = day_of(self.when)
        since, why = f" on {day}" * bool(day), f": {self.why}" * bool(self.why)
        return (f"{self.verdict.value} by {self.by or 'people'}{since}{why}",)

    @property
    def _told_in_words(self) -> str:
        counts = zip(("accepted", "rejected"), self.told, strict=True)
        parts = (f"{verb} {number_of(number, 'join')}" for verb, number in counts if number)
        return f"{' and '.join(parts)} of such columns"


_TOLD = re.compile(
    r"people (?:accepted ([\d,]+) joins?)?(?: and )?(?:rejected ([\d,]+) joins?)? of such columns"
)


def read_told(text: str) -> tuple[int, int]:
    """Read `CatalogEvidence.told` from a text that may have its phrase.

    >>> read_told(f"on the data; {CatalogEvidence(told=(1200, 1)).descriptions[0]}; more")
    (1200, 1)
    >>> read_told(CatalogEvidence(told=(0, 2)).descriptions[0]), read_told("on the data")
    ((0, 2), (0, 0))
    """
    found = _TOLD.search(text)
    accepted, rejected = found.groups(default="0") if found else ("0", "0")
    return int(accepted.replace(",", "")), int(rejected.replace(",", ""))


_KNOWN_KEY = "with a known key"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNamesakes:
    """What is known of the columns that have the name of a referring column."""

    known: int
    """Number of namesakes whose key is known from the catalog or from a person."""

    agreeing: int
    """Number of the `known` columns that refer to the same key as the referring column."""

    @staticmethod
    def are_in(text: str) -> bool:
        """Return whether a text describes known references."""
        return _KNOWN_KEY in text

    def describe(self, column: ColumnId, key: ColumnId) -> str:
        """Describe the known references of columns with the name of `column`, in words.

        >>> from datahub_hyperjoin.tables import TableId
        >>> customer, key = (ColumnId(TableId("file", t), t[:1]) for t in ("orders", "customers"))
        >>> KnownNamesakes(known=3, agreeing=2).describe(customer, key)
        '2 of 3 columns named o with a known key refer to customers.c'
        >>> KnownNamesakes(known=1, agreeing=1).describe(customer, key)
        'the only column named o with a known key refers to customers.c'
        """
        end = f"named {column.path} {_KNOWN_KEY}"
        if self.known == 1:
            return f"the only column {end} refers to {key}"
        verb = "refers" if self.agreeing == 1 else "refer"
        return f"{self.agreeing} of {self.known} columns {end} {verb} to {key}"
