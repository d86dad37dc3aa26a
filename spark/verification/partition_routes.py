"""Read the columns of the pairs to verify, and partition the values by hash.

Each table is read on the route that suits its location and size.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.normal_form import Synonyms
from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import EmptyTableError
from datahub_hyperjoin.spark.files.table_parts import TablePart, divide_large
from datahub_hyperjoin.spark.memory import limited_memory
from datahub_hyperjoin.spark.native.frames import load_frame, select_columns
from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS, map_tasks
from datahub_hyperjoin.spark.native.remote import plan_shipment, read_binary_files, receive_files
from datahub_hyperjoin.spark.native.text_ranges import divide_files
from datahub_hyperjoin.spark.packing import pack
from datahub_hyperjoin.spark.profiles.routes import Route, whole_route_of
from datahub_hyperjoin.spark.read import read_part
from datahub_hyperjoin.spark.verification.hash_partition import PARTITION_ROW, partition_values
from datahub_hyperjoin.spark.verification.partition_tables import partition_tables
from datahub_hyperjoin.spark.verification.values import (
    RequestedColumns,
    read_values,
    values_of_rows,
)

_PARTITION_BYTES = 1 << 25
"""Approximate size, in bytes, of the share of the tables that one hash partition holds."""
_MIN_PARTITIONS = 4

RequestedPart = tuple[RequestedColumns, TablePart]
"""The columns of a table to read, and a part of the table."""


def partition_lake(
    session: SparkSession,
    requests: Sequence[RequestedColumns],
    *,
    synonyms: Mapping[str, Synonyms],
    config: ProfileConfig,
) -> DataFrame:
    """Read the requested columns of all tables, and partition the values by hash.

    Each table is read on the route that suits it.

    Args:
        config: Provides the size from which a table is read by many tasks.

    Returns:
        Rows of `PARTITION_ROW`. An unreadable table has none, except that one that many tasks read
        may fail the job.
    """
    count = max(
        _MIN_PARTITIONS, sum(request.table.size for request in requests) // _PARTITION_BYTES
    )
    routes: dict[Route, list[RequestedColumns]] = defaultdict(list)
    for request in requests:
        routes[whole_route_of(request.table, config)].append(request)
    frames = []
    whole, parts = _divide(session, routes[Route.LOCAL_BATCH], config)
    if whole:
        frames.append(partition_local_batch(session, whole, synonyms, count=count))
    if parts:
        frames.append(partition_parts(session, parts, synonyms, count=count))
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
    """Partition the values of many tables by hash, on the local batch route."""
    work = partial(partition_tables, synonyms=synonyms, count=count)
    tasks = pack(requests, lambda request: request.table)
    return map_tasks(session, tasks, work, PARTITION_ROW)


def partition_distributed(
    session: SparkSession,
    request: RequestedColumns,
    synonyms: Mapping[str, Synonyms],
    *,
    count: int,
) -> DataFrame:
    """Partition the values of one table by hash into `count` parts, on the distributed route."""
    rows = load_frame(session, request.table.location)
    frame, columns, _ = select_columns(rows, request.paths)
    paths = readable_paths(columns)

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = (batch.rename_columns(paths) for batch in batches)
        yield from partition_values(values_of_rows(named, paths, request, synonyms), count=count)

    return frame.mapInArrow(worker, from_arrow_schema(PARTITION_ROW))


def partition_shipped_files(
    session: SparkSession,
    requests: list[RequestedColumns],
    synonyms: Mapping[str, Synonyms],
    *,
    count: int,
) -> DataFrame:
    """Partition the values of many tables by hash, on the shipped files route."""
    files = plan_shipment(session, [request.table for request in requests]).files

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for file, table in receive_files(batches, files):
            # Of a folder, each file is read alone, so no file has all values to keep.
            request = replace(requests[file.table_index], table=table, kept=None)
            is_whole = file.file_count == 1
            values = read_values([request], synonyms, Databases(), is_whole=is_whole)
            yield from partition_values(values, count=count)

    return read_binary_files(session, [*files]).mapInArrow(worker, from_arrow_schema(PARTITION_ROW))


def partition_parts(
    session: SparkSession,
    parts: Sequence[RequestedPart],
    synonyms: Mapping[str, Synonyms],
    *,
    count: int,
) -> DataFrame:
    """Partition the values of large tables by hash. One task reads each part of a table.

    Returns:
        Rows of `PARTITION_ROW`. An error in one part fails the job: the rows of the others are not
        the whole table.
    """

    def work(numbers: list[int]) -> Iterator[pa.RecordBatch]:
        with limited_memory():
            for number in numbers:
                yield from _partition_one(parts[number], synonyms, count=count)

    # Each part has a number, since parts of one table share what must not be copied for each.
    tasks = [[number] for number in range(len(parts))]
    return map_tasks(session, tasks, work, PARTITION_ROW)


def _partition_one(
    requested: RequestedPart, synonyms: Mapping[str, Synonyms], *, count: int
) -> Iterator[pa.RecordBatch]:
    request, part = requested
    try:
        stream = read_part(part, request.paths)
    except EmptyTableError:
        return
    filled = filter(len, stream.batches)
    # A table without rows counts as unreadable, on whatever route it is read.
    for first in filled:
        paths = readable_paths(stream.columns)
        values = values_of_rows(chain([first], filled), paths, request, synonyms)
        yield from partition_values(values, count=count)


def _divide(
    session: SparkSession, requests: Sequence[RequestedColumns], config: ProfileConfig
) -> tuple[list[RequestedColumns], list[RequestedPart]]:
    """Divide large tables into parts; return the requests of all other tables, then the parts."""
    tables = [request.table for request in requests]
    large = [table for table in tables if table.size >= config.split_bytes]
    divided = divide_large(tables, size=config.split_bytes)
    divided |= {large[index].id: parts for index, parts in divide_files(session, large).items()}
    whole = [request for request in requests if request.table.id not in divided]
    parts = [(request, part) for request in requests for part in divided.get(request.table.id, ())]
    return whole, parts


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    if len(frames) == 1:
        return frames[0]
    half = len(frames) // 2
    return _union(frames[:half]).union(_union(frames[half:]))
