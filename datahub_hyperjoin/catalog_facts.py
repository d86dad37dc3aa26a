"""Facts from the catalog about tables and columns, and people's decisions.

Like the value types, this module imports no engine: the catalog's reader builds the facts, and the
model learns from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.tables import ColumnId, Pair, TableId


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """Statistics of a column from the catalog's profile of the whole table."""

    uniqueness: float
    """Number of distinct values divided by the number of non-null rows, in [0, 1]."""

    completeness: float
    """Share of non-null rows, in [0, 1]."""


@dataclass(frozen=True, kw_only=True)
class CatalogFacts:
    """Everything that the catalog records about columns and pairs; empty without a catalog."""

    pairs: Mapping[Pair, CatalogEvidence] = field(default_factory=dict)
    """Catalog evidence of the pairs that the catalog mentions."""

    unique: frozenset[ColumnId] = frozenset()
    """Columns that are declared as the whole primary key of a table."""

    statistics: Mapping[ColumnId, ColumnStatistics] = field(default_factory=dict)
    """Statistics of the columns that the catalog has profiled."""

    columns: Mapping[TableId, frozenset[str]] = field(default_factory=dict)
    """Plain paths of the columns of each table that the catalog knows. A table that is missing here
    may have any columns."""

    @cached_property
    def connected(self) -> frozenset[Pair]:
        """Pairs that a foreign key, a relationship or a person connects, except rejected ones."""
        return frozenset(pair for pair, evidence in self.pairs.items() if evidence.connects)

    @cached_property
    def accepted(self) -> frozenset[Pair]:
        """Pairs that people accepted."""
        return self._decided(Verdict.ACCEPTED)

    @cached_property
    def rejected(self) -> frozenset[Pair]:
        """Pairs that people rejected."""
        return self._decided(Verdict.REJECTED)

    def _decided(self, verdict: Verdict) -> frozenset[Pair]:
        return frozenset(
            pair for pair, evidence in self.pairs.items() if evidence.verdict is verdict
        )

    def of(self, pair: Pair) -> CatalogEvidence:
        """Return the catalog evidence of a pair; empty if the catalog does not mention it.

        Args:
            pair: Two columns, the smaller identifier first.
        """
        return self.pairs.get(pair, CatalogEvidence())
