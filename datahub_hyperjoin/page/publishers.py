"""Derive the publisher of a table. The page uses publishers for colours and filters."""

from collections import Counter
from collections.abc import Iterable

from datahub_hyperjoin.tables import ColumnId, TableId

_FILE_PLATFORMS = {"abs", "file", "gcs", "hdfs", "s3"}
"""DataHub's platforms whose tables have the names of files."""


def publisher_of(table: TableId) -> str:
    """Return the publisher of a table: its first folder or its schema, or else its platform.

    Example:
        >>> publisher_of(TableId("file", "lahman/core/Batting.csv"))
        'lahman'
        >>> publisher_of(TableId("postgres", "shop.sales.orders"))
        'shop.sales'
    """
    folder, slash, _ = table.name.partition("/")
    if slash:
        return folder
    # The dot in the name of a file begins its extension.
    schema = "" if table.platform in _FILE_PLATFORMS else table.name.rpartition(".")[0]
    return schema or table.platform


def number_publishers(tables: Iterable[TableId], ends: Iterable[ColumnId]) -> dict[str, int]:
    """Map each publisher to its index on the page; the publisher with the most joins has index 0.

    Example:
        >>> orders, teams = TableId("postgres", "shop.orders"), TableId("file", "lahman/Teams.csv")
        >>> number_publishers([orders, teams], [ColumnId(orders, "id")])
        {'shop': 0, 'lahman': 1}
    """
    counts = Counter(publisher_of(end.table) for end in ends)
    ordered = sorted({*map(publisher_of, tables)}, key=lambda name: (-counts[name], name))
    return {name: number for number, name in enumerate(ordered)}
