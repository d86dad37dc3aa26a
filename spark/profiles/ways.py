"""Which way a table is read."""

from enum import Enum

from datahub_hyperjoin.places import (
    CatalogTable,
    DeltaFolder,
    FileFormat,
    IcebergFolder,
    Relation,
    is_remote,
)
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.tables import Table

_IN_PARTS = {FileFormat.PARQUET, FileFormat.ORC}
"""Formats of which a file says where its parts begin. In text a line may end within a value."""


class Way(Enum):
    """How the rows of a table get to where they are counted."""

    PACKED = "packed"
    """Many tables to a task, which opens each and reads it whole."""

    SPLIT = "split"
    """A table to many tasks, by Spark's own readers."""

    BROUGHT = "brought"
    """Many files to a task, which gets them from Spark and reads them as it reads its own."""


def way_of(table: Table, config: ProfileConfig) -> Way:
    """How a table is read.

    Args:
        table: Which one.
        config: From which size on tables are split.

    Returns:
        The way that its place and its size ask for.
    """
    place = table.place
    large = table.size >= config.split_bytes
    if isinstance(place, Relation):
        return Way.SPLIT if large else Way.PACKED
    if isinstance(place, IcebergFolder):
        return Way.PACKED
    if isinstance(place, CatalogTable):
        return Way.SPLIT
    far = is_remote(place.location)
    if isinstance(place, DeltaFolder | IcebergFolder):
        return Way.SPLIT if far else Way.PACKED
    if large and place.format in _IN_PARTS:
        return Way.SPLIT
    return Way.BROUGHT if far else Way.PACKED
