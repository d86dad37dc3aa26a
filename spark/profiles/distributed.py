"""Profiles tables that many tasks read at once: one job a table, several at a time.

What Spark reads in partitions is counted in them, and only tallies meet.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.spark.columns import Column, TableStream, read_of
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.facts import opaque_profile
from datahub_hyperjoin.spark.databases.data_source import load_relation
from datahub_hyperjoin.spark.errors import EmptyRelationError
from datahub_hyperjoin.spark.native.frames import Opened, fault_of, load_frame, select_columns
from datahub_hyperjoin.spark.profiles.partial import (
    PARTIAL,
    WHOLE,
    add_up,
    assemble_profile,
    count_part,
    part_number,
)
from datahub_hyperjoin.spark.sampling import SEED
from datahub_hyperjoin.tables import ColumnId, Table, TableId, TableProfile

logger = logging.getLogger(__name__)

_AT_ONCE = 4
"""Tables read at a time: small ones would leave most of a cluster idle."""


def profile_distributed(
    session: SparkSession, tables: Sequence[Table], config: ProfileConfig
) -> list[TableProfile]:
    """Profiles tables by Spark's own readers.

    Args:
        session: Where to run.
        tables: What to read.
        config: How much to read, and to keep.

    Returns:
        A profile for each table, in their order; whatever went wrong with one is its profile's
        fault.
    """
    if not tables:
        return []
    logger.info("Profiling %s tables by Spark's own readers", len(tables))
    queues: dict[Database | TableId, list[Table]] = defaultdict(list)
    for table in tables:
        place = table.place
        queues[place.database if isinstance(place, Relation) else table.id].append(table)

    def profile(queue: Sequence[Table]) -> list[TableProfile]:
        """One after the other, since each has all connections of its database."""
        return [_profile(session, table, config) for table in queue]

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = {one.table.id: one for made in pool.map(profile, queues.values()) for one in made}
    return [found[table.id] for table in tables]


def _profile(session: SparkSession, table: Table, config: ProfileConfig) -> TableProfile:
    try:
        return _read_profile(session, table, config)
    except TableError as fault:
        return TableProfile(table=table, fault=str(fault))
    except Exception as error:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        return TableProfile(table=table, fault=str(fault_of(table.place, error)))


def _read_profile(session: SparkSession, table: Table, config: ProfileConfig) -> TableProfile:
    opened = _open(session, table, config)
    if not opened.rows:
        raise EmptyRelationError.without_rows()
    if opened.frame is None:
        opaque = (
            opaque_profile(ColumnId(table.id, column.path), column, rows=opened.rows)
            for column in opened.columns
        )
        found = TableProfile(table=table, columns=tuple(opaque), rows=opened.rows)
    else:
        found = assemble_profile(table, _counted(opened.frame, opened.columns, table, config))
    return replace(found, notes=(*opened.notes, *found.notes))


def _open(session: SparkSession, table: Table, config: ProfileConfig) -> Opened:
    share = min(1.0, config.max_bytes / max(table.size, 1))
    if isinstance(table.place, Relation):
        return load_relation(session, table.place, max_rows=config.max_rows, share=share)
    everything = load_frame(session, table.place)
    frame, columns, notes = select_columns(everything, None)
    rows = everything.count()
    share = min(share, config.max_rows / max(rows, 1))
    if share < 1:
        frame = frame.sample(fraction=share, seed=SEED)
        notes.append(f"read a sample of {share:.2%} of {rows} rows")
    return Opened(frame if frame.columns else None, columns, notes, rows)


def _counted(
    frame: DataFrame, columns: tuple[Column, ...], table: Table, config: ProfileConfig
) -> list[bytes]:
    size, names = config.sketch_size + 1, read_of(columns)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reading = TableStream(columns, (batch.rename_columns(names) for batch in batches), [])
        yield count_part(0, part_number(), reading, size=size)

    def meet(rows: pa.Table) -> pa.Table:
        return add_up(rows, [table], config)

    parts = frame.mapInArrow(count, from_arrow_schema(PARTIAL))
    whole = parts.groupBy("table", "path").applyInArrow(meet, from_arrow_schema(WHOLE))
    return whole.toArrow()["counted"].to_pylist()
