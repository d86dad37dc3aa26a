"""Profile large tables in one Spark job, with a task for each part of a table.

Each task aggregates its part, and only aggregates are merged.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.columns import SampleCount, draw_part
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.errors import EmptyTableError, LostWorkerError
from datahub_hyperjoin.spark.files.table_parts import TablePart, divide_large
from datahub_hyperjoin.spark.memory import limited_memory
from datahub_hyperjoin.spark.native.jobs import map_tasks
from datahub_hyperjoin.spark.profiles.local_batch import fault_text
from datahub_hyperjoin.spark.profiles.lost_tables import run_in_halves
from datahub_hyperjoin.spark.profiles.partial import (
    PART_ROW,
    assemble_profile,
    collect_counts,
    count_part,
    uncounted_part,
)
from datahub_hyperjoin.spark.profiles.rows import (
    ResultFolder,
    send_profiles,
    temporary_results,
)
from datahub_hyperjoin.spark.read import read_part
from datahub_hyperjoin.tables import Table, TableId, TableProfile
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_FACTOR = 4
"""A table is divided for profiling if it has at least this many times `split_bytes`. Merging the
counts of a smaller table takes longer than counting the whole table in one task."""


@dataclass(frozen=True, slots=True)
class _PartToCount:
    """A part of a table, with limits on the rows and bytes to read from this part."""

    table: int
    """Index of the table."""

    number: int
    """Number of the part within the table."""

    part: TablePart
    max_rows: int
    max_bytes: int


def divide_to_profile(
    tables: Sequence[Table], config: ProfileConfig
) -> dict[TableId, Sequence[TablePart]]:
    """Divide large tables, because many tasks profile them faster than one task.

    Text is not divided, since a further job would read it to find where its rows begin.

    Args:
        config: Provides the size from which a table is divided, and the number of bytes to read.
    """
    return divide_large(tables, size=_FACTOR * config.split_bytes, max_bytes=config.max_bytes)


def profile_divided(
    session: SparkSession,
    tables: Sequence[Table],
    parts: Mapping[TableId, Sequence[TablePart]],
    config: ProfileConfig,
    result_folder: ResultFolder = temporary_results,
) -> list[TableProfile]:
    """Profile tables that are divided into parts of similar size.

    Args:
        session: Runs one job; more if a table ends its worker.
        config: Limits on what is read and kept. Each part may contribute an equal share.
        result_folder: Provides the folder in which profiles are written as soon as they are
            known.

    Returns:
        One profile per table, in their order. If a part is unreadable, the profile of its table
        has a fault.
    """
    if not tables:
        return []
    to_count = [
        _PartToCount(
            index,
            number,
            part,
            max_rows=-(-config.max_rows // len(parts[table.id])),
            max_bytes=-(-config.max_bytes // len(parts[table.id])),
        )
        for index, table in enumerate(tables)
        for number, part in enumerate(parts[table.id])
    ]
    logger.info("Profiling %s large tables in %s tasks", len(tables), len(to_count))

    def job(indices: Sequence[int]) -> dict[int, list[bytes]]:
        chosen = [each for each in to_count if each.table in indices]

        def work(numbers: list[int]) -> Iterator[pa.RecordBatch]:
            with limited_memory():
                for number in numbers:
                    yield _count(chosen[number], config)

        # Each part has a number, since parts of one table share what must not be copied for each.
        tasks = [[number] for number in range(len(chosen))]
        return collect_counts(map_tasks(session, tasks, work, PART_ROW), tables, config)

    # Nothing to salvage, because Spark merges the counts of all tables at the end.
    counted, lost = run_in_halves(job, range(len(tables)), salvage=dict[int, list[bytes]])
    fault = str(LostWorkerError.by_reading())
    profiles = [
        TableProfile(table=table, fault=fault)
        if index in lost
        else assemble_profile(table, counted[index])
        for index, table in enumerate(tables)
    ]
    with result_folder(tables) as folder:
        send_profiles(range(len(tables)), profiles, folder)
    return profiles


def _count(each: _PartToCount, config: ProfileConfig) -> pa.RecordBatch:
    """Count the rows and values in a part of a table."""
    sample = SampleCount()
    try:
        stream = read_part(each.part, None)
        rows = draw_part(stream, sample, max_rows=each.max_rows, max_bytes=each.max_bytes)
        sampled = replace(stream, batches=rows)
        return count_part(each.table, each.number, sampled, config, sample=sample)
    except EmptyTableError:
        return uncounted_part(each.table, each.number)
    except Exception as error:  # noqa: BLE001 (the guard that keeps one table from ending the run)
        return uncounted_part(each.table, each.number, fault=fault_text(error))
