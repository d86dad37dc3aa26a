"""Derive the publisher of a table. The page uses publishers for colours and filters."""

from datahub_hyperjoin.tables import TableId

_FILE_PLATFORMS = {"abs", "file", "gcs", "hdfs", "s3"}
"""DataHub's platforms whose tables have the names of files."""


def publisher_of(table: TableId) -> str:
    """Return the publisher of a table: its first folder or its schema, or else its platform.

    Args:
        table: The table.

    Returns:
        The name of the publisher.

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
