"""Find the column that an agent names, and select the joins of this column."""

from collections.abc import Sequence

from datahub_hyperjoin.agents.errors import AmbiguousColumnError
from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.urns import plain_path


def joins_of_named(joins: Sequence[CatalogJoin], name: str) -> list[CatalogJoin]:
    """Select the joins of the column that an agent names.

    The rules are tried from the strictest to the loosest: the whole name, the name in any case, and
    the last part of the name of a struct's member. The first rule with a match decides.

    Args:
        joins: Joins with the column's dataset on the left.
        name: Path of the column, with or without DataHub's annotations.

    Returns:
        The joins in their order; none if no join of the column is known.

    Raises:
        AmbiguousColumnError: The first rule with a match has several.
    """
    path = plain_path(name.strip())
    folded = path.casefold()
    known = sorted({column for join in joins for column in _columns_of(join)})
    rules = (
        [column for column in known if column == path],
        [column for column in known if column.casefold() == folded],
        [column for column in known if column.casefold().rpartition(".")[2] == folded],
    )
    matches = next(filter(None, rules), [])
    if len(matches) > 1:
        raise AmbiguousColumnError.among(name, joins[0].left.table.name, matches)
    return [join for join in joins if not _columns_of(join).isdisjoint(matches)]


def _columns_of(join: CatalogJoin) -> set[str]:
    """Return the paths of a join's columns in the left table.

    If a table joins with itself, the columns of both sides count.
    """
    return {
        column.path for pair in join.pairs for column in pair if column.table == join.left.table
    }
