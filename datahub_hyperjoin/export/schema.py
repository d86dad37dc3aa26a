"""The tables, keys and names that all formats share, for the joins that an export holds."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from datahub_hyperjoin.export.names import distinct_names, identifier, name_parts
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.joins.semantic_layers import SafeJoin
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import ColumnId, DataType, TableId

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph


KeyColumns = tuple[str, ...]
"""The names of the columns that identify a row."""

_Item = TypeVar("_Item")
_ByTable = dict[TableId, list[_Item]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredColumns:
    """The column types and primary keys that the catalog declares."""

    types: Mapping[ColumnId, DataType] = field(default_factory=dict)
    primary_keys: Mapping[TableId, KeyColumns] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTable:
    """A table to export, with the columns that joins and keys need."""

    id: TableId
    name: str

    path: tuple[str, ...]
    """The parts of the table's name in SQL, such as database, schema and table."""

    columns: Mapping[str, DataType | None]
    """Maps each column of a join or key to its data type; None if the type is unknown."""

    primary_key: KeyColumns = ()
    """The declared primary key; without one, the key to which most joins lead."""

    is_declared: bool = False

    unique_keys: tuple[KeyColumns, ...] = ()
    """The keys to which joins lead, except the primary key."""

    def keys(self, primary: str, unique: str) -> list[tuple[KeyColumns, str]]:
        """List the keys of the table, each with the format's word for its kind."""
        keys = [(self.primary_key, primary), *((key, unique) for key in self.unique_keys)]
        return [(key, kind) for key, kind in keys if key]

    @property
    def column_names(self) -> dict[str, str]:
        """The columns' names, for formats that hold no others than `identifier` makes."""
        names = distinct_names([[identifier(path)] for path in self.columns])
        return dict(zip(self.columns, names, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedJoin:
    """A join that repeats no rows of its referring table, and the join's unique name."""

    join: SafeJoin
    name: str
    referring: ExportedTable
    referenced: ExportedTable

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
    joins: tuple[NamedJoin, ...]
    by_referring: Mapping[TableId, Sequence[NamedJoin]]
    by_referenced: Mapping[TableId, Sequence[NamedJoin]]

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
    groups: _ByTable[_Item] = {}
    for item in items:
        groups.setdefault(table_of(item), []).append(item)
    return groups


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
    """Return the keys of each table, the declared primary key first, then the most used."""
    ranked = {table: [tuple(sorted(key))] for table, key in declared.primary_keys.items()}
    for table, referring in _grouped(joins, lambda join: join.referenced).items():
        counts = Counter(join.referenced_columns for join in referring)
        # Of keys that are used alike, a number identifies rows, and a text rather describes them.
        numbers = {
            path
            for path in set().union(*counts)
            if declared.types.get(ColumnId(table, path)) is DataType.INTEGER
        }
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
    columns = join.referring_columns
    longest = identifier(end, start, *columns, *join.referenced_columns)
    return [identifier(end, *columns), identifier(end, start, *columns), longest]


class TypeNames(NamedTuple):
    """What the formats call a data type; empty if a format leaves the type out."""

    lookml: str = "string"
    cube: str = "string"
    ossie: str = ""
    sqlalchemy: str = ""


_UNTYPED = TypeNames()
_TYPE_NAMES = {
    DataType.TEXT: TypeNames("string", "string", "String", "Text"),
    DataType.INTEGER: TypeNames("number", "number", "Integer", "BigInteger"),
    DataType.DECIMAL: TypeNames("number", "number", "Decimal", "Numeric"),
    DataType.BOOLEAN: TypeNames("yesno", "boolean", "Boolean", "Boolean"),
    DataType.DATE: TypeNames("date", "time", "Date", "Date"),
    DataType.TIMESTAMP: TypeNames("date_time", "time", "DateTime", "DateTime"),
    DataType.BINARY: TypeNames(sqlalchemy="LargeBinary"),
}


def type_names(kind: DataType | None) -> TypeNames:
    """Return what the formats call a data type."""
    return _TYPE_NAMES.get(kind, _UNTYPED) if kind else _UNTYPED


def list_evidence(join: SafeJoin) -> dict[str, Any]:
    """Return a join's evidence as a dictionary, for programs."""
    return {
        "relationship": join.join.urn,
        "role": join.join.role.value if join.join.known_role else None,
        "joinability": join.join.score,
        "containment": join.containment,
        "confirmed": join.is_confirmed,
    }


def is_reliable(named: NamedJoin) -> bool:
    """Return whether a query optimizer may rely on a join."""
    # It may if every value was found, all rows were compared, and both sides are integers. Texts
    # were compared without regard to case and spaces, and times only within some thousand years.
    # Only integers are equal in SQL exactly where they were equal then.
    types = [
        *(named.referring.columns[path] for path in named.join.referring_columns),
        *(named.referenced.columns[path] for path in named.join.referenced_columns),
    ]
    return named.join.is_complete and all(kind is DataType.INTEGER for kind in types)


def read_declared(graph: "DataHubGraph", joins: Iterable[Join]) -> DeclaredColumns:
    """Read the column types and primary keys of the joined tables."""
    from datahub.metadata.schema_classes import SchemaMetadataClass  # noqa: PLC0415 (a second)

    from datahub_hyperjoin.catalog.datasets import dataset_of  # noqa: PLC0415
    from datahub_hyperjoin.catalog.entities import fetch  # noqa: PLC0415

    urns = sorted({dataset_urn(table) for join in joins for table in join.tables})
    entities = fetch(graph, "dataset", urns, [SchemaMetadataClass.ASPECT_NAME])
    datasets = [*filter(None, (dataset_of(urn, aspects) for urn, aspects in entities.items()))]
    return DeclaredColumns(
        types={
            ColumnId(dataset.table, path): kind
            for dataset in datasets
            for (path, _), kind in zip(dataset.columns, dataset.types, strict=True)
        },
        primary_keys={it.table: it.primary_key for it in datasets if it.primary_key},
    )
