"""Profile whole tables, many of them in each task."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import pyarrow as pa

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.locations import VIEW_SECONDS, Relation
from datahub_hyperjoin.spark.columns import Column, naming_columns
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.aggregate import (
    AggregateBuffer,
    aggregate_columns,
    merge_aggregates,
)
from datahub_hyperjoin.spark.counting.column_profiles import (
    CountedColumn,
    opaque_profile,
    profile_columns,
)
from datahub_hyperjoin.spark.counting.personal import hide_personal_values
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import (
    LostWorkerError,
    TableWithHeaderError,
    UnreadableTableError,
    UnshippedFileError,
)
from datahub_hyperjoin.spark.executor import NumberedTable, TableJob, executor_for
from datahub_hyperjoin.spark.profiles.rows import (
    RESULT_ROW,
    ResultFolder,
    receive_profiles,
    salvage_profiles,
    send_profiles,
    temporary_results,
)
from datahub_hyperjoin.spark.profiles.value_hash import counts_itself
from datahub_hyperjoin.spark.read import read_table, with_absolute_paths
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Table,
    TableProfile,
    describe_columns,
)
from datahub_hyperjoin.visible import logger_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class _ReadTable(NamedTuple):
    """A table that was read, with its columns, its row count and its notes for users."""

    table: Table
    columns: tuple[Column, ...]
    rows: int
    notes: list[str]


class ColumnBatch:
    """A batch of tables whose columns are profiled together."""

    def __init__(self, config: ProfileConfig, databases: Databases) -> None:
        self._config = config
        self._databases = databases
        # One value more than the sketch keeps distinguishes a full sketch from an overflowing one.
        size = config.sketch_size + 1
        aggregate = partial(aggregate_columns, size=size, value_hash=config.value_hash)
        self.members: list[_ReadTable | TableProfile] = []
        """The tables of the batch; of an unreadable one, its profile."""
        self.columns = AggregateBuffer[tuple[int, str]](
            aggregate, partial(merge_aggregates, size=size)
        )
        """The values of columns, by the index of the table and the path of the column."""

    def add(self, table: Table) -> None:
        """Read a table, and add its values to the batch; if this fails, add a profile with why."""
        is_view = isinstance(table.location, Relation) and table.location.is_view
        try:
            with naming_slow_view(str(table.id), logger.warning) if is_view else nullcontext():
                self.members.append(self._count(table))
        except Exception as error:  # noqa: BLE001 (the guard that keeps one table from ending the run)
            self.members.append(faulty_profile(table, error))

    def _count(self, table: Table) -> _ReadTable:
        counted = None
        if counts_itself(table, self._config):
            # SQLAlchemy takes a quarter of a second to import; lakes of files need none.
            from datahub_hyperjoin.spark.profiles.in_database import (  # noqa: PLC0415
                count_in_database,
            )

            counted = count_in_database(table, self._databases, self._config)
        if counted is None:
            return self._read(table, None)
        notes = [*counted.notes]
        if counted.unread:
            with naming_columns(counted.columns):
                notes += self._read(table, counted.unread).notes
        for path, aggregate in counted.aggregates.items():
            self.columns.keep((len(self.members), path), aggregate)
        return _ReadTable(table, counted.columns, counted.rows, notes)

    def _read(self, table: Table, paths: Collection[str] | None) -> _ReadTable:
        """Read all columns of a table, or those in `paths`."""
        most = {"max_rows": self._config.max_rows, "max_bytes": self._config.max_bytes}
        stream = read_table(table, self._databases, **most, paths=paths)
        index = len(self.members)
        rows = self.columns.read(stream.batches, lambda path: (index, path))
        return _ReadTable(table, stream.columns, rows, stream.notes)

    def profiles(self) -> list[TableProfile]:
        """Compute the profiles of all tables in the batch."""
        try:
            return self._profiles()
        except Exception as error:  # noqa: BLE001 (the same guard)
            tables = [member.table for member in self.members]
            if len(tables) == 1:
                return [faulty_profile(tables[0], error)]
            # The error does not tell which table caused it; reading each alone does.
            return [profile_table(table, self._config, self._databases) for table in tables]

    def _profiles(self) -> list[TableProfile]:
        found = self.columns.finish()
        columns = [
            CountedColumn(
                ColumnId(read.table.id, each.path), each.position, found[index, each.path]
            )
            for index, read in enumerate(self.members)
            if isinstance(read, _ReadTable)
            for each in read.columns
            if not each.opaque
        ]
        profiles = iter(profile_columns(columns, self._config))
        return [
            self._profile(each, profiles) if isinstance(each, _ReadTable) else each
            for each in self.members
        ]

    def _profile(self, read: _ReadTable, profiles: Iterator[ColumnProfile]) -> TableProfile:
        columns = (
            opaque_profile(ColumnId(read.table.id, column.path), column, rows=read.rows)
            if column.opaque
            else next(profiles)
            for column in read.columns
        )
        return TableProfile(
            table=read.table,
            columns=tuple(hide_personal_values(each, read.table, self._config) for each in columns),
            rows=read.rows,
            notes=tuple(dict.fromkeys(read.notes)),
        )


logger = logger_of(__name__)


@dataclass(frozen=True)
class _WholeTables(TableJob[NumberedTable]):
    """The job that profiles whole tables, and sends their profiles to a folder of the driver."""

    config: ProfileConfig
    folder: Path
    schema: ClassVar[pa.Schema] = RESULT_ROW

    def read_whole(
        self, requests: Iterable[NumberedTable], databases: Databases
    ) -> Iterator[pa.RecordBatch]:
        """Profile tables; those that are counted together are sent together."""
        numbers: list[int] = []  # of tables that are read and not yet profiled

        def tables() -> Iterator[Table]:
            for request in requests:
                numbers.append(request.index)
                yield request.table

        for profiles in profile_each(tables(), self.config, databases):
            yield send_profiles([numbers.pop(0) for _ in profiles], profiles, self.folder)


def profile_local_batch(
    session: "SparkSession | None",
    tables: Sequence[Table],
    config: ProfileConfig,
    result_folder: ResultFolder = temporary_results,
) -> list[TableProfile]:
    """Profile tables that one task each can read, many of them in a task."""
    if not tables:
        return []
    requests = [NumberedTable(table, index) for index, table in enumerate(tables)]
    with result_folder(tables) as folder:
        profiles, lost = executor_for(session, config).map_tables(
            _WholeTables(config, folder),
            requests,
            lambda results: receive_profiles(results, tables),
            salvage=lambda: salvage_profiles(folder, tables),
        )
    for index, table in enumerate(tables):
        if index not in profiles:
            crash = index in lost
            error = LostWorkerError.by_reading() if crash else UnshippedFileError.at_all()
            profiles[index] = TableProfile(table=table, fault=str(error))
    return [profiles[index] for index in range(len(tables))]


def profile_here(tables: Sequence[Table], config: ProfileConfig) -> list[TableProfile]:
    """Profile tables in this process, which a table that crashes it would end."""
    with Databases() as databases:
        found = chain.from_iterable(profile_each(with_absolute_paths(tables), config, databases))
        return [replace(each, table=table) for each, table in zip(found, tables, strict=True)]


def profile_table(table: Table, config: ProfileConfig, databases: Databases) -> TableProfile:
    """Profile one table in this process."""
    [[profile]] = profile_each([table], config, databases)
    return profile


def profile_each(
    tables: Iterable[Table], config: ProfileConfig, databases: Databases
) -> Iterator[list[TableProfile]]:
    """Profile tables in this process, in batches."""
    batch = ColumnBatch(config, databases)
    for table in tables:
        batch.add(table)
        if batch.columns.was_full:
            yield batch.profiles()
            batch = ColumnBatch(config, databases)
    if batch.members:
        yield batch.profiles()


def fault_text(error: Exception) -> str:
    """Return a message that tells users why a table cannot be read."""
    if isinstance(error, MemoryError):
        error = LostWorkerError.by_memory()
    if not isinstance(error, HyperJoinError):
        error = UnreadableTableError.because(f"{type(error).__name__}: {error}")
    # File names in another encoding may have characters that UTF-8 cannot encode.
    return str(error).encode("utf-8", "backslashreplace").decode()


def faulty_profile(table: Table, error: Exception) -> TableProfile:
    """Return a profile that says why a table cannot be read."""
    header = error.header if isinstance(error, TableWithHeaderError) else ()
    # A header names columns, but does not say their types.
    columns = describe_columns(table.id, ((path, DataType.TEXT) for path in header))
    return TableProfile(table=table, columns=columns, fault=fault_text(error))


_SOON = 1.0
"""Seconds after which the view that is being read is named."""


@contextmanager
def naming_slow_view(
    view: str, say: Callable[[str], None], *, end: Callable[[], None] | None = None
) -> Iterator[None]:
    """Name a view that takes long to read, while it is read in a `with` block."""
    timers = [Timer(_SOON, say, [f"Reading the view {view}"])]
    timers += [Timer(VIEW_SECONDS, end)] if end else []
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
