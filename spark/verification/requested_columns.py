"""Say which columns of a table are read and counted."""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path

from datahub_hyperjoin.spark.verification.kept_values import (
    kept_bytes,
    name_of_column,
    name_of_tuple,
)
from datahub_hyperjoin.spark.verification.tuples import ColumnTuple
from datahub_hyperjoin.tables import Table
from datahub_hyperjoin.value_forms import Notation


@dataclass(frozen=True, slots=True)
class RequestedColumns:
    """The columns of one table whose values are read and counted."""

    table: Table
    """The table that contains the columns."""

    columns: Mapping[str, Mapping[str, int]]
    """An ID for each column path and each form in which the column's values are read. The form is
    an entity kind or a notation; an empty text means that values are read as written."""

    texts: Collection[str] = ()
    """The columns that hold text according to the profile of the whole table."""

    tuples: Mapping[ColumnTuple, int] = field(default_factory=dict)
    """The column tuples to count, each with the number that identifies it in the result. The values
    of a tuple in one row are counted as one value."""

    kept: Path | None = None
    """File that keeps the values of the whole table for later runs; None to keep none."""

    @property
    def as_kept(self) -> Table:
        """The table, with the bytes to load from its file as its size if its values are kept."""
        kept = self._kept_bytes
        # A size of 0 would mean that nobody knows it.
        return self.table if kept is None else replace(self.table, size=max(kept, 1))

    @property
    def is_kept(self) -> bool:
        """Whether the values can be loaded from their file, without reading the table."""
        return self._kept_bytes is not None

    @property
    def _kept_bytes(self) -> int | None:
        return kept_bytes(self.kept, self.names)

    @property
    def names(self) -> AbstractSet[str]:
        """The names of the values to count, by which they are kept."""
        columns = {
            name_of_column(path, kind) for path, ways in self.columns.items() for kind in ways
        }
        return columns.union(name_of_tuple(wanted, self.texts) for wanted in self.tuples)

    @property
    def notations(self) -> dict[tuple[str, Notation], int]:
        """For each path and notation, the number that identifies the column in the counts."""
        return {
            (path, kind): number
            for path, numbers in self.columns.items()
            for kind, number in numbers.items()
            if isinstance(kind, Notation)
        }

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the columns to read."""
        return frozenset(self.columns).union(*(wanted.paths for wanted in self.tuples))
