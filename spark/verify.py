"""Checks pairs of columns on all their rows: containment both ways, cardinality, fan-out.

One job. Its first stage reads the columns that pairs ask for, each table once however many
pairs it is in, and cuts the distinct values of every column by hash into the same ranges. The
second meets all columns, range by range. The last adds up the ranges.

Codes and names of the same things share no value. Where a pair may hold such, its columns are read
a second time, so to speak, with what values stand for in their places; that counts if it explains
the pair much better.
"""

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.normal import Hashes, Synonyms
from datahub_hyperjoin.spark.engines import Databases
from datahub_hyperjoin.spark.overlap import Overlap, evidence, overlap
from datahub_hyperjoin.spark.packing import pack
from datahub_hyperjoin.spark.read import located, read_table
from datahub_hyperjoin.spark.sketch import Counts, Values
from datahub_hyperjoin.spark.tally import NOTHING, add, tally
from datahub_hyperjoin.spark.written import count_written
from datahub_hyperjoin.tables import ColumnId, Evidence, Table, TableId

logger = logging.getLogger(__name__)

Pair = tuple[ColumnId, ColumnId]
Reading = tuple[ColumnId, str]
"""A column, and what its values are taken for: things of a kind, or what they are if empty."""

_RANGE_BYTES = 1 << 25
_FEWEST_RANGES = 4
_ALL = sys.maxsize
_NONE = Overlap(0, 0, 0)
_AS_WRITTEN = ""
_MUCH = 2.0
"""How much more things must overlap than values to be what a pair is judged by: a statement that
compares values then misses most of the join."""
_VALUES = pa.schema(
    {"range": pa.int32(), "column": pa.int32(), "hashes": pa.binary(), "counts": pa.binary()}
)
_OVERLAPS = pa.schema(
    {
        "left": pa.int32(),
        "right": pa.int32(),
        "shared": pa.int64(),
        "rows": pa.int64(),
        "joined": pa.int64(),
    }
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What pairs ask for of a table."""

    table: Table
    """Which table."""

    columns: Mapping[str, Mapping[str, int]]
    """The columns' paths, and a number for each kind of things that one is taken for."""


def verify_joins(
    session: SparkSession,
    tables: Sequence[Table],
    pairs: Sequence[Pair],
    *,
    kinds: Mapping[Pair, str] = {},
    synonyms: Mapping[str, Synonyms] = {},
) -> dict[Pair, Evidence]:
    """What the data says of pairs of columns.

    Args:
        session: Where to run; one job is started on it.
        tables: Where the columns' rows can be read.
        pairs: Left and right columns.
        kinds: Of pairs whose columns hold things of one kind, which.
        synonyms: What things of each such kind are called.

    Returns:
        The evidence for each pair; without those whose table or column cannot be read.
    """
    compared = [
        (pair, kind)
        for pair in dict.fromkeys(pairs)
        for kind in dict.fromkeys((_AS_WRITTEN, kinds.get(pair, _AS_WRITTEN)))
    ]
    readings = dict.fromkeys((column, kind) for pair, kind in compared for column in pair)
    numbers = {reading: at for at, reading in enumerate(readings)}
    asked = _asked(tables, numbers)
    if not asked:
        return {}
    logger.info("Verifying %s pairs of columns in %s tables", len(pairs), len(asked))
    meetings = {(at, at) for at in numbers.values()}
    meetings |= {(numbers[left, kind], numbers[right, kind]) for (left, right), kind in compared}
    found = _overlaps(_values(session, asked, synonyms), sorted(meetings))
    for one in asked:
        if not any((at, at) in found for own in one.columns.values() for at in own.values()):
            logger.warning("Not verified, as it can no longer be read: %s", one.table.id)
    said: dict[Pair, Evidence] = {}
    for pair, kind in compared:
        at, to = (numbers[column, kind] for column in pair)
        if (at, at) in found and (to, to) in found:
            new = evidence(found[at, at], found[to, to], found.get((at, to), _NONE))
            if pair not in said or new.containment > _MUCH * said[pair].containment:
                said[pair] = replace(new, compared_as=kind)
    return said


def _asked(tables: Sequence[Table], numbers: Mapping[Reading, int]) -> list[Asked]:
    columns: dict[TableId, dict[str, dict[str, int]]] = {}
    for (column, kind), at in numbers.items():
        columns.setdefault(column.table, {}).setdefault(column.path, {})[kind] = at
    return [Asked(table, columns[table.id]) for table in located(tables) if table.id in columns]


def _values(
    session: SparkSession, asked: list[Asked], synonyms: Mapping[str, Synonyms]
) -> DataFrame:
    """The distinct values of every column, cut into ranges: one row a range."""
    groups = pack([one.table for one in asked])
    ranges = max(_FEWEST_RANGES, sum(one.table.size for one in asked) // _RANGE_BYTES)

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column("id").to_pylist():
                with Databases() as databases:
                    for at in groups[group]:
                        yield from cut_values(asked[at], synonyms, databases, ranges=ranges)

    return session.range(0, len(groups), numPartitions=len(groups)).mapInArrow(
        worker, from_arrow_schema(_VALUES)
    )


def cut_values(
    asked: Asked, synonyms: Mapping[str, Synonyms], databases: Databases, *, ranges: int
) -> Iterator[pa.RecordBatch]:
    """Reads columns of one table and cuts their distinct values by hash.

    Args:
        asked: What to read.
        synonyms: What things of each kind are called.
        databases: Where tables of databases are read.
        ranges: Into how many ranges of hashes to cut.

    Yields:
        For each column a batch with a row for each range: its number, hashes and counts. A
        table that cannot be read yields nothing.
    """
    try:
        counted = _counted(asked, databases)
    except TableError:
        return
    except Exception:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        return
    edges = np.array([(at << 64) // ranges for at in range(1, ranges)], np.uint64)
    for path, written in counted.items():
        for kind, number in asked.columns[path].items():
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
                schema=_VALUES,
            )


def _counted(asked: Asked, databases: Databases) -> dict[str, Values]:
    reading = read_table(asked.table, databases, max_rows=_ALL, paths=asked.columns.keys())
    tallies = {column.path: NOTHING for column in reading.columns if not column.opaque}
    for batch in reading.batches:
        found = tally([count_written(rows) for rows in batch.columns], _ALL)
        for path, one in zip(batch.schema.names, found, strict=True):
            seen = replace(one, values=one.values.counted())
            tallies[path] = add(tallies[path], seen, size=_ALL)
    return {path: whole.settled().values for path, whole in tallies.items()}


def _overlaps(values: DataFrame, meetings: list[tuple[int, int]]) -> dict[tuple[int, int], Overlap]:
    def worker(rows: pa.Table) -> pa.Table:
        return meet(rows, meetings)

    sums = (
        values.groupBy("range")
        .applyInArrow(worker, from_arrow_schema(_OVERLAPS))
        .groupBy("left", "right")
        .agg(*(F.sum(name).alias(name) for name in ("shared", "rows", "joined")))
    )
    return {
        (row["left"], row["right"]): Overlap(row["shared"], row["rows"], row["joined"])
        for row in sums.toArrow().to_pylist()
    }


def meet(rows: pa.Table, meetings: Sequence[tuple[int, int]]) -> pa.Table:
    """What columns share within one range of hashes.

    Args:
        rows: Number, hashes and counts of the columns.
        meetings: Numbers of the columns to compare.

    Returns:
        An overlap for each meeting of columns that are there.
    """
    columns = {row["column"]: _unpacked(row["hashes"], row["counts"]) for row in rows.to_pylist()}
    found = [
        {"left": at, "right": to, **asdict(overlap(columns[at], columns[to]))}
        for at, to in meetings
        if at in columns and to in columns
    ]
    return pa.Table.from_pylist(found, schema=_OVERLAPS)


def _unpacked(hashes: bytes, counts: bytes) -> tuple[Hashes, Counts]:
    return np.frombuffer(hashes, "<u8"), np.frombuffer(counts, "<i8")
