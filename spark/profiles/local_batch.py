"""Profiles tables that tasks open: one pass over each, one Spark job for all of them."""

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.errors import HyperJoinError, UnreadableTableError
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.gc_tuning import spare_imports
from datahub_hyperjoin.spark.packing import pack
from datahub_hyperjoin.spark.profiles.column_batch import ColumnBatch
from datahub_hyperjoin.spark.profiles.result_transfer import PARCEL, depot, unwrap, wrap
from datahub_hyperjoin.spark.read import located
from datahub_hyperjoin.tables import Table, TableProfile

logger = logging.getLogger(__name__)


def profile_local_batch(
    session: SparkSession, tables: Sequence[Table], config: ProfileConfig
) -> list[TableProfile]:
    """Reads every table once and says what its columns hold.

    Args:
        session: Where to run; one job is started on it.
        tables: What to read.
        config: How much to read, and to keep.

    Returns:
        A profile for each table, in their order. A table that cannot be used has a fault in its
        profile and does not affect the others.
    """
    if not tables:
        return []
    groups = pack(tables)
    logger.info("Profiling %s tables in %s tasks", len(tables), len(groups))
    with depot() as folder:
        worker = _worker(located(tables), groups, config, folder)
        found = (
            session.range(0, len(groups), numPartitions=len(groups))
            .mapInArrow(worker, from_arrow_schema(PARCEL))
            .toArrow()
        )
        profiles = unwrap(found, tables)
    return [profiles[at] for at in range(len(tables))]


def profile_table(table: Table, config: ProfileConfig, databases: Databases) -> TableProfile:
    """Profiles one table, here and now.

    Args:
        table: What to read.
        config: How much to read, and to keep.
        databases: Where tables of databases are read.

    Returns:
        Its profile; whatever went wrong with the table is the profile's fault.
    """
    [[profile]] = profile_each([table], config, databases)
    return profile


def profile_each(
    tables: Iterable[Table], config: ProfileConfig, databases: Databases
) -> Iterator[list[TableProfile]]:
    """Profiles tables one after the other, here and now.

    Args:
        tables: What to read.
        config: How much to read, and to keep.
        databases: Where tables of databases are read.

    Yields:
        As many profiles as are made together, in the order of the tables; whatever went wrong with
        a table is its profile's fault.
    """
    shelf, group = ColumnBatch(config, databases), list[tuple[Table, str]]()
    for table in tables:
        group.append((table, _fault_of(table, shelf)))
        if shelf.is_full:
            yield _profiles(shelf, group, config, databases)
            shelf, group = ColumnBatch(config, databases), []
    if group:
        yield _profiles(shelf, group, config, databases)


def _fault_of(table: Table, shelf: ColumnBatch) -> str:
    """Puts a table on a shelf; what it says is empty when that went well."""
    try:
        shelf.put(table)
    except Exception as fault:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        return said_of(fault)
    return ""


def _profiles(
    shelf: ColumnBatch, group: list[tuple[Table, str]], config: ProfileConfig, databases: Databases
) -> list[TableProfile]:
    try:
        made = iter(shelf.profiles())
    except Exception as fault:  # noqa: BLE001 (the same guard)
        if len(group) == 1:
            return [TableProfile(table=group[0][0], fault=said_of(fault))]
        # One of them is to blame, which shows when each is read on its own.
        return [profile_table(table, config, databases) for table, _ in group]
    return [
        TableProfile(table=table, fault=fault) if fault else next(made) for table, fault in group
    ]


def said_of(fault: Exception) -> str:
    """Why a table cannot be used, for people.

    Args:
        fault: What was raised.

    Returns:
        Its own words if it is ours.
    """
    if isinstance(fault, HyperJoinError):
        return str(fault)
    return str(UnreadableTableError.because(f"{type(fault).__name__}: {fault}"))


def _worker(
    tables: list[Table], groups: list[list[int]], config: ProfileConfig, folder: Path
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    # A task makes objects of its own tables only, of which a lake may have many more.
    shares = [pickle.dumps([tables[at] for at in group]) for group in groups]

    def profiles(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        spare_imports()
        for batch in batches:
            for group in batch.column("id").to_pylist():
                own, places = pickle.loads(shares[group]), iter(groups[group])  # noqa: S301 - ours
                with Databases() as databases:
                    for made in profile_each(own, config, databases):
                        yield wrap([*islice(places, len(made))], made, folder)

    return profiles
