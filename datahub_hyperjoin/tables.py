"""Value types for tables and columns, such as identifiers and profiles.

These types are immutable and depend on no engine, because they pass from Spark's workers to the
driver, from the driver to the model, and from the model to DataHub.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from datahub_hyperjoin.locations import TableLocation
from datahub_hyperjoin.value_forms import Notation

_HASH_BYTES = 8
"""Size of a value's hash in a sketch."""


class DataType(str, Enum):
    """The data type of a column, in as much detail as joins need."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    BINARY = "binary"
    NESTED = "nested"


NUMBERS = frozenset({DataType.INTEGER, DataType.DECIMAL})
"""The types of numbers."""


class ValueHash(Enum):
    """The hash function by which the sketches of a run distinguish values."""

    SIPHASH = "siphash"
    """64-bit SipHash with a fixed key, as in pandas: the fastest here."""

    MD5 = "md5"
    """The first eight bytes of MD5, big-endian, which databases compute, too. In this package, MD5
    takes several times as long as SipHash."""


@dataclass(frozen=True, slots=True, order=True)
class TableId:
    """The identifier of a table.

    It has the same parts as the URN of a DataHub dataset.
    """

    platform: str
    """DataHub's platform, for example `postgres` or `file`."""
    name: str
    """The table's full name on its platform, including the platform instance."""
    env: str = "PROD"

    @property
    def parent(self) -> str:
        """The folder or schema that contains the table.

        >>> TableId("postgres", "shop.public.orders").parent
        'shop.public'
        >>> TableId("file", "nycflights13/flights.parquet").parent
        'nycflights13'
        >>> TableId("file", "flights.parquet").parent
        ''
        """
        # The dot in the name of a file precedes its format.
        separator = "/" if self.platform == "file" or "/" in self.name else "."
        return self.name.rpartition(separator)[0]

    @property
    def place(self) -> str:
        """The `parent`, told apart from those of the same name in other platforms or environments.

        >>> TableId("postgres", "shop.public.orders", "DEV").place
        'postgres DEV shop.public'
        """
        return f"{self.platform} {self.env} {self.parent}"

    def __str__(self) -> str:
        return self.name


def short_names(tables: Iterable[TableId]) -> dict[TableId, str]:
    """Return the shortest ending of each table's name that tells it from the other tables.

    >>> names = ["lake/a/days.csv", "lake/b/days.csv", "lake/a/sums.csv"]
    >>> [*short_names([TableId("file", name) for name in names]).values()]
    ['a/days.csv', 'b/days.csv', 'sums.csv']
    """
    endings = {table: [*_endings(table)] for table in tables}
    counts = Counter(ending for own in endings.values() for ending in own)
    return {
        table: next((ending for ending in own if counts[ending] == 1), table.name)
        for table, own in endings.items()
    }


def _endings(table: TableId) -> Iterator[str]:
    """Yield the name of a table after each of its folders or schemas, the shortest first."""
    at = len(table.name)
    while at > 0:
        at = len(replace(table, name=table.name[:at]).parent)
        yield table.name[at + 1 :] if at else table.name


def labels(titles: Mapping[TableId, str]) -> dict[TableId, str]:
    """Label each table with its title, plus its folder or schema if the title is not unique."""
    shared = {title for title, count in Counter(titles.values()).items() if count > 1}
    longer = {
        table: f"{title} in {table.parent}" if title in shared and table.parent else title
        for table, title in titles.items()
    }
    repeated = Counter(longer.values())
    return {table: name if repeated[name] == 1 else table.name for table, name in longer.items()}


_WORKBOOK = re.compile(r"[^/]+\.(xls[xmb]?|ods)", re.IGNORECASE)


def places_of(tables: Iterable[TableId]) -> dict[TableId, str]:
    """Return the place of each table; a workbook is no place of its own beside other files.

    It is one only if the workbook has several sheets, of which another such workbook of the folder
    has one, too: they are versions of each other.

    >>> names = ["days.csv", "a.xlsx/Sheet1", "b.xlsx/2024", "b.xlsx/2025"]
    >>> {*places_of([TableId("file", name) for name in names]).values()}
    {'file PROD '}
    """
    own = {table: table.place for table in tables}
    books = {
        table: replace(table, name=table.parent)
        for table in own
        if _WORKBOOK.fullmatch(table.parent.rpartition("/")[2])
    }
    if not books:
        return own
    sheets = Counter(books.values())
    named = Counter(
        (book.place, table.name.rpartition("/")[2])
        for table, book in books.items()
        if sheets[book] > 1
    )
    versions = {
        book
        for table, book in books.items()
        if sheets[book] > 1 and named[book.place, table.name.rpartition("/")[2]] > 1
    }
    return own | {table: book.place for table, book in books.items() if book not in versions}


@dataclass(frozen=True, slots=True, order=True)
class ColumnId:
    """The identifier of a column: its table and its path."""

    table: TableId
    path: str
    """The column's name. Members of a struct are joined by dots, as in `address.city`."""

    def __hash__(self) -> int:
        # A run hashes columns millions of times. This takes half the time of the generated method,
        # which calls that of the table; names tell nearly all tables apart.
        return hash((self.table.name, self.path))

    def __str__(self) -> str:
        return f"{self.table.name}.{self.path}"


Pair = tuple[ColumnId, ColumnId]
"""Two columns without a direction, the smaller identifier first."""


def pair_of(left: ColumnId, right: ColumnId) -> Pair:
    """Return two columns as a pair, with the smaller identifier first.

    >>> code, iata = ColumnId(TableId("file", "b"), "code"), ColumnId(TableId("file", "a"), "iata")
    >>> pair_of(code, iata) == pair_of(iata, code) == (iata, code)
    True
    """
    return (left, right) if left <= right else (right, left)


def in_order(columns: Iterable[Pair]) -> tuple[Pair, ...]:
    """Sort the pairs of columns of a join, and choose which side of the join comes first.

    The result is the same if the sides of all pairs are swapped.

    >>> a, b = (TableId("file", name) for name in "ab")
    >>> pairs = [(ColumnId(b, path), ColumnId(a, path)) for path in ("year", "org")]
    >>> [tuple(map(str, pair)) for pair in in_order(pairs)]
    [('a.org', 'b.org'), ('a.year', 'b.year')]
    """
    forward = sorted({*columns})
    return tuple(min(forward, sorted((right, left) for left, right in forward)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table to profile, with its identifier and location."""

    id: TableId
    title: str
    """A short name for people, for example `flights` for `nycflights13/flights.csv`."""
    location: TableLocation
    size: int
    """Bytes on disk; 0 if unknown."""
    instance: str = ""
    """DataHub's platform instance, which is a prefix of the table's full name; empty if there is
    none."""
    state: str = ""
    """A value that differs whenever the rows may have changed; empty if unknown."""
    chosen_by: str = "catalog.tables"
    """The recipe key that selects the table and can exclude it; empty without a recipe."""
    personal: frozenset[str] = frozenset()
    """Paths of the columns that the catalog marks as personal."""
    members: tuple[TableId, ...] = ()
    """The older files of a table of several files, which people may have called by their names."""


def tables_of_members(tables: Iterable[Table]) -> dict[TableId, TableId]:
    """Return the table to which each older file belongs."""
    return {member: table.id for table in tables for member in table.members}


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of a column's values, in characters."""

    shortest: int
    mean: float
    """Mean length of the distinct values."""
    longest: int


_NO_LENGTHS = Lengths(shortest=0, mean=0.0, longest=0)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern of letters and digits that values follow.

    `A` stands for a letter, `9` for a digit and `+` for repetition.
    """

    shape: str
    """The pattern itself, for example `A9999` or `A+ A+`."""
    share: float
    """Share of the sampled values that have this shape, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A summary of a column, computed in one pass over its table."""

    id: ColumnId
    position: int
    """Position of the column in the table, from 0."""
    type: DataType
    rows: int = 0
    nulls: int = 0
    """Number of rows without a value; empty strings are nulls."""
    distinct: int = 0
    """Number of distinct values in normal form: exact up to the sketch's size, then an estimate, or
    all if no value of the sample repeats."""
    sketch: bytes = b""
    """The k smallest 64-bit hashes of the normal forms, ascending, as little-endian uint64."""
    sample: Sequence[str] = ()
    """The distinct values with the smallest hashes, as written. The samples of columns that share
    values therefore tend to overlap. Stored and transferred profiles hold `PackedTexts`."""
    counts: tuple[int, ...] = ()
    """Number of rows that hold each value of the sample."""
    lengths: Lengths = _NO_LENGTHS
    patterns: tuple[Pattern, ...] = ()
    """The most frequent patterns, the most frequent first."""
    personal: str = ""
    """Why the column's values count as personal; empty if they do not. If they do, the sample holds
    hashes."""
    notation: Notation | None = None
    """The notation of the column's values, such as leading zeros (`000123`) or day first
    (`31.01.2024`); None if the values need no conversion before they are compared."""
    form_sketch: bytes = b""
    """A sketch of the values after conversion from their notation; empty if the column has no
    notation, or if conversion would change hardly any value."""

    placeholders: tuple[str, ...] = ()
    """Values, as written, that stand for a missing key, such as -1. They count as nulls. One of a
    personal column that is no usual word for that is a hash."""

    markers: tuple[str, ...] = ()
    """Values of the sample that often stand for a missing one, in several rows each. They count as
    values."""
    marker_counts: tuple[int, ...] = ()
    """Number of rows that hold each of `markers`."""

    @property
    def completeness(self) -> float:
        """Share of rows that have a value, in [0, 1]."""
        return 1 - self.nulls / self.rows if self.rows else 0.0

    @property
    def uniqueness(self) -> float:
        """Share of values that are distinct, in [0, 1]."""
        filled = self.rows - self.nulls
        return min(self.distinct / filled, 1.0) if filled else 0.0

    @property
    def distinct_is_estimated(self) -> bool:
        """Whether `distinct` is an estimate, because the sketch does not hold all values."""
        return _HASH_BYTES * self.distinct > len(self.sketch)

    @property
    def type_in_words(self) -> str:
        """The type as people see it; a text column that holds numbers is called a number.

        The type itself stays, because values are compared as they are written, too.
        """
        if self.type is DataType.TEXT:
            if self.notation is Notation.COMMA:
                return f"number with {self.notation.value}"
            if self.notation is Notation.POINT:
                return "number"
        return self.type.value


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProfile:
    """The profiles of a table's columns, or the reason why the table is unusable."""

    table: Table
    columns: tuple[ColumnProfile, ...] = ()
    """Profiles of the columns, in the order of the table. If `fault` is set, the profiles count no
    rows, and a table without a header has no profiles."""
    rows: int = 0
    notes: tuple[str, ...] = ()
    """Notes for users: another encoding, or rows and columns that were left out."""
    fault: str = ""
    """Why the table cannot be used; empty if it can."""
    value_hash: ValueHash = ValueHash.SIPHASH
    """The hash function of the sketches. All tables of a run use the same one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTable:
    """A table whose columns are known but whose rows were not read."""

    id: TableId
    title: str
    """A short name of the table, shown to people."""
    columns: tuple[ColumnProfile, ...]
    """The table's columns, as profiles without rows."""


def describe_columns(
    table: TableId, columns: Iterable[tuple[str, DataType]]
) -> tuple[ColumnProfile, ...]:
    """Build column profiles for a table whose rows were not read.

    >>> [column] = describe_columns(TableId("file", "planes.csv"), [("tailnum", DataType.TEXT)])
    >>> column.id.path, column.rows, column.distinct
    ('tailnum', 0, 0)
    """
    return tuple(
        ColumnProfile(ColumnId(table, path), position, declared)
        for position, (path, declared) in enumerate(columns)
    )
