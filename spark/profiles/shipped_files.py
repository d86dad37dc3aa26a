"""Copy the files of remote tables to Spark's workers, and profile the tables there.

A table in one file is profiled by the worker that receives the file. The files of other tables are
counted where they arrive, and their aggregates are merged.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import (
    EmptyTableError,
    LostWorkerError,
    UnshippedFileError,
)
from datahub_hyperjoin.spark.native.jobs import collect_arrow
from datahub_hyperjoin.spark.native.remote import (
    ShippedFile,
    plan_shipment,
    read_binary_files,
    receive_files,
)
from datahub_hyperjoin.spark.profiles.local_batch import fault_text, profile_each
from datahub_hyperjoin.spark.profiles.lost_tables import run_in_halves
from datahub_hyperjoin.spark.profiles.partial import (
    PART_ROW,
    assemble_profile,
    collect_counts,
    count_part,
    uncounted_part,
)
from datahub_hyperjoin.spark.profiles.rows import (
    RESULT_ROW,
    ResultFolder,
    receive_profiles,
    salvage_profiles,
    send_profiles,
    temporary_results,
)
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableProfile
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

Batches = Iterator[pa.RecordBatch]


def profile_shipped_files(
    session: SparkSession,
    tables: Sequence[Table],
    config: ProfileConfig,
    result_folder: ResultFolder = temporary_results,
) -> list[TableProfile]:
    """Profile tables whose files only Spark can reach.

    Args:
        session: Runs one job for tables in one file, and one for tables in many files; more if a
            table ends its worker.
        result_folder: Provides the folder in which profiles are written as soon as they are
            known.

    Returns:
        One profile per table, in their order. An unreadable table has a profile with a fault.
    """
    files = [table for table in tables if isinstance(table.location, File)]
    folders = [table for table in tables if not isinstance(table.location, File)]
    if not tables:
        return []
    logger.info("Profiling %s tables in files that Spark copies", len(tables))
    profiles: list[TableProfile] = []
    if files:
        with result_folder(files) as results:
            profiles += _profile_files(session, files, config, results)
    if folders:
        with result_folder(folders) as results:
            found = [*_profile_folders(session, folders, config)]
            send_profiles(range(len(found)), found, results)
            profiles += found
    by_table = {profile.table.id: profile for profile in profiles}
    return [by_table[table.id] for table in tables]


def _profile_files(
    session: SparkSession, tables: Sequence[Table], config: ProfileConfig, folder: Path
) -> Iterator[TableProfile]:
    files = plan_shipment(session, tables).files

    def job(indices: Sequence[int]) -> dict[int, TableProfile]:
        shipped = _of_tables(files, indices)
        worker = partial(_profile_copies, files=shipped, config=config, folder=folder)
        rows = read_binary_files(session, [*shipped]).mapInArrow(
            worker, from_arrow_schema(RESULT_ROW)
        )
        return receive_profiles(collect_arrow(rows), tables)

    profiles, lost = run_in_halves(
        job, range(len(tables)), salvage=lambda: salvage_profiles(folder, tables)
    )
    for index, table in enumerate(tables):
        error = LostWorkerError.by_reading() if index in lost else UnshippedFileError.at_all()
        yield profiles.get(index) or TableProfile(table=table, fault=str(error))


def _profile_copies(
    batches: Batches, *, files: Mapping[str, ShippedFile], config: ProfileConfig, folder: Path
) -> Batches:
    # Indices of tables that are read and not yet profiled: `profile_each` profiles several
    # tables together, in the order in which they are read.
    pending: list[int] = []

    def copies() -> Iterator[Table]:
        for file, table in receive_files(batches, files):
            pending.append(file.table_index)
            yield table

    for profiles in profile_each(copies(), config, Databases()):
        yield send_profiles(pending[: len(profiles)], profiles, folder)
        del pending[: len(profiles)]


def _of_tables(
    files: Mapping[str, ShippedFile], indices: Collection[int]
) -> dict[str, ShippedFile]:
    chosen = {*indices}
    return {uri: file for uri, file in files.items() if file.table_index in chosen}


def _profile_folders(
    session: SparkSession, tables: Sequence[Table], config: ProfileConfig
) -> Iterator[TableProfile]:
    """Profile tables that consist of several files.

    Different tasks may count the files of one table.
    """
    shipment = plan_shipment(session, tables)

    def job(indices: Sequence[int]) -> dict[int, list[bytes]]:
        shipped = _of_tables(shipment.files, indices)
        worker = partial(_count_copies, files=shipped, config=config)
        parts = read_binary_files(session, [*shipped]).mapInArrow(
            worker, from_arrow_schema(PART_ROW)
        )
        return collect_counts(parts, tables, config)

    # Nothing to salvage, because Spark merges the counts of all tables at the end.
    counted, lost = run_in_halves(job, range(len(tables)), salvage=dict[int, list[bytes]])
    errors = {**shipment.errors, **dict.fromkeys(lost, LostWorkerError.by_reading())}
    file_counts = Counter(file.table_index for file in shipment.files.values())
    for index, table in enumerate(tables):
        if index in errors:
            yield TableProfile(table=table, fault=str(errors[index]))
        else:
            found = counted.get(index, [])
            yield assemble_profile(table, found, files=file_counts[index])


def _count_copies(
    batches: Batches, *, files: Mapping[str, ShippedFile], config: ProfileConfig
) -> Batches:
    for file, table in receive_files(batches, files):
        yield _count(file, table, config)


def _count(file: ShippedFile, table: Table, config: ProfileConfig) -> pa.RecordBatch:
    """Count the rows and values in one file.

    The file may contribute an equal share of the rows to which the table is limited.
    """
    rows = -(-config.max_rows // file.file_count)
    part = file.table_index, file.file_index
    try:
        stream = read_table(table, Databases(), max_rows=rows)
        return count_part(*part, stream, config, file=file.path)
    except EmptyTableError:
        return uncounted_part(*part)
    except Exception as error:  # noqa: BLE001 (the guard that keeps one file from ending the run)
        return uncounted_part(*part, file=file.path, fault=fault_text(error))
