"""Tables whose columns are known but whose rows were not read."""

from collections.abc import Iterable
from dataclasses import dataclass

from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, Lengths, TableId

_NO_LENGTHS = Lengths(shortest=0, mean=0.0, longest=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTable:
    """A table whose columns are known but whose rows were not read."""

    id: TableId
    """The table's identifier."""

    title: str
    """A short name of the table, shown to people."""

    columns: tuple[ColumnProfile, ...]
    """The table's columns, as profiles without rows."""


def describe_columns(
    table: TableId, columns: Iterable[tuple[str, DataType]]
) -> tuple[ColumnProfile, ...]:
    """Build column profiles for a table whose rows were not read.

    Args:
        columns: The path and the declared type of each column, in their order; text if the type is
            unknown.

    >>> [column] = describe_columns(TableId("file", "planes.csv"), [("tailnum", DataType.TEXT)])
    >>> column.id.path, column.rows, column.distinct
    ('tailnum', 0, 0)
    """
    return tuple(
        ColumnProfile(
            id=ColumnId(table, path),
            position=position,
            type=declared,
            rows=0,
            nulls=0,
            distinct=0,
            sketch=b"",
            sample=(),
            counts=(),
            lengths=_NO_LENGTHS,
            patterns=(),
        )
        for position, (path, declared) in enumerate(columns)
    )
