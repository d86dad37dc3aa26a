"""Describe the columns of a table, and choose which of them to read."""

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from datahub_hyperjoin.spark.errors import TableWithHeaderError
from datahub_hyperjoin.tables import DataType
from datahub_hyperjoin.wording import name_some


@dataclass(frozen=True, slots=True)
class Column:
    """A column in the schema of a file or of a database table."""

    path: str
    """Name of the column; for a member of a struct, the names that lead to it, joined by dots."""

    position: int
    """Position of the column in the table, from 0."""

    opaque: DataType | None = None
    """The type of a column whose values are not read: `NESTED` or `BINARY` if they cannot be
    compared. None if they are read."""

    is_binary: bool = False
    """Whether its values are bytes, which are read as hexadecimal digits."""

    is_withheld: bool = False
    """Whether its values are not read because the user may not select them."""


@dataclass(slots=True)
class RowEstimate:
    """The exact or estimated number of rows in a table."""

    rows: float = 0
    """Number of rows; 0 if unknown. A reader that can only estimate the number corrects it while it
    reads."""


@dataclass(frozen=True, slots=True)
class TableStream:
    """A table whose rows are read as a stream of batches."""

    columns: tuple[Column, ...]
    """The addressable columns, in the order of the table."""

    batches: Generator[pa.RecordBatch, None, None]
    """Batches of rows with a field for each comparable column, named by the column's path."""

    notes: list[str]
    """Notes for users; complete once all batches are read."""

    extent: RowEstimate = field(default_factory=RowEstimate)
    """The table's number of rows."""


def addressable_columns(columns: Sequence[Column], notes: list[str]) -> tuple[Column, ...]:
    """Return the columns whose names are neither blank nor repeated.

    Returns:
        The columns with a name that no other column has.

    Examples:
        >>> notes = []
        >>> names = ["id", "name", "name", ""]
        >>> kept = addressable_columns([Column(name, at) for at, name in enumerate(names)], notes)
        >>> [column.path for column in kept], notes[0]
        (['id'], "skipped columns with the same name: 'name'")
    """
    times = Counter([column.path for column in columns])
    # The usual case, checked first because tables may have thousands of columns.
    if len(times) == len(columns) and all(map(str.strip, times)):
        return tuple(columns)
    repeated = [path for path, count in times.items() if count > 1 and path.strip()]
    if repeated:
        listed = name_some([*map(repr, repeated)])
        notes.append(f"skipped columns with the same name: {listed}")
    blank = sum(not column.path.strip() for column in columns)
    if blank:
        notes.append(f"skipped columns without a name: {blank}")
    return tuple(column for column in columns if column.path.strip() and times[column.path] == 1)


def note_opaque(columns: Sequence[Column], notes: list[str]) -> None:
    """Add notes about columns whose values are not read, such as lists."""
    unread = [column for column in columns if column.opaque]
    for is_withheld, reason in (
        (False, "columns not compared, because they hold lists, maps or bytes"),
        (True, "columns not read, because the connection's user may not select them"),
    ):
        names = [repr(column.path) for column in unread if column.is_withheld is is_withheld]
        if names:
            notes.append(f"{reason}: {name_some(names)}")


def requested_columns(
    columns: Sequence[Column], paths: Collection[str] | None
) -> tuple[Column, ...]:
    """Return the requested columns, or all columns if `paths` is None."""
    return tuple(column for column in columns if paths is None or column.path in paths)


def choose_columns(
    columns: Sequence[Column], paths: Collection[str] | None
) -> tuple[tuple[Column, ...], list[str]]:
    """Return the columns to read, and notes that tell users which columns cannot be used.

    Returns:
        The requested columns that are addressable, in the order of the table, and notes about the
        others.
    """
    notes: list[str] = []
    chosen = requested_columns(addressable_columns(columns, notes), paths)
    note_opaque(chosen, notes)
    return chosen, notes


@contextmanager
def naming_columns(columns: Sequence[Column]) -> Iterator[None]:
    """Within a `with` block, add the columns of a table to an error about its rows."""
    try:
        yield
    except TableWithHeaderError as error:
        error.with_header(each.path for each in columns if each.is_withheld or not each.opaque)
        raise


def readable_paths(columns: Iterable[Column]) -> list[str]:
    """Return the paths of the columns whose values can be compared."""
    return [column.path for column in columns if not column.opaque]
