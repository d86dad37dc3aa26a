"""Choose the route on which Spark reads each table."""

from collections.abc import Sequence
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from datahub_hyperjoin.locations import (
    CatalogTable,
    DeltaFolder,
    File,
    Folder,
    IcebergDataFile,
    IcebergFolder,
    Relation,
    database_of,
    is_remote,
)
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.files.delimited import DelimitedText
from datahub_hyperjoin.spark.files.formats import format_of
from datahub_hyperjoin.spark.profiles.value_hash import counts_itself
from datahub_hyperjoin.spark.session import LazySession, OptionalSession
from datahub_hyperjoin.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TEXT_SUFFIXES = {".csv", ".tsv"}
"""Suffixes of delimited text that is not compressed."""

_FEW_BYTES = 1 << 22
"""Total size of texts up to which a later run reads them without another process, in bytes."""
_MANY_BYTES = 1 << 29
"""Total size of the tables up to which a whole run is faster without Spark, in bytes."""

_MANY_VALUES = 1 << 27
"""Number of distinct values of all compared columns up to which one process compares them. Each
takes 16 bytes there."""
_MANY_COMPARED_BYTES = 1 << 31
"""Total size of their tables up to which it does, in bytes. Of tables with more rows than a profile
reads, the number of distinct values is too small."""


class Route(Enum):
    """A way in which Spark tasks read tables."""

    LOCAL_BATCH = "local batch"
    """A task opens many tables and reads each as a whole."""

    DISTRIBUTED = "distributed"
    """Many tasks read one table, through Spark's own readers."""

    SHIPPED = "shipped files"
    """A task receives copies of many files from Spark and reads them as local files."""


def route_of(table: Table, config: ProfileConfig) -> Route:
    """Choose the route for a table."""
    is_large = table.size >= config.split_bytes
    # A remote Delta table needs its log interpreted, which only Spark's reader does remotely.
    match table.location:
        case Relation():
            # What the database counts itself needs no ranges.
            is_split = is_large and not counts_itself(table, config)
            return Route.DISTRIBUTED if is_split else Route.LOCAL_BATCH
        case CatalogTable(files=files):
            return Route.DISTRIBUTED if is_large or files is None else Route.LOCAL_BATCH
        case DeltaFolder(uri=uri):
            return Route.DISTRIBUTED if is_remote(uri) else Route.LOCAL_BATCH
        # Spark's own readers may lack the jars for the store, and Arrow reads it in any process.
        case File() | Folder() if table.location.store:
            return Route.LOCAL_BATCH
        case File() | Folder() if is_large and format_of(table.location).spark_reader:
            return Route.DISTRIBUTED
        case File(uri=uri) | Folder(uri=uri) | IcebergFolder(uri=uri) | IcebergDataFile(uri=uri):
            return Route.SHIPPED if is_remote(uri) else Route.LOCAL_BATCH
        case _:
            assert_never(table.location)


def whole_route_of(table: Table, config: ProfileConfig) -> Route:
    """Choose the route for a table whose columns a task may need in full.

    Databases are always read in local batches, which limit their connections.
    """
    in_database = database_of(table.location) is not None
    return Route.LOCAL_BATCH if in_database else route_of(table, config)


def need_spark(tables: Sequence[Table], config: ProfileConfig) -> bool:
    """Return whether tables need Spark, because of their size or location.

    Args:
        config: Provides the size from which a table is read by many tasks.

    Returns:
        False for files on this machine and tables of databases, of at most 512 MiB in all. Tables
        that their database counts do not count here.
    """
    read = [table for table in tables if not counts_itself(table, config)]
    return sum(table.size for table in read) > _MANY_BYTES or any(
        route_of(table, config) is not Route.LOCAL_BATCH for table in read
    )


def may_need_spark(tables: Sequence[Table], config: ProfileConfig) -> bool:
    """Return whether tables need Spark, or have a size that nobody knows."""
    unknown = any(database_of(table.location) and not table.size for table in tables)
    return unknown or need_spark(tables, config)


def are_short_texts(tables: Sequence[Table]) -> bool:
    """Return whether all tables are short delimited texts on this machine, 4 MiB in all.

    To read them takes less time than to start a process, and they crash none: they are neither
    compressed nor binary.
    """
    return sum(table.size for table in tables) <= _FEW_BYTES and all(
        isinstance(table.location, File)
        and isinstance(format_of(table.location), DelimitedText)
        and PurePath(table.location.uri).suffix.lower() in _TEXT_SUFFIXES
        and not is_remote(table.location.uri)
        for table in tables
    )


def session_for(
    tables: Sequence[Table], session: OptionalSession, config: ProfileConfig
) -> "SparkSession | None":
    """Return a Spark session to read tables, or None if local processes read them faster.

    Args:
        config: Provides the size from which a table is read by many tasks.

    Returns:
        None for files on this machine and tables of databases of at most 512 MiB in all, which
        processes of this program read in less time.
    """
    return session() if may_need_spark(tables, config) else None


def session_to_compare(
    tables: Sequence[Table], values: int, session: OptionalSession, config: ProfileConfig
) -> "SparkSession | None":
    """Return a Spark session to compare columns, or None if local processes do it faster.

    On one machine, its processes read tables as fast as Spark, and one process compares their
    values in less time than Spark takes to bring those of a column together.

    Args:
        config: Provides the size from which a table is read by many tasks.

    Returns:
        None for what `session_for` leaves to local processes. If Spark runs on this machine only,
        also None for tables of a known size, at most 2 GiB in all, that one task each reads.
    """
    size = sum(table.size for table in tables)
    is_small = values <= _MANY_VALUES and size <= _MANY_COMPARED_BYTES
    one_task_each = all(
        0 < table.size < config.split_bytes and route_of(table, config) is Route.LOCAL_BATCH
        for table in tables
    )
    if is_small and one_task_each and isinstance(session, LazySession) and session.is_local:
        return None
    return session_for(tables, session, config)
