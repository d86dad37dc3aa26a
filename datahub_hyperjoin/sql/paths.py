"""Write one SQL statement for a path of joins."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count

from sqlglot import Dialect, exp

from datahub_hyperjoin.joins import FILE_DIALECT, ROW_LIMIT, Cardinality, Join, Statement
from datahub_hyperjoin.names import escape_for_quotes
from datahub_hyperjoin.sql.dialects import write_sql
from datahub_hyperjoin.sql.write import parse_statement
from datahub_hyperjoin.tables import ColumnId, TableId

_NO_SQL = "values must be converted, or the tables are in several systems"


def write_path(joins: Sequence[Join], statements: Mapping[str, Statement]) -> Statement:
    """Write one statement for a path of joins, from the SQL of each join if it is known.

    Args:
        joins: The joins in order, each with the table on the left that the path reaches first.
        statements: The SQL of joins, by the URN of the join.

    Returns:
        The statement, or the reason why there is none.
    """
    known = [statements[join.urn] for join in joins if join.urn in statements]
    if len(known) == len(joins) == 1:
        return known[0]
    sql = _chain(joins, known) or write_path_sql(joins)
    return Statement(sql=sql, was_run=False, reason="" if sql else _NO_SQL)


def _chain(joins: Sequence[Join], known: Sequence[Statement]) -> str:
    """Join the tables of a path as the SQL of each join does; empty if that is not clear."""
    if len(known) < len(joins) or len({each.dialect for each in known}) > 1:
        return ""
    path, last = exp.Select(), 1
    for join, statement in zip(joins, known, strict=True):
        tree, forward = parse_statement(statement), _is_forward(join)
        if tree is None or forward is None or not _is_plain(tree):
            return ""
        tables = [tree.args["from_"].this, *(each.this for each in tree.args["joins"])]
        conditions = [each.args["on"] for each in tree.args["joins"]]
        if not forward:
            tables, conditions = tables[::-1], conditions[::-1]
        # The first table is the last one of the join before.
        aliases = {table.alias: f"t{number}" for number, table in enumerate(tables, start=last)}
        ends = [tables[0].alias, tables[-1].alias]
        shown = [
            each
            for end in (ends if last == 1 else ends[1:])
            for each in tree.expressions
            if any(column.table == end for column in each.find_all(exp.Column))
        ]
        for part in (*shown, *conditions):
            _rename(part, aliases)
        for table in tables:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(aliases[table.alias])))
        path = path.select(*shown)
        path = path.from_(tables[0]) if last == 1 else path
        for table, condition in zip(tables[1:], conditions, strict=True):
            path = path.join(table, on=condition)
        last += len(conditions)
    return write_sql(path.limit(ROW_LIMIT), known[0].dialect, pretty=True)


def _is_plain(tree: exp.Select) -> bool:
    """Return whether a statement is as `JoinInSql` writes it; people may have edited it."""
    parts = {name for name, part in tree.args.items() if part}
    tables = [tree.args["from_"].this, *(each.this for each in tree.args["joins"])]
    return parts == {"expressions", "from_", "joins", "limit"} and [
        table.alias for table in tables
    ] in (["a", "b"], ["a", "c", "b"])


def _is_forward(join: Join) -> bool | None:
    """Return whether the SQL of a join begins with the left table; None if that is unclear."""
    if join.referenced:
        return join.referenced == join.right
    match join.cardinality:
        case Cardinality.MANY_ONE:
            return True
        case Cardinality.ONE_MANY:
            return False
        case _:
            return None


def _rename(part: exp.Expr, aliases: Mapping[str, str]) -> None:
    for column in part.find_all(exp.Column):
        if column.table in aliases:
            column.set("table", exp.to_identifier(aliases[column.table]))


_FILES = "file"
"""The platform whose tables are files, which DuckDB reads by their paths."""

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
"""Names that need no quotes. DataHub converts table and column names of some databases to lower
case; SQL finds the converted names only without quotes."""

_Pairs = Sequence[tuple[ColumnId, ColumnId]]


def write_path_sql(joins: Sequence[Join]) -> str:
    """Write SQL for a path of joins, with the table and column names from the catalog.

    It is empty if values must be converted, or if the tables are in several systems. Nobody has run
    it, so it is only for joins whose tested SQL is unknown.
    """
    tables = [table for join in joins for table in join.tables]
    columns = [column for _, pairs in _steps(joins) for pair in pairs for column in pair]
    if (
        any(join.compared_as for join in joins)
        or any("." in column.path for column in columns)
        or len({table.platform for table in tables}) > 1
    ):
        return ""
    dialect = _dialect(tables[0].platform)
    aliases = (f"t{number}" for number in count(1))
    first = joins[0].left.table
    alias_of = {first: next(aliases)}
    statement = exp.select("*").from_(_table(first, alias_of[first], dialect))
    for table, pairs in _steps(joins):
        alias = next(aliases)
        equal = (
            _column(one, alias_of[one.table], dialect).eq(_column(other, alias, dialect))
            for one, other in pairs
        )
        statement = statement.join(_table(table, alias, dialect), on=exp.and_(*equal))
        alias_of[table] = alias
    return statement.sql(dialect=dialect)


def _steps(joins: Sequence[Join]) -> Iterator[tuple[TableId, _Pairs]]:
    """Yield the second and later tables of a path, each with its pairs to the previous table."""
    # A crosswalk is a table of its own.
    for join in joins:
        if join.via:
            into, out = join.via
            yield into.table, [(join.left, into)]
            yield join.right.table, [(out, join.right)]
        else:
            yield join.right.table, join.pairs


def _column(column: ColumnId, alias: str, dialect: Dialect) -> exp.Column:
    return exp.Column(this=_name(column.path, dialect), table=exp.to_identifier(alias))


def _table(table: TableId, alias: str, dialect: Dialect) -> exp.Table:
    parts = [table.name] if table.platform == _FILES else table.name.split(".")
    first, *others = (_name(part, dialect) for part in parts)
    named = exp.Dot.build([first, *others]) if others else first
    return exp.Table(this=named, alias=exp.TableAlias(this=exp.to_identifier(alias)))


def _name(name: str, dialect: Dialect) -> exp.Identifier:
    kind = type(dialect)
    plain = _PLAIN.fullmatch(name) and name.upper() not in _keywords(kind)
    return exp.to_identifier(escape_for_quotes(name, kind.__name__.lower()), quoted=not plain)


@cache
def _keywords(dialect: type[Dialect]) -> frozenset[str]:
    # Key words such as ORDER are listed as parts of phrases.
    return frozenset(" ".join(dialect.tokenizer_class.KEYWORDS).split())


def _dialect(platform: str) -> Dialect:
    """Return the SQL dialect of a platform, or standard SQL for an unknown platform."""
    if platform == _FILES:
        return Dialect.get_or_raise(FILE_DIALECT)
    from datahub.sql_parsing.sqlglot_utils import get_dialect  # noqa: PLC0415 (half a second)

    try:
        return get_dialect(platform)
    except ValueError:
        return Dialect()
