"""Count the rows and values in parts of tables, and merge the counts.

An aggregate is of bounded size, and the aggregate of a column is the sum of those of its parts. A
table that many tasks read is therefore never in one place: only aggregates travel.
"""

import pickle
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from types import MappingProxyType
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import Database, Relation, database_of
from datahub_hyperjoin.spark.columns import (
    SEED,
    Column,
    SampleCount,
    TableStream,
    draw,
    draw_part,
    naming_columns,
)
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.aggregate import (
    EMPTY_AGGREGATE,
    AggregateBuffer,
    ColumnAggregate,
    aggregate_columns,
    merge_aggregates,
)
from datahub_hyperjoin.spark.counting.column_profiles import (
    CountedColumn,
    opaque_profile,
    profile_columns,
)
from datahub_hyperjoin.spark.counting.personal import hide_personal_values
from datahub_hyperjoin.spark.databases.data_source import load_relation
from datahub_hyperjoin.spark.errors import (
    EmptyRelationError,
    EmptyTableError,
    LostWorkerError,
    UnshippedFileError,
)
from datahub_hyperjoin.spark.executor import NumberedTable, Part, TableJob, run_in_halves
from datahub_hyperjoin.spark.files.table_parts import TablePart, divide_large
from datahub_hyperjoin.spark.native.frames import (
    TableFrame,
    load_frame,
    select_columns,
    table_error,
)
from datahub_hyperjoin.spark.native.jobs import collect_arrow
from datahub_hyperjoin.spark.native.remote import plan_shipment
from datahub_hyperjoin.spark.on_spark import OnSpark
from datahub_hyperjoin.spark.profiles.local_batch import fault_text, faulty_profile
from datahub_hyperjoin.spark.profiles.rows import ResultFolder, send_profiles, temporary_results
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Table, TableId, TableProfile
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_FACTOR = 4
"""A table is divided for profiling if it has at least this many times `split_bytes`. Merging the
counts of a smaller table takes longer than counting the whole table in one task."""
_CONCURRENT_JOBS = 4
"""Number of tables read at a time: a single small table would leave most of a cluster idle."""

PART_ROW = pa.schema(
    {"table": pa.int32(), "path": pa.string(), "part": pa.int32(), "counted": pa.binary()}
)
"""Schema of the rows that hold the counts of one column in one part of a table. If the path is
empty, the counts are of the part itself. Spark passes `counted` on as bytes."""

MERGED_ROW = pa.schema({"table": pa.int32(), "path": pa.string(), "counted": pa.binary()})
"""The merged counts of a column of a table, or of the table itself if the path is empty."""

_MAX_NOTES = 3
"""Maximum number of notes that are kept of a table; a thousand parts may have the same note."""
_COUNT_AT_END = re.compile(r"(.*: )(\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PartCount:
    """The row count, notes and read errors of one or more parts of a table."""

    parts: int = 0
    rows: int = 0
    notes: tuple[str, ...] = ()
    row_notes: tuple[str, ...] = ()
    """Notes for users about rows. If a note occurs in several parts, its numbers are added up."""

    faults: tuple[str, ...] = ()
    sample: SampleCount = field(default_factory=SampleCount)
    """How many rows were read, and how many of them were drawn, if the parts are sampled."""

    def __add__(self, other: "PartCount") -> "PartCount":
        return PartCount(
            self.parts + other.parts,
            self.rows + other.rows,
            tuple(dict.fromkeys((*self.notes, *other.notes))),
            _add_up_notes((*self.row_notes, *other.row_notes)),
            self.faults + other.faults,
            self.sample + other.sample,
        )


def _add_up_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Merge notes that differ only in the number at their ends, and add up these numbers.

    >>> _add_up_notes(["skipped rows: 2", "read in parts", "skipped rows: 5", "read in parts"])
    ('skipped rows: 7', 'read in parts')
    """
    totals = Counter[str]()
    for note in notes:
        counted = _COUNT_AT_END.fullmatch(note)
        totals[counted[1] if counted else note] += int(counted[2]) if counted else 0
    return tuple(f"{note}{total or ''}" for note, total in totals.items())


def _count_part(
    part: Part[NumberedTable], stream: TableStream, config: ProfileConfig, sample: SampleCount
) -> pa.RecordBatch:
    """Count the rows in one part of a table, and aggregate the part's columns."""
    size, opened = config.sketch_size + 1, len(stream.notes)
    aggregate = partial(aggregate_columns, size=size, value_hash=config.value_hash)
    counted = AggregateBuffer[str](aggregate, partial(merge_aggregates, size=size))
    rows = counted.read(stream.batches, str)
    found = counted.finish()
    # Readers add notes on rows while they read.
    notes = [f"{part.file}: {note}" if part.file else note for note in stream.notes]
    count = PartCount(1, rows, tuple(notes[:opened]), tuple(notes[opened:]), sample=sample)
    columns = {
        column.path: (column, replace(found.get(column.path, EMPTY_AGGREGATE), rows=rows))
        for column in stream.columns
    }
    return _part_rows(part, {"": count, **columns})


def _merge_parts(rows: pa.Table, tables: Sequence[Table], config: ProfileConfig) -> pa.Table:
    """Merge the counts of one column, or the row counts, from all parts of a table."""
    # Spark delivers parts in any order; profiles must not depend on it.
    parts = sorted(rows.to_pylist(), key=lambda row: row["part"])
    table, path = parts[0]["table"], parts[0]["path"]
    counted: list[Any] = [pickle.loads(row["counted"]) for row in parts]  # noqa: S301 - ours
    of_column = partial(_merge_column, tables[table], path, config=config)
    merged = of_column(counted) if path else reduce(PartCount.__add__, counted)
    row = {"table": table, "path": path, "counted": pickle.dumps(merged)}
    return pa.Table.from_pylist([row], schema=MERGED_ROW)


def _collect_counts(
    parts: DataFrame, tables: Sequence[Table], config: ProfileConfig
) -> dict[int, list[Any]]:
    """Run the Spark job that counts parts of tables, and merge the counts by column."""

    def merge(rows: pa.Table) -> pa.Table:
        return _merge_parts(rows, tables, config)

    # Merged by Spark, so that the driver receives one count per column and not one per part.
    merged = parts.groupBy("table", "path").applyInArrow(merge, from_arrow_schema(MERGED_ROW))
    counted = defaultdict[int, list[Any]](list)
    for row in collect_arrow(merged).to_pylist():
        counted[row["table"]].append(pickle.loads(row["counted"]))  # noqa: S301 - ours
    return counted


def _assemble_profile(table: Table, merged: Sequence[object], *, files: int = 0) -> TableProfile:
    """Build a table's profile from the merged counts of its parts, and note missing files."""
    counts = [each for each in merged if isinstance(each, PartCount)]
    total = reduce(PartCount.__add__, counts, PartCount())
    # Spark leaves out files that it cannot copy, so fewer parts arrive than were sent.
    lost = files - total.parts
    # An unreadable file is left out; the error of any other part is that of the table.
    if not total.rows or (total.faults and not files):
        reason = UnshippedFileError.at_all() if lost > 0 else EmptyTableError.without_rows()
        return TableProfile(table=table, fault=[*total.faults, str(reason)][0])
    found = (*total.notes, *total.row_notes)
    notes = [*found[:_MAX_NOTES]]
    if len(found) > _MAX_NOTES:
        notes.append(f"{len(found) - _MAX_NOTES} more notes of its files")
    notes += total.sample.notes(total.parts)
    if lost > 0:
        notes.append(f"skipped files that Spark cannot copy: {lost}")
    columns = (
        # Some files may lack a column; their rows count as nulls.
        replace(column, rows=total.rows, nulls=column.nulls + total.rows - column.rows)
        for column in merged
        if isinstance(column, ColumnProfile)
    )
    in_order = tuple(sorted(columns, key=lambda column: column.position))
    return TableProfile(table=table, columns=in_order, rows=total.rows, notes=tuple(notes))


def _merge_column(
    table: Table,
    path: str,
    parts: Sequence[tuple[Column, ColumnAggregate]],
    config: ProfileConfig,
) -> ColumnProfile:
    id_, column = ColumnId(table.id, path), parts[0][0]
    if column.opaque:
        return opaque_profile(id_, column, rows=sum(aggregate.rows for _, aggregate in parts))
    # One value more than the sketch keeps distinguishes a full sketch from an overflowing one.
    aggregates = [aggregate for _, aggregate in parts]
    aggregate = merge_aggregates(aggregates, size=config.sketch_size + 1)
    [profile] = profile_columns([CountedColumn(id_, column.position, aggregate)], config)
    return hide_personal_values(profile, table, config)


@dataclass(frozen=True)
class CountParts(TableJob[NumberedTable]):
    """The job that counts the rows and values in parts of tables."""

    config: ProfileConfig
    schema: ClassVar[pa.Schema] = PART_ROW

    def read_part(self, part: Part[NumberedTable]) -> Iterator[pa.RecordBatch]:
        """Count a part. Of a table with too many rows, each contributes an equal share."""
        config, sample = self.config, SampleCount()
        if not part.count:  # Spark has drawn the rows, and names what it cannot read.
            yield _count_part(part, part.open(), config, sample)
            return
        rows, size = (-(-most // part.count) for most in (config.max_rows, config.max_bytes))
        try:
            stream = part.open()
            drawn = (
                draw(stream, max_rows=rows, max_bytes=sys.maxsize)
                if part.file
                else draw_part(stream, sample, max_rows=rows, max_bytes=size)
            )
            yield _count_part(part, replace(stream, batches=drawn), config, sample)
        except EmptyTableError:
            yield _part_rows(part, {"": PartCount(1)})
        except Exception as error:  # noqa: BLE001 (the guard that keeps one table from ending the run)
            fault = fault_text(error)
            notes = (f"skipped file: {part.file} {fault}",)
            yield _part_rows(part, {"": PartCount(1, notes=notes, faults=(fault,))})


def divide_to_profile(
    tables: Sequence[Table], config: ProfileConfig
) -> dict[TableId, Sequence[TablePart]]:
    """Divide large tables, because many tasks profile them faster than one task.

    Text is not divided, since a further job would read it to find where its rows begin.
    """
    return divide_large(tables, size=_FACTOR * config.split_bytes, max_bytes=config.max_bytes)


def profile_divided(
    session: SparkSession,
    tables: Sequence[Table],
    parts: Mapping[TableId, Sequence[TablePart]],
    config: ProfileConfig,
    result_folder: ResultFolder = temporary_results,
) -> list[TableProfile]:
    """Profile tables that are divided into parts of similar size, with a task for each part."""
    if not tables:
        return []
    logger.info("Profiling %s large tables in parts", len(tables))
    requests = [NumberedTable(table, index) for index, table in enumerate(tables)]

    def rows(indices: Sequence[int]) -> DataFrame:
        chosen = [requests[at] for at in indices]
        return OnSpark(session, config).read_parts(CountParts(config), chosen, parts)

    return _merge(rows, tables, config, result_folder)


def profile_folders(
    session: SparkSession,
    tables: Sequence[Table],
    config: ProfileConfig,
    result_folder: ResultFolder = temporary_results,
) -> list[TableProfile]:
    """Profile tables in many remote files, with a task for some files of any table."""
    if not tables:
        return []
    logger.info("Profiling %s tables in files that Spark copies", len(tables))
    requests = [NumberedTable(table, index) for index, table in enumerate(tables)]
    shipment = plan_shipment(session, tables)

    def rows(indices: Sequence[int]) -> DataFrame:
        files = {uri: file for uri, file in shipment.files.items() if file.table_index in indices}
        return OnSpark(session, config).read_files(CountParts(config), requests, files)

    counts = Counter(file.table_index for file in shipment.files.values())
    return _merge(rows, tables, config, result_folder, errors=shipment.errors, files=counts)


def _merge(
    rows: Callable[[Sequence[int]], DataFrame],
    tables: Sequence[Table],
    config: ProfileConfig,
    result_folder: ResultFolder,
    *,
    errors: Mapping[int, TableError] = MappingProxyType({}),
    files: Mapping[int, int] = MappingProxyType({}),
) -> list[TableProfile]:
    """Count the parts of tables in one Spark job, or more if a table ends its worker."""

    def collect(indices: Sequence[int]) -> dict[int, list[Any]]:
        return _collect_counts(rows(indices), tables, config)

    # Nothing to salvage, because Spark merges the counts of all tables at the end.
    counted, lost = run_in_halves(collect, range(len(tables)), salvage=dict[int, list[Any]])
    faults = {**errors, **dict.fromkeys(lost, LostWorkerError.by_reading())}
    profiles = [
        TableProfile(table=table, fault=str(faults[index]))
        if index in faults
        else _assemble_profile(table, counted.get(index, []), files=files.get(index, 0))
        for index, table in enumerate(tables)
    ]
    with result_folder(tables) as folder:
        send_profiles(range(len(tables)), profiles, folder)
    return profiles


def profile_distributed(
    session: SparkSession,
    tables: Sequence[Table],
    config: ProfileConfig,
    result_folder: ResultFolder = temporary_results,
) -> list[TableProfile]:
    """Profile tables through Spark's own readers."""
    if not tables:
        return []
    logger.info("Profiling %s tables through Spark's own readers", len(tables))
    # Tables of one database share a queue, and each other table has its own.
    queues: dict[Database | TableId, list[Table]] = defaultdict(list)
    for table in tables:
        queues[database_of(table.location) or table.id].append(table)

    profiles: dict[TableId, TableProfile] = {}
    indices = {table.id: index for index, table in enumerate(tables)}

    def profile(queue: Sequence[Table]) -> None:
        """Profile tables one after the other."""
        for table in queue:
            profiles[table.id] = _profile(session, table, config)
            send_profiles([indices[table.id]], [profiles[table.id]], folder)

    with result_folder(tables) as folder, ThreadPoolExecutor(_CONCURRENT_JOBS) as pool:
        list(pool.map(profile, queues.values()))  # raises what one of them raises
    return [profiles[table.id] for table in tables]


def _profile(session: SparkSession, table: Table, config: ProfileConfig) -> TableProfile:
    try:
        return _read_profile(session, table, config)
    except TableError as error:
        return faulty_profile(table, error)
    except Exception as error:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        return TableProfile(table=table, fault=str(table_error(table.location, error)))


def _read_profile(session: SparkSession, table: Table, config: ProfileConfig) -> TableProfile:
    loaded = _load(session, table, config)
    # Spark would return no partition at all, and so no row to merge.
    if not loaded.rows:
        with naming_columns(loaded.columns):
            raise EmptyRelationError.without_rows()
    if loaded.frame is None:
        opaque = [
            opaque_profile(ColumnId(table.id, column.path), column, rows=loaded.rows)
            for column in loaded.columns
        ]
        profile = TableProfile(table=table, columns=tuple(opaque), rows=loaded.rows)
    else:
        # Numbered by partition, so that the order of merging is the same in every run.
        parts = OnSpark(session, config).read_frame(
            CountParts(config), NumberedTable(table, 0), loaded.frame, loaded.columns
        )
        profile = _assemble_profile(table, _collect_counts(parts, [table], config).get(0, []))
    return replace(profile, notes=(*loaded.notes, *profile.notes))


def _load(session: SparkSession, table: Table, config: ProfileConfig) -> TableFrame:
    share = min(1.0, config.max_bytes / max(table.size, 1))
    location = table.location
    if isinstance(location, Relation):
        return load_relation(session, location, max_rows=config.max_rows, share=share)
    return _sample(load_frame(session, location), config, share=share)


def _sample(everything: DataFrame, config: ProfileConfig, *, share: float) -> TableFrame:
    frame, columns, notes = select_columns(everything, None)
    # The share to draw depends on the number of rows, which `sample` alone does not know.
    rows = everything.count()
    share = min(share, config.max_rows / max(rows, 1))
    if share < 1:
        frame = frame.sample(fraction=share, seed=SEED)
        notes.append(f"read a sample of {share:.2%} of {rows} rows")
    return TableFrame(frame if frame.columns else None, columns, notes, rows)


def _part_rows(part: Part[NumberedTable], counted: Mapping[str, object]) -> pa.RecordBatch:
    place = {"table": part.request.index, "part": part.number}
    rows = [
        {**place, "path": path, "counted": pickle.dumps(each)} for path, each in counted.items()
    ]
    return pa.RecordBatch.from_pylist(rows, schema=PART_ROW)
