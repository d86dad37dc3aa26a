"""Build the tables, keys and named joins that all export formats share."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from datahub_hyperjoin.export.names import distinct_names, identifier, name_parts
from datahub_hyperjoin.export.safe_joins import SafeJoin
from datahub_hyperjoin.tables import ColumnId, DataType, TableId

KeyColumns = tuple[str, ...]
"""The names of the columns that identify a row."""

_Item = TypeVar("_Item")
_ByTable = dict[TableId, list[_Item]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredColumns:
    """The column types and primary keys that the catalog declares."""

    types: Mapping[ColumnId, DataType] = field(default_factory=dict)
    """Types of columns."""

    primary_keys: Mapping[TableId, KeyColumns] = field(default_factory=dict)
    """Columns of the declared primary keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTable:
    """A table to export, with the columns that joins and keys need."""

    id: TableId
    """The table."""

    name: str
    """Unique name of the table in the export."""

    path: tuple[str, ...]
    """The parts of the table's name in SQL, such as database, schema and table."""

    columns: Mapping[str, DataType | None]
    """Maps each column of a join or key to its data type; None if the type is unknown."""

    primary_key: KeyColumns = ()
    """The declared primary key; without one, the key to which most joins lead."""

    is_declared: bool = False
    """Whether the catalog declares the primary key."""

    unique_keys: tuple[KeyColumns, ...] = ()
    """The keys to which joins lead, except the primary key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedJoin:
    """A join that repeats no rows of its referring table, and the join's unique name."""

    join: SafeJoin
    """The join."""

    name: str
    """Unique name of the join."""

    referring: ExportedTable
    """The referring table, each row of which matches at most one row of the referenced table."""

    referenced: ExportedTable
    """The referenced table, which has at most one matching row for each row of the referring table.
    """

    role_name: str
    """A name for the referenced table that only this join uses, such as `customers_payer`."""

    needs_role: bool
    """Whether the table's own name would be ambiguous: several joins lead to it from one table, or
    it refers to itself."""

    @property
    def alias(self) -> str:
        """The name of the referenced table within this join."""
        return self.role_name if self.needs_role else self.referenced.name


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSchema:
    """The tables and joins of an export."""

    tables: tuple[ExportedTable, ...]
    """The tables, sorted by name."""

    joins: tuple[NamedJoin, ...]
    """The joins, sorted by name."""

    by_referring: Mapping[TableId, Sequence[NamedJoin]]
    """The joins by their referring table."""

    by_referenced: Mapping[TableId, Sequence[NamedJoin]]
    """The joins by their referenced table."""

    def joins_from(self, table: ExportedTable) -> Sequence[NamedJoin]:
        """Return the joins in which a table is the referring side."""
        return self.by_referring.get(table.id, ())

    def joins_to(self, table: ExportedTable) -> Sequence[NamedJoin]:
        """Return the joins in which a table is the referenced side."""
        return self.by_referenced.get(table.id, ())


def build_schema(joins: Iterable[SafeJoin], declared: DeclaredColumns) -> JoinSchema:
    """Build the schema to export: choose names, and group the joins by table."""
    in_order = sorted(joins, key=lambda join: (join.referring, join.referenced, join.columns))
    ids = sorted({table for join in in_order for table in (join.referring, join.referenced)})
    tables = _tables(ids, in_order, declared)
    named = sorted(_name_joins(in_order, tables), key=lambda join: join.name)
    return JoinSchema(
        tables=tuple(sorted(tables.values(), key=lambda table: table.name)),
        joins=tuple(named),
        by_referring=_grouped(named, lambda join: join.referring.id),
        by_referenced=_grouped(named, lambda join: join.referenced.id),
    )


def _grouped(items: Iterable[_Item], table_of: Callable[[_Item], TableId]) -> _ByTable[_Item]:
    groups: defaultdict[TableId, list[_Item]] = defaultdict(list)
    for item in items:
        groups[table_of(item)].append(item)
    return dict(groups)


def _tables(
    ids: Sequence[TableId], joins: Sequence[SafeJoin], declared: DeclaredColumns
) -> dict[TableId, ExportedTable]:
    names = distinct_names([_table_names(table) for table in ids])
    # Files of the same name in two folders cannot both be tables of this name.
    counts = Counter(map(name_parts, ids))
    keys = rank_keys(joins, declared)
    referring = _grouped(joins, lambda join: join.referring)
    tables = {}
    for table, name in zip(ids, names, strict=True):
        primary_key, *unique_keys = keys.get(table, [()])
        foreign = [join.referring_columns for join in referring.get(table, ())]
        columns = sorted({path for key in (primary_key, *unique_keys, *foreign) for path in key})
        tables[table] = ExportedTable(
            id=table,
            name=name,
            path=name_parts(table) if counts[name_parts(table)] == 1 else (name,),
            columns={path: declared.types.get(ColumnId(table, path)) for path in columns},
            primary_key=primary_key,
            is_declared=table in declared.primary_keys,
            unique_keys=tuple(unique_keys),
        )
    return tables


def _table_names(table: TableId) -> list[str]:
    parts = name_parts(table)
    longer = [identifier(*parts[-count:]) for count in range(1, len(parts) + 1)]
    return [*longer, identifier(table.name), identifier(table.platform, table.name, table.env)]


def rank_keys(
    joins: Iterable[SafeJoin], declared: DeclaredColumns
) -> dict[TableId, list[KeyColumns]]:
    """Return the keys of each table, the primary key first.

    The other keys are those to which joins refer, the most used first.

    Args:
        declared: The declared primary keys, which precede those to which most joins lead.
    """
    ranked = {table: [tuple(sorted(key))] for table, key in declared.primary_keys.items()}
    for table, referring in _grouped(joins, lambda join: join.referenced).items():
        counts = Counter(join.referenced_columns for join in referring)
        columns = {
            path: declared.types.get(ColumnId(table, path)) for key in counts for path in key
        }
        # Of keys that are used alike, a number identifies rows, and a text rather describes them.
        numbers = {path for path, kind in columns.items() if kind is DataType.INTEGER}
        order = [(-counts[key], len(key), not numbers.issuperset(key), key) for key in counts]
        keys = [key for *_, key in sorted(order)]
        ranked[table] = [*dict.fromkeys([*ranked.get(table, []), *keys])]
    return ranked


def _name_joins(
    joins: Sequence[SafeJoin], tables: Mapping[TableId, ExportedTable]
) -> list[NamedJoin]:
    sides = Counter((join.referring, join.referenced) for join in joins)
    names = distinct_names([_join_names(join, tables) for join in joins])
    taken = {table.name for table in tables.values()}
    roles = distinct_names([_role_names(join, tables) for join in joins], taken=taken)
    return [
        NamedJoin(
            join=join,
            name=name,
            referring=tables[join.referring],
            referenced=tables[join.referenced],
            role_name=role,
            needs_role=join.is_self_reference or sides[join.referring, join.referenced] > 1,
        )
        for join, name, role in zip(joins, names, roles, strict=True)
    ]


def _join_names(join: SafeJoin, tables: Mapping[TableId, ExportedTable]) -> list[str]:
    start, end = tables[join.referring].name, tables[join.referenced].name
    short = identifier(start, *join.referring_columns, "to", end)
    return [short, identifier(short, *join.referenced_columns)]


def _role_names(join: SafeJoin, tables: Mapping[TableId, ExportedTable]) -> list[str]:
    start, end = tables[join.referring].name, tables[join.referenced].name
    return [
        identifier(end, *join.referring_columns),
        identifier(end, start, *join.referring_columns),
        identifier(end, start, *join.referring_columns, *join.referenced_columns),
    ]
