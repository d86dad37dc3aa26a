"""Count how many SQL queries in the catalog join each pair of columns."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nlargest
from typing import NamedTuple

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import QueryPropertiesClass, QuerySubjectsClass
from datahub.sql_parsing.schema_resolver import SchemaInfo, SchemaResolverInterface, _TableName
from datahub.sql_parsing.sqlglot_lineage import ColumnRef, JoinInfo, sqlglot_lineage
from datahub.sql_parsing.sqlglot_utils import get_dialect, parse_statement
from sqlglot import Dialect, exp, parse_one
from sqlglot.errors import SqlglotError

from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.entities import Aspects, aspect_of, parse_entity, scroll
from datahub_hyperjoin.catalog.relationships import report_skipped
from datahub_hyperjoin.metadata.relationships import MODEL_VERSION
from datahub_hyperjoin.metadata.urns import dataset_urn, table_id
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, pair_of

Name = tuple[str, ...]
"""The parts of a table's name in SQL, the outermost first."""


class TableLookup:
    """A lookup of the catalog's tables by their names in SQL."""

    # SQL always omits the platform instance and often the database or the schema. So a name
    # resolves to the table whose full name ends with it, if exactly one table's does; an
    # exact match is tried before one that ignores case.

    def __init__(self, columns: Mapping[TableId, Iterable[str]]) -> None:
        self._columns = {table: tuple(sorted(paths)) for table, paths in columns.items()}
        self._by_last_part: defaultdict[tuple[str, str], list[TableId]] = defaultdict(list)
        for table in sorted(self._columns):
            last = table.name.rpartition(".")[2].casefold()
            self._by_last_part[table.platform, last].append(table)

    def find(self, platform: str, parts: Name, subjects: frozenset[TableId]) -> TableId | None:
        """Return the table that a SQL name refers to; tables in `subjects` take precedence."""
        tables = self._by_last_part.get((platform, parts[-1].casefold()), [])
        for candidates in ([table for table in tables if table in subjects], tables):
            for fold in (str, str.casefold):
                wanted = tuple(fold(part) for part in parts)
                matches = [table for table in candidates if _ends_match(fold(table.name), wanted)]
                if len(matches) == 1:
                    return matches[0]
        return None

    def columns(self, table: TableId) -> tuple[str, ...]:
        """Return the paths of a table's columns."""
        return self._columns.get(table, ())


def _ends_match(name: str, parts: Name) -> bool:
    # SQL may also give more parts than the catalog, for example the name of a Spark catalog.
    own_parts = tuple(name.split("."))
    shared = min(len(own_parts), len(parts))
    return own_parts[-shared:] == parts[-shared:]


def _rename_tables(
    statement: exp.Expr, find: Callable[[Name], TableId | None]
) -> dict[str, TableId]:
    """Give each table in a SQL statement a unique name, and map the name to the table."""
    # The new name has no schema or database. DataHub's parser needs complete names, all with
    # the same number of parts; unique names of one part fulfil this on every platform. A
    # table without an alias gets its old name as the alias, so columns that are qualified by
    # it still refer to the table. Columns that are qualified by a schema as well lose it,
    # because an alias has no schema.
    tables, original_names = {}, set()
    # All tables are collected first, because renaming changes the tree that is searched.
    for number, table in enumerate(list(statement.find_all(exp.Table))):
        # BigQuery quotes several parts as one, as in `project.dataset.table`.
        parts = tuple(".".join(part.name for part in table.parts).split("."))
        if not parts[-1] or isinstance(table.this, exp.Func) or _is_defined_within(table):
            continue
        original_names.add(tuple(part.casefold() for part in parts[-2:]))
        name = f"hyperjoin_table_{number}"
        _rename(table, name)
        resolved = find(parts)
        if resolved:
            tables[name] = resolved
    for column in statement.find_all(exp.Column):
        if (column.db.casefold(), column.table.casefold()) in original_names:
            _clear_qualifiers(column)
    return tables


def _rename(table: exp.Table, name: str) -> None:
    if not table.alias and isinstance(table.parent, exp.From | exp.Join):
        table.set("alias", exp.TableAlias(this=table.parts[-1].copy()))
    table.set("this", exp.to_identifier(name, quoted=True))
    _clear_qualifiers(table)


def _clear_qualifiers(node: exp.Table | exp.Column) -> None:
    node.set("db", None)
    node.set("catalog", None)


def _is_defined_within(table: exp.Table) -> bool:
    # Walks up from the name and looks at the `WITH` clause of each enclosing node. A name
    # inside the expression of the same name refers to the real table, as in `WITH orders AS
    # (SELECT * FROM orders)`, so the clause that contains that expression is skipped.
    if table.db:
        return False
    name, node, own_clause = table.name.casefold(), table.parent, None
    while node:
        if isinstance(node, exp.CTE) and node.alias.casefold() == name:
            own_clause = node.parent
        clause = node.args.get("with_") or node.args.get("with")  # depends on sqlglot's release
        expressions = clause.expressions if clause and clause is not own_clause else []
        if any(expression.alias.casefold() == name for expression in expressions):
            return True
        node = node.parent
    return False


# The parser reports for each join the columns that its condition depends on, through aliases,
# subqueries and common table expressions. Three properties of it shape this module:
#
# - It does not report which columns are equal to which. So every equality of two columns is made a
#   join of its own before parsing.
# - It ignores `WHERE`. So equalities there become joins, too.
# - It needs complete table names. So every table gets a unique name first (`_rename_tables`).

_SAME_VALUES = (exp.Paren, exp.Cast, exp.Lower, exp.Upper, exp.Trim)
"""Expressions that keep a column comparable, because values are compared in normal form anyway."""

_UNREADABLE = (SqlglotError, RecursionError, TypeError, ValueError)


@dataclass
class _Resolver(SchemaResolverInterface):
    tables: Mapping[str, TableId]
    columns: Mapping[TableId, list[str]]
    of_platform: str
    platform_instance: str | None = None

    @property
    def platform(self) -> str:
        """The DataHub platform, which determines the SQL dialect."""
        return self.of_platform

    def includes_temp_tables(self) -> bool:
        """Return True to stop the parser from caching anything."""
        return True

    def resolve_table(self, table: _TableName) -> tuple[str, SchemaInfo | None]:
        """Look up the URN and the columns of a table by its unique name."""
        resolved = self.tables.get(table.table)
        if resolved is None:
            return dataset_urn(TableId(self.platform, f".{table.table}")), None
        return dataset_urn(resolved), dict.fromkeys(self.columns[resolved], "")


def list_joined_pairs(
    statement: str, *, platform: str, tables: TableLookup, subjects: frozenset[TableId]
) -> frozenset[Pair] | None:
    """Find the column pairs that a SQL statement tests for equality; None if parsing fails."""
    try:
        dialect = _dialect(platform)
        parsed = parse_statement(statement, dialect=dialect)
        mentioned = {part.name.casefold() for part in parsed.find_all(exp.Identifier)}
        renamed = _rename_tables(parsed, lambda parts: tables.find(platform, parts, subjects))
        _isolate_equalities(parsed)
        # The parser expands asterisks, in wide tables to hundreds of columns that join nothing.
        columns = {
            table: [path for path in tables.columns(table) if path.casefold() in mentioned]
            for table in renamed.values()
        }
        resolver = _Resolver(renamed, columns, platform)
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
    try:
        return get_dialect(platform)
    except ValueError:
        return Dialect()


def _isolate_equalities(statement: exp.Expr) -> None:
    """Rewrite a SQL statement so that each equality of two columns has its own `JOIN`."""
    # Each join keeps its first equality. The others, and those in `WHERE`, become conditions
    # of additional joins with a one-row subquery. The result of the statement changes; which
    # columns are compared does not.
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
    """Find the catalog's column for a column reference in parsed SQL."""
    table = table_id(reference.table)
    paths = tables.columns(table)
    for fold in (str, str.casefold):
        matches = [path for path in paths if fold(path) == fold(reference.column)]
        if len(matches) == 1:
            return ColumnId(table, matches[0])
    return None


_LONGEST = 100_000
"""Maximum length of a statement that is parsed, in characters; longer ones take minutes."""

_ASPECTS = [QueryPropertiesClass.ASPECT_NAME, QuerySubjectsClass.ASPECT_NAME]


class _SqlQuery(NamedTuple):
    changed: int
    """Time of the last change, in milliseconds since 1970."""

    urn: str
    statement: str
    platform: str
    subjects: frozenset[TableId]
    """The tables that the query reads, as far as the run knows them."""


def count_joins(
    graph: DataHubGraph, datasets: Iterable[Dataset], *, most: int, warn: Warn
) -> dict[Pair, int]:
    """Count how many of the newest SQL queries in the catalog join each pair of columns."""
    if not most:
        return {}
    columns = {dataset.table: [path for path, _ in dataset.columns] for dataset in datasets}
    tables = {dataset_urn(table): table for table in columns}
    skip = report_skipped(warn)
    queries = (
        parse_entity(urn, partial(_read_query, urn, aspects, tables), skip)
        for urn, aspects in scroll(graph, "query", _ASPECTS, warn=skip)
    )
    # Search does not sort by age; the heap keeps no more than `most` statements in memory.
    newest = nlargest(most, (query for query in queries if query))
    return _count_statements(newest, TableLookup(columns), warn)


def _read_query(urn: str, aspects: Aspects, tables: Mapping[str, TableId]) -> _SqlQuery | None:
    properties = aspect_of(aspects, QueryPropertiesClass)
    used = aspect_of(aspects, QuerySubjectsClass)
    if properties is None or used is None or MODEL_VERSION in properties.customProperties:
        return None
    subjects = frozenset(filter(None, (tables.get(each.entity) for each in used.subjects)))
    statement = properties.statement.value
    if not subjects or len(statement) > _LONGEST:
        return None
    # A query over several platforms has no platform of its own; the smallest name is the same in
    # every run.
    platform = min(table.platform for table in subjects)
    return _SqlQuery(properties.lastModified.time, urn, statement, platform, subjects)


def _count_statements(
    queries: Iterable[_SqlQuery], tables: TableLookup, warn: Warn
) -> dict[Pair, int]:
    """Count how many of the given SQL queries join each pair."""
    found = {
        query.urn: list_joined_pairs(
            query.statement, platform=query.platform, tables=tables, subjects=query.subjects
        )
        for query in queries
    }
    if unparsed := [urn for urn, pairs in found.items() if pairs is None]:
        warn(
            "SQL queries not parsed",
            "The joins in these SQL queries are not counted as evidence",
            f"{len(unparsed)} of {len(found)}, for example {unparsed[0]}",
        )
    return dict(Counter(pair for pairs in found.values() for pair in pairs or ()))
