"""Divide the distinct values of columns into partitions by hash.

Equal values of all columns are in the same hash partition, so each partition is verified alone.
"""

import sys
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.normal_form import Synonyms
from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.counting.aggregate import (
    EMPTY_AGGREGATE,
    ColumnAggregate,
    aggregate_columns,
    merge_aggregates,
)
from datahub_hyperjoin.spark.counting.notations import in_notation
from datahub_hyperjoin.spark.counting.sketch import NO_VALUES, DistinctValues, merge_values
from datahub_hyperjoin.spark.counting.text_counts import TextCounts, count_texts
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.spark.verification.tuples import ColumnTuple, count_tuples
from datahub_hyperjoin.tables import Table
from datahub_hyperjoin.value_forms import Notation

PARTITION_ROW = pa.schema(
    {"partition": pa.int32(), "column": pa.int32(), "hashes": pa.binary(), "counts": pa.binary()}
)
"""Distinct values of a column, or of a part of it, in one hash partition. A partition without
values has no row, except the first if the column has no values at all."""

_ALL = sys.maxsize

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class RequestedColumns:
    """The columns of one table whose values are read and counted."""

    table: Table
    """The table that contains the columns."""

    columns: Mapping[str, Mapping[str, int]]
    """An ID for each column path and each form in which the column's values are read. The form is
    an entity kind or a notation; an empty text means that values are read as written."""

    texts: Collection[str] = ()
    """The columns that hold text according to the profile of the whole table."""

    tuples: Mapping[ColumnTuple, int] = field(default_factory=dict)
    """The column tuples to count, each with the number that identifies it in the result. The values
    of a tuple in one row are counted as one value."""

    @property
    def notations(self) -> dict[tuple[str, Notation], int]:
        """For each path and notation, the number that identifies the column in the counts."""
        return {
            (path, kind): number
            for path, numbers in self.columns.items()
            for kind, number in numbers.items()
            if isinstance(kind, Notation)
        }

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the columns to read."""
        return frozenset(self.columns).union(*(wanted.paths for wanted in self.tuples))


def partition_table(
    request: RequestedColumns,
    synonyms: Mapping[str, Synonyms],
    databases: Databases,
    *,
    count: int,
    is_whole: bool = True,
) -> Iterator[pa.RecordBatch]:
    """Read a table's columns, and distribute their distinct values to `count` partitions by hash.

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
        stream = read_table(request.table, databases, max_rows=_ALL, paths=request.paths)
        paths = readable_paths(stream.columns)
        counted = _count(stream.batches, paths, request)
    except Exception:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        return
    yield from _partition_counted(counted, request, synonyms, count=count, is_whole=is_whole)


def partition_part(
    batches: Iterable[pa.RecordBatch],
    paths: Iterable[str],
    request: RequestedColumns,
    synonyms: Mapping[str, Synonyms],
    *,
    count: int,
) -> Iterator[pa.RecordBatch]:
    """Distribute the distinct values in one part of a table to `count` partitions by hash.

    Args:
        batches: The rows of the part.
        paths: The columns of the rows.
        request: The columns of the table to count.
        synonyms: Synonyms by entity kind.
        count: Number of hash partitions.

    Yields:
        For each column, a batch with one row per partition.
    """
    counted = _count(batches, paths, request)
    yield from _partition_counted(counted, request, synonyms, count=count, is_whole=False)


@dataclass(slots=True)
class _Counted:
    """The counts of the values in a table's columns and column tuples.

    Values are counted as written and, where requested, in the form of a notation.
    """

    columns: dict[str, ColumnAggregate]
    in_form: dict[tuple[str, Notation], ColumnAggregate]
    tuples: dict[ColumnTuple, DistinctValues] = field(default_factory=dict)


def _count(
    batches: Iterable[pa.RecordBatch], paths: Iterable[str], request: RequestedColumns
) -> _Counted:
    """Count the values of columns and column tuples in one pass over a table."""
    columns = dict.fromkeys((path for path in paths if path in request.columns), EMPTY_AGGREGATE)
    wanted = [(path, notation) for path, notation in request.notations if path in columns]
    counted = _Counted(columns, dict.fromkeys(wanted, EMPTY_AGGREGATE))
    for number, batch in enumerate(batches):
        texts = {path: count_texts(batch.column(path)) for path in columns}
        _add(counted.columns, texts)
        _add(counted.in_form, {key: in_notation(texts[key[0]], key[1]) for key in wanted})
        tuples = count_tuples(batch, request.tuples, request.texts, seed=number)
        for columns_, values in tuples.items():
            counted.tuples[columns_] = merge_values(
                [counted.tuples.get(columns_, NO_VALUES), values]
            )
    return counted


def _add(aggregates: dict[_Key, ColumnAggregate], texts: Mapping[_Key, TextCounts]) -> None:
    """Add the values of one batch to the aggregates of their columns."""
    batch = aggregate_columns([*texts.values()], _ALL, in_forms=False)
    for key, aggregate in zip(texts, batch, strict=True):
        # Verification compares hashes only; the texts of all values would fill the memory.
        slim = replace(aggregate, values=aggregate.values.without_texts())
        aggregates[key] = merge_aggregates(aggregates[key], slim, size=_ALL)


def _partition_counted(
    counted: _Counted,
    request: RequestedColumns,
    synonyms: Mapping[str, Synonyms],
    *,
    count: int,
    is_whole: bool,
) -> Iterator[pa.RecordBatch]:
    for path, aggregate in counted.columns.items():
        is_text = None if is_whole else path in request.texts
        values = aggregate.resolve_null_words(is_text=is_text).values
        yield from _partition(values, request.columns[path], synonyms, count=count)
    for key, aggregate in counted.in_form.items():
        # A word such as `NA` is neither a number nor a date.
        values = aggregate.resolve_null_words(is_text=False).values
        yield from _partition(values, {"": request.notations[key]}, {}, count=count)
    for wanted, values in counted.tuples.items():
        yield from _partition(values, {"": request.tuples[wanted]}, {}, count=count)


def _partition(
    written: DistinctValues,
    numbers: Mapping[str, int],
    synonyms: Mapping[str, Synonyms],
    *,
    count: int,
) -> Iterator[pa.RecordBatch]:
    """For each entity kind in `numbers`, divide a column's hashes into `count` ranges.

    The ranges are equally wide intervals of hashes. For an entity kind, the hashes (`written`) are
    first translated with its synonyms; an empty kind stands for the values as written. The number
    of a kind identifies the column and the kind in the result.
    """
    edges = np.array([(index << 64) // count for index in range(1, count)], np.uint64)
    for kind, number in numbers.items():
        if isinstance(kind, Notation):
            continue  # counted apart, because another form cannot be told from hashes
        values = written.translate(synonyms[kind]) if kind else written
        cuts = np.searchsorted(values.hashes, edges)
        hashes, counts = np.split(values.hashes, cuts), np.split(values.counts, cuts)
        # One row shows that the column was read, even if it has no values.
        filled = [at for at, part in enumerate(hashes) if len(part)] or [0]
        yield pa.RecordBatch.from_pydict(
            {
                "partition": filled,
                "column": [number] * len(filled),
                "hashes": [hashes[at].astype("<u8").tobytes() for at in filled],
                "counts": [counts[at].astype("<i8").tobytes() for at in filled],
            },
            schema=PARTITION_ROW,
        )
