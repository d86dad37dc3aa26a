"""Facts from the catalog about tables, columns and pairs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.names import find_spelling
from datahub_hyperjoin.tables import ColumnId, DescribedTable, Pair, TableId, pair_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """Statistics of one column, computed from DataHub's profile of the dataset."""

    uniqueness: float
    """Number of distinct values divided by the number of non-null rows, in [0, 1]."""

    completeness: float
    """Share of non-null rows, in [0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """A foreign key that the catalog or a database declares."""

    name: str
    """Name of the foreign key; empty if it has none."""

    pairs: tuple[tuple[ColumnId, ColumnId], ...]
    """The referring and the referenced column; several pairs for a composite key."""

    @property
    def is_composite(self) -> bool:
        """Whether the foreign key has several columns."""
        return len(self.pairs) > 1

    @property
    def title(self) -> str:
        """The foreign key's name for display; `without a name` if it has none."""
        return self.name or "without a name"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredKeys:
    """The keys that databases or the catalog declare."""

    unique: frozenset[ColumnId] = frozenset()
    """Columns that are a whole primary key or have a unique constraint of their own."""

    composite: frozenset[tuple[ColumnId, ...]] = frozenset()
    """The columns of each composite key, in the declared order."""

    foreign: tuple[ForeignKey, ...] = ()

    @classmethod
    def of(
        cls, keys: Iterable[tuple[ColumnId, ...]], foreign: Iterable[ForeignKey]
    ) -> "DeclaredKeys":
        """Return the keys, given the columns of each that is unique as a whole."""
        keys = tuple(keys)
        return cls(
            unique=frozenset(key[0] for key in keys if len(key) == 1),
            composite=frozenset(key for key in keys if len(key) > 1),
            foreign=tuple(foreign),
        )

    def united(self, other: "DeclaredKeys") -> "DeclaredKeys":
        """Return the union of two sets of declared keys."""
        # A foreign key in both keeps the name that it has in this object.
        # The order of a key's columns differs between databases and catalogs.
        named = {frozenset(key.pairs): key for key in (*other.foreign, *self.foreign)}
        return DeclaredKeys(
            unique=self.unique | other.unique,
            composite=self.composite | other.composite,
            foreign=tuple(sorted(named.values(), key=lambda key: key.pairs)),
        )

    def renamed(self, name: Callable[[ColumnId], ColumnId]) -> "DeclaredKeys":
        """Return the keys with other names of their columns."""
        return DeclaredKeys(
            unique=frozenset(map(name, self.unique)),
            composite=frozenset(tuple(map(name, key)) for key in self.composite),
            foreign=tuple(
                replace(key, pairs=tuple((name(one), name(other)) for one, other in key.pairs))
                for key in self.foreign
            ),
        )


def declared_pairs(keys: Iterable[ForeignKey]) -> dict[Pair, str]:
    """Map each pair that a single-column foreign key declares to the name of that key.

    >>> people = TableId("postgres", "shop.people")
    >>> manager, identifier = ColumnId(people, "manager"), ColumnId(people, "id")
    >>> key = ForeignKey(name="fk_manager", pairs=((manager, identifier),))
    >>> declared_pairs([key]) == {(identifier, manager): "fk_manager"}
    True
    """
    # A composite key declares one join of several columns, and says nothing of any single
    # pair.
    declared: dict[Pair, str] = {}
    for key in keys:
        if not key.is_composite and key.pairs[0][0] != key.pairs[0][1]:
            declared.setdefault(pair_of(*key.pairs[0]), key.title)
    return declared


@dataclass(frozen=True, kw_only=True)
class CatalogFacts:
    """Everything that the catalog says about tables, columns and pairs."""

    pairs: Mapping[Pair, CatalogEvidence] = field(default_factory=dict)
    composites: Mapping[str, CatalogEvidence] = field(default_factory=dict)
    """Catalog evidence of composite joins, by the URN from `columns_urn`."""

    keys: DeclaredKeys = DeclaredKeys()
    statistics: Mapping[ColumnId, ColumnStatistics] = field(default_factory=dict)
    columns: Mapping[TableId, frozenset[str]] = field(default_factory=dict)
    """Plain paths (without types) of the columns of each table that the catalog knows. A table that
    is missing here may have any columns."""

    described: Mapping[TableId, DescribedTable] = field(default_factory=dict)
    unread: frozenset[TableId] = frozenset()
    """Tables of the catalog that the run does not read, so that they get suggestions by names."""

    spellings: Mapping[ColumnId, ColumnId] = field(default_factory=dict)
    """The catalog's spelling of each column that its table spells otherwise. All facts but
    `composites` have the spelling of the table; before the tables are read, that of the catalog."""

    @cached_property
    def referenced(self) -> Mapping[Pair, ColumnId]:
        """The referenced column of each pair that a single-column foreign key declares."""
        keys = (key.pairs[0] for key in self.keys.foreign if not key.is_composite)
        return {pair_of(referring, referenced): referenced for referring, referenced in keys}

    @cached_property
    def connected(self) -> frozenset[Pair]:
        """The pairs that the catalog or a person confirms, and that nobody rejected."""
        return frozenset(pair for pair, evidence in self.pairs.items() if evidence.is_confirmed)

    @cached_property
    def accepted(self) -> frozenset[Pair]:
        """The pairs that people accepted."""
        return self._decided(Verdict.ACCEPTED)

    @cached_property
    def rejected(self) -> frozenset[Pair]:
        """The pairs that people rejected."""
        return self._decided(Verdict.REJECTED)

    def _decided(self, verdict: Verdict) -> frozenset[Pair]:
        return frozenset(
            pair for pair, evidence in self.pairs.items() if evidence.verdict is verdict
        )

    def of(self, pair: Pair) -> CatalogEvidence:
        """Return the catalog evidence of a pair."""
        return self.pairs.get(pair, CatalogEvidence())

    def declaring(self, keys: DeclaredKeys) -> "CatalogFacts":
        """Return a copy of these facts with the given declared keys added."""
        both = self.keys.united(keys.renamed(self._in_catalog))
        declared = {
            pair: replace(self.of(pair), declared=self.of(pair).declared or name)
            for pair, name in declared_pairs(both.foreign).items()
        }
        return replace(self, pairs={**self.pairs, **declared}, keys=both)

    def spelled_by(self, columns: Iterable[ColumnId]) -> "CatalogFacts":
        """Return a copy of these facts in the spelling of the tables."""
        spellings = {
            column: known for column in columns if (known := self._in_catalog(column)) != column
        }
        if not spellings:
            return self
        own = {known: column for column, known in spellings.items()}

        def name(column: ColumnId) -> ColumnId:
            return own.get(column, column)

        return replace(
            self,
            pairs={pair_of(*map(name, pair)): found for pair, found in self.pairs.items()},
            keys=self.keys.renamed(name),
            statistics={name(column): found for column, found in self.statistics.items()},
            columns={
                table: frozenset(name(ColumnId(table, path)).path for path in paths)
                for table, paths in self.columns.items()
            },
            spellings=spellings,
        )

    def _in_catalog(self, column: ColumnId) -> ColumnId:
        known = self.columns.get(column.table, frozenset())
        return ColumnId(column.table, find_spelling(column.path, known))
