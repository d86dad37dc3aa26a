"""Distinct values of columns, cut by hash into ranges in which columns of all tables meet."""

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.normal_form import Synonyms
from datahub_hyperjoin.spark.columns import read_of
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.sketch import DistinctValues
from datahub_hyperjoin.spark.counting.tally import NOTHING, Tally, add, tally
from datahub_hyperjoin.spark.counting.written import count_written
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.native.frames import SPARK_FAULTS, load_frame, select_columns
from datahub_hyperjoin.spark.native.shipping import arriving, files_of, ship
from datahub_hyperjoin.spark.packing import pack
from datahub_hyperjoin.spark.profiles.routes import Route, route_of
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table

VALUES = pa.schema(
    {"range": pa.int32(), "column": pa.int32(), "hashes": pa.binary(), "counts": pa.binary()}
)
"""DistinctValues of a column, or of a part of it, within a range."""

_RANGE_BYTES = 1 << 25
_FEWEST_RANGES = 4
_ALL = sys.maxsize


@dataclass(frozen=True, slots=True)
class RequestedColumns:
    """What pairs ask for of a table."""

    table: Table
    """Which table."""

    columns: Mapping[str, Mapping[str, int]]
    """The columns' paths, and a number for each kind of things that one is taken for."""

    texts: Collection[str] = ()
    """Of these the columns of text, which a part of a table cannot tell."""


def partition_lake(
    session: SparkSession,
    asked: Sequence[RequestedColumns],
    *,
    synonyms: Mapping[str, Synonyms],
    config: ProfileConfig,
) -> DataFrame:
    """Cuts columns of tables, each the way that its place and its size ask for.

    Args:
        session: Where to run.
        asked: What to read.
        synonyms: What things of each kind are called.
        config: From which size on tables are split.

    Returns:
        Rows of `VALUES`. A table that cannot be read has none; one that Spark's own readers find to
        be broken fails the job.
    """
    ranges = max(_FEWEST_RANGES, sum(one.table.size for one in asked) // _RANGE_BYTES)
    ways: dict[Route, list[RequestedColumns]] = defaultdict(list)
    for one in asked:
        # Databases are packed whatever they hold: that bounds their connections.
        packed = isinstance(one.table.place, Relation)
        ways[Route.LOCAL_BATCH if packed else route_of(one.table, config)].append(one)
    frames = []
    if ways[Route.LOCAL_BATCH]:
        frames.append(partition_tables(session, ways[Route.LOCAL_BATCH], synonyms, ranges=ranges))
    if ways[Route.SHIPPED]:
        frames.append(partition_shipped(session, ways[Route.SHIPPED], synonyms, ranges=ranges))
    for one in ways[Route.DISTRIBUTED]:
        with suppress(*SPARK_FAULTS):
            frames.append(partition_distributed(session, one, synonyms, ranges=ranges))
    return _united(frames or [session.createDataFrame([], from_arrow_schema(VALUES))])


def _united(frames: Sequence[DataFrame]) -> DataFrame:
    """By halves: a plan as deep as there are tables is more than Spark can stand."""
    if len(frames) == 1:
        return frames[0]
    half = len(frames) // 2
    return _united(frames[:half]).union(_united(frames[half:]))


def partition_tables(
    session: SparkSession,
    asked: list[RequestedColumns],
    synonyms: Mapping[str, Synonyms],
    *,
    ranges: int,
) -> DataFrame:
    """Cuts columns of tables that are read whole, each by one task.

    Args:
        session: Where to run.
        asked: What to read.
        synonyms: What things of each kind are called.
        ranges: Into how many ranges of hashes to cut.

    Returns:
        Rows of `VALUES`: one for each column and range. A table that cannot be read has none.
    """
    groups = pack([one.table for one in asked])

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column("id").to_pylist():
                with Databases() as databases:
                    for at in groups[group]:
                        yield from partition_values(asked[at], synonyms, databases, ranges=ranges)

    return session.range(0, len(groups), numPartitions=len(groups)).mapInArrow(
        worker, from_arrow_schema(VALUES)
    )


def partition_distributed(
    session: SparkSession, asked: RequestedColumns, synonyms: Mapping[str, Synonyms], *, ranges: int
) -> DataFrame:
    """Cuts columns of a table that Spark's own readers read in parts.

    Args:
        session: Where to run.
        asked: What to read.
        synonyms: What things of each kind are called.
        ranges: Into how many ranges of hashes to cut.

    Returns:
        Rows of `VALUES`: one for each part, column and range.

    Raises:
        PySparkException: Spark cannot tell the table's columns.
    """
    frame, columns, _ = select_columns(load_frame(session, asked.table.place), asked.columns.keys())
    names = read_of(columns)

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = (batch.rename_columns(names) for batch in batches)
        for path, seen in _tallies(named, names).items():
            values = seen.settled(text=path in asked.texts).values
            yield from _cut(values, asked.columns[path], synonyms, ranges=ranges)

    return frame.mapInArrow(worker, from_arrow_schema(VALUES))


def partition_shipped(
    session: SparkSession,
    asked: list[RequestedColumns],
    synonyms: Mapping[str, Synonyms],
    *,
    ranges: int,
) -> DataFrame:
    """Cuts columns of files that Spark brings.

    Args:
        session: Where to run.
        asked: What to read.
        synonyms: What things of each kind are called.
        ranges: Into how many ranges of hashes to cut.

    Returns:
        Rows of `VALUES`: one for each file, column and range. A file that cannot be read has none.
    """
    files = files_of([one.table for one in asked])

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part, here in arriving(batches, files):
            one = replace(asked[part.at], table=here)
            yield from partition_values(
                one, synonyms, Databases(), ranges=ranges, whole=part.parts == 1
            )

    return ship(session, [*files]).mapInArrow(worker, from_arrow_schema(VALUES))


def partition_values(
    asked: RequestedColumns,
    synonyms: Mapping[str, Synonyms],
    databases: Databases,
    *,
    ranges: int,
    whole: bool = True,
) -> Iterator[pa.RecordBatch]:
    """Reads columns of one table and cuts their distinct values by hash.

    Args:
        asked: What to read.
        synonyms: What things of each kind are called.
        databases: Where tables of databases are read.
        ranges: Into how many ranges of hashes to cut.
        whole: Whether this is all of the table, which then tells what its columns hold.

    Yields:
        For each column a batch with a row for each range: its number, hashes and counts. A
        table that cannot be read yields nothing.
    """
    paths = asked.columns.keys()
    try:
        reading = read_table(asked.table, databases, max_rows=_ALL, paths=paths)
        read = read_of(reading.columns)
        tallies = _tallies(reading.batches, read)
    except Exception:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        return
    for path, seen in tallies.items():
        values = seen.settled(text=None if whole else path in asked.texts).values
        yield from _cut(values, asked.columns[path], synonyms, ranges=ranges)


def _tallies(batches: Iterable[pa.RecordBatch], paths: Iterable[str]) -> dict[str, Tally]:
    tallies = dict.fromkeys(paths, NOTHING)
    for batch in batches:
        found = tally([count_written(rows) for rows in batch.columns], _ALL)
        for path, one in zip(batch.schema.names, found, strict=True):
            seen = replace(one, values=one.values.counted())
            tallies[path] = add(tallies[path], seen, size=_ALL)
    return tallies


def _cut(
    written: DistinctValues,
    numbers: Mapping[str, int],
    synonyms: Mapping[str, Synonyms],
    *,
    ranges: int,
) -> Iterator[pa.RecordBatch]:
    """DistinctValues as they are, and as what they stand for, each under its number."""
    edges = np.array([(at << 64) // ranges for at in range(1, ranges)], np.uint64)
    for kind, number in numbers.items():
        values = written.translated(synonyms[kind]) if kind else written
        cuts = np.searchsorted(values.hashes, edges)
        parts = np.split(values.hashes, cuts), np.split(values.counts, cuts)
        yield pa.RecordBatch.from_pydict(
            {
                "range": range(ranges),
                "column": [number] * ranges,
                "hashes": [part.astype("<u8").tobytes() for part in parts[0]],
                "counts": [part.astype("<i8").tobytes() for part in parts[1]],
            },
            schema=VALUES,
        )
