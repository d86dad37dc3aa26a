"""Count the values and rows that match through crosswalks, in Spark jobs."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.native.frames import load_frame, select_columns
from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS, map_tasks
from datahub_hyperjoin.spark.native.remote import plan_shipment, read_binary_files, receive_files
from datahub_hyperjoin.spark.packing import pack
from datahub_hyperjoin.spark.profiles.routes import Route, whole_route_of
from datahub_hyperjoin.spark.verification.bridge_counts import (
    VALUE_ROW,
    BridgeCounts,
    MatchCounts,
    unpack_values,
)
from datahub_hyperjoin.spark.verification.crosswalk_rows import (
    ENTRY_ROW,
    RequestedCrosswalks,
    entries_of_batch,
    entries_of_table,
)
from datahub_hyperjoin.spark.verification.pair_jobs import can_count
from datahub_hyperjoin.spark.verification.partition_routes import partition_lake
from datahub_hyperjoin.spark.verification.values import RequestedColumns
from datahub_hyperjoin.tables import TableId


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


_Links = Sequence[tuple[int, int, int, int]]


def count_bridges_on_spark(
    session: SparkSession,
    links: _Links,
    columns: Sequence[RequestedColumns],
    crosswalks: Sequence[RequestedCrosswalks],
    config: ProfileConfig,
) -> BridgeCounts:
    """Count the values and rows that match through crosswalks.

    Args:
        links: The numbers of each join, its left column, its crosswalk and its right column.
        config: Provides the size from which a table is read by many tasks.
    """
    values = _values(session, columns, config)
    return _count(session, links, values, read_crosswalks(session, crosswalks, config))


def find_unreadable(
    session: SparkSession,
    columns: Sequence[RequestedColumns],
    crosswalks: Sequence[RequestedCrosswalks],
    config: ProfileConfig,
) -> set[TableId]:
    """After a job with all tables has failed, find the tables that Spark cannot read.

    On the distributed route, one unreadable table fails the job, so each is tried alone.

    Args:
        config: Provides the size from which a table is read by many tasks.
    """
    alone = [(each.table.id, _values(session, [each], config)) for each in columns]
    alone += [(each.table.id, read_crosswalks(session, [each], config)) for each in crosswalks]
    return {table for table, rows in alone if not can_count(rows)}


def _values(
    session: SparkSession, requests: Sequence[RequestedColumns], config: ProfileConfig
) -> DataFrame:
    """For each column and value, count the rows that have the value."""
    partitions = partition_lake(session, requests, synonyms={}, config=config)
    rows = partitions.mapInArrow(unpack_values, from_arrow_schema(VALUE_ROW))
    return rows.groupBy("column", "hash").agg(F.sum("rows").alias("rows"))


def _count(
    session: SparkSession, links: _Links, values: DataFrame, entries: DataFrame
) -> BridgeCounts:
    # Without this, Spark would read all tables again for each count.
    values, entries = values.persist(), entries.persist()
    linked = _link(session, links, values, entries).persist()
    try:
        totals = {
            row["column"]: (row["values"], row["rows"])
            for row in values.groupBy("column")
            .agg(F.count("*").alias("values"), F.sum("rows").alias("rows"))
            .collect()
        }
        read = {row["crosswalk"] for row in entries.select("crosswalk").distinct().collect()}
        shared = {row["bridge"]: row["count"] for row in linked.groupBy("bridge").count().collect()}
        left, right = _reached(linked, "x", "left", "right"), _reached(linked, "y", "right", "left")
    finally:
        for frame in (linked, entries, values):
            frame.unpersist()
    return BridgeCounts(totals=totals, read=read, shared=shared, left=left, right=right)


def _link(session: SparkSession, links: _Links, values: DataFrame, entries: DataFrame) -> DataFrame:
    """Join the rows of crosswalks with the matching values of left and right columns.

    The rows of a crosswalk with the same two values are one entry.
    """
    linked = session.createDataFrame(
        [*links], "bridge int, left_end int, crosswalk int, right_end int"
    )
    # The same two values may come from several batches of a crosswalk.
    distinct = entries.groupBy("crosswalk", "x", "y").agg(F.sum("entries").alias("entries"))
    left = values.select(
        F.col("column").alias("left_end"), F.col("hash").alias("x"), F.col("rows").alias("left")
    )
    right = values.select(
        F.col("column").alias("right_end"), F.col("hash").alias("y"), F.col("rows").alias("right")
    )
    # The links are few: sent to all workers, they spare a shuffle of the crosswalks.
    chained = distinct.join(F.broadcast(linked), "crosswalk")
    return chained.join(left, ["left_end", "x"]).join(right, ["right_end", "y"])


def _reached(linked: DataFrame, value: str, own: str, other: str) -> dict[int, MatchCounts]:
    """For one end of each join, left or right, count the values and rows that match.

    The ends of a join are its left and its right column. The last three arguments select the end.

    Args:
        value: The name of the crosswalk's column on this end: `x` or `y`.
        own: The column of `linked` with the number of rows of this end that hold a value.
    """
    matched = F.sum(F.col("entries") * F.col(other))
    counted = linked.groupBy("bridge", value).agg(
        # Every row of the group has the same count of its own value.
        matched.alias("matched"),
        F.first(own).alias("own"),
    )
    sums = counted.groupBy("bridge").agg(
        F.count("*").alias("values"),
        F.max("matched").alias("most"),
        F.sum(F.col("matched") * F.col("own")).alias("rows"),
    )
    return {
        row["bridge"]: MatchCounts(row["values"], row["most"], row["rows"])
        for row in sums.collect()
    }
