"""The value types everything here speaks: tables, columns, profiles, suggestions.

All of them are frozen and know no engine: they cross from Spark's workers to the driver, from
the driver to the model, and from the model to DataHub.
"""

from dataclasses import dataclass, replace
from enum import Enum

from datahub_hyperjoin.locations import TableLocation


class DataType(str, Enum):
    """What a column's values are, as far as joining is concerned."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    BINARY = "binary"
    NESTED = "nested"


class Cardinality(str, Enum):
    """How many rows of the right side a row of the left side meets, and the other way round.

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
        'many to one'
        """
        return " to ".join("one" if side == "ONE" else "many" for side in self.value.split("_"))


@dataclass(frozen=True, slots=True, order=True)
class TableId:
    """A table's place in the catalog; it carries just what a DataHub dataset urn does."""

    platform: str
    """Where the table lives, for example `postgres` or `file`."""

    name: str
    """The table's full name on its platform, platform instance included."""

    env: str = "PROD"
    """DataHub's environment."""

    @property
    def home(self) -> str:
        """The folder or the schema that the table stands in.

        Returns:
            What stands before the last slash of the name, or without a slash before its last dot.

        >>> TableId("postgres", "shop.public.orders").home
        'shop.public'
        >>> TableId("file", "nycflights13/flights.parquet").home
        'nycflights13'
        """
        separator = "/" if "/" in self.name else "."
        return self.name.rpartition(separator)[0]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, order=True)
class ColumnId:
    """A column: its table and its path inside it."""

    table: TableId
    """The table the column stands in."""

    path: str
    """The column's name; the members of a struct are joined by dots, as in `address.city`."""

    def __str__(self) -> str:
        return f"{self.table.name}.{self.path}"


Pair = tuple[ColumnId, ColumnId]
"""Two columns in no direction, the smaller identifier first."""


def pair_of(one: ColumnId, other: ColumnId) -> Pair:
    """Two columns as a pair.

    >>> code, iata = ColumnId(TableId("file", "b"), "code"), ColumnId(TableId("file", "a"), "iata")
    >>> pair_of(code, iata) == pair_of(iata, code) == (iata, code)
    True
    """
    return (one, other) if one <= other else (other, one)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table the catalog knows, and where its rows can be read."""

    id: TableId
    """Which table."""

    title: str
    """The name a person would use, for example `flights` for `nycflights13/flights.csv`."""

    location: TableLocation
    """Where its rows can be read."""

    size: int
    """Bytes on disk, as far as they are known."""

    instance: str = ""
    """DataHub's platform instance, which its full name begins with; empty if it has none."""

    state: str = ""
    """Another one whenever its rows may be others; empty if nothing tells."""

    chosen_by: str = "catalog.tables"
    """The recipe's key that can leave it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How long a column's values are, in characters."""

    shortest: int
    """Length of the shortest value."""

    mean: float
    """Mean length over distinct values."""

    longest: int
    """Length of the longest value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A shape that values share: letters as `A`, digits as `9`, runs of them marked with `+`."""

    shape: str
    """For example `A9999` or `A+ A+`."""

    share: float
    """The share of the sampled values that have it, in [0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """What one pass over a table says of one column."""

    id: ColumnId
    """Which column."""

    position: int
    """Its place in the table, from 0."""

    type: DataType
    """What its values are."""

    rows: int
    """Rows read."""

    nulls: int
    """Rows without a value; empty strings count as such."""

    distinct: int
    """Different normalised values: exact up to the sketch's size, beyond it an estimate."""

    sketch: bytes
    """The k smallest 64-bit hashes of normalised values, ascending, as little-endian uint64."""

    sample: tuple[str, ...]
    """Some distinct values as written: those of smallest hashes, the same ones in every column."""

    counts: tuple[int, ...]
    """How many rows hold each value of the sample."""

    lengths: Lengths
    """How long values are."""

    patterns: tuple[Pattern, ...]
    """The most frequent shapes, most frequent first."""

    @property
    def completeness(self) -> float:
        """Share of rows with a value, in [0, 1].

        Returns:
            0 for a column without rows.
        """
        return 1 - self.nulls / self.rows if self.rows else 0.0

    @property
    def uniqueness(self) -> float:
        """Distinct values per row with a value, in [0, 1].

        Returns:
            0 for a column without values.
        """
        filled = self.rows - self.nulls
        return min(self.distinct / filled, 1.0) if filled else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProfile:
    """What one pass over a table says of it."""

    table: Table
    """Which table."""

    columns: tuple[ColumnProfile, ...] = ()
    """Its columns in the order of the file; empty when `fault` is set."""

    rows: int = 0
    """Rows read."""

    notes: tuple[str, ...] = ()
    """What a person should know of the reading: another encoding, rows or columns left out."""

    fault: str = ""
    """Why the table cannot be used; empty when it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the data says of a pair of columns, left and right, compared as normalised values."""

    shared: int
    """Distinct values found on both sides."""

    left_containment: float
    """Share of the left side's distinct values that the right side holds, in [0, 1]."""

    right_containment: float
    """Share of the right side's distinct values that the left side holds, in [0, 1]."""

    cardinality: Cardinality
    """Read from left to right."""

    left_fan_out: float
    """Mean rows of the join for each row of the left side that has a value."""

    right_fan_out: float
    """Mean rows of the join for each row of the right side that has a value."""

    compared_as: str = ""
    """What values of different writing were taken for, as in `countries`; empty if as written."""

    @property
    def containment(self) -> float:
        """The better of both directions."""
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
    """What a person decided about a pair of columns."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEvidence:
    """What the catalog and its people say of a pair of columns."""

    declared: str = ""
    """The foreign key that declares it; empty when none does."""

    related: str = ""
    """The urn of a relationship that someone else wrote; empty when there is none."""

    queries: int = 0
    """How many SQL queries of the catalog join the two columns."""

    verdict: Verdict | None = None
    """What people decided."""

    by: str = ""
    """The urn of who decided; empty when the catalog does not say."""

    @property
    def connects(self) -> bool:
        """Whether the catalog states that the columns join, and no one denies it.

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
        """The same in words, one for each thing that is said.

        >>> CatalogEvidence(queries=2, verdict=Verdict.ACCEPTED).descriptions
        ('joined in 2 SQL queries', 'accepted by people')
        """
        times = "query" if self.queries == 1 else "queries"
        words = [
            *([f"declared as the foreign key {self.declared}"] if self.declared else []),
            *([f"stated by {self.related}"] if self.related else []),
            *([f"joined in {self.queries} SQL {times}"] if self.queries else []),
            *([f"{self.verdict.value} by {self.by or 'people'}"] if self.verdict else []),
        ]
        return tuple(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A candidate that the ranking kept for a key column."""

    query: ColumnId
    """The key column asked about."""

    candidate: ColumnId
    """The column that may join with it."""

    rank: int
    """Position among the query's suggestions, from 1."""

    joinability: float
    """Score in [0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Two columns that join, in no direction: what is written into the catalog.

    The endpoints are sorted, so that a pair has one name whichever side found it.
    """

    left: ColumnId
    """The smaller identifier."""

    right: ColumnId
    """The greater identifier."""

    joinability: float
    """The higher score of the two directions, in [0, 1]."""

    evidence: Evidence
    """What the data says."""

    catalog: CatalogEvidence = CatalogEvidence()
    """What the catalog and its people say."""
