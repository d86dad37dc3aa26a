"""Partitions the distinct values of columns by hash.

Equal values of all columns are in the same hash partition, so each partition is verified alone.
"""

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.locations import database_of
from datahub_hyperjoin.normal_form import Synonyms
from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.aggregate import (
    EMPTY_AGGREGATE,
    ColumnAggregate,
    aggregate_columns,
    merge_aggregates,
)
from datahub_hyperjoin.spark.counting.sketch import DistinctValues
from datahub_hyperjoin.spark.counting.text_counts import count_texts
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.native.frames import SPARK_ERRORS, load_frame, select_columns
from datahub_hyperjoin.spark.native.remote import copy_files
from datahub_hyperjoin.spark.native.shipping import plan_shipment, receive_files
from datahub_hyperjoin.spark.packing import pack
from datahub_hyperjoin.spark.profiles.routes import Route, route_of
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table

PARTITION_ROW = pa.schema(
    {"partition": pa.int32(), "column": pa.int32(), "hashes": pa.binary(), "counts": pa.binary()}
)
"""Distinct values of a column, or of a part of it, in one hash partition."""

_PARTITION_BYTES = 1 << 25
"""Bytes of tables per hash partition, approximately."""
_MIN_PARTITIONS = 4
_ALL = sys.maxsize


@dataclass(frozen=True, slots=True)
class RequestedColumns:
    """The columns of one table that occur in the pairs to verify."""

    table: Table
    """The table."""

    columns: Mapping[str, Mapping[str, int]]
    """For each column's path, the number under which its values are counted, by entity kind; the
    kind is empty for values as written."""

    texts: Collection[str] = ()
    """The columns of text among these, which one part of a table cannot determine."""


def partition_lake(
    session: SparkSession,
    requests: Sequence[RequestedColumns],
    *,
    synonyms: Mapping[str, Synonyms],
    config: ProfileConfig,
) -> DataFrame:
    """Partition columns by hash, and choose for each table how its rows are read.

    Args:
        session: Runs the Spark jobs.
        requests: The columns to read.
        synonyms: Synonyms by entity kind.
        config: Provides the size from which a table is read by many tasks.

    Returns:
        Rows of `PARTITION_ROW`. An unreadable table has none, except that one on the distributed
        route may fail the job.
    """
    count = max(
        _MIN_PARTITIONS, sum(request.table.size for request in requests) // _PARTITION_BYTES
    )
    routes: dict[Route, list[RequestedColumns]] = defaultdict(list)
    for request in requests:
        # Databases are always read in local batches, which limit their connections.
        in_database = database_of(request.table.location) is not None
        route = Route.LOCAL_BATCH if in_database else route_of(request.table, config)
        routes[route].append(request)
    frames = []
    if batch := routes[Route.LOCAL_BATCH]:
        frames.append(partition_local_batch(session, batch, synonyms, count=count))
    if shipped := routes[Route.SHIPPED]:
        frames.append(partition_shipped_files(session, shipped, synonyms, count=count))
    for request in routes[Route.DISTRIBUTED]:
        with suppress(*SPARK_ERRORS):
            frames.append(partition_distributed(session, request, synonyms, count=count))
    return _union(frames or [session.createDataFrame([], from_arrow_schema(PARTITION_ROW))])


def partition_local_batch(
    session: SparkSession,
    requests: list[RequestedColumns],
    synonyms: Mapping[str, Synonyms],
    *,
    count: int,
) -> DataFrame:
    """Hash-partition columns of tables that the Spark tasks themselves open.

    Args:
        session: Runs the Spark job.
        requests: The columns to read.
        synonyms: Synonyms by entity kind.
        count: Number of hash partitions.

    Returns:
        One row of `PARTITION_ROW` per column and partition. An unreadable table has none.
    """
    groups = pack([request.table for request in requests])

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column("id").to_pylist():
                with Databases() as databases:
                    for index in groups[group]:
                        yield from partition_table(
                            requests[index], synonyms, databases, count=count
                        )

    return session.range(0, len(groups), numPartitions=len(groups)).mapInArrow(
        worker, from_arrow_schema(PARTITION_ROW)
    )


def partition_distributed(
    session: SparkSession,
    request: RequestedColumns,
    synonyms: Mapping[str, Synonyms],
    *,
    count: int,
) -> DataFrame:
    """Partition columns of a table that many tasks read through Spark's own readers.

    Args:
        session: Runs the Spark job.
        request: The columns to read.
        synonyms: Synonyms by entity kind.
        count: Number of hash partitions.

    Returns:
        One row of `PARTITION_ROW` per part of the table, column and partition.

    Raises:
        PySparkException: Spark cannot determine the table's columns.
    """
    rows = load_frame(session, request.table.location)
    frame, columns, _ = select_columns(rows, request.columns.keys())
    paths = readable_paths(columns)

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = (batch.rename_columns(paths) for batch in batches)
        for path, aggregate in _aggregate(named, paths).items():
            values = aggregate.resolve_null_words(is_text=path in request.texts).values
            yield from _partition(values, request.columns[path], synonyms, count=count)

    return frame.mapInArrow(worker, from_arrow_schema(PARTITION_ROW))


def partition_shipped_files(
    session: SparkSession,
    requests: list[RequestedColumns],
    synonyms: Mapping[str, Synonyms],
    *,
    count: int,
) -> DataFrame:
    """Partition columns of tables whose files Spark copies to workers.

    Args:
        session: Runs the Spark job.
        requests: The columns to read.
        synonyms: Synonyms by entity kind.
        count: Number of hash partitions.

    Returns:
        One row of `PARTITION_ROW` per file, column and partition. An unreadable file has none.
    """
    files = plan_shipment(session, [request.table for request in requests]).files

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for file, table in receive_files(batches, files):
            request = replace(requests[file.table_index], table=table)
            is_whole = file.file_count == 1
            yield from partition_table(
                request, synonyms, Databases(), count=count, is_whole=is_whole
            )

    return copy_files(session, [*files]).mapInArrow(worker, from_arrow_schema(PARTITION_ROW))


def partition_table(
    request: RequestedColumns,
    synonyms: Mapping[str, Synonyms],
    databases: Databases,
    *,
    count: int,
    is_whole: bool = True,
) -> Iterator[pa.RecordBatch]:
    """Read columns of one table and partition their distinct values.

    Args:
        request: The columns to read.
        synonyms: Synonyms by entity kind.
        databases: Open databases, to which those of the table are added.
        count: Number of hash partitions.
        is_whole: Whether all rows of the table are read, which then determine the columns' types.

    Yields:
        For each column, a batch with one row per partition. An unreadable table yields nothing.
    """
    try:
        stream = read_table(request.table, databases, max_rows=_ALL, paths=request.columns.keys())
        aggregates = _aggregate(stream.batches, readable_paths(stream.columns))
    except Exception:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        return
    for path, aggregate in aggregates.items():
        is_text = None if is_whole else path in request.texts
        values = aggregate.resolve_null_words(is_text=is_text).values
        yield from _partition(values, request.columns[path], synonyms, count=count)


def _aggregate(
    batches: Iterable[pa.RecordBatch], paths: Iterable[str]
) -> dict[str, ColumnAggregate]:
    aggregates = dict.fromkeys(paths, EMPTY_AGGREGATE)
    for batch in batches:
        counted = aggregate_columns([count_texts(rows) for rows in batch.columns], _ALL)
        for path, aggregate in zip(batch.schema.names, counted, strict=True):
            # Verification compares hashes only; the texts of all values would fill the memory.
            slim = replace(aggregate, values=aggregate.values.without_texts())
            aggregates[path] = merge_aggregates(aggregates[path], slim, size=_ALL)
    return aggregates


def _partition(
    written: DistinctValues,
    numbers: Mapping[str, int],
    synonyms: Mapping[str, Synonyms],
    *,
    count: int,
) -> Iterator[pa.RecordBatch]:
    """Split the values of a column, and its entities of each kind, into equal ranges of hashes."""
    edges = np.array([(index << 64) // count for index in range(1, count)], np.uint64)
    for kind, number in numbers.items():
        values = written.translate(synonyms[kind]) if kind else written
        cuts = np.searchsorted(values.hashes, edges)
        hashes, counts = np.split(values.hashes, cuts), np.split(values.counts, cuts)
        yield pa.RecordBatch.from_pydict(
            {
                "partition": range(count),
                "column": [number] * count,
                "hashes": [part.astype("<u8").tobytes() for part in hashes],
                "counts": [part.astype("<i8").tobytes() for part in counts],
            },
            schema=PARTITION_ROW,
        )


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    """Unite frames as a balanced tree, because Spark fails on a long chain of unions."""
    if len(frames) == 1:
        return frames[0]
    half = len(frames) // 2
    return _union(frames[:half]).union(_union(frames[half:]))
