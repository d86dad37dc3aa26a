"""The results of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from datahub_hyperjoin.joins import CrosswalkJoin, Join, JoinedColumns, Statement, Suggestion
from datahub_hyperjoin.model.domains import Domain
from datahub_hyperjoin.model.ranking.pair_scoring import Contributions
from datahub_hyperjoin.tables import ColumnId, DataType, Pair, TableId, TableProfile


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The results of a run: profiles, key columns, suggestions and joins."""

    profiles: tuple[TableProfile, ...]
    """The profiles of all tables, even of unreadable ones, with the columns that the catalog has.
    """

    keys: tuple[ColumnId, ...]
    """The key columns."""

    suggestions: tuple[Suggestion, ...]
    """Suggestions that the data or a person confirms, grouped by key column, best first."""

    joins: tuple[Join, ...]
    """The pairs of the suggestions with their evidence, best first."""

    model_version: str
    """This package's version and the model's fingerprint."""

    statements: Mapping[JoinedColumns, Statement] = field(default_factory=dict)
    """The SQL of each join, or the reason why it has none; empty if no SQL is shown."""

    domains: tuple[Domain, ...] = ()
    """The value domains of at least three columns."""

    crosswalks: tuple[CrosswalkJoin, ...] = ()
    """The joins that a crosswalk of the lake connects, with the evidence of both steps."""

    named: tuple[Join, ...] = ()
    """Joins suggested by names and the catalog alone, because the rows of a table were not read or
    a column has no values. These joins have no evidence."""

    described: frozenset[TableId] = frozenset()
    """The tables of which no row was read: unreadable ones, and those that only the catalog knows.
    """

    contributions: Mapping[Pair, Contributions] = field(default_factory=dict)
    """The signals of each join's first pair of columns."""

    unverified: frozenset[TableId] = frozenset()
    """Tables that could be profiled, but no longer be read when joins were verified."""

    def without_columns(self) -> "Findings":
        """Return the findings without the profiles of columns, which take most of the memory."""
        return replace(self, profiles=tuple(replace(each, columns=()) for each in self.profiles))

    @property
    def declared(self) -> tuple[Join, ...]:
        """The joins that a foreign key declares, and that no values confirm."""
        return tuple(join for join in self.named if join.catalog.declared)

    @cached_property
    def unread(self) -> frozenset[TableId]:
        """Tables whose rows could not be read, for profiling or for verification."""
        faulty = (profile.table.id for profile in self.profiles if profile.fault)
        return self.unverified.union(self.described, faulty)

    @cached_property
    def types(self) -> Mapping[ColumnId, DataType]:
        """The data type of each column."""
        return {column.id: column.type for table in self.profiles for column in table.columns}
