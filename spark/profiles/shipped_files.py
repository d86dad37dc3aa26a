"""Profiles files that Spark brings to its workers: one job for those of all tables.

A table of one file is profiled where it is brought. The files of a table of many are counted where
they are, and their tallies meet.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.errors import EmptyTableError
from datahub_hyperjoin.locations import File, Folder
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import UnbroughtFileError
from datahub_hyperjoin.spark.native.shipping import Part, arriving, files_of, ship
from datahub_hyperjoin.spark.profiles.local_batch import profile_each, said_of
from datahub_hyperjoin.spark.profiles.partial import (
    PARTIAL,
    WHOLE,
    add_up,
    assemble_profile,
    count_part,
    void_part,
)
from datahub_hyperjoin.spark.profiles.result_transfer import PARCEL, depot, unwrap, wrap
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableProfile

logger = logging.getLogger(__name__)

Batches = Iterator[pa.RecordBatch]


def profile_shipped_files(
    session: SparkSession, tables: Sequence[Table], config: ProfileConfig
) -> list[TableProfile]:
    """Profiles files that only Spark can reach.

    Args:
        session: Where to run; one job is started for files, and one for folders of files.
        tables: What to read.
        config: How much to read, and to keep.

    Returns:
        A profile for each table, in their order; whatever went wrong with one is its profile's
        fault.
    """
    files = [table for table in tables if isinstance(table.place, File)]
    folders = [table for table in tables if isinstance(table.place, Folder)]
    if tables:
        logger.info("Profiling %s tables that Spark brings", len(tables))
    found = [
        *(_profile_files(session, files, config) if files else ()),
        *(_profile_folders(session, folders, config) if folders else ()),
    ]
    profiles = {profile.table.id: profile for profile in found}
    return [profiles[table.id] for table in tables]


def _profile_files(
    session: SparkSession, tables: Sequence[Table], config: ProfileConfig
) -> Iterator[TableProfile]:
    asked = files_of(tables)

    def worker(batches: Batches, folder: Path) -> Batches:
        places: list[int] = []

        def each() -> Iterator[Table]:
            for part, here in arriving(batches, asked):
                places.append(part.at)
                yield here

        for made in profile_each(each(), config, Databases()):
            yield wrap(places[: len(made)], made, folder)
            del places[: len(made)]

    with depot() as folder:
        brought = ship(session, [*asked])
        here = partial(worker, folder=folder)
        found = unwrap(brought.mapInArrow(here, from_arrow_schema(PARCEL)).toArrow(), tables)
    for at, table in enumerate(tables):
        yield found.get(at) or TableProfile(table=table, fault=str(UnbroughtFileError.at_all()))


def _profile_folders(
    session: SparkSession, tables: Sequence[Table], config: ProfileConfig
) -> Iterator[TableProfile]:
    asked = files_of(tables)

    def worker(batches: Batches) -> Batches:
        for part, here in arriving(batches, asked):
            yield _count(part, here, config)

    def meet(rows: pa.Table) -> pa.Table:
        return add_up(rows, tables, config)

    parts = ship(session, [*asked]).mapInArrow(worker, from_arrow_schema(PARTIAL))
    whole = parts.groupBy("table", "path").applyInArrow(meet, from_arrow_schema(WHOLE)).toArrow()
    found: dict[int, list[bytes]] = {at: [] for at in range(len(tables))}
    for at, counted in zip(whole["table"].to_pylist(), whole["counted"].to_pylist(), strict=True):
        found[at].append(counted)
    files = Counter(part.at for part in asked.values())
    for at, table in enumerate(tables):
        yield assemble_profile(table, found[at], files=files[at])


def _count(part: Part, here: Table, config: ProfileConfig) -> pa.RecordBatch:
    """Counts a file, of which no more is read than its share of what is read of the table."""
    rows, size = -(-config.max_rows // part.parts), config.sketch_size + 1
    try:
        reading = read_table(here, Databases(), max_rows=rows)
        return count_part(part.at, part.number, reading, size=size, file=part.path)
    except EmptyTableError:
        return void_part(part.at, part.number)
    except Exception as fault:  # noqa: BLE001 (the guard that keeps one file from ending the run)
        return void_part(part.at, part.number, file=part.path, fault=said_of(fault))
