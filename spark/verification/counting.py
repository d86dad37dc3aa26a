"""Count hashed values: of columns, of tuples of columns, and of pairs of them.

Tables are read in any tasks of an executor, which divide the distinct values of each column into
partitions by hash. Equal values of all columns are in one partition, so each is counted alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datahub_hyperjoin.arrow_bytes import (
    Indices,
    bounds_of,
    chunks_of,
    index_within,
    reduce_each,
)
from datahub_hyperjoin.joins import Cardinality, Evidence
from datahub_hyperjoin.normal_form import Hashes, Synonyms
from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.sketch import Counts, DistinctValues, merge_values, to_bytes
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import EmptyTableError
from datahub_hyperjoin.spark.executor import Part, TableJob, TableRequest, executor_for
from datahub_hyperjoin.spark.verification.values import (
    ColumnTuple,
    RequestedColumns,
    read_values,
    value_files,
    values_of_rows,
)
from datahub_hyperjoin.tables import ColumnId, Table, TableId
from datahub_hyperjoin.visible import logger_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logger_of(__name__)

Counted = tuple[ColumnId, str] | tuple[TableId, ColumnTuple]
"""What is counted: a column and the name of the entity kind or notation by which its values are
converted, which is empty if they are not; or a tuple of columns of a table."""

NoteUnread = Callable[[TableId], None]
"""Receives each table that can no longer be read, although it was profiled."""

_TYPES = {"columns": "<i4", "sizes": "<i8", "hashes": "<u8", "counts": "<i8"}
PARTITION_ROW = pa.schema({"partition": pa.int32(), **dict.fromkeys(_TYPES, pa.binary())})
"""Distinct values of one or more columns, or of parts of them, in one hash partition: the numbers
of the columns, how many values each has, and the hashes and the row counts of the values, column
after column. A column without any value is in one row, to show that it was read."""

COUNTS_ROW = pa.schema(
    {
        **dict.fromkeys(("left", "right"), pa.int32()),
        **dict.fromkeys(("shared", "rows", "joined"), pa.int64()),
    }
)
"""The counts of one pair; `left` and `right` are the numbers of its columns."""

_VALUES_AT_ONCE = 1 << 20
"""Approximate number of values that share the rows of their partitions, since one row for each
column and partition would be millions of rows in a lake of many small tables. Also the number of
values that are searched for at once, which bounds memory."""
_VALUES_PER_PAIR = 1 << 5
"""Number of values for each pair up to which it is faster to sort all than to count each pair."""
_MOST_TOGETHER = 1 << 22
"""Number of values up to which pairs are counted together, which takes their memory thrice."""
_PARTITION_BYTES = 1 << 25
"""Approximate size, in bytes, of the share of the tables that one hash partition holds."""

_NumberedValues = tuple[int, DistinctValues]
_Values = tuple[Hashes, Counts]
_Row = list[npt.NDArray[Any]]
"""The arrays of a row of a hash partition."""
_Numbers = npt.NDArray[np.integer[Any]]
_PartitionRow = tuple[int, _Numbers, Indices, Indices | slice]
"""A hash partition, the numbers of its columns, how many values each has, and which they are."""


def log_unread(table: TableId) -> None:
    """Log a warning about a table that can no longer be read, for callers that have no report."""
    logger.warning("Not verified, because it can no longer be read: %s", table)


@dataclass(frozen=True, slots=True)
class PairCounts:
    """The counts of values and rows that describe a join of two columns."""

    shared: int
    """Number of distinct values that occur on both sides."""

    rows: int
    """Number of rows on the left side with a value that also occurs on the right side."""

    joined: int
    """Number of rows that the join returns."""

    @property
    def is_unique(self) -> bool:
        """Whether each row has a value of its own, in the counts of a column with itself."""
        return self.shared == self.rows


def count_pair(left: tuple[Hashes, Counts], right: tuple[Hashes, Counts]) -> PairCounts:
    """Count the shared values and matching rows of two columns.

    The counts of a column with itself are its number of distinct values and of rows with a value.

    Examples:
        >>> import numpy as np
        >>> cities = np.array([3, 5, 9], np.uint64), np.array([1, 1, 1])
        >>> flights = np.array([5, 9, 11], np.uint64), np.array([20, 30, 40])
        >>> count_pair(cities, flights)
        PairCounts(shared=2, rows=2, joined=50)
    """
    if left is right:
        rows = left[1]
        return PairCounts(len(rows), int(rows.sum()), int(rows @ rows))
    # The longer side is searched: n log N steps instead of N log n.
    if len(left[0]) > len(right[0]):
        at_right, at_left = _intersect(right[0], left[0])
    else:
        at_left, at_right = _intersect(left[0], right[0])
    rows = left[1][at_left]
    return PairCounts(len(at_left), int(rows.sum()), int(rows @ right[1][at_right]))


class CountedPair(NamedTuple):
    """The counts of each end of a pair with itself, and those of the pair."""

    left: PairCounts
    right: PairCounts
    both: PairCounts

    @property
    def evidence(self) -> Evidence:
        """The evidence. A side is unique if it has as many rows with a value as distinct values."""
        left, right, both = self
        return Evidence(
            shared=both.shared,
            left_containment=_ratio(both.shared, left.shared),
            right_containment=_ratio(both.shared, right.shared),
            cardinality=CARDINALITY[left.is_unique, right.is_unique],
            left_fan_out=_ratio(both.joined, left.rows),
            right_fan_out=_ratio(both.joined, right.rows),
            rows=both.joined,
        )


_NONE = PairCounts(0, 0, 0)
_SIDES = {True: "ONE", False: "N"}
CARDINALITY = {
    (left, right): Cardinality(f"{_SIDES[left]}_{_SIDES[right]}")
    for left in _SIDES
    for right in _SIDES
}
"""Maps the uniqueness of the left and of the right side to the cardinality of the join."""


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


@dataclass(frozen=True)
class HashedValues(TableJob[RequestedColumns]):
    """The job that reads columns and divides their distinct values into hash partitions."""

    synonyms: Mapping[str, Synonyms]
    partitions: int = 1
    schema: ClassVar[pa.Schema] = PARTITION_ROW

    def read_whole(
        self, requests: Iterable[RequestedColumns], databases: Databases
    ) -> Iterator[pa.RecordBatch]:
        """Read tables, or the values that an earlier run kept of them."""
        yield from self.rows(read_values(requests, self.synonyms, databases))

    def read_part(self, part: Part[RequestedColumns]) -> Iterator[pa.RecordBatch]:
        """Read a part of a table, which has not all values to keep."""
        request = replace(part.request, kept=None)
        if part.count == 1:  # The rows of the whole tell whether a column is text.
            yield from self.read_whole([request], Databases())
            return
        try:
            stream = part.open()
        except EmptyTableError:
            return
        filled = filter(len, stream.batches)
        # A table without rows counts as unreadable, on whatever route it is read.
        for first in filled:
            paths = readable_paths(stream.columns)
            rows = chain([first], filled)
            yield from self.rows(values_of_rows(rows, paths, request, self.synonyms))

    def rows(self, values: Iterable[_NumberedValues]) -> Iterator[pa.RecordBatch]:
        """Write the values of numbered columns as rows of the job."""
        return partition_values(values, count=self.partitions)


@dataclass(frozen=True)
class ValueCounter:
    """Counts the values of columns and of tuples of columns on all rows of their tables."""

    session: "SparkSession | None"
    config: ProfileConfig
    note_unread: NoteUnread

    def count(
        self,
        tables: Sequence[Table],
        pairs: Iterable[tuple[Counted, Counted]],
        *,
        texts: AbstractSet[ColumnId],
        synonyms: Mapping[str, Synonyms],
    ) -> list[CountedPair | None]:
        """Count the shared values and matching rows of each pair; None if an end cannot be read.

        `texts` are the columns of text, in which words such as `NA` are values.
        """
        numbers: dict[Counted, int] = {}
        # Numbers instead of identifiers: every row of every partition carries one.
        wanted = [
            (numbers.setdefault(left, len(numbers)), numbers.setdefault(right, len(numbers)))
            for left, right in pairs
        ]
        requests = request_values(tables, numbers, texts, value_files(self.config, tables))
        executor = executor_for(self.session, self.config)
        fewest, size = executor.fewest_partitions, sum(each.table.size for each in requests)
        job = HashedValues(synonyms, max(fewest, size // _PARTITION_BYTES) if fewest > 1 else 1)
        ends = {(at, at) for at in numbers.values()}.union(wanted)
        count = partial(count_pairs_of_partition, to_count=np.array([*ends]))
        rows = COUNTS_ROW.empty_table()
        if requests:
            rows = executor.count_by_hash(job, requests, count, COUNTS_ROW)
        columns = zip(*(column.to_pylist() for column in rows.columns), strict=True)
        # Pairs that share nothing may be missing.
        counts = {(left, right): PairCounts(*found) for left, right, *found in columns}
        for request in requests:
            ids = chain(*(ways.values() for ways in request.columns.values()))
            if not any((at, at) in counts for at in (*ids, *request.tuples.values())):
                self.note_unread(request.table.id)
        return [
            CountedPair(counts[left, left], counts[right, right], counts.get((left, right), _NONE))
            if (left, left) in counts and (right, right) in counts
            else None
            for left, right in wanted
        ]


def request_values(
    tables: Sequence[Table],
    numbers: Mapping[Counted, int],
    texts: AbstractSet[ColumnId],
    files: Mapping[TableId, Path],
) -> list[RequestedColumns]:
    """Build one request per table for what is to be counted, each with its number."""
    columns: dict[TableId, dict[str, dict[str, int]]] = {}
    tuples: dict[TableId, dict[ColumnTuple, int]] = {}
    for counted, number in numbers.items():
        match counted:
            case (TableId() as table, ColumnTuple() as members):
                tuples.setdefault(table, {})[members] = number
            case (ColumnId(table=table, path=path), str(kind)):
                columns.setdefault(table, {}).setdefault(path, {})[kind] = number
    requests = []
    for each in tables:
        if each.id in columns or each.id in tuples:
            wanted = columns.get(each.id, {}), (), tuples.get(each.id, {}), files.get(each.id)
            request = RequestedColumns(each, *wanted)
            requests.append(replace(request, texts=texts_among(request, texts)))
    return requests


def texts_among(request: TableRequest, texts: AbstractSet[ColumnId]) -> frozenset[str]:
    """Return the requested columns of a table that are text."""
    return frozenset(
        path for path in request.paths or () if ColumnId(request.table.id, path) in texts
    )


def partition_values(columns: Iterable[_NumberedValues], *, count: int) -> Iterator[pa.RecordBatch]:
    """Distribute the distinct values of columns to `count` partitions by hash."""
    return (_partition(some, count=count) for some in in_groups(columns))


def in_groups(columns: Iterable[_NumberedValues]) -> Iterator[list[_NumberedValues]]:
    """Group columns by about a million values, which share the rows of a job."""
    waiting: list[_NumberedValues] = []
    filled = 0
    for column in columns:
        waiting.append(column)
        filled += len(column[1])
        if filled >= _VALUES_AT_ONCE:
            yield waiting
            waiting, filled = [], 0
    if waiting:
        yield waiting


def _partition(columns: Sequence[_NumberedValues], *, count: int) -> pa.RecordBatch:
    numbers = np.array([number for number, _ in columns], "<i4")
    sizes = np.array([len(values) for _, values in columns])
    hashes = np.concatenate([values.hashes for _, values in columns])
    counts = np.concatenate([values.counts for _, values in columns])
    rows: Iterable[_PartitionRow] = [(0, numbers, sizes, slice(None))]
    if count > 1:
        rows = _divide(numbers, sizes, hashes, count=count)
    written = [
        (
            number,
            of.tobytes(),
            size.astype("<i8", copy=False).tobytes(),
            to_bytes(hashes[at]),
            counts[at].astype("<i8", copy=False).tobytes(),
        )
        for number, of, size, at in rows
    ]
    arrays = zip(*written, strict=True)
    return pa.RecordBatch.from_pydict(
        dict(zip(PARTITION_ROW.names, arrays, strict=True)), schema=PARTITION_ROW
    )


def _divide(
    numbers: _Numbers, sizes: Indices, hashes: Hashes, *, count: int
) -> Iterator[_PartitionRow]:
    """Divide the values of columns among `count` partitions."""
    edges = np.array([(index << 64) // count for index in range(1, count)], np.uint64)
    partition = np.searchsorted(edges, hashes, side="right")
    # The sort is stable, so that the values of a partition stay in the order of their columns.
    order = np.argsort(partition, kind="stable")
    # Columns without values have a row of their own.
    empty = numbers[sizes == 0]
    if len(empty):
        yield 0, empty, np.zeros(len(empty), np.int64), order[:0]
    of_value = np.repeat(numbers, sizes)
    for start, end in _runs(partition[order]):
        at = order[start:end]
        own = _runs(of_value[at])
        yield int(partition[at[0]]), of_value[at[own[:, 0]]], own[:, 1] - own[:, 0], at


def _runs(items: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Return the start and the end of each run of equal items."""
    bounds = np.flatnonzero(np.diff(items, prepend=items[:1] - 1, append=items[-1:] + 1))
    return np.stack([bounds[:-1], bounds[1:]], axis=1)


def _arrays_of(rows: pa.Table) -> Iterator[_Row]:
    """Yield the arrays in each row of a hash partition, without a copy of their values."""
    for batch in rows.to_batches():
        for row in range(len(batch)):
            yield [np.frombuffer(batch[name][row].as_buffer(), _TYPES[name]) for name in _TYPES]


def _columns_of(rows: Iterable[_Row]) -> dict[int, _Values]:
    """Return the values of each column in the rows of one hash partition."""
    found: dict[int, list[_Values]] = {}
    for numbers, sizes, hashes, counts in rows:
        for number, (begin, end) in zip(
            numbers.tolist(), pairwise(bounds_of(sizes).tolist()), strict=True
        ):
            found.setdefault(number, []).append((hashes[begin:end], counts[begin:end]))
    return {number: _merged(parts) for number, parts in found.items()}


def _merged(parts: Sequence[_Values]) -> _Values:
    if len(parts) == 1:
        return parts[0]
    merged = merge_values(DistinctValues.without_texts(*part) for part in parts)
    return merged.hashes, merged.counts


def count_pairs_of_partition(rows: pa.Table, to_count: _Numbers) -> pa.Table:
    """In one hash partition, count the shared values and matching rows of pairs."""
    parts = [*_arrays_of(rows)]
    numbers = np.concatenate([np.zeros(0, np.int32), *(each[0] for each in parts)])
    is_here = np.zeros(max(to_count.max(initial=0), numbers.max(initial=0)) + 1, np.bool_)
    is_here[numbers] = True
    pairs = to_count[is_here[to_count].all(axis=1)]
    if len(np.unique(numbers)) < len(numbers):
        parts = [
            [np.array([number]), np.array([len(hashes)]), hashes, counts]
            for number, (hashes, counts) in _columns_of(parts).items()
        ]
    size = sum(len(each[2]) for each in parts)
    if len(pairs) * _VALUES_PER_PAIR > size <= _MOST_TOGETHER:
        # Whole columns need not be taken apart first.
        counted = _count_together(*map(np.concatenate, zip(*parts, strict=True)), pairs=pairs)
    else:
        columns = _columns_of(parts)
        each = (count_pair(columns[left], columns[right]) for left, right in pairs.tolist())
        found = [(counts.shared, counts.rows, counts.joined) for counts in each]
        counted = np.array(found, np.int64).reshape(-1, 3).T
    is_found = (counted[0] > 0) | (pairs[:, 0] == pairs[:, 1])
    ends = pairs[is_found].astype(np.int32).T
    counts = (of_pairs[is_found] for of_pairs in counted)
    return pa.Table.from_arrays([*map(pa.array, (*ends, *counts))], schema=COUNTS_ROW)


def _count_together(
    numbers: _Numbers, sizes: Indices, hashes: Hashes, counts: Counts, *, pairs: _Numbers
) -> npt.NDArray[np.int64]:
    """Count many pairs of short columns, as `count_pair` does for one."""
    bounds = bounds_of(sizes)
    order = np.argsort(numbers)
    pairs = order[np.searchsorted(numbers, pairs, sorter=order)]
    # Numbers instead of hashes leave room for the column in one number of 64 bits.
    distinct, value = np.unique(hashes, return_inverse=True)
    keys = np.repeat(np.arange(len(sizes)) * len(distinct), sizes) + value
    is_longer = sizes[pairs[:, 0]] > sizes[pairs[:, 1]]
    # The shorter column of each pair is searched in the longer.
    short, long = np.where(is_longer, pairs.T[::-1], pairs.T)
    counted = np.zeros((3, len(pairs)), np.int64)
    for chunk in chunks_of(sizes[short].tolist(), _VALUES_AT_ONCE):
        own = bounds_of(sizes[short[chunk]])
        at_short = index_within(own) + np.repeat(bounds[short[chunk]], np.diff(own))
        wanted = np.repeat(long[chunk] * len(distinct), np.diff(own)) + value[at_short]
        at_long = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        is_found = keys[at_long] == wanted
        found = bounds_of(reduce_each(np.add, is_found, own))
        rows = counts[at_short[is_found]], counts[at_long[is_found]]
        of_left = np.where(np.repeat(is_longer[chunk], np.diff(found)), rows[1], rows[0])
        counted[0, chunk] = np.diff(found)
        counted[1, chunk] = reduce_each(np.add, of_left, found)
        counted[2, chunk] = reduce_each(np.add, rows[0] * rows[1], found)
    return counted


def _intersect(few: Hashes, many: Hashes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Find the positions of shared values in two sorted arrays."""
    if not len(many):
        empty = np.zeros(0, np.intp)
        return empty, empty
    positions = np.minimum(np.searchsorted(many, few), len(many) - 1)
    shared = np.flatnonzero(many[positions] == few)
    return shared, positions[shared]
