"""Profiles tables: one pass over each, one Spark job for all of them."""

import logging
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.errors import HyperJoinError, UnreadableTableError
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.engines import Databases
from datahub_hyperjoin.spark.packing import pack
from datahub_hyperjoin.spark.read import located, read_table
from datahub_hyperjoin.spark.rows import PROFILE_ROW, from_row, to_row
from datahub_hyperjoin.spark.tally import Tally, add, profile_column, tally
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Lengths,
    Table,
    TableProfile,
)

logger = logging.getLogger(__name__)


def profile_tables(
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
    rows = (
        session.range(0, len(groups), numPartitions=len(groups))
        .mapInArrow(_worker(located(tables), groups, config), from_arrow_schema(PROFILE_ROW))
        .toArrow()
        .to_pylist()
    )
    by_place = {row["place"]: row for row in rows}
    return [from_row(table, by_place[place]) for place, table in enumerate(tables)]


def profile_table(table: Table, config: ProfileConfig, databases: Databases) -> TableProfile:
    """Profiles one table, here and now.

    Args:
        table: What to read.
        config: How much to read, and to keep.
        databases: Where tables of databases are read.

    Returns:
        Its profile; whatever went wrong with the table is the profile's fault.
    """
    try:
        return _read_profile(table, config, databases)
    except HyperJoinError as fault:
        return TableProfile(table=table, fault=str(fault))
    except Exception as fault:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        unknown = UnreadableTableError.because(f"{type(fault).__name__}: {fault}")
        return TableProfile(table=table, fault=str(unknown))


def _read_profile(table: Table, config: ProfileConfig, databases: Databases) -> TableProfile:
    reading = read_table(table, databases, max_rows=config.max_rows, max_bytes=config.max_bytes)
    tallies: dict[str, Tally] = {}
    rows = 0
    # One value more than the sketch keeps tells a full sketch from an overflowing one.
    size = config.sketch_size + 1
    for batch in reading.batches:
        rows += len(batch)
        for path, column in zip(batch.schema.names, batch.columns, strict=True):
            seen = tally(column, size)
            tallies[path] = add(tallies[path], seen, size=size) if path in tallies else seen
    columns = tuple(
        opaque_profile(ColumnId(table.id, column.path), column.position, column.opaque, rows=rows)
        if column.opaque
        else profile_column(
            ColumnId(table.id, column.path), column.position, tallies[column.path], config=config
        )
        for column in reading.columns
    )
    return TableProfile(table=table, columns=columns, rows=rows, notes=tuple(reading.notes))


def opaque_profile(id_: ColumnId, position: int, type_: DataType, *, rows: int) -> ColumnProfile:
    """The profile of a column whose values cannot be compared.

    Args:
        id_: Which column.
        position: Its place in the table.
        type_: `NESTED` or `BINARY`.
        rows: Rows of the table.

    Returns:
        A profile without values.
    """
    return ColumnProfile(
        id=id_,
        position=position,
        type=type_,
        rows=rows,
        nulls=0,
        distinct=0,
        sketch=b"",
        sample=(),
        counts=(),
        lengths=Lengths(shortest=0, mean=0.0, longest=0),
        patterns=(),
    )


def _worker(
    tables: list[Table], groups: list[list[int]], config: ProfileConfig
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def profiles(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column("id").to_pylist():
                with Databases() as databases:
                    for place in groups[group]:
                        row = to_row(place, profile_table(tables[place], config, databases))
                        yield pa.RecordBatch.from_pylist([row], schema=PROFILE_ROW)

    return profiles
