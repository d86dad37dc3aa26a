"""Divide large tables into parts, and read each part in a Spark task of its own."""

from collections.abc import Collection, Sequence
from contextlib import suppress

from pyspark.sql import SparkSession

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.spark.columns import TableStream
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.files.table_parts import TablePart, divide_table
from datahub_hyperjoin.spark.native.text_ranges import FileRange, divide_files
from datahub_hyperjoin.spark.read import read_part, read_range
from datahub_hyperjoin.tables import Table, TableId

PartToRead = FileRange | TablePart
"""A part of a table that one task reads."""


def divide_tables(
    session: SparkSession, tables: Sequence[Table], config: ProfileConfig
) -> dict[TableId, Sequence[PartToRead]]:
    """Divide large tables into parts that together have all their rows.

    Args:
        session: Runs a Spark job if there are large text files.
        tables: Tables that tasks of this package read.
        config: Provides the size from which a table is divided.

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
            if parts := divide_table(table.location, table.size):
                divided[table.id] = parts
    return divided


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
