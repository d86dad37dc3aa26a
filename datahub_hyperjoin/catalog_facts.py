"""What a catalog knows of tables and columns beyond their names, and what its people decided.

Like the value types, it knows no engine: the catalog's reader fills it, the model learns from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from datahub_hyperjoin.tables import CatalogEvidence, ColumnId, Pair, TableId, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """What the catalog's profile, made on the whole table, says of a column."""

    uniqueness: float
    """Distinct values per row with a value, in [0, 1]."""

    completeness: float
    """Share of rows with a value, in [0, 1]."""


@dataclass(frozen=True, kw_only=True)
class CatalogFacts:
    """Everything that is known before any value is read; empty without a catalog."""

    pairs: Mapping[Pair, CatalogEvidence] = field(default_factory=dict)
    """What is said of pairs of columns."""

    unique: frozenset[ColumnId] = frozenset()
    """Columns that are declared to be a table's whole primary key."""

    statistics: Mapping[ColumnId, ColumnStatistics] = field(default_factory=dict)
    """Of the columns that the catalog has profiled."""

    columns: Mapping[TableId, frozenset[str]] = field(default_factory=dict)
    """The columns that the catalog knows of a table; a table that is missing here may have any."""

    @cached_property
    def connected(self) -> frozenset[Pair]:
        """Pairs that are declared, related or accepted, and that no one rejected."""
        return frozenset(pair for pair, said in self.pairs.items() if said.connects)

    @cached_property
    def accepted(self) -> frozenset[Pair]:
        """Pairs that people accepted."""
        return self._decided(Verdict.ACCEPTED)

    @cached_property
    def rejected(self) -> frozenset[Pair]:
        """Pairs that people rejected."""
        return self._decided(Verdict.REJECTED)

    def _decided(self, verdict: Verdict) -> frozenset[Pair]:
        return frozenset(pair for pair, said in self.pairs.items() if said.verdict is verdict)

    def of(self, pair: Pair) -> CatalogEvidence:
        """What is said of a pair; nothing, if it is not mentioned.

        Args:
            pair: Two columns, the smaller identifier first.
        """
        return self.pairs.get(pair, CatalogEvidence())
