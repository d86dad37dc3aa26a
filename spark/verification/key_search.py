"""Search the rows of each table for composite keys.

A composite key is a minimal set of columns that identifies a row. Two of the rows with the same
values prove that a set of columns is no key. Files are read to their millionth row, so that the
order of their rows hardly matters, and databases and the largest files less far. A set without such
rows may still not be a key, so every key that is used is verified on all rows. The search goes
level by level: a set is tried only if none of its subsets is already unique (Agrawal and Srikant,
"Fast algorithms for mining association rules", 1994; Heise et al., DUCC, 2013).
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.arrow_bytes import count_distinct
from datahub_hyperjoin.joins import KeySearch
from datahub_hyperjoin.locations import database_of
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.executor import NumberedTable, Part, TableJob, executor_for
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.spark.verification.values import HashedColumn, hash_columns, hash_tuples
from datahub_hyperjoin.tables import Table, TableId

_SAMPLE_ROWS = 1 << 15
"""Number of rows of a database's table, or of a very large file, in which keys are searched."""

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Keys = dict[int, tuple[tuple[str, ...], ...]]
"""Paths of the columns of each key, by the index of the table."""
_KEY_ROW = pa.schema({"table": pa.int32(), "key": pa.list_(pa.string())})
_MAX_KEYS = 16
"""Maximum number of keys kept per table. Keys with fewer columns are preferred, then keys with
fewer possible combinations of values, which are less likely to be unique by accident."""
_MOST_ROWS = 1 << 20
"""Number of rows of any other file in which keys are searched."""
_FIRST_ROWS = (1 << 11, 1 << 15)
"""Numbers of rows in which most sets repeat a value, which takes a fraction of the time to show."""
_MIN_ROWS = 4
"""A table with fewer rows proves nothing: nearly any columns are unique in it."""


@dataclass(frozen=True, slots=True)
class _Searched(NumberedTable):
    """A table, with the columns that may form a composite key, and its index."""

    search: KeySearch

    @property
    def paths(self) -> tuple[str, ...]:
        return self.search.columns


def search_keys(
    session: "SparkSession | None",
    tables: Sequence[Table],
    searches: Sequence[KeySearch],
    config: ProfileConfig,
) -> dict[TableId, tuple[tuple[str, ...], ...]]:
    """Search some rows of each table for composite keys.

    Args:
        session: Runs one Spark job, and one more for each table on the distributed route; more if
            a table crashes its worker. None to read all tables in this process.
        searches: The columns among which to search, by table.
        config: Provides the size from which a table is read by many tasks.

    Returns:
        The paths of each key's columns, the narrowest keys first; none for a table without keys. A
        table that cannot be read is left out.
    """
    by_table = {search.table: search for search in searches}
    read = [table for table in tables if table.id in by_table]
    jobs = [_Searched(table, index, by_table[table.id]) for index, table in enumerate(read)]
    executor = executor_for(session, config)
    with suppress(*executor.errors):
        found, _ = executor.map_tables(
            _KeyJob(), jobs, _by_table, may_crash=False, most_rows=_SAMPLE_ROWS
        )
        return {read[index].id: keys for index, keys in found.items()}
    return {}


def minimal_keys(columns: Mapping[str, HashedColumn], most: int = 4) -> list[tuple[str, ...]]:
    """Find the minimal sets of at most `most` columns that identify every row.

    Examples:
        >>> import pyarrow as pa
        >>> from datahub_hyperjoin.spark.verification.values import hash_rows
        >>> orders = hash_rows(pa.array([1, 1, 2, 2]), is_text=False)
        >>> lines = hash_rows(pa.array([1, 2, 1, 2]), is_text=False)
        >>> minimal_keys({"order": orders, "line": lines})
        [('order', 'line')]
    """
    distinct = {path: count_distinct(hash_tuples([each])) for path, each in columns.items()}
    rows = min((int(column.is_filled.sum()) for column in columns.values()), default=0)
    # Columns that are not unique all together have no unique columns among them.
    if rows < _MIN_ROWS or (not _is_unique(columns, columns)):
        return []
    unique: list[frozenset[str]] = []
    for size in range(1, most + 1):
        for paths in combinations(columns, size):
            # Too few combinations of values for so many rows: no need to look.
            is_possible = prod(distinct[path] for path in paths) >= rows
            is_new = is_possible and not any(key.issubset(paths) for key in unique)
            if is_new and _is_unique(columns, paths):
                unique.append(frozenset(paths))
    keys = [tuple(path for path in columns if path in key) for key in unique if len(key) > 1]
    keys.sort(key=lambda key: (len(key), prod(distinct[path] for path in key), sorted(key)))
    return keys[:_MAX_KEYS]


def _is_unique(columns: Mapping[str, HashedColumn], paths: Iterable[str]) -> bool:
    members = [columns[path] for path in paths]
    rows = len(members[0].hashes)
    # Ever more rows, since the first ones already show of most sets that they repeat values.
    for count in (*(few for few in _FIRST_ROWS if few < rows), rows):
        tuples = hash_tuples(
            HashedColumn(each.hashes[:count], each.is_filled[:count]) for each in members
        )
        if count_distinct(tuples) < len(tuples):
            return False
    return True


@dataclass(frozen=True)
class _KeyJob(TableJob[_Searched]):
    """The job that searches tables for keys."""

    schema: ClassVar[pa.Schema] = _KEY_ROW

    def read_whole(
        self, requests: Iterable[_Searched], databases: Databases
    ) -> Iterator[pa.RecordBatch]:
        """Search the first rows of tables."""
        for request in requests:
            in_database = database_of(request.table.location) is not None
            # The first rows of a file, not a sample of all: rows that repeat values are often near.
            most, first = (_SAMPLE_ROWS,) * 2 if in_database else (sys.maxsize, _MOST_ROWS)
            with suppress(Exception):  # the guard that keeps one table from ending the run
                stream = read_table(request.table, databases, max_rows=most, paths=request.paths)
                with closing(stream.batches) as batches:
                    found = _search_rows(_first_rows(batches, first), request)
                yield found

    def read_part(self, part: Part[_Searched]) -> Iterator[pa.RecordBatch]:
        """Search the first rows of a table that Spark's own readers read."""
        yield _search_rows(part.open().batches, part.request)


def _by_table(rows: pa.Table) -> _Keys:
    """Group composite keys by table."""
    found: dict[int, list[tuple[str, ...]]] = {}
    for row in rows.to_pylist():
        found.setdefault(row["table"], []).extend([tuple(row["key"])] if row["key"] else [])
    return {index: tuple(keys) for index, keys in found.items()}


def _first_rows(batches: Iterable[pa.RecordBatch], left: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.slice(0, left)
        left -= len(batch)
        if left <= 0:
            return


def _search_rows(batches: Iterable[pa.RecordBatch], job: _Searched) -> pa.RecordBatch:
    hashed: dict[str, list[HashedColumn]] = {path: [] for path in job.paths}
    for batch in batches:
        for path, column in hash_columns(batch, job.paths, job.search.texts).items():
            hashed[path].append(column)
    columns = {
        path: HashedColumn(*map(np.concatenate, zip(*parts, strict=True)))
        for path, parts in hashed.items()
        if parts
    }
    keys = minimal_keys(columns, job.search.max_columns)
    # A first row without a key says that the table was read.
    rows = [{"table": job.index, "key": [*key]} for key in [(), *keys]]
    return pa.RecordBatch.from_pylist(rows, schema=_KEY_ROW)
