"""Write the SQL of a join through a crosswalk."""

from dataclasses import dataclass

from sqlglot import exp

from datahub_hyperjoin.joins import Cardinality, CrosswalkJoin
from datahub_hyperjoin.sql.conditions import Comparison
from datahub_hyperjoin.sql.parts import (
    ROW_LIMIT,
    all_equal,
    count_groups,
    sum_of_products,
    with_alias,
)
from datahub_hyperjoin.sql.write import TableInSql, compared_columns, select_all
from datahub_hyperjoin.tables import ColumnId

_Equal = tuple[exp.Condition, exp.Condition]


@dataclass(frozen=True, slots=True)
class TwoStepsInSql:
    """A builder for the SQL of a join through a crosswalk."""

    tables: tuple[TableInSql, TableInSql, TableInSql]
    """The first table, the crosswalk and the second table: `a`, `c` and `b` in SQL."""

    paths: tuple[str, str, str, str]
    """The paths of the columns, from the first table to the second one."""

    comparison: Comparison
    """The way to compare the columns of each step."""

    def statement(self, *, shown: bool) -> exp.Select:
        """Build a `SELECT` that returns at most `ROW_LIMIT` rows of the join.

        Args:
            shown: Whether to name the tables as people do, or as they are run here.

        Returns:
            All columns of the two tables; those of the crosswalk only connect them.
        """
        first, crosswalk, second = (table.shown if shown else table.run for table in self.tables)
        left, right = self._steps()
        dialect = self.comparison.dialect
        ends = ((self.tables[0], "a"), (self.tables[2], "b"))
        return (
            select_all(ends, dialect)
            .from_(with_alias(first, "a"))
            .join(with_alias(crosswalk, "c"), on=all_equal([left]))
            .join(with_alias(second, "b"), on=all_equal([right]))
            .limit(ROW_LIMIT)
        )

    def count(self) -> exp.Select:
        """Build the query that counts the rows of the join.

        Each table is grouped by the compared values first, so that steps that multiply rows cost no
        more than reading the tables.
        """
        (first, into), (out, second) = self._steps()
        groups = (
            count_groups(table.run, alias, values, self.comparison.dialect)
            for table, alias, values in zip(
                self.tables, "acb", ([first], [into, out], [second]), strict=True
            )
        )
        left, crosswalk, right = groups
        return (
            sum_of_products("acb")
            .from_(left)
            .join(crosswalk, on=all_equal([(exp.column("k0", "a"), exp.column("k0", "c"))]))
            .join(right, on=all_equal([(exp.column("k1", "c"), exp.column("k0", "b"))]))
        )

    def _steps(self) -> list[_Equal]:
        (first, crosswalk, second), (left, into, out, right) = self.tables, self.paths
        dialect = self.comparison.dialect
        return self.comparison.expressions(
            [
                compared_columns((first, left, "a"), (crosswalk, into, "c"), dialect),
                compared_columns((crosswalk, out, "c"), (second, right, "b"), dialect),
            ]
        )


def columns_in_order(join: CrosswalkJoin) -> tuple[ColumnId, ColumnId, ColumnId, ColumnId]:
    """Return the four columns of a crosswalk join in the order in which the SQL joins them.

    Returns:
        The table comes first whose rows the join multiplies less.
    """
    bridge = join.bridge
    first, into, out, second = bridge.left, bridge.left_via, bridge.right_via, bridge.right
    if join.evidence.cardinality is Cardinality.ONE_MANY:
        return second, out, into, first
    return first, into, out, second
