"""Profile tables, each in a Spark job of its own.

Each task aggregates the partition that Spark reads for it, and only aggregates are merged.
Several jobs run at a time.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from typing_extensions import assert_never

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import (
    CatalogTable,
    Database,
    DeltaFolder,
    File,
    Folder,
    IcebergDataFile,
    IcebergFolder,
    Relation,
    database_of,
)
from datahub_hyperjoin.spark.columns import (
    SEED,
    Column,
    TableStream,
    naming_columns,
    readable_paths,
    with_usable_values,
)
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.column_profiles import opaque_profile
from datahub_hyperjoin.spark.databases.data_source import load_relation
from datahub_hyperjoin.spark.errors import EmptyRelationError
from datahub_hyperjoin.spark.memory import limited_memory
from datahub_hyperjoin.spark.native.frames import (
    TableFrame,
    load_frame,
    select_columns,
    table_error,
)
from datahub_hyperjoin.spark.profiles.local_batch import faulty_profile
from datahub_hyperjoin.spark.profiles.partial import (
    PART_ROW,
    assemble_profile,
    collect_counts,
    count_part,
    partition_index,
)
from datahub_hyperjoin.spark.profiles.rows import (
    ResultFolder,
    send_profiles,
    temporary_results,
)
from datahub_hyperjoin.tables import ColumnId, Table, TableId, TableProfile
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_CONCURRENT_JOBS = 4
"""Number of tables read at a time: a single small table would leave most of a cluster idle."""


def profile_distributed(
    session: SparkSession,
    tables: Sequence[Table],
    config: ProfileConfig,
    result_folder: ResultFolder = temporary_results,
) -> list[TableProfile]:
    """Profile tables through Spark's own readers.

    Args:
        result_folder: Provides the folder in which each profile is written as soon as it is known.

    Returns:
        One profile per table, in their order. An unreadable table has a profile with a fault.
    """
    if not tables:
        return []
    logger.info("Profiling %s tables through Spark's own readers", len(tables))
    # Tables of one database share a queue, and each other table has its own.
    queues: dict[Database | TableId, list[Table]] = defaultdict(list)
    for table in tables:
        queues[database_of(table.location) or table.id].append(table)

    def profile(queue: Sequence[Table]) -> list[TableProfile]:
        """Profile tables one after the other.

        One table may use all connections of a database.
        """
        profiles = []
        for table in queue:
            profiles.append(_profile(session, table, config))
            send_profiles([indices[table.id]], profiles[-1:], folder)
        return profiles

    indices = {table.id: index for index, table in enumerate(tables)}
    with result_folder(tables) as folder, ThreadPoolExecutor(_CONCURRENT_JOBS) as pool:
        profiles = {
            profile.table.id: profile
            for profiled in pool.map(profile, queues.values())
            for profile in profiled
        }
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
        opaque = (
            opaque_profile(ColumnId(table.id, column.path), column, rows=loaded.rows)
            for column in loaded.columns
        )
        profile = TableProfile(table=table, columns=tuple(opaque), rows=loaded.rows)
    else:
        profile = assemble_profile(table, _count(loaded.frame, loaded.columns, table, config))
    return replace(profile, notes=(*loaded.notes, *profile.notes))


def _load(session: SparkSession, table: Table, config: ProfileConfig) -> TableFrame:
    share = min(1.0, config.max_bytes / max(table.size, 1))
    location = table.location
    match location:
        case Relation():
            return load_relation(session, location, max_rows=config.max_rows, share=share)
        case (
            File() | Folder() | DeltaFolder() | IcebergFolder() | IcebergDataFile() | CatalogTable()
        ):
            return _sample(load_frame(session, location), config, share=share)
        case _:
            assert_never(location)


def _sample(everything: DataFrame, config: ProfileConfig, *, share: float) -> TableFrame:
    frame, columns, notes = select_columns(everything, None)
    # The share to draw depends on the number of rows, which `sample` alone does not know.
    rows = everything.count()
    share = min(share, config.max_rows / max(rows, 1))
    if share < 1:
        frame = frame.sample(fraction=share, seed=SEED)
        notes.append(f"read a sample of {share:.2%} of {rows} rows")
    return TableFrame(frame if frame.columns else None, columns, notes, rows)


def _count(
    frame: DataFrame, columns: tuple[Column, ...], table: Table, config: ProfileConfig
) -> list[bytes]:
    names = readable_paths(columns)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        stream = TableStream(columns, (batch.rename_columns(names) for batch in batches), [])
        with limited_memory():
            # Numbered by partition, so that the order of merging is the same in every run.
            yield count_part(0, partition_index(), with_usable_values(stream), config)

    parts = frame.mapInArrow(count, from_arrow_schema(PART_ROW))
    return collect_counts(parts, [table], config).get(0, [])
