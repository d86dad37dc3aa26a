"""Write the SQL of a join: a statement that returns its rows, and a query that counts them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from datahub_hyperjoin.joins import Join, reference
from datahub_hyperjoin.sql.conditions import Comparison
from datahub_hyperjoin.sql.dialects import SqlDialect
from datahub_hyperjoin.sql.parts import (
    ROW_LIMIT,
    all_equal,
    column_in_sql,
    count_groups,
    every_column,
    sum_of_products,
    with_alias,
)
from datahub_hyperjoin.tables import ColumnId


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInSql:
    """The names of a table and its columns in SQL.

    A system that can read a table in several ways has one object for each way.
    """

    shown: exp.Table
    """The table in a `FROM` clause of the SQL that is shown to people."""

    run: exp.Table
    """The table in a `FROM` clause of the SQL that this package runs."""

    members: Mapping[str, tuple[str, ...]]
    """Maps each path to its parts: the name of a column, then those of nested struct members."""

    binary: frozenset[str] = frozenset()
    """The paths of columns of bytes, which were read as hexadecimal digits."""

    addresses: frozenset[str] = frozenset()
    """The paths of columns of network addresses, which casts to text write with their masks."""

    listed: tuple[str, ...] = ()
    """The columns that a statement selects; empty for `*`, which selects all of them."""

    def selected(self, alias: str, dialect: SqlDialect) -> list[exp.Expr]:
        """Return the expressions that select the columns.

        Args:
            dialect: The dialect, which writes listed bytes as digits that people can read.
        """
        return [
            exp.alias_(dialect.fill(dialect.digits, column), name, quoted=True)
            if name in self.binary
            else column
            for name in self.listed
            for column in [column_in_sql((name,), alias)]
        ] or [every_column(alias)]


@dataclass(frozen=True, slots=True)
class JoinInSql:
    """A builder for the SQL of a join between two tables."""

    tables: tuple[TableInSql, TableInSql]
    """The first and the second table, which are `a` and `b` in SQL."""

    pairs: tuple[tuple[str, str], ...]
    """The paths of the columns that must be equal, those of the first table first."""

    comparison: Comparison
    """How the values of the columns are compared."""

    def statement(self, *, shown: bool) -> exp.Select:
        """Build a `SELECT` that returns at most `ROW_LIMIT` rows of the join.

        Args:
            shown: Whether to name the tables as people do, or as they are run here.

        Returns:
            All columns of both tables, including columns with the same name.
        """
        first, second = (table.shown if shown else table.run for table in self.tables)
        dialect = self.comparison.dialect
        ends = zip(self.tables, "ab", strict=True)
        return (
            select_all(ends, dialect)
            .from_(with_alias(first, "a"))
            .join(with_alias(second, "b"), on=all_equal(self._expressions()))
            .limit(ROW_LIMIT)
        )

    def count(self) -> exp.Select:
        """Build the query that counts the rows of the join.

        Each table is grouped by the compared values first, so that a many-to-many join costs no
        more than reading both tables.
        """
        keys = [f"k{at}" for at in range(len(self.pairs))]
        equal = [(exp.column(key, "a"), exp.column(key, "b")) for key in keys]
        return (
            sum_of_products("ab")
            .from_(self._groups(0, "a"))
            .join(self._groups(1, "b"), on=all_equal(equal))
        )

    def _groups(self, side: int, alias: str) -> exp.Subquery:
        values = [ends[side] for ends in self._expressions()]
        return count_groups(self.tables[side].run, alias, values, self.comparison.dialect)

    def _expressions(self) -> list[tuple[exp.Condition, exp.Condition]]:
        first, second = self.tables
        return self.comparison.expressions(
            [
                compared_columns((first, left, "a"), (second, right, "b"), self.comparison.dialect)
                for left, right in self.pairs
            ]
        )


def select_all(ends: Iterable[tuple[TableInSql, str]], dialect: SqlDialect) -> exp.Select:
    """Build a `SELECT` of all columns of tables, given with their aliases, without its `FROM`."""
    return exp.select(
        *(column for table, alias in ends for column in table.selected(alias, dialect))
    )


_End = tuple[TableInSql, str, str]
"""A table, the path of its column, and its alias."""


def compared_columns(
    first: _End, second: _End, dialect: SqlDialect
) -> tuple[exp.Condition, exp.Condition]:
    """Return the expressions of two columns, as text that was read if their types differ."""
    return _compared(first, second, dialect), _compared(second, first, dialect)


def _compared(end: _End, other: _End, dialect: SqlDialect) -> exp.Condition:
    table, path, alias = end
    written = "{x}"
    if path in table.binary and other[1] not in other[0].binary:
        written = dialect.digits
    elif path in table.addresses and other[1] not in other[0].addresses:
        written = dialect.address
    return dialect.fill(written, column_in_sql(table.members[path], alias))


def sides_of(join: Join) -> tuple[tuple[ColumnId, ...], tuple[ColumnId, ...]]:
    """Return the joined columns of both tables, with the referring table's columns first.

    Returns:
        The columns of the referring table, then those of the referenced table, in the same order.
    """
    lefts, rights = (tuple(side) for side in zip(*join.pairs, strict=True))
    first, _ = reference(join) or (join.left, join.right)
    return (lefts, rights) if first == join.left else (rights, lefts)


def name_in_sql(*parts: str) -> exp.Table:
    """Build a quoted table name from its parts, such as schema and table."""
    first, *others = (exp.to_identifier(part, quoted=True) for part in parts)
    return exp.Table(this=exp.Dot.build([first, *others]) if others else first)
