"""Search the rows of each table for composite keys.

A composite key is a minimal set of columns that identifies a row. Two of the rows with the same
values prove that a set of columns is no key. Files are read to their millionth row, so that the
order of their rows hardly matters, and databases and the largest files less far. A set without such
rows may still not be a key, so every key that is used is verified on all rows. The search goes
level by level: a set is tried only if none of its subsets is already unique (Agrawal and Srikant,
"Fast algorithms for mining association rules", 1994; Heise et al., DUCC, 2013).
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.joins import KeySearch
from datahub_hyperjoin.locations import database_of
from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.packing import pack
from datahub_hyperjoin.spark.profiles.lost_tables import run_in_halves
from datahub_hyperjoin.spark.profiles.routes import Route, whole_route_of
from datahub_hyperjoin.spark.read import read_table, with_absolute_paths
from datahub_hyperjoin.spark.verification.values import HashedColumn, hash_rows, hash_tuples
from datahub_hyperjoin.tables import Table, TableId

SAMPLE_ROWS = 1 << 15
"""Number of rows of a database's table, or of a very large file, in which keys are searched."""

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
class _Searched:
    """A table, with the columns that may form a composite key."""

    table: Table
    search: KeySearch


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
    jobs = [
        _Searched(table, by_table[table.id])
        for table in with_absolute_paths(tables)
        if table.id in by_table
    ]
    return {
        jobs[index].table.id: keys
        for found in _search(session, jobs, config)
        for index, keys in found.items()
    }


def minimal_keys(columns: Mapping[str, HashedColumn], most: int = 4) -> list[tuple[str, ...]]:
    """Find the minimal sets of at most `most` columns that identify every row.

    Returns:
        Sets of two or more columns, the narrowest and least likely to be unique by accident first;
        a column that is unique by itself is in none of them. At most 16 sets.

    Examples:
        >>> import pyarrow as pa
        >>> orders = hash_rows(pa.array([1, 1, 2, 2]), is_text=False)
        >>> lines = hash_rows(pa.array([1, 2, 1, 2]), is_text=False)
        >>> minimal_keys({"order": orders, "line": lines})
        [('order', 'line')]
    """
    distinct = {path: len(np.unique(hash_tuples([column]))) for path, column in columns.items()}
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
    hashes = hash_tuples(columns[path] for path in paths)
    parts = (hashes[:count] for count in (*_FIRST_ROWS, len(hashes)))
    return all(len(np.unique(part)) == len(part) for part in parts)


def _search(
    session: "SparkSession | None", jobs: Sequence[_Searched], config: ProfileConfig
) -> Iterator[_Keys]:
    """Search each table, in this process or on Spark, and yield the composite keys found."""
    routes: dict[Route, list[int]] = {route: [] for route in Route}
    for index, job in enumerate(jobs):
        routes[whole_route_of(job.table, config)].append(index)
    batch = routes[Route.LOCAL_BATCH]
    if session is None:
        with Databases() as databases:
            for index in batch:
                yield _by_table(_search_table(jobs[index], index, databases))
        return
    if batch:
        yield _collect(partial(_search_local_batch, session, jobs), batch)
    if shipped := routes[Route.SHIPPED]:
        yield _collect(partial(_search_shipped_files, session, jobs), shipped)
    for index in routes[Route.DISTRIBUTED]:
        yield _collect(partial(_search_distributed, session, jobs), [index])


def _collect(search: "Callable[[Sequence[int]], DataFrame]", tables: Sequence[int]) -> _Keys:
    """Run a Spark job that searches tables for composite keys.

    If a table crashes its worker, several jobs are run. A job that fails for another reason finds
    nothing.
    """
    # PySpark takes a tenth of a second to import; small lakes need none.
    from datahub_hyperjoin.spark.native.jobs import (  # noqa: PLC0415
        SPARK_ERRORS,
        collect_arrow,
    )

    with suppress(*SPARK_ERRORS):
        found, _ = run_in_halves(
            lambda chosen: _by_table(collect_arrow(search(chosen))), tables, salvage=_Keys
        )
        return found
    return {}


def _by_table(rows: pa.Table | pa.RecordBatch) -> _Keys:
    """Group composite keys by table.

    A table without keys has an entry, too.
    """
    found: dict[int, list[tuple[str, ...]]] = {}
    for row in rows.to_pylist():
        found.setdefault(row["table"], []).extend([tuple(row["key"])] if row["key"] else [])
    return {index: tuple(keys) for index, keys in found.items()}


def _search_local_batch(
    session: "SparkSession", jobs: Sequence[_Searched], indices: Sequence[int]
) -> "DataFrame":
    from datahub_hyperjoin.spark.native.jobs import map_tasks  # noqa: PLC0415 (as above)

    def work(members: list[tuple[int, _Searched]]) -> Iterator[pa.RecordBatch]:
        with Databases() as databases:
            for index, job in members:
                yield _search_table(job, index, databases)

    tasks = pack([(index, jobs[index]) for index in indices], lambda member: member[1].table)
    return map_tasks(session, tasks, work, _KEY_ROW)


def _search_shipped_files(
    session: "SparkSession", jobs: Sequence[_Searched], indices: Sequence[int]
) -> "DataFrame":
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 (as above)

    from datahub_hyperjoin.spark.native.remote import (  # noqa: PLC0415
        plan_shipment,
        read_binary_files,
        receive_files,
    )

    chosen = [jobs[index] for index in indices]
    files = plan_shipment(session, [job.table for job in chosen]).files
    # The first file of a table is a sample of its rows.
    first = {uri: file for uri, file in files.items() if file.file_index == 0}

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for file, table in receive_files(batches, first):
            search = chosen[file.table_index].search
            yield _search_table(_Searched(table, search), indices[file.table_index], Databases())

    return read_binary_files(session, [*first]).mapInArrow(worker, from_arrow_schema(_KEY_ROW))


def _search_distributed(
    session: "SparkSession", jobs: Sequence[_Searched], indices: Sequence[int]
) -> "DataFrame":
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 (as above)

    from datahub_hyperjoin.spark.native.frames import (  # noqa: PLC0415
        load_frame,
        select_columns,
    )

    [index] = indices
    job = jobs[index]
    rows = load_frame(session, job.table.location).limit(SAMPLE_ROWS)
    frame, columns, _ = select_columns(rows, job.search.columns)
    paths = readable_paths(columns)

    def worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = [batch.rename_columns(paths) for batch in batches]
        yield _search_rows(named, job.search, index)

    return frame.coalesce(1).mapInArrow(worker, from_arrow_schema(_KEY_ROW))


def _search_table(job: _Searched, index: int, databases: Databases) -> pa.RecordBatch:
    try:
        in_database = database_of(job.table.location) is not None
        # The first rows of a file, not a sample of all: rows that repeat values are often near.
        most, first = (SAMPLE_ROWS,) * 2 if in_database else (sys.maxsize, _MOST_ROWS)
        stream = read_table(job.table, databases, max_rows=most, paths=job.search.columns)
        with closing(stream.batches) as batches:
            return _search_rows(_first_rows(batches, first), job.search, index)
    except Exception:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        return pa.RecordBatch.from_pylist([], schema=_KEY_ROW)


def _first_rows(batches: Iterable[pa.RecordBatch], left: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.slice(0, left)
        left -= len(batch)
        if left <= 0:
            return


def _search_rows(
    batches: Iterable[pa.RecordBatch], search: KeySearch, index: int
) -> pa.RecordBatch:
    hashed: dict[str, list[HashedColumn]] = {path: [] for path in search.columns}
    for batch in batches:
        for path in hashed.keys() & {*batch.schema.names}:
            hashed[path].append(hash_rows(batch.column(path), is_text=path in search.texts))
    columns = {
        path: HashedColumn(
            np.concatenate([part.hashes for part in parts]),
            np.concatenate([part.is_filled for part in parts]),
        )
        for path, parts in hashed.items()
        if parts
    }
    return _as_rows(minimal_keys(columns, search.max_columns), index)


def _as_rows(keys: Sequence[tuple[str, ...]], index: int) -> pa.RecordBatch:
    """Convert keys to Arrow rows, one for each key.

    A first row without a key says that the table was read.
    """
    rows = [{"table": index, "key": [*key]} for key in [(), *keys]]
    return pa.RecordBatch.from_pylist(rows, schema=_KEY_ROW)
