"""Value types for composite keys and for references to composite keys."""

from dataclasses import dataclass

from datahub_hyperjoin.joins import Cardinality, Evidence
from datahub_hyperjoin.tables import ColumnId, TableId

ColumnPairs = tuple[tuple[ColumnId, ColumnId], ...]
"""The referring and the referenced column of each part of a composite reference."""

MIN_CONTAINMENT = 0.9
"""Minimum share of the referring table's distinct tuples that a key must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySearch:
    """A request to search a table's columns for composite keys."""

    table: TableId
    """The table."""

    columns: tuple[str, ...]
    """Paths of the columns."""

    texts: tuple[str, ...] = ()
    """The text columns among `columns`, in the same order."""

    max_columns: int = 4
    """Maximum number of columns of a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeEvidence:
    """Evidence for a composite reference, measured on all rows of both tables.

    The rows of a table that have a value in every column are its tuples.
    """

    evidence: Evidence
    """Measures of the join; the referring table is on the left."""

    tuples: int
    """Number of distinct tuples of the referring table."""

    matched: float
    """Share of the referring table's tuples, counted row by row, that the other table contains."""

    by_chance: tuple[float, ...] = ()
    """For each column, the value of `matched` after this column was shuffled. If the value is still
    high, the column adds no information to the other columns. Empty if it was not measured."""

    @property
    def is_unique(self) -> bool:
        """Whether the referenced columns form a unique key of their table."""
        return self.evidence.cardinality in {Cardinality.ONE_ONE, Cardinality.MANY_ONE}
