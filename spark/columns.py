"""Which columns of a table can be spoken of, and the stream in which they are read."""

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from datahub_hyperjoin.tables import DataType


@dataclass(frozen=True, slots=True)
class Column:
    """A column as its file has it."""

    path: str
    """Its name; the members of a struct are joined by dots."""

    position: int
    """Its place in the file, from 0."""

    opaque: DataType | None = None
    """Set when its values cannot be compared and are not read: `NESTED` or `BINARY`."""


@dataclass(slots=True)
class RowEstimate:
    """How long a table is, as far as its reader can tell."""

    rows: float = 0
    """Its rows; a reader that estimates them tells better as it reads on, and 0 is not to tell."""


@dataclass(frozen=True, slots=True)
class TableStream:
    """A table being read."""

    columns: tuple[Column, ...]
    """The columns that can be spoken of, in the order of the file."""

    batches: Generator[pa.RecordBatch, None, None]
    """The rows; a batch's columns are those not opaque, under their paths."""

    notes: list[str]
    """What a person should know; complete once the batches are."""

    extent: RowEstimate = field(default_factory=RowEstimate)
    """How many rows there are."""


def addressable(columns: Sequence[Column], notes: list[str]) -> tuple[Column, ...]:
    """Leaves out the columns that a name does not single out.

    Args:
        columns: All columns of a table.
        notes: Where to say which are left out.

    Returns:
        The columns with a name of their own.

    Examples:
        >>> notes = []
        >>> names = ["id", "name", "name", ""]
        >>> kept = addressable([Column(name, at) for at, name in enumerate(names)], notes)
        >>> [column.path for column in kept], notes[0]
        (['id'], "columns left out, because they share a name: 'name'")
    """
    times = Counter([column.path for column in columns])
    if len(times) == len(columns) and all(map(str.strip, times)):
        return tuple(columns)
    repeated = [path for path, count in times.items() if count > 1 and path.strip()]
    if repeated:
        notes.append(f"columns left out, because they share a name: {_listed(repeated)}")
    blank = sum(not column.path.strip() for column in columns)
    if blank:
        notes.append(f"columns left out, because they have no name: {blank}")
    return tuple(column for column in columns if column.path.strip() and times[column.path] == 1)


def note_opaque(columns: Sequence[Column], notes: list[str]) -> None:
    """Says which columns have no comparable values.

    Args:
        columns: The columns of a table.
        notes: Where to say it.
    """
    opaque = [column.path for column in columns if column.opaque]
    if opaque:
        listed = _listed(opaque)
        notes.append(f"columns not compared, because they hold lists, maps or bytes: {listed}")


def wanted(columns: Sequence[Column], paths: Collection[str] | None) -> tuple[Column, ...]:
    """The columns to read.

    Args:
        columns: Those of the table.
        paths: Those asked for; without it, all.

    Returns:
        The columns asked for, in the order of the table.
    """
    return tuple(column for column in columns if paths is None or column.path in paths)


def choose_columns(
    columns: Sequence[Column], paths: Collection[str] | None
) -> tuple[tuple[Column, ...], list[str]]:
    """The columns to read of a table, and what is to be said of the others.

    Args:
        columns: All columns.
        paths: Those asked for; without it, all.

    Returns:
        Those that a name singles out, in the order of the table, and notes.
    """
    notes: list[str] = []
    chosen = wanted(addressable(columns, notes), paths)
    note_opaque(chosen, notes)
    return chosen, notes


def read_of(columns: Iterable[Column]) -> list[str]:
    """The columns that have values.

    Args:
        columns: Some of a table's.

    Returns:
        Their paths, in the order in which they are read.
    """
    return [column.path for column in columns if not column.opaque]


def _listed(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
