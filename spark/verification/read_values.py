"""Read the values of the columns that are verified, and count them.

Texts are not kept: verification compares hashes only, and the texts of all values would fill the
memory. The columns of small tables are counted together, as in `spark/profiles/local_batch.py`.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from datahub_hyperjoin.normal_form import Synonyms
from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.counting.aggregate import (
    EMPTY_AGGREGATE,
    ColumnAggregate,
    aggregate_columns,
)
from datahub_hyperjoin.spark.counting.aggregate_buffer import AggregateBuffer
from datahub_hyperjoin.spark.counting.notations import in_notation
from datahub_hyperjoin.spark.counting.sketch import NO_VALUES, DistinctValues, merge_values
from datahub_hyperjoin.spark.counting.text_counts import TextCounts, count_texts
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.spark.verification.kept_values import (
    TableValues,
    keep_values,
    load_values,
    name_of_column,
    name_of_tuple,
)
from datahub_hyperjoin.spark.verification.requested_columns import RequestedColumns
from datahub_hyperjoin.spark.verification.tuples import ColumnTuple, count_tuples
from datahub_hyperjoin.value_forms import Notation

_ALL = sys.maxsize

_Key = tuple[int, str, Notation | None]
"""A table's index in the batch, a column's path, and the notation in which its values are read."""


def read_values(
    requests: Iterable[RequestedColumns],
    synonyms: Mapping[str, Synonyms],
    databases: Databases,
    *,
    is_whole: bool = True,
) -> Iterator[tuple[int, DistinctValues]]:
    """Read columns of tables, or the values that an earlier run kept of them.

    Args:
        databases: Open databases, to which those of the tables are added.
        is_whole: Whether all rows of each table are read, which then determine the columns' types.

    Yields:
        The number and the distinct values of each column. An unreadable table yields nothing.
    """
    batch = _TableBatch()
    for request in requests:
        kept = load_values(request.kept)
        if request.names <= kept.keys():
            yield from _number_values(kept, request, synonyms)
            continue
        batch.read(request, kept, databases)
        if batch.is_full:
            yield from _finish(batch, synonyms, databases, is_whole=is_whole)
            batch = _TableBatch()
    yield from _finish(batch, synonyms, databases, is_whole=is_whole)


def values_of_rows(
    batches: Iterable[pa.RecordBatch],
    paths: Iterable[str],
    request: RequestedColumns,
    synonyms: Mapping[str, Synonyms],
) -> Iterator[tuple[int, DistinctValues]]:
    """Count the values in one part of a table."""
    batch = _TableBatch()
    batch.count(batches, paths, request, {})
    [(_, values)] = batch.values(is_whole=False)
    yield from _number_values(values, request, synonyms)


@dataclass(frozen=True, slots=True)
class _CountedTable:
    """A table that was read, and what is known of its values besides the counts of its columns."""

    request: RequestedColumns
    kept: TableValues
    """The values that earlier runs kept."""

    columns: tuple[tuple[str, Notation | None], ...]
    """The paths of the counted columns, each with the notation in which its values were read."""

    tuples: dict[ColumnTuple, DistinctValues] = field(default_factory=dict)


class _TableBatch:
    """A batch of tables whose columns are counted together."""

    def __init__(self) -> None:
        self.requests: list[RequestedColumns] = []
        """All requests, also those of tables that were unreadable."""
        self.tables: list[_CountedTable] = []
        self.is_full = False
        """Whether further tables should be added to another batch."""
        self._columns = AggregateBuffer[_Key](_aggregate, _ALL)

    def read(self, request: RequestedColumns, kept: TableValues, databases: Databases) -> None:
        """Read a table, and add its values to the batch; leave out a table that is unreadable."""
        index = len(self.tables)
        self.requests.append(request)
        try:
            stream = read_table(request.table, databases, max_rows=_ALL, paths=request.paths)
            self.count(stream.batches, readable_paths(stream.columns), request, kept)
        except Exception:  # noqa: BLE001 (the guard that keeps one table from ending the run)
            self._columns.remove(lambda column: column[0] == index)

    def count(
        self,
        batches: Iterable[pa.RecordBatch],
        paths: Iterable[str],
        request: RequestedColumns,
        kept: TableValues,
    ) -> None:
        """Add the values of a table to the batch, in one pass over its rows."""
        index, found = len(self.tables), [path for path in paths if path in request.columns]
        in_form = [each for each in request.notations if each[0] in found]
        table = _CountedTable(request, kept, (*((path, None) for path in found), *in_form))
        for number, batch in enumerate(batches):
            texts = {path: count_texts(batch.column(path)) for path in found}
            for path, notation in table.columns:
                counted = in_notation(texts[path], notation) if notation else texts[path]
                self._columns.add((index, path, notation), counted)
            tuples = count_tuples(batch, request.tuples, request.texts, seed=number)
            for wanted, values in tuples.items():
                before = table.tuples.get(wanted, NO_VALUES)
                table.tuples[wanted] = merge_values([before, values])
            if self._columns.is_full:
                self.is_full = True
                self._columns.flush()
        # Tuples are counted at once, and should not wait for further tables.
        self.is_full |= bool(table.tuples)
        self.tables.append(table)

    def values(self, *, is_whole: bool) -> Iterator[tuple[_CountedTable, TableValues]]:
        """Yield the values of each table, after all of them have been counted.

        The rows of a whole table determine which columns are text; otherwise the request names
        them.
        """
        self._columns.flush()
        for index, table in enumerate(self.tables):
            texts = table.request.texts
            values = {name_of_tuple(wanted, texts): each for wanted, each in table.tuples.items()}
            for path, notation in table.columns:
                aggregate = self._columns.aggregates.get((index, path, notation), EMPTY_AGGREGATE)
                is_text = None if is_whole else path in texts
                # A word such as `NA` is neither a number nor a date.
                resolved = aggregate.resolve_null_words(is_text=False if notation else is_text)
                values[name_of_column(path, notation or "")] = resolved.values
            yield table, values


def _aggregate(columns: Sequence[TextCounts]) -> list[ColumnAggregate]:
    return [
        replace(aggregate, values=aggregate.values.without_texts())
        for aggregate in aggregate_columns(columns, _ALL, in_forms=False)
    ]


def _finish(
    batch: _TableBatch,
    synonyms: Mapping[str, Synonyms],
    databases: Databases,
    *,
    is_whole: bool,
) -> Iterator[tuple[int, DistinctValues]]:
    """Yield the number and the values of each column of a batch, and keep them for later runs."""
    try:
        counted = [*batch.values(is_whole=is_whole)]
    except Exception:  # noqa: BLE001 (the same guard)
        # The error does not tell which table caused it; reading each alone does.
        for request in batch.requests if len(batch.requests) > 1 else ():
            yield from read_values([request], synonyms, databases, is_whole=is_whole)
        return
    for table, values in counted:
        whole = {**table.kept, **values}
        keep_values(table.request.kept, whole, size=table.request.table.size)
        yield from _number_values(whole, table.request, synonyms)


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
