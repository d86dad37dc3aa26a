"""Which way a table is read."""

from enum import Enum

from datahub_hyperjoin.locations import (
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


class Route(Enum):
    """How the rows of a table get to where they are counted."""

    LOCAL_BATCH = "local batch"
    """Many tables to a task, which opens each and reads it whole."""

    DISTRIBUTED = "distributed"
    """A table to many tasks, by Spark's own readers."""

    SHIPPED = "shipped"
    """Many files to a task, which gets them from Spark and reads them as it reads its own."""


def route_of(table: Table, config: ProfileConfig) -> Route:
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
        return Route.DISTRIBUTED if large else Route.LOCAL_BATCH
    if isinstance(place, IcebergFolder):
        return Route.LOCAL_BATCH
    if isinstance(place, CatalogTable):
        return Route.DISTRIBUTED
    far = is_remote(place.location)
    if isinstance(place, DeltaFolder | IcebergFolder):
        return Route.DISTRIBUTED if far else Route.LOCAL_BATCH
    if large and place.format in _IN_PARTS:
        return Route.DISTRIBUTED
    return Route.SHIPPED if far else Route.LOCAL_BATCH
