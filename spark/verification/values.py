"""Read, hash, count and keep the values of the columns that are verified.

A tuple combines the values of one row in several columns; its hash is that of their hashes. A row
with a null in any column has no tuple, as in SQL. Texts are not kept: verification compares hashes
only, and the texts of all values would fill the memory.

If three tables change, their columns are compared again with columns of nearly all tables. So the
store keeps the hashes of a table's distinct values and the rows of each, in one file with a
checksum. They take a fraction of the size of the table, and load in less time than it is read. If
the file is damaged or lacks a column, the table is read.
"""

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import StringBytes
from datahub_hyperjoin.cell_parts import CellParts
from datahub_hyperjoin.errors import StoredFileError
from datahub_hyperjoin.normal_form import Hashes, Synonyms, hash_values, normal_forms
from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.aggregate import (
    EMPTY_AGGREGATE,
    AggregateBuffer,
    count_all,
    merge_counted,
)
from datahub_hyperjoin.spark.counting.notations import in_notation
from datahub_hyperjoin.spark.counting.placeholders import hashes_of
from datahub_hyperjoin.spark.counting.sketch import DistinctValues, HashCounts
from datahub_hyperjoin.spark.counting.texts import (
    NULL_WORDS,
    TextCounts,
    countable,
    list_texts,
    texts_of,
)
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.executor import TableRequest
from datahub_hyperjoin.spark.profiles.store import log_damaged, table_key
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.storage import read_checked, replace_with_checksum
from datahub_hyperjoin.tables import Table, TableId
from datahub_hyperjoin.value_forms import Notation
from datahub_hyperjoin.visible import logger_of

_NULL_WORDS = pa.array(NULL_WORDS)
_ROWS_AT_ONCE = 1 << 16
"""Number of rows whose tuples are hashed at once, which fit in a processor's cache."""
_FACTOR, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
"""Multiplier and shift of a 64-bit mixing step (Steele et al., SplitMix, 2014)."""


@dataclass(frozen=True, slots=True)
class ColumnTuple:
    """Several columns of a table that are compared as one."""

    paths: tuple[str, ...]
    """Paths of the columns, in the order of the columns that they are compared with."""

    shuffled: int | None = None
    """Index of a column whose values are shuffled among the rows. The tuples then show how many
    rows would match by chance if this column had nothing to do with the others."""

    glue: str = ""
    """What stands between the values of a row in a cell that holds them all; empty if no cell
    does."""

    of_type: str = ""
    """What the last column must hold, as it is written, in the rows whose other value counts; the
    last column is then no part of the tuple."""


class HashedColumn(NamedTuple):
    """The hashes of a column's values, row by row."""

    hashes: Hashes
    """Hashes of normal forms; arbitrary where there is no value."""

    is_filled: npt.NDArray[np.bool_]


def hash_rows(column: pa.Array, *, is_text: bool) -> HashedColumn:
    """Hash the value in each row of a column."""
    encoded = countable(column).dictionary_encode()
    normal = normal_forms(pc.fill_null(texts_of(encoded.dictionary), ""))
    filled = StringBytes.of(normal).lengths > 0
    if not is_text:
        filled &= ~pc.is_in(normal, value_set=_NULL_WORDS).to_numpy(zero_copy_only=False)
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    if not len(normal):
        return HashedColumn(np.zeros(len(codes), np.uint64), np.zeros(len(codes), np.bool_))
    # A null has the code -1, and any hash will do for it.
    return HashedColumn(hash_values(normal)[codes], filled[codes] & (codes >= 0))


def hash_columns(
    batch: pa.RecordBatch, paths: Collection[str], texts: Collection[str]
) -> dict[str, HashedColumn]:
    """Hash those of some columns that a batch of rows has."""
    return {
        path: hash_rows(batch.column(path), is_text=path in texts)
        for path in batch.schema.names
        if path in paths
    }


def hash_tuples(
    columns: Iterable[HashedColumn], shuffled: int | None = None, seed: int = 0
) -> Hashes:
    """Hash the tuple of each row, and leave out the rows in which a value is missing.

    `shuffled` is the index of a column whose values are shuffled among the rows before.

    Examples:
        >>> import pyarrow as pa
        >>> letters = hash_rows(pa.array(["a", "b", "A", None]), is_text=True)
        >>> numbers = hash_rows(pa.array([1, 1, 1, 2]), is_text=False)
        >>> first, second, third = hash_tuples([letters, numbers])
        >>> bool(first == third), bool(first == second)
        (True, False)
    """
    members = [*columns]
    is_filled = np.logical_and.reduce([member.is_filled for member in members])
    whole = bool(is_filled.all())
    hashes = [member.hashes if whole else member.hashes[is_filled] for member in members]
    if shuffled is not None:
        # Another seed for each batch, or a table in a fixed rhythm would not be shuffled at all.
        hashes[shuffled] = np.random.default_rng(seed).permutation(hashes[shuffled])
    first, *others = hashes
    mixed = first.copy()
    for begin in range(0, len(mixed), _ROWS_AT_ONCE):
        rows = slice(begin, begin + _ROWS_AT_ONCE)
        part = mixed[rows]
        for other in others:
            part *= _FACTOR
            part ^= part >> _SHIFT
            part += other[rows]
    return mixed


def _hash_each_tuple(
    batch: pa.RecordBatch, tuples: Collection[ColumnTuple], texts: Collection[str], *, seed: int
) -> Iterator[tuple[ColumnTuple, Hashes]]:
    """For each tuple of columns, hash the combination of values in each row of a batch."""
    apart = [each for each in tuples if not each.glue and not each.of_type]
    columns = hash_columns(batch, {path for each in apart for path in each.paths}, texts)
    for each in tuples:
        if not {*batch.schema.names} >= {*each.paths}:
            continue
        if each.glue or each.of_type:
            is_text = bool(each.glue) or each.paths[0] in texts
            of_all, is_filled = hash_rows(_cells(batch, each), is_text=is_text)
            of_rows = of_all[is_filled]
        else:
            of_rows = hash_tuples((columns[path] for path in each.paths), each.shuffled, seed)
        yield each, of_rows


def _cells(batch: pa.RecordBatch, columns: ColumnTuple) -> pa.Array:
    """Return the cells that are compared instead of tuples."""
    if columns.glue:
        cells = (texts_of(batch.column(path)) for path in columns.paths)
        return pc.binary_join_element_wise(*cells, columns.glue)
    ids, types = (batch.column(path) for path in columns.paths)
    return ids.filter(pc.equal(texts_of(types), columns.of_type))


_WITHOUT = "without:"


def without(placeholders: Iterable[str]) -> str:
    """Name the form in which values are read as written, but for some; empty for no placeholder."""
    texts = sorted({*placeholders})
    return _WITHOUT + json.dumps(texts) if texts else ""


def _leave_out(values: DistinctValues, kind: str) -> DistinctValues:
    left_out = hashes_of(json.loads(kind.removeprefix(_WITHOUT)))
    return values.where(~np.isin(values.hashes, left_out))


logger = logger_of(__name__)

TableValues = dict[str, DistinctValues]
"""The distinct values of columns and column tuples of a table, by a name that also tells how they
were read (`_name_of_column` and `_name_of_tuple`)."""

_FOLDER = "values"
_MOST_BYTES = 1 << 32
"""Maximum size of all files, in bytes."""
_FEW_BYTES = 1 << 16
"""Size up to which the values of any table are kept; more only if they are smaller than the
table."""
_ROW = pa.schema(
    {
        "name": pa.string(),
        "hashes": pa.large_binary(),
        "counts": pa.large_binary(),
        "count_type": pa.string(),
    }
)
_SIZES = b"sizes"
"""Metadata of a file: the number of values by name, which is known before any value is loaded."""


_Reading = Notation | CellParts
"""What values are converted from while a table is read."""


def _reading_of(kind: str) -> _Reading | None:
    return kind if isinstance(kind, Notation) else CellParts.read(kind)


def _name_of_column(path: str, kind: str) -> str:
    """Name the values of a column."""
    # Values of an entity kind are kept as written, and translated later.
    return json.dumps([path, kind if _reading_of(kind) else ""])


def _name_of_tuple(columns: ColumnTuple, texts: Collection[str]) -> str:
    """Name the values of a column tuple."""
    how = columns.shuffled, columns.glue, columns.of_type
    return json.dumps([columns.paths, how, sorted({*columns.paths} & {*texts})])


def value_files(config: ProfileConfig, tables: Sequence[Table]) -> dict[TableId, Path]:
    """Name the file of each table whose values are kept, or may be kept from now on."""
    if config.store is None or not config.keep_values:
        return {}
    files: dict[TableId, Path] = {}
    folder = config.store / _FOLDER
    left = _MOST_BYTES - sum(file.stat().st_size for file in folder.glob("*"))
    for table in sorted(tables, key=lambda each: each.size):
        file = folder / table_key(table)
        if not file.exists():
            left -= max(table.size, _FEW_BYTES)
        if table.state and (left > 0 or file.exists()):
            files[table.id] = file
    return files


def prune_value_files(config: ProfileConfig, tables: Sequence[Table]) -> None:
    """Create the folder of the values, and delete those of tables that have changed or are gone."""
    if config.store is None:
        return
    folder = config.store / _FOLDER
    keep = config.keep_values and not config.force
    wanted = {table_key(table) for table in tables if table.state and keep}
    try:
        # Without the folder, as on other machines than this, workers keep nothing.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in folder.iterdir():
            if file.name not in wanted:
                file.unlink()
    except OSError as error:
        logger.warning("Cannot store results for the next run in %s: %s", folder, error)


def _load_values(file: Path | None) -> TableValues:
    """Load the values that earlier runs kept of a table."""
    if file is None or not file.exists():
        return {}
    try:
        rows = pa.ipc.open_stream(pa.py_buffer(read_checked(file))).read_all()
        return {name: _values(rows, at) for at, name in enumerate(rows["name"].to_pylist())}
    except (StoredFileError, pa.ArrowException, OSError, KeyError) as error:
        log_damaged(file, str(error))
        return {}


def keep_values(file: Path | None, values: TableValues, *, size: int) -> None:
    """Keep the values of a table for later runs."""
    taken = sum(each.hashes.nbytes for each in values.values())
    if file is None or taken > max(size, _FEW_BYTES):
        return
    all_counts = [each.counts for each in values.values()]
    # Most values of a key occur once.
    narrow = [each.astype(np.min_scalar_type(int(each.max(initial=0)))) for each in all_counts]
    rows = {
        "name": [*values],
        "hashes": [each.hashes.astype("<u8").tobytes() for each in values.values()],
        "counts": [counts.tobytes() for counts in narrow],
        "count_type": [counts.dtype.str for counts in narrow],
    }
    sizes = json.dumps({name: len(each) for name, each in values.items()})
    batch = pa.RecordBatch.from_pydict(rows, _ROW.with_metadata({_SIZES: sizes}))
    try:
        if not file.parent.is_dir():
            return  # on another machine than the driver
        content = pa.BufferOutputStream()
        with pa.ipc.new_stream(content, batch.schema) as stream:
            stream.write_batch(batch)
        replace_with_checksum(file, memoryview(content.getvalue()))
    except (StoredFileError, pa.ArrowException, OSError) as error:
        logger.warning("Cannot store results for the next run in %s: %s", file, error)


def _values(rows: pa.Table, at: int) -> DistinctValues:
    hashes = np.frombuffer(rows["hashes"][at].as_buffer(), "<u8")
    counts = np.frombuffer(rows["counts"][at].as_buffer(), rows["count_type"][at].as_py())
    return DistinctValues.without_texts(hashes, counts.astype(np.int64))


@dataclass(frozen=True, slots=True)
class RequestedColumns(TableRequest):
    """The columns of one table whose values are read and counted."""

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
        kept = self._kept_bytes
        # A size of 0 would mean that nobody knows it.
        return self.table if kept is None else replace(self.table, size=max(kept, 1))

    @property
    def is_kept(self) -> bool:
        """Whether the values can be loaded from their file, without reading the table."""
        return self._kept_bytes is not None

    @property
    def _kept_bytes(self) -> int | None:
        if self.kept is None or not self.kept.exists():
            return None
        try:
            with pa.memory_map(str(self.kept)) as content:
                sizes = json.loads(pa.ipc.open_stream(content).schema.metadata[_SIZES])
        except (pa.ArrowException, OSError, KeyError, TypeError, ValueError):
            return None  # damaged, which is reported when it is loaded
        needed = [sizes.get(name) for name in {name for name, *_ in self.wanted()}]
        return None if None in needed else 2 * np.uint64().itemsize * sum(needed)

    def wanted(self) -> Iterator[tuple[str, str, int]]:
        """Yield the name of the values of each way or tuple, their form, and their number."""
        for path, ways in self.columns.items():
            for kind, number in ways.items():
                yield _name_of_column(path, kind), kind, number
        for members, number in self.tuples.items():
            yield _name_of_tuple(members, self.texts), "", number

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the columns to read."""
        return frozenset(self.columns).union(*(wanted.paths for wanted in self.tuples))


_ALL = sys.maxsize

_Key = tuple[int, str, _Reading | None]
"""A table's index in the batch, a column's path, and the form in which its values are read."""


def read_values(
    requests: Iterable[RequestedColumns],
    synonyms: Mapping[str, Synonyms],
    databases: Databases,
) -> Iterator[tuple[int, DistinctValues]]:
    """Read columns of tables, or the values that an earlier run kept of them."""
    batch = _TableBatch(synonyms, databases)
    for request in requests:
        kept = _load_values(request.kept)
        if all(name in kept for name, *_ in request.wanted()):
            yield from _number_values(kept, request, synonyms)
            continue
        batch.read(request, kept)
        if batch.is_full:
            yield from batch.finish()
            batch = _TableBatch(synonyms, databases)
    yield from batch.finish()


def values_of_rows(
    batches: Iterable[pa.RecordBatch],
    paths: Iterable[str],
    request: RequestedColumns,
    synonyms: Mapping[str, Synonyms],
) -> Iterator[tuple[int, DistinctValues]]:
    """Count the values in one part of a table."""
    batch = _TableBatch(synonyms, Databases())
    batch.count(batches, paths, request, {})
    [(_, values)] = batch.values(is_whole=False)
    yield from _number_values(values, request, synonyms)


@dataclass(frozen=True, slots=True)
class _CountedTable:
    """A table that was read, and what is known of its values besides the counts of its columns."""

    request: RequestedColumns
    kept: TableValues
    columns: tuple[tuple[str, _Reading | None], ...]
    """The paths of the counted columns, each with the form in which its values were read."""

    tuples: dict[ColumnTuple, HashCounts] = field(default_factory=dict)


class _TableBatch:
    """A batch of tables whose columns are counted together."""

    def __init__(self, synonyms: Mapping[str, Synonyms], databases: Databases) -> None:
        self._synonyms, self._databases = synonyms, databases
        self.requests: list[RequestedColumns] = []
        """All requests, also those of tables that were unreadable."""
        self.tables: list[_CountedTable] = []
        self._columns = AggregateBuffer[_Key](count_all, merge_counted)

    def read(self, request: RequestedColumns, kept: TableValues) -> None:
        """Read a table, and add its values to the batch; leave out a table that is unreadable."""
        index = len(self.tables)
        self.requests.append(request)
        try:
            stream = read_table(request.table, self._databases, max_rows=_ALL, paths=request.paths)
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
        in_form = [
            (path, reading)
            for path in found
            for kind in request.columns[path]
            if (reading := _reading_of(kind))
        ]
        columns = (*((path, None) for path in found), *in_form)
        table = _CountedTable(request, kept, columns)
        for number, batch in enumerate(batches):
            texts = {path: list_texts(batch.column(path)) for path in found}
            for path, reading in table.columns:
                self._columns.add((index, path, reading), _in_reading(texts[path], reading))
            tuples = _hash_each_tuple(batch, request.tuples, request.texts, seed=number)
            for wanted, hashes in tuples:
                table.tuples.setdefault(wanted, HashCounts()).add(hashes)
            self._columns.flush_if_full()
        self.tables.append(table)

    @property
    def is_full(self) -> bool:
        """Whether further tables should be added to another batch."""
        # Tuples are counted at once, and should not wait for further tables.
        return self._columns.was_full or any(table.tuples for table in self.tables)

    def values(self, *, is_whole: bool) -> Iterator[tuple[_CountedTable, TableValues]]:
        """Yield the values of each table, after all of them have been counted.

        The rows of a whole table determine which columns are text; otherwise the request names
        them.
        """
        counted = self._columns.finish()
        for index, table in enumerate(self.tables):
            texts = table.request.texts
            values = {
                _name_of_tuple(wanted, texts): counts.values()
                for wanted, counts in table.tuples.items()
            }
            for path, reading in table.columns:
                aggregate = counted.get((index, path, reading), EMPTY_AGGREGATE)
                is_text = None if is_whole else path in texts
                # A word such as `NA` is neither a number nor a date.
                if isinstance(reading, Notation):
                    is_text = False
                resolved = aggregate.resolve_null_words(is_text=is_text)
                name = reading.words if isinstance(reading, CellParts) else reading or ""
                values[_name_of_column(path, name)] = resolved.values
            yield table, values

    def finish(self) -> Iterator[tuple[int, DistinctValues]]:
        """Yield the number and the values of each column, and keep them for later runs."""
        try:
            counted = [*self.values(is_whole=True)]
        except Exception:  # noqa: BLE001 (the same guard)
            # The error does not tell which table caused it; reading each alone does.
            for request in self.requests if len(self.requests) > 1 else ():
                yield from read_values([request], self._synonyms, self._databases)
            return
        for table, values in counted:
            whole = {**table.kept, **values}
            keep_values(table.request.kept, whole, size=table.request.table.size)
            yield from _number_values(whole, table.request, self._synonyms)


def _in_reading(counted: TextCounts, reading: _Reading | None) -> TextCounts:
    if isinstance(reading, CellParts):
        # Few lakes have cells of several parts.
        from datahub_hyperjoin.spark.counting.cell_parts import in_parts  # noqa: PLC0415

        return in_parts(counted, reading)
    return in_notation(counted, reading) if reading else counted


def _number_values(
    values: TableValues, request: RequestedColumns, synonyms: Mapping[str, Synonyms]
) -> Iterator[tuple[int, DistinctValues]]:
    """Yield the number of each requested column, and its values.

    If the values of an entity kind are requested, the hashes are translated by its synonyms.
    """
    for name, kind, number in request.wanted():
        # A column may have disappeared since it was profiled.
        if (found := values.get(name)) is not None:
            if kind.startswith(_WITHOUT):
                found = _leave_out(found, kind)
            elif kind and not _reading_of(kind):
                found = found.translate(synonyms[kind])
            yield number, found
