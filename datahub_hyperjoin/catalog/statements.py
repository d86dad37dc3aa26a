"""Which columns a SQL statement joins, by DataHub's own parser.

The parser says of each join which columns its condition rests on, through aliases, subqueries and
common table expressions. It does not say which of them are equal to which, and looks at no `WHERE`.
It wants the names of all tables written in full. So before it is asked, every table gets a name of
ours, and every equality of two columns becomes a join of its own.
"""

from collections.abc import Iterator, Mapping, Sequence

from datahub.sql_parsing.schema_resolver import SchemaInfo, SchemaResolverInterface, _TableName
from datahub.sql_parsing.sqlglot_lineage import ColumnRef, JoinInfo, sqlglot_lineage
from datahub.sql_parsing.sqlglot_utils import get_dialect, parse_statement
from sqlglot import Dialect, exp, parse_one
from sqlglot.errors import SqlglotError

from datahub_hyperjoin.catalog.sql_names import Schemas, rename_tables
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, pair_of
from datahub_hyperjoin.urns import dataset_urn, table_id

_SAME_VALUES = (exp.Paren, exp.Cast, exp.Lower, exp.Upper, exp.Trim)
"""What keeps a column comparable: values are normalised before they are compared here, too."""

_UNREADABLE = (SqlglotError, RecursionError, TypeError, ValueError)


class _Resolver(SchemaResolverInterface):
    """What DataHub's parser asks for the tables of one statement."""

    def __init__(
        self, platform: str, tables: Mapping[str, TableId], columns: Mapping[TableId, list[str]]
    ) -> None:
        self._platform = platform
        self._tables = tables
        self._columns = columns
        self.platform_instance: str | None = None

    @property
    def platform(self) -> str:
        """Tells the dialect."""
        return self._platform

    def includes_temp_tables(self) -> bool:
        """Keeps the parser from remembering the statement, and us, for the rest of the run."""
        return True

    def resolve_table(self, table: _TableName) -> tuple[str, SchemaInfo | None]:
        """The urn and the columns of a table, by the name that we gave it."""
        found = self._tables.get(table.table)
        if found is None:
            return dataset_urn(TableId(self._platform, f".{table.table}")), None
        return dataset_urn(found), dict.fromkeys(self._columns[found], "")


def find_joins(
    statement: str, *, platform: str, schemas: Schemas, subjects: frozenset[TableId]
) -> frozenset[Pair] | None:
    """Finds the pairs of columns that a statement sets equal in order to join.

    Args:
        statement: A query, or a statement that stores the result of one.
        platform: Where it runs; tells the dialect.
        schemas: The tables there are.
        subjects: The tables that the statement is known to be about.

    Returns:
        Pairs of columns of known tables; None, if the statement cannot be read.
    """
    try:
        dialect = _dialect(platform)
        parsed = parse_statement(statement, dialect=dialect)
        mentioned = {part.name.casefold() for part in parsed.find_all(exp.Identifier)}
        tables = rename_tables(parsed, lambda parts: schemas.find(platform, parts, subjects))
        _isolate_equalities(parsed)
        # Asterisks are expanded: in wide tables, to hundreds of columns that join nothing.
        columns = {
            table: [path for path in schemas.columns(table) if path.casefold() in mentioned]
            for table in tables.values()
        }
        resolver = _Resolver(platform, tables, columns)
        result = sqlglot_lineage(parsed, resolver, override_dialect=dialect)
        if result.joins is None:
            return None
        pairs = [
            _resolve(one, other, schemas)
            for join in result.joins
            if join.on_clause
            for one, other in _match(join, parse_one(join.on_clause, dialect=dialect))
        ]
    except _UNREADABLE:
        return None
    return frozenset(pair for pair in pairs if pair)


def _dialect(platform: str) -> Dialect:
    """How SQL is written on a platform; as the standard has it, where DataHub does not know."""
    try:
        return get_dialect(platform)
    except ValueError:
        return Dialect()


def _isolate_equalities(statement: exp.Expr) -> None:
    for select in list(statement.find_all(exp.Select)):
        joins: list[exp.Join] = select.args.get("joins") or []
        more: list[exp.EQ] = []
        for join in joins:
            on = join.args.get("on")
            equalities = list(_equalities(on)) if on else []
            if equalities:
                join.set("on", equalities[0].copy())
                more += equalities[1:]
        where = select.args.get("where")
        if where and joins:
            # A correlated subquery is a join with the query around it, which the parser finds.
            inside = {source.alias_or_name.casefold() for source in _sources(select)}
            more += (one for one in _equalities(where.this) if _stays_in(one, inside))
        for number, equality in enumerate(more):
            nothing = exp.select(exp.alias_(exp.Literal.number(1), f"hyperjoin_column_{number}"))
            target = nothing.subquery(f"hyperjoin_{number}")
            select.append("joins", exp.Join(this=target, on=equality.copy()))


def _sources(select: exp.Select) -> Iterator[exp.Expr]:
    start = select.args.get("from_") or select.args.get("from")  # differs between releases
    yield from (one.this for one in (start, *select.args["joins"]) if one)


def _stays_in(equality: exp.EQ, sources: set[str]) -> bool:
    columns = equality.find_all(exp.Column)
    return all(column.table.casefold() in {"", *sources} for column in columns)


def _equalities(condition: exp.Expr) -> Iterator[exp.EQ]:
    """The equalities of two columns that all hold where a condition does."""
    condition = condition.unnest()
    parts = condition.flatten() if isinstance(condition, exp.And) else [condition]
    for part in parts:
        if isinstance(part, exp.EQ) and all(isinstance(side, exp.Column) for side in _sides(part)):
            yield part


def _sides(equality: exp.EQ) -> tuple[exp.Expr, exp.Expr]:
    return _bare(equality.left), _bare(equality.right)


def _bare(side: exp.Expr) -> exp.Expr:
    while isinstance(side, _SAME_VALUES):
        side = side.this
    return side


def _match(join: JoinInfo, condition: exp.Expr) -> Iterator[tuple[ColumnRef, ColumnRef]]:
    """Which of a join's columns are equal to which."""
    match list(_equalities(condition)), join.columns_involved:
        case [_], [one, other]:
            yield one, other
        case equalities, columns:
            # Only `USING` and correlated subqueries still have more, and those by their own names.
            for equality in equalities:
                yield from _match_by_name(equality, columns)


def _match_by_name(
    equality: exp.EQ, columns: Sequence[ColumnRef]
) -> Iterator[tuple[ColumnRef, ColumnRef]]:
    left, right = (side.name.casefold() for side in _sides(equality))
    lefts = [column for column in columns if column.column.casefold() == left]
    rights = [column for column in columns if column.column.casefold() == right]
    match lefts, rights:
        case [one, other], _ if left == right:
            yield one, other
        case [one], [other] if left != right:
            yield one, other


def _resolve(one: ColumnRef, other: ColumnRef, schemas: Schemas) -> Pair | None:
    left, right = _column(one, schemas), _column(other, schemas)
    return pair_of(left, right) if left and right and left != right else None


def _column(column: ColumnRef, schemas: Schemas) -> ColumnId | None:
    """A column as the catalog writes it; the parser folds the case of some dialects."""
    table = table_id(column.table)
    paths = schemas.columns(table)
    for fold in (str, str.casefold):
        found = [path for path in paths if fold(path) == fold(column.column)]
        if len(found) == 1:
            return ColumnId(table, found[0])
    return None
