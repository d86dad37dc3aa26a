"""Write SQL for a path of joins, with the table and column names from the catalog.

Nobody has run the statement, so it is only for joins whose tested SQL the catalog does not hold.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count

from datahub.sql_parsing.sqlglot_utils import get_dialect
from sqlglot import Dialect, exp

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.quoted_names import escape_for_quotes
from datahub_hyperjoin.statements import FILE_DIALECT
from datahub_hyperjoin.tables import ColumnId, TableId

_FILES = "file"
"""The platform whose tables are files, which DuckDB reads by their paths."""

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
"""Names that need no quotes. DataHub converts table and column names of some databases to lower
case; SQL finds the converted names only without quotes."""

_Pairs = Sequence[tuple[ColumnId, ColumnId]]


def write_path_sql(joins: Sequence[CatalogJoin]) -> str:
    """Write SQL for a path of joins, with the table and column names from the catalog.

    Args:
        joins: The joins in order, each with the table on the left that the path reaches first.

    Returns:
        The statement; empty if values must be converted before they are equal, if a column may be a
        member of a struct, or if the tables are in several systems.
    """
    tables = [table for join in joins for table in join.tables]
    columns = [column for _, pairs in _steps(joins) for pair in pairs for column in pair]
    if (
        any(join.compared_as for join in joins)
        or any("." in column.path for column in columns)
        or len({table.platform for table in tables}) > 1
    ):
        return ""
    return _write(joins, _dialect(tables[0].platform))


def _write(joins: Sequence[CatalogJoin], dialect: Dialect) -> str:
    aliases = (f"t{number}" for number in count(1))
    first = joins[0].left.table
    alias_of = {first: next(aliases)}
    statement = exp.select("*").from_(_table(first, alias_of[first], dialect))
    for table, pairs in _steps(joins):
        alias = next(aliases)
        equal = [
            exp.EQ(
                this=_column(one, alias_of[one.table], dialect),
                expression=_column(other, alias, dialect),
            )
            for one, other in pairs
        ]
        statement = statement.join(_table(table, alias, dialect), on=exp.and_(*equal))
        alias_of[table] = alias
    return statement.sql(dialect=dialect)


def _steps(joins: Sequence[CatalogJoin]) -> Iterator[tuple[TableId, _Pairs]]:
    """Yield the second and later tables of a path, each with its pairs to the previous table.

    A crosswalk is a table of its own.
    """
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
    try:
        return get_dialect(platform)
    except ValueError:
        return Dialect()
