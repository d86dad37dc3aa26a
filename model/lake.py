"""The columns of a lake as the model sees them: one list, with each column's table."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from unicodedata import normalize

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, TableId, TableProfile

_OPAQUE = (DataType.BINARY, DataType.NESTED)
_NUMBERS = (DataType.INTEGER, DataType.DECIMAL)


def _density(profile: ColumnProfile) -> float:
    if profile.type not in _NUMBERS:
        return 0.0
    numbers = [float(normalize("NFKC", cell)) for cell in profile.sample]
    return min(1.0, profile.distinct / (max(numbers) - min(numbers) + 1))


@dataclass(frozen=True)
class Lake:
    """Columns that have values, table by table.

    Everything downstream addresses a column by its place in `profiles` and a table by its place
    in `titles`.
    """

    profiles: tuple[ColumnProfile, ...]
    """One profile a column."""

    titles: tuple[str, ...]
    """One title a table."""

    table_of: Int[np.ndarray, " column"]
    """Each column's table."""

    @classmethod
    def from_tables(cls, tables: Sequence[TableProfile]) -> "Lake":
        """Takes the columns that have values a join could compare.

        Args:
            tables: What Spark says of each table; those with a fault count for nothing.

        Returns:
            A lake in the order of `tables`.
        """
        usable = [table for table in tables if not table.fault]
        pairs = [
            (place, column)
            for place, table in enumerate(usable)
            for column in table.columns
            if column.type not in _OPAQUE and column.distinct
        ]
        return cls(
            profiles=tuple(column for _, column in pairs),
            titles=tuple(table.table.title for table in usable),
            table_of=np.array([place for place, _ in pairs], dtype=np.int64),
        )

    @cached_property
    def ids(self) -> tuple[ColumnId, ...]:
        """Each column's identifier."""
        return tuple(profile.id for profile in self.profiles)

    @cached_property
    def is_text(self) -> Bool[np.ndarray, " column"]:
        """Which columns hold text; the others hold numbers, dates or truth values."""
        return np.array([profile.type is DataType.TEXT for profile in self.profiles], dtype=bool)

    @cached_property
    def density(self) -> Float[np.ndarray, " column"]:
        """How much of their range numbers fill, in [0, 1]: 1 for running ones, 0 for no numbers."""
        return np.array([_density(profile) for profile in self.profiles])

    @cached_property
    def tables(self) -> tuple[TableId | None, ...]:
        """Each table's identifier; none for a table without columns, which nothing asks for."""
        found = {int(t): p.id.table for t, p in zip(self.table_of, self.profiles, strict=True)}
        return tuple(found.get(place) for place in range(len(self.titles)))

    @cached_property
    def columns_of(self) -> tuple[Int[np.ndarray, " _"], ...]:
        """Each table's columns."""
        order = np.argsort(self.table_of, kind="stable")
        bounds = np.searchsorted(self.table_of[order], np.arange(len(self.titles) + 1))
        return tuple(order[start:stop] for start, stop in pairwise(bounds))

    def __len__(self) -> int:
        return len(self.profiles)
