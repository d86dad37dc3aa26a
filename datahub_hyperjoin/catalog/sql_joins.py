"""Find the pairs of columns that a SQL statement joins.

The parser reports for each join the columns that its condition depends on, through aliases,
subqueries and common table expressions. Three properties of it shape this module:

- It does not report which columns are equal to which. So every equality of two columns is made a
  join of its own before parsing.
- It ignores `WHERE`. So equalities there become joins, too.
- It needs complete table names. So every table gets a unique name first (`sql_names`).
"""

from collections.abc import Iterator, Mapping, Sequence

from datahub.sql_parsing.schema_resolver import SchemaInfo, SchemaResolverInterface, _TableName
from datahub.sql_parsing.sqlglot_lineage import ColumnRef, JoinInfo, sqlglot_lineage
from datahub.sql_parsing.sqlglot_utils import get_dialect, parse_statement
from sqlglot import Dialect, exp, parse_one
from sqlglot.errors import SqlglotError

from datahub_hyperjoin.catalog.sql_names import TableLookup, rename_tables
from datahub_hyperjoin.metadata.urns import dataset_urn, table_id
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, pair_of

_SAME_VALUES = (exp.Paren, exp.Cast, exp.Lower, exp.Upper, exp.Trim)
"""Expressions that keep a column comparable, because values are compared in normal form anyway."""

_UNREADABLE = (SqlglotError, RecursionError, TypeError, ValueError)


class _Resolver(SchemaResolverInterface):
    """An adapter that gives DataHub's SQL parser the tables of one statement."""

    def __init__(
        self, platform: str, tables: Mapping[str, TableId], columns: Mapping[TableId, list[str]]
    ) -> None:
        self._platform = platform
        self._tables = tables
        self._columns = columns
        self.platform_instance: str | None = None

    @property
    def platform(self) -> str:
        """The DataHub platform, which determines the SQL dialect."""
        return self._platform

    def includes_temp_tables(self) -> bool:
        """Return True to stop the parser from caching anything."""
        return True

    def resolve_table(self, table: _TableName) -> tuple[str, SchemaInfo | None]:
        """Look up the URN and the columns of a table by its unique name."""
        resolved = self._tables.get(table.table)
        if resolved is None:
            return dataset_urn(TableId(self._platform, f".{table.table}")), None
        return dataset_urn(resolved), dict.fromkeys(self._columns[resolved], "")


def list_joined_pairs(
    statement: str, *, platform: str, tables: TableLookup, subjects: frozenset[TableId]
) -> frozenset[Pair] | None:
    """Find the column pairs that a SQL statement tests for equality; None if parsing fails.

    If a name in the statement matches several tables, those in `subjects` take precedence.

    Args:
        platform: The platform on which it runs, which determines the dialect.

    Returns:
        Pairs of columns of known tables; None if the statement cannot be parsed.
    """
    try:
        dialect = _dialect(platform)
        parsed = parse_statement(statement, dialect=dialect)
        mentioned = {part.name.casefold() for part in parsed.find_all(exp.Identifier)}
        renamed = rename_tables(parsed, lambda parts: tables.find(platform, parts, subjects))
        _isolate_equalities(parsed)
        # The parser expands asterisks, in wide tables to hundreds of columns that join nothing.
        columns = {
            table: [path for path in tables.columns(table) if path.casefold() in mentioned]
            for table in renamed.values()
        }
        resolver = _Resolver(platform, renamed, columns)
        result = sqlglot_lineage(parsed, resolver, override_dialect=dialect)
        if result.joins is None:
            return None
        pairs = [
            _resolve(left, right, tables)
            for join in result.joins
            if join.on_clause
            for left, right in _match(join, parse_one(join.on_clause, dialect=dialect))
        ]
    except _UNREADABLE:
        return None
    return frozenset(pair for pair in pairs if pair)


def _dialect(platform: str) -> Dialect:
    """Return the SQL dialect of a platform; standard SQL for an unknown platform."""
    try:
        return get_dialect(platform)
    except ValueError:
        return Dialect()


def _isolate_equalities(statement: exp.Expr) -> None:
    """Rewrite a SQL statement so that each equality of two columns has its own `JOIN`.

    Each join keeps its first equality. The others, and those in `WHERE`, become conditions of
    additional joins with a one-row subquery. The result of the statement changes; which columns
    are compared does not.
    """
    for select in list(statement.find_all(exp.Select)):
        joins: list[exp.Join] = select.args.get("joins") or []
        further: list[exp.EQ] = []
        for join in joins:
            on = join.args.get("on")
            equalities = list(_equalities(on)) if on else []
            if equalities:
                # A node has one parent in sqlglot's trees, so every further use takes a copy.
                join.set("on", equalities[0].copy())
                further += equalities[1:]
        where = select.args.get("where")
        if where and joins:
            # A correlated subquery is a join with the outer query; the parser reports it itself.
            inner = {source.alias_or_name.casefold() for source in _sources(select)}
            further += (
                equality for equality in _equalities(where.this) if _stays_in(equality, inner)
            )
        for number, equality in enumerate(further):
            one_row = exp.select(exp.alias_(exp.Literal.number(1), f"hyperjoin_column_{number}"))
            target = one_row.subquery(f"hyperjoin_{number}")
            select.append("joins", exp.Join(this=target, on=equality.copy()))


def _sources(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the tables and subqueries in the `FROM` and `JOIN` clauses of a `SELECT`."""
    start = select.args.get("from_") or select.args.get("from")  # depends on sqlglot's release
    yield from (clause.this for clause in (start, *select.args["joins"]) if clause)


def _stays_in(equality: exp.EQ, sources: set[str]) -> bool:
    columns = equality.find_all(exp.Column)
    return all(column.table.casefold() in {"", *sources} for column in columns)


def _equalities(condition: exp.Expr) -> Iterator[exp.EQ]:
    """Yield the conditions `column = column` that hold in every row of the result."""
    condition = condition.unnest()
    # Below `OR` and `NOT`, an equality need not hold for the rows of the result.
    parts = condition.flatten() if isinstance(condition, exp.And) else [condition]
    for part in parts:
        if isinstance(part, exp.EQ) and all(isinstance(side, exp.Column) for side in _sides(part)):
            yield part


def _sides(equality: exp.EQ) -> tuple[exp.Expr, exp.Expr]:
    return _strip(equality.left), _strip(equality.right)


def _strip(side: exp.Expr) -> exp.Expr:
    while isinstance(side, _SAME_VALUES):
        side = side.this
    return side


def _match(join: JoinInfo, condition: exp.Expr) -> Iterator[tuple[ColumnRef, ColumnRef]]:
    """Yield the pairs of columns that a parsed join tests for equality."""
    match list(_equalities(condition)), join.columns_involved:
        case [_], [left, right]:
            yield left, right
        case equalities, columns:
            # Only `USING` and correlated subqueries still have several equalities. Their columns
            # keep their own names, so the names tell which belong together.
            for equality in equalities:
                yield from _match_by_name(equality, columns)


def _match_by_name(
    equality: exp.EQ, columns: Sequence[ColumnRef]
) -> Iterator[tuple[ColumnRef, ColumnRef]]:
    left, right = (side.name.casefold() for side in _sides(equality))
    lefts = [column for column in columns if column.column.casefold() == left]
    rights = [column for column in columns if column.column.casefold() == right]
    match lefts, rights:
        case [first, second], _ if left == right:
            yield first, second
        case [first], [second] if left != right:
            yield first, second


def _resolve(first: ColumnRef, second: ColumnRef, tables: TableLookup) -> Pair | None:
    left, right = _column(first, tables), _column(second, tables)
    return pair_of(left, right) if left and right and left != right else None


def _column(reference: ColumnRef, tables: TableLookup) -> ColumnId | None:
    """Find the catalog's column for a column reference in parsed SQL.

    Case is ignored only if there is no exact match.
    """
    table = table_id(reference.table)
    paths = tables.columns(table)
    for fold in (str, str.casefold):
        matches = [path for path in paths if fold(path) == fold(reference.column)]
        if len(matches) == 1:
            return ColumnId(table, matches[0])
    return None
