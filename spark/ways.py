"""Which way a table is read: whole by one task, or in parts by Spark's own readers."""

from datahub_hyperjoin.places import CatalogTable, DeltaFolder, File, FileFormat, Folder, is_remote
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.tables import Table

_IN_PARTS = {FileFormat.PARQUET, FileFormat.ORC}
"""Formats of which a file says where its parts begin. In text a line may end within a value."""


def is_split(table: Table, config: ProfileConfig) -> bool:
    """Whether Spark's own readers read a table.

    Args:
        table: Which one.
        config: From which size on.

    Returns:
        True for what only Spark can read, and for large files whose parts can be read apart.
    """
    place = table.place
    if isinstance(place, CatalogTable):
        return True
    if isinstance(place, DeltaFolder):
        return is_remote(place.location)
    large = table.size >= config.split_bytes
    return large and isinstance(place, File | Folder) and place.format in _IN_PARTS
