"""Profiles tables that many tasks read at once: one job a table, several at a time.

What Spark reads in partitions is counted in them, and only tallies meet.
"""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.spark.columns import Column, Reading
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.errors import EmptyRelationError
from datahub_hyperjoin.spark.frames import fault_of, load, read_of, select_columns
from datahub_hyperjoin.spark.partial import (
    PARTIAL,
    WHOLE,
    add_up,
    assemble,
    count_part,
    part_number,
)
from datahub_hyperjoin.spark.profile import opaque_profile
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, Table, TableProfile

logger = logging.getLogger(__name__)

_AT_ONCE = 4
"""Tables read at a time: small ones would leave most of a cluster idle."""

_SEED = 0
"""Another run draws the same rows."""


def profile_split(
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
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda table: _profile(session, table, config), tables))


def _profile(session: SparkSession, table: Table, config: ProfileConfig) -> TableProfile:
    try:
        return _read_profile(session, table, config)
    except TableError as fault:
        return TableProfile(table=table, fault=str(fault))
    except Exception as error:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        return TableProfile(table=table, fault=str(fault_of(table.place, error)))


def _read_profile(session: SparkSession, table: Table, config: ProfileConfig) -> TableProfile:
    frame = load(session, table.place)
    chosen, columns, notes = select_columns(frame, None)
    rows = frame.count()
    if not rows:
        raise EmptyRelationError.without_rows()
    if not chosen.columns:
        opaque = (_opaque(table, column, rows) for column in columns)
        return TableProfile(table=table, columns=tuple(opaque), rows=rows, notes=tuple(notes))
    share = min(1.0, config.max_rows / rows, config.max_bytes / max(table.size, 1))
    if share < 1:
        chosen = chosen.sample(fraction=share, seed=_SEED)
        notes.append(f"read a sample of {share:.2%} of {rows} rows")
    found = assemble(table, _counted(chosen, columns, table, config))
    return replace(found, notes=(*notes, *found.notes))


def _opaque(table: Table, column: Column, rows: int) -> ColumnProfile:
    id_ = ColumnId(table.id, column.path)
    return opaque_profile(id_, column.position, column.opaque or DataType.NESTED, rows=rows)


def _counted(
    frame: DataFrame, columns: tuple[Column, ...], table: Table, config: ProfileConfig
) -> list[dict[str, Any]]:
    size, names = config.sketch_size + 1, read_of(columns)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reading = Reading(columns, (batch.rename_columns(names) for batch in batches), [])
        rows = count_part(0, part_number(), reading, size=size)
        yield pa.RecordBatch.from_pylist([*rows], schema=PARTIAL)

    def meet(rows: pa.Table) -> pa.Table:
        return add_up(rows, [table], config)

    parts = frame.mapInArrow(count, from_arrow_schema(PARTIAL))
    whole = parts.groupBy("table", "path").applyInArrow(meet, from_arrow_schema(WHOLE))
    return whole.toArrow().to_pylist()
