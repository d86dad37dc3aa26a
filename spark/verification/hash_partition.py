"""Divide the distinct values of columns into partitions by hash.

Equal values of all columns are in the same hash partition, so each partition is verified alone.
"""

import sys
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
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
from datahub_hyperjoin.spark.counting.sketch import (
    NO_VALUES,
    DistinctValues,
    merge_values,
    to_bytes,
)
from datahub_hyperjoin.spark.counting.text_counts import TextCounts, count_texts
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.spark.verification.kept_values import (
    TableValues,
    keep_values,
    kept_bytes,
    load_values,
    name_of_column,
    name_of_tuple,
)
from datahub_hyperjoin.spark.verification.tuples import ColumnTuple, count_tuples
from datahub_hyperjoin.tables import Table
from datahub_hyperjoin.value_forms import Notation

PARTITION_ROW = pa.schema(
    {
        "partition": pa.int32(),
        "columns": pa.binary(),
        "sizes": pa.binary(),
        "hashes": pa.binary(),
        "counts": pa.binary(),
    }
)
"""Distinct values of one or more columns, or of parts of them, in one hash partition: the numbers
of the columns as `<i4`, the number of values of each as `<i8`, and the hashes and the row counts of
the values, column after column, as `<u8` and `<i8`. A column without any value is in one row, to
show that it was read."""

_VALUES_AT_ONCE = 1 << 20
"""Approximate number of values that share the rows of their partitions: one row for each column
and partition would be millions of rows in a lake of many small tables."""

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

    kept: Path | None = None
    """File that keeps the values of the whole table for later runs; None to keep none."""

    @property
    def as_kept(self) -> Table:
        """The table, with the bytes to load from its file as its size if its values are kept."""
        kept = kept_bytes(self.kept, self.names)
        # A size of 0 would mean that nobody knows it.
        return self.table if kept is None else replace(self.table, size=max(kept, 1))

    @property
    def names(self) -> AbstractSet[str]:
        """The names of the values to count, by which they are kept."""
        columns = {
            name_of_column(path, kind) for path, ways in self.columns.items() for kind in ways
        }
        return columns.union(name_of_tuple(wanted, self.texts) for wanted in self.tuples)

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

    Returns:
        An iterator over rows of `PARTITION_ROW`. An unreadable table has none.
    """
    values = read_values(request, synonyms, databases, is_whole=is_whole)
    return partition_values(values, count=count)


def read_values(
    request: RequestedColumns,
    synonyms: Mapping[str, Synonyms],
    databases: Databases,
    *,
    is_whole: bool = True,
) -> Iterator[tuple[int, DistinctValues]]:
    """Read a table's columns, or the values that an earlier run kept of them.

    Args:
        request: The columns to read.
        synonyms: Synonyms by entity kind.
        databases: Open databases, to which those of the table are added.
        is_whole: Whether all rows of the table are read, which then determine the columns' types.

    Yields:
        The number and the distinct values of each column. An unreadable table yields nothing.
    """
    kept = load_values(request.kept)
    if not request.names <= kept.keys():
        try:
            stream = read_table(request.table, databases, max_rows=_ALL, paths=request.paths)
            paths = readable_paths(stream.columns)
            counted = _count(stream.batches, paths, request)
        except Exception:  # noqa: BLE001 (the guard that keeps one table from ending the run)
            return
        kept = {**kept, **counted.resolve(request.texts, is_whole=is_whole)}
        keep_values(request.kept, kept, size=request.table.size)
    yield from _number_values(kept, request, synonyms)


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
        Rows of `PARTITION_ROW`.
    """
    values = _count(batches, paths, request).resolve(request.texts, is_whole=False)
    yield from partition_values(_number_values(values, request, synonyms), count=count)


@dataclass(slots=True)
class _Counted:
    """The counts of the values in a table's columns and column tuples.

    Values are counted as written and, where requested, in the form of a notation.
    """

    columns: dict[str, ColumnAggregate]
    in_form: dict[tuple[str, Notation], ColumnAggregate]
    tuples: dict[ColumnTuple, DistinctValues] = field(default_factory=dict)

    def resolve(self, texts: Collection[str], *, is_whole: bool) -> TableValues:
        """Return the values of each column and tuple, after all rows have been counted.

        The rows of a whole table determine which columns are text; otherwise `texts` names them.
        """
        values = {name_of_tuple(wanted, texts): found for wanted, found in self.tuples.items()}
        for path, aggregate in self.columns.items():
            is_text = None if is_whole else path in texts
            resolved = aggregate.resolve_null_words(is_text=is_text)
            values[name_of_column(path, "")] = resolved.values
        for (path, notation), aggregate in self.in_form.items():
            # A word such as `NA` is neither a number nor a date.
            resolved = aggregate.resolve_null_words(is_text=False)
            values[name_of_column(path, notation)] = resolved.values
        return values


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


def _number_values(
    values: TableValues, request: RequestedColumns, synonyms: Mapping[str, Synonyms]
) -> Iterator[tuple[int, DistinctValues]]:
    """Yield the number of each requested column, and its values.

    If the values of an entity kind are requested, the hashes are translated by its synonyms.
    """
    # A column may have disappeared since it was profiled.
    for path, numbers in request.columns.items():
        for kind, number in numbers.items():
            found = values.get(name_of_column(path, kind))
            if found is not None:
                is_translated = kind and not isinstance(kind, Notation)
                yield number, found.translate(synonyms[kind]) if is_translated else found
    for wanted, number in request.tuples.items():
        if (found := values.get(name_of_tuple(wanted, request.texts))) is not None:
            yield number, found


def partition_values(
    columns: Iterable[tuple[int, DistinctValues]], *, count: int
) -> Iterator[pa.RecordBatch]:
    """Distribute the distinct values of columns to `count` partitions by hash.

    Args:
        columns: The number and the values of each column.
        count: Number of hash partitions, each of which has a range of hashes of equal width.

    Yields:
        Rows of `PARTITION_ROW`.
    """
    waiting: list[tuple[int, DistinctValues]] = []
    filled = 0
    for column in columns:
        waiting.append(column)
        filled += len(column[1])
        if filled >= _VALUES_AT_ONCE:
            yield _partition(waiting, count=count)
            waiting, filled = [], 0
    if waiting:
        yield _partition(waiting, count=count)


def _partition(columns: Sequence[tuple[int, DistinctValues]], *, count: int) -> pa.RecordBatch:
    numbers = np.array([number for number, _ in columns], "<i4")
    sizes = np.array([len(values) for _, values in columns])
    hashes = np.concatenate([values.hashes for _, values in columns])
    counts = np.concatenate([values.counts for _, values in columns])
    edges = np.array([(index << 64) // count for index in range(1, count)], np.uint64)
    partition = np.searchsorted(edges, hashes, side="right")
    # The sort is stable, so that the values of a partition stay in the order of their columns.
    order = np.argsort(partition, kind="stable")
    # Columns without values have a row of their own.
    empty = numbers[sizes == 0]
    rows = [(0, empty, np.zeros(len(empty), np.int64), order[:0])] if len(empty) else []
    of_value = np.repeat(numbers, sizes)
    for start, end in _runs(partition[order]):
        at = order[start:end]
        own = _runs(of_value[at])
        rows.append((int(partition[at[0]]), of_value[at[own[:, 0]]], own[:, 1] - own[:, 0], at))
    return pa.RecordBatch.from_pydict(
        {
            "partition": [number for number, *_ in rows],
            "columns": [of.tobytes() for _, of, _, _ in rows],
            "sizes": [size.astype("<i8", copy=False).tobytes() for _, _, size, _ in rows],
            "hashes": [to_bytes(hashes[at]) for *_, at in rows],
            "counts": [counts[at].astype("<i8", copy=False).tobytes() for *_, at in rows],
        },
        schema=PARTITION_ROW,
    )


def _runs(items: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Return the start and the end of each run of equal items."""
    bounds = np.flatnonzero(np.diff(items, prepend=items[:1] - 1, append=items[-1:] + 1))
    return np.stack([bounds[:-1], bounds[1:]], axis=1)
