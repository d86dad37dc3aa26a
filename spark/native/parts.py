"""Divide large tables into parts, and read each part in a Spark task of its own."""

import sys
from collections.abc import Collection, Sequence
from contextlib import suppress

from pyspark.sql import SparkSession

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.spark.columns import TableStream
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.files.table_parts import TablePart, divide_table
from datahub_hyperjoin.spark.native.text_ranges import FileRange, divide_files, is_delimited
from datahub_hyperjoin.spark.read import read_part, read_range
from datahub_hyperjoin.tables import Table, TableId

_TEXT_FACTOR = 4
"""How many times as large as other tables a text must be to be divided for its profile."""

PartToRead = FileRange | TablePart
"""A part of a table that one task reads."""


def divide_tables(
    session: SparkSession,
    tables: Sequence[Table],
    config: ProfileConfig,
    *,
    max_bytes: int = sys.maxsize,
) -> dict[TableId, Sequence[PartToRead]]:
    """Divide large tables into parts that together have all their rows.

    Args:
        session: Runs a Spark job if there are large text files.
        tables: Tables that tasks of this package read.
        config: Provides the size from which a table is divided.
        max_bytes: Approximate number of bytes that will be read of each table.

    Returns:
        Two or more parts of each large table that can be divided. One task has to read any other
        table; the task also reports what is wrong with the table.
    """
    large = [table for table in tables if table.size >= config.split_bytes]
    divided: dict[TableId, Sequence[PartToRead]] = {
        large[index].id: ranges for index, ranges in divide_files(session, large).items()
    }
    for table in large:
        with suppress(TableError, OSError):
            if parts := divide_table(table.location, min(table.size, max_bytes)):
                divided[table.id] = parts
    return divided


def divide_to_profile(
    session: SparkSession, tables: Sequence[Table], config: ProfileConfig
) -> dict[TableId, Sequence[PartToRead]]:
    """Divide the large tables that many tasks profile in less time than one.

    Text is read twice if it is divided, and once to its end. That takes less time from four times
    `split_bytes` on, and only if the profile reads the text to its end, too.

    Args:
        session: Runs a Spark job if there are large text files.
        tables: Tables that tasks of this package read.
        config: Provides the size from which a table is divided, and the number of bytes to read.

    Returns:
        The parts of these tables.
    """
    sizes = range(_TEXT_FACTOR * config.split_bytes, config.max_bytes + 1)
    chosen = [table for table in tables if table.size in sizes or not is_delimited(table.location)]
    return divide_tables(session, chosen, config, max_bytes=config.max_bytes)


def open_part(part: PartToRead, paths: Collection[str] | None) -> TableStream:
    """Open a part of a table, to read all columns or those in `paths`.

    Args:
        part: The part.
        paths: The columns to read; all if None.

    Returns:
        The rows of the part, with the values that `read_table` would return.

    Raises:
        TableError: The part cannot be used.
    """
    if isinstance(part, FileRange):
        return read_range(part.file, part.part, paths)
    return read_part(part, paths)
