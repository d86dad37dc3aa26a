"""Find the column that an agent names, and select the joins of this column."""

from collections.abc import Sequence

from datahub_hyperjoin.graphql.find import choose_column
from datahub_hyperjoin.joins import Join


def joins_of_named(joins: Sequence[Join], name: str) -> list[Join]:
    """Select the joins of the column that an agent names.

    Args:
        name: Path of the column, with or without DataHub's annotations.

    Returns:
        The joins in their order; none if no join of the column is known.
    """
    if not joins:
        return []
    known = {column for join in joins for column in _columns_of(join)}
    chosen = choose_column(name, known, joins[0].left.table.name)
    return [join for join in joins if chosen in _columns_of(join)]


def _columns_of(join: Join) -> set[str]:
    """Return the paths of a join's columns in the left table.

    If a table joins with itself, the columns of both sides count.
    """
    return {
        column.path for pair in join.pairs for column in pair if column.table == join.left.table
    }
