"""Read the rows of crosswalks, with hashes in place of values.

Other columns are compared by the set of their values. A crosswalk is needed row by row, because its
rows say which code belongs to which name.
"""

import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.locations import database_of
from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.native.frames import load_frame, select_columns
from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS
from datahub_hyperjoin.spark.native.remote import read_binary_files
from datahub_hyperjoin.spark.native.shipping import plan_shipment, receive_files
from datahub_hyperjoin.spark.packing import pack
from datahub_hyperjoin.spark.profiles.routes import Route, route_of
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.spark.verification.tuples import HashedColumn, hash_rows
from datahub_hyperjoin.tables import Table

ENTRY_ROW = pa.schema(
    {"crosswalk": pa.int32(), "x": pa.int64(), "y": pa.int64(), "entries": pa.int64()}
)
"""The hashes of the values in two columns, and the number of rows that hold both; the rows of one
crosswalk may repeat. Spark has no unsigned numbers, so hashes are signed here."""

Sides = tuple[str, str]
"""The paths of two columns of a crosswalk."""


@dataclass(frozen=True, slots=True)
class RequestedCrosswalks:
    """The crosswalks to read from one table."""

    table: Table
    """The table that contains the crosswalks."""

    sides: Mapping[Sides, int]
    """The number of each crosswalk, by its two columns."""

    texts: Collection[str] = ()
    """Paths of those columns of the crosswalks that contain text."""

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the columns to read."""
        return frozenset(path for sides in self.sides for path in sides)


def read_crosswalks(
    session: SparkSession, requests: Sequence[RequestedCrosswalks], config: ProfileConfig
) -> DataFrame:
    """Read the rows of crosswalks into a Spark data frame.

    Args:
        session: Runs the Spark jobs.
        requests: The columns to read.
        config: Provides the size from which a table is read by many tasks.

    Returns:
        Rows of `ENTRY_ROW`. An unreadable table has none, except that one on the distributed route
        may fail the job.
    """
    routes: dict[Route, list[RequestedCrosswalks]] = defaultdict(list)
    for request in requests:
        # Databases are always read in local batches, which limit their connections.
        in_database = database_of(request.table.location) is not None
        route = Route.LOCAL_BATCH if in_database else route_of(request.table, config)
        routes[route].append(request)
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
    groups = pack([request.table for request in requests])

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column("id").to_pylist():
                with Databases() as databases:
                    for index in groups[group]:
                        yield from entries_of_table(requests[index], databases)

    return session.range(0, len(groups), numPartitions=len(groups)).mapInArrow(
        worker, from_arrow_schema(ENTRY_ROW)
    )


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
            yield from _entries_of_batch(batch.rename_columns(paths), request)

    return frame.mapInArrow(worker, from_arrow_schema(ENTRY_ROW))


def entries_of_table(
    request: RequestedCrosswalks, databases: Databases
) -> Iterator[pa.RecordBatch]:
    """Read the crosswalks of one table, with hashes in place of values.

    Args:
        request: The columns to read.
        databases: Open databases, to which those of the table are added.

    Yields:
        Rows of `ENTRY_ROW`, for each batch of rows on its own. An unreadable table yields nothing.
    """
    try:
        stream = read_table(request.table, databases, max_rows=sys.maxsize, paths=request.paths)
        # A part of a crosswalk would refute what the rest of its rows confirm.
        entries = [rows for batch in stream.batches for rows in _entries_of_batch(batch, request)]
    except Exception:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        return
    yield from entries


def _entries_of_batch(
    batch: pa.RecordBatch, request: RequestedCrosswalks
) -> Iterator[pa.RecordBatch]:
    hashed = {
        path: hash_rows(batch.column(path), is_text=path in request.texts)
        for path in batch.schema.names
        if path in request.paths
    }
    for (x, y), number in request.sides.items():
        if x in hashed and y in hashed:
            yield _entries(hashed[x], hashed[y], number)


def _entries(x: HashedColumn, y: HashedColumn, number: int) -> pa.RecordBatch:
    """Count the rows of a crosswalk for each distinct pair of values in its columns `x` and `y`.

    The values are hashes. Rows in which either is missing are left out. `number` identifies the
    crosswalk in each row of the result.
    """
    is_filled = x.is_filled & y.is_filled
    pairs = np.stack([side.hashes[is_filled].view(np.int64) for side in (x, y)])
    distinct, counts = np.unique(pairs, axis=1, return_counts=True)
    columns = [np.full(len(counts), number), distinct[0], distinct[1], counts]
    return pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, ENTRY_ROW, strict=True)],
        schema=ENTRY_ROW,
    )
