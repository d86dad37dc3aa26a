"""Read the rows of crosswalks in Spark jobs."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.native.frames import load_frame, select_columns
from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS, map_tasks
from datahub_hyperjoin.spark.native.remote import read_binary_files
from datahub_hyperjoin.spark.native.shipping import plan_shipment, receive_files
from datahub_hyperjoin.spark.packing import pack
from datahub_hyperjoin.spark.profiles.routes import Route, whole_route_of
from datahub_hyperjoin.spark.verification.crosswalk_rows import (
    ENTRY_ROW,
    RequestedCrosswalks,
    entries_of_batch,
    entries_of_table,
)


def read_crosswalks(
    session: SparkSession, requests: Sequence[RequestedCrosswalks], config: ProfileConfig
) -> DataFrame:
    """Read the rows of crosswalks into a Spark data frame.

    Args:
        config: Provides the size from which a table is read by many tasks.

    Returns:
        Rows of `ENTRY_ROW`. An unreadable table has none, except that one on the distributed route
        may fail the job.
    """
    routes: dict[Route, list[RequestedCrosswalks]] = defaultdict(list)
    for request in requests:
        routes[whole_route_of(request.table, config)].append(request)
    frame = session.createDataFrame([], from_arrow_schema(ENTRY_ROW))
    if batch := routes[Route.LOCAL_BATCH]:
        frame = frame.union(_read_local_batch(session, batch))
    if shipped := routes[Route.SHIPPED]:
        frame = frame.union(_read_shipped_files(session, shipped))
    for request in routes[Route.DISTRIBUTED]:
        # Spark may refuse one table already at this point; all others are still read.
        with suppress(*SPARK_ERRORS):
            frame = frame.union(_read_distributed(session, request))
    return frame


def _read_local_batch(session: SparkSession, requests: list[RequestedCrosswalks]) -> DataFrame:
    def work(members: list[RequestedCrosswalks]) -> Iterator[pa.RecordBatch]:
        with Databases() as databases:
            for request in members:
                yield from entries_of_table(request, databases)

    tasks = pack(requests, lambda request: request.table)
    return map_tasks(session, tasks, work, ENTRY_ROW)


def _read_shipped_files(session: SparkSession, requests: list[RequestedCrosswalks]) -> DataFrame:
    files = plan_shipment(session, [request.table for request in requests]).files

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for file, table in receive_files(batches, files):
            request = replace(requests[file.table_index], table=table)
            yield from entries_of_table(request, Databases())

    return read_binary_files(session, [*files]).mapInArrow(worker, from_arrow_schema(ENTRY_ROW))


def _read_distributed(session: SparkSession, request: RequestedCrosswalks) -> DataFrame:
    rows = load_frame(session, request.table.location)
    frame, columns, _ = select_columns(rows, request.paths)
    paths = readable_paths(columns)

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from entries_of_batch(batch.rename_columns(paths), request)

    return frame.mapInArrow(worker, from_arrow_schema(ENTRY_ROW))
