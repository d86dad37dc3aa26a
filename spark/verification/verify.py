"""Checks pairs of columns on all their rows: containment both ways, cardinality, fan-out.

One job. Its first stage reads the columns that pairs ask for, each table once however many
pairs it is in, and cuts the distinct values of every column by hash into the same ranges. The
second meets all columns, range by range. The last adds up the ranges.

Codes and names of the same things share no value. Where a pair may hold such, its columns are read
a second time, so to speak, with what values stand for in their places; that counts if it explains
the pair much better.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.normal_form import Synonyms
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.sketch import DistinctValues, merge
from datahub_hyperjoin.spark.native.frames import SPARK_FAULTS
from datahub_hyperjoin.spark.read import located
from datahub_hyperjoin.spark.verification.hash_partition import RequestedColumns, partition_lake
from datahub_hyperjoin.spark.verification.pair_counts import PairCounts, count_pair, evidence_of
from datahub_hyperjoin.tables import ColumnId, Evidence, Pair, Table, TableId

logger = logging.getLogger(__name__)

ComparedColumn = tuple[ColumnId, str]
"""A column, and what its values are taken for: things of a kind, or what they are if empty."""

_NONE = PairCounts(0, 0, 0)
_AS_WRITTEN = ""
_MUCH = 2.0
"""How much more things must count_pair than values to be what a pair is judged by: a statement that
compares values then misses most of the join."""
_OVERLAPS = pa.schema(
    {
        "left": pa.int32(),
        "right": pa.int32(),
        "shared": pa.int64(),
        "rows": pa.int64(),
        "joined": pa.int64(),
    }
)


@dataclass(frozen=True, kw_only=True)
class ColumnKinds:
    """What profiles say that one pass over a part of a table does not."""

    kinds: Mapping[Pair, str] = field(default_factory=dict)
    """Of pairs whose columns hold things of one kind, which."""

    synonyms: Mapping[str, Synonyms] = field(default_factory=dict)
    """What things of each such kind are called."""

    texts: AbstractSet[ColumnId] = frozenset()
    """Columns of text."""


_NOTHING, _USUAL = ColumnKinds(), ProfileConfig()


def verify_joins(
    session: SparkSession,
    tables: Sequence[Table],
    pairs: Sequence[Pair],
    *,
    known: ColumnKinds = _NOTHING,
    config: ProfileConfig = _USUAL,
) -> dict[Pair, Evidence]:
    """What the data says of pairs of columns.

    Args:
        session: Where to run; one job is started on it.
        tables: Where the columns' rows can be read.
        pairs: Left and right columns.
        known: What the columns hold.
        config: Which tables are read in parts.

    Returns:
        The evidence_of for each pair; without those whose table or column cannot be read.
    """
    compared = [
        (pair, kind)
        for pair in dict.fromkeys(pairs)
        for kind in dict.fromkeys((_AS_WRITTEN, known.kinds.get(pair, _AS_WRITTEN)))
    ]
    readings = dict.fromkeys((column, kind) for pair, kind in compared for column in pair)
    numbers = {reading: at for at, reading in enumerate(readings)}
    asked = _asked(tables, numbers, known.texts)
    if not asked:
        return {}
    logger.info("Verifying %s pairs of columns in %s tables", len(pairs), len(asked))
    meetings = {(at, at) for at in numbers.values()}
    meetings |= {(numbers[left, kind], numbers[right, kind]) for (left, right), kind in compared}
    cut = partial(partition_lake, session, synonyms=known.synonyms, config=config)
    try:
        found = _overlaps(cut(asked), sorted(meetings))
    except SPARK_FAULTS:
        # Where Spark's own readers read, one table's fault is the whole job's.
        found = _overlaps(cut([one for one in asked if _is_sound(cut([one]))]), sorted(meetings))
    for one in asked:
        if not any((at, at) in found for own in one.columns.values() for at in own.values()):
            logger.warning("Not verified, as it can no longer be read: %s", one.table.id)
    said: dict[Pair, Evidence] = {}
    for pair, kind in compared:
        at, to = (numbers[column, kind] for column in pair)
        if (at, at) in found and (to, to) in found:
            new = evidence_of(found[at, at], found[to, to], found.get((at, to), _NONE))
            if pair not in said or new.containment > _MUCH * said[pair].containment:
                said[pair] = replace(new, compared_as=kind)
    return said


def _asked(
    tables: Sequence[Table], numbers: Mapping[ComparedColumn, int], texts: AbstractSet[ColumnId]
) -> list[RequestedColumns]:
    columns: dict[TableId, dict[str, dict[str, int]]] = {}
    for (column, kind), at in numbers.items():
        columns.setdefault(column.table, {}).setdefault(column.path, {})[kind] = at
    return [
        RequestedColumns(
            table,
            columns[table.id],
            texts=frozenset(
                path for path in columns[table.id] if ColumnId(table.id, path) in texts
            ),
        )
        for table in located(tables)
        if table.id in columns
    ]


def _is_sound(values: DataFrame) -> bool:
    try:
        values.count()
    except SPARK_FAULTS:
        return False
    return True


def _overlaps(
    values: DataFrame, meetings: list[tuple[int, int]]
) -> dict[tuple[int, int], PairCounts]:
    def worker(rows: pa.Table) -> pa.Table:
        return meet(rows, meetings)

    sums = (
        values.groupBy("range")
        .applyInArrow(worker, from_arrow_schema(_OVERLAPS))
        .groupBy("left", "right")
        .agg(*(F.sum(name).alias(name) for name in ("shared", "rows", "joined")))
    )
    return {
        (row["left"], row["right"]): PairCounts(row["shared"], row["rows"], row["joined"])
        for row in sums.toArrow().to_pylist()
    }


def meet(rows: pa.Table, meetings: Sequence[tuple[int, int]]) -> pa.Table:
    """What columns share within one range of hashes.

    Args:
        rows: Number, hashes and counts of the columns.
        meetings: Numbers of the columns to compare.

    Returns:
        An count_pair for each meeting of columns that are there.
    """
    parts: dict[int, list[DistinctValues]] = defaultdict(list)
    for row in rows.to_pylist():
        parts[row["column"]].append(_unpacked(row["hashes"], row["counts"]))
    columns = {
        column: (whole.hashes, whole.counts)
        for column, found in parts.items()
        for whole in [found[0] if len(found) == 1 else merge(found)]
    }
    found = [
        {"left": at, "right": to, **asdict(count_pair(columns[at], columns[to]))}
        for at, to in meetings
        if at in columns and to in columns
    ]
    return pa.Table.from_pylist(found, schema=_OVERLAPS)


def _unpacked(hashes: bytes, counts: bytes) -> DistinctValues:
    known = np.frombuffer(hashes, "<u8")
    return DistinctValues(known, np.frombuffer(counts, "<i8"), pa.nulls(len(known), pa.string()))
