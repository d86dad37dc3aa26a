"""The joins that an export holds, and the tables, keys and names that all formats share.

A semantic layer joins on its own, so one wrong edge multiplies the sums of many reports. Only safe
references to a key and one-to-one joins are exported. All other joins are left out, each with a
reason.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from datahub_hyperjoin.export.names import distinct_names, identifier, name_parts
from datahub_hyperjoin.joins import MIN_SCORE, Cardinality, Join, Role, is_safe
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import ColumnId, DataType, TableId
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import percent

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph


class LeftOut(str, Enum):
    """The reason why a join is not exported."""

    REJECTED = "rejected or hidden by people"
    UNVERIFIED = "not verified on data"
    WITHOUT_KEY = "without a key (siblings or one domain)"
    TWO_STEPS = "in two steps through a crosswalk"
    OTHER_FORM = "of values that are written differently"
    FAN_OUT = "to values that repeat"
    IMPROBABLE = f"below a joinability of {MIN_SCORE:g}, and confirmed by nobody"
    TWO_PLATFORMS = "between two platforms"
    DOTTED = "of columns inside structs, or with a dot in their names"
    COMPOSITE = "of several columns, which the format cannot hold"
    SELF_REFERENCE = "of a table with itself, which the format cannot hold"
    SECOND_KEY = "to a key beside the primary key, which the format cannot hold"
    NAMES = "with names that the format cannot hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeJoin:
    """A join that matches each row of its left table with at most one row of the right one."""

    join: Join
    """The join, with the referring table on the left."""

    columns: tuple[tuple[str, str], ...]
    """The referring and the referenced column of each pair, in the order of the key."""

    is_confirmed: bool
    """Whether people accepted, wrote or declared a join of these columns."""

    @property
    def referring(self) -> TableId:
        """The referring table."""
        return self.join.left.table

    @property
    def referenced(self) -> TableId:
        """The referenced table."""
        return self.join.right.table

    @property
    def referring_columns(self) -> tuple[str, ...]:
        """The columns of the referring table."""
        return tuple(referring for referring, _ in self.columns)

    @property
    def referenced_columns(self) -> tuple[str, ...]:
        """The referenced columns, which form the key."""
        return tuple(referenced for _, referenced in self.columns)

    @property
    def kind(self) -> str:
        """`one_to_one` or `many_to_one`, from the referring table to the referenced one."""
        return "one_to_one" if self.is_one_to_one else "many_to_one"

    @property
    def is_one_to_one(self) -> bool:
        """Whether the values of the referring columns are unique, too."""
        # Of a reference, one row may refer to each key today, and several tomorrow.
        join = self.join
        return join.role is Role.ONE_TO_ONE and join.cardinality is Cardinality.ONE_ONE

    @property
    def containment(self) -> float | None:
        """Share of the referring side's distinct values that are in the key; None if unknown."""
        return self.join.evidence.left_containment if self.join.evidence else None

    @property
    def condition(self) -> str:
        """The join condition for people, with names made visible."""
        sides = (
            f"{self.referring}.{left} = {self.referenced}.{right}" for left, right in self.columns
        )
        return visible(" and ".join(sides))

    @property
    def is_complete(self) -> bool:
        """Whether every value of the referring columns occurs in the key."""
        return self.containment == 1.0

    @property
    def keeps_rows(self) -> bool:
        """Whether every row of the referring table has a partner, and an inner join keeps it."""
        counts = self.join.left_counts
        return self.is_complete and not (counts and counts.without_value)

    @property
    def is_self_reference(self) -> bool:
        """Whether both sides are the same table."""
        return self.referring == self.referenced

    @property
    def ends(self) -> frozenset[tuple[TableId, tuple[str, ...]]]:
        """The tables and columns of both sides, in no order."""
        return frozenset(
            {(self.referring, self.referring_columns), (self.referenced, self.referenced_columns)}
        )


def select_safe(joins: Iterable[Join]) -> tuple[tuple[SafeJoin, ...], Counter[LeftOut]]:
    """Select the joins that repeat no rows of the referring table; count the others by reason."""
    safe: dict[frozenset[tuple[TableId, tuple[str, ...]]], SafeJoin] = {}
    left_out: Counter[LeftOut] = Counter()
    for found in map(examine, joins):
        if isinstance(found, LeftOut):
            left_out[found] += 1
            continue
        known = safe.get(found.ends)
        safe[found.ends] = _merged(known, found) if known else found
    return tuple(safe.values()), left_out


def examine(join: Join) -> SafeJoin | LeftOut:
    """Convert a join to a safe join, or return the reason why it is not exported."""
    turned = join.directed
    if join.referenced is None and join.cardinality is Cardinality.ONE_MANY:
        turned = join.reversed
    if reason := _reason(turned):
        return reason
    paths = sorted((right.path, left.path) for left, right in turned.pairs)
    columns = tuple((left, right) for right, left in paths)
    return SafeJoin(join=turned, columns=columns, is_confirmed=join.is_confirmed)


def _reason(join: Join) -> LeftOut | None:
    """Return why a join, with its referring table on the left, is not exported; None if it is."""
    paths = [column.path for pair in join.pairs for column in pair]
    reasons = {
        LeftOut.REJECTED: not join.open,
        LeftOut.UNVERIFIED: not join.is_verified and (join.multiplies or not join.is_confirmed),
        LeftOut.WITHOUT_KEY: join.known_role is not None and not join.role.is_directed,
        LeftOut.TWO_STEPS: join.via is not None,
        LeftOut.OTHER_FORM: bool(join.compared_as),
        # The few duplicates of a dirty key, which a path tolerates, repeat rows, too.
        LeftOut.FAN_OUT: join.multiplies,
        LeftOut.TWO_PLATFORMS: len({(table.platform, table.env) for table in join.tables}) > 1,
        LeftOut.DOTTED: any("." in path for path in paths),
    }
    if named := next((reason for reason, applies in reasons.items() if applies), None):
        return named
    # The other reasons why a join is not safe have names above.
    return None if is_safe(join) else LeftOut.IMPROBABLE


def _merged(known: SafeJoin, other: SafeJoin) -> SafeJoin:
    """Combine two safe joins of the same columns into one."""
    # The join with a measured containment wins, and one confirmation is enough.
    measured = known if known.containment is not None else other
    return replace(measured, is_confirmed=known.is_confirmed or other.is_confirmed)


def word_reasons(left_out: Counter[LeftOut]) -> str:
    """Describe in one phrase how many joins were left out, and why.

    >>> word_reasons(Counter({LeftOut.FAN_OUT: 1, LeftOut.REJECTED: 2}))
    '2 rejected or hidden by people; 1 to values that repeat'
    """
    return "; ".join(f"{left_out[reason]} {reason.value}" for reason in LeftOut if left_out[reason])


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


def describe_evidence(join: SafeJoin) -> str:
    """Describe a join's evidence in one line."""
    words = [
        join.kind.replace("_", "-"),
        *(
            [f"{percent(share)} of the values match"]
            if (share := join.containment) is not None
            else []
        ),
        *([f"joinability {join.join.score:.2f}"] if join.join.score is not None else []),
        *(["confirmed by people or the catalog"] if join.is_confirmed else []),
    ]
    return ", ".join(words)


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
