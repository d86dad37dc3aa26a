"""Divide large delimited text files into ranges, one for each Spark task.

One Spark job counts the quotes of all files. What cannot be divided without changing a result is
read by one task.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

import pyarrow as pa
from pyspark.sql import SparkSession

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import Dialect, File, is_remote
from datahub_hyperjoin.spark.files.byte_ranges import (
    ByteRange,
    QuoteScan,
    align_to_rows,
    divide_lines,
    scan_quotes,
)
from datahub_hyperjoin.spark.files.delimited import DelimitedLayout, DelimitedText
from datahub_hyperjoin.spark.files.formats import format_of
from datahub_hyperjoin.spark.files.stored import DataPath, bytes_of, path_of
from datahub_hyperjoin.spark.files.table_parts import FileRange
from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS, collect_arrow, map_tasks
from datahub_hyperjoin.tables import Table
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_RANGE_BYTES = 1 << 26
_FEWEST_RANGES, _MOST_RANGES = 4, 1 << 10
"""Minimum and maximum number of ranges of a file. With more ranges, merging the counts would
take longer than reading the ranges."""
_COUNT_ROW = pa.schema(
    {"range": pa.int32(), **dict.fromkeys((each.name for each in fields(QuoteScan)), pa.bool_())}
)
"""Schema of a row that describes the quotes in one byte range; `range` is the range's index."""


@dataclass(frozen=True, slots=True)
class _DividedFile:
    """A file, divided into byte ranges at line ends."""

    file: File
    path: DataPath
    dialect: Dialect
    ranges: list[ByteRange]


def divide_files(session: SparkSession, tables: Sequence[Table]) -> dict[int, list[FileRange]]:
    """Divide delimited text files into ranges of whole rows."""
    found = ((index, _divide_lines(table)) for index, table in enumerate(tables))
    divided = {index: file for index, file in found if file}
    ranges = {}
    for index, scans in _scan_quotes(session, divided).items():
        file = divided[index]
        if rows := align_to_rows(file.path, file.ranges, scans, file.dialect):
            ranges[index] = [FileRange(file.file, part) for part in rows]
        else:
            _log_whole(tables[index], "its quotes or its encoding hide where rows begin")
    return ranges


def _divide_lines(table: Table) -> _DividedFile | None:
    """Divide a table's file at line ends, or return None if one task should read the table."""
    if not isinstance(file := table.location, File):
        return None
    format_ = format_of(file)
    # A task that Spark gives a copy of the file reads it as a whole.
    if not isinstance(format_, DelimitedText) or (is_remote(file.uri) and not file.store):
        return None
    path = path_of(file)
    try:
        layout = format_.layout_of(file)
        obstacle = _obstacle(layout)
        if not obstacle:
            count = min(max(_FEWEST_RANGES, bytes_of(path) // _RANGE_BYTES), _MOST_RANGES)
            return _DividedFile(file, path, layout.dialect, divide_lines(path, count))
    # The task that reads the file reports what is wrong with it.
    except (TableError, OSError) as error:
        obstacle = str(error)
    _log_whole(table, obstacle)
    return None


def _obstacle(layout: DelimitedLayout) -> str:
    """Return why a file cannot be divided, or an empty text if it can."""
    obstacles = {
        "it is compressed": layout.compression != "",
        "it has an escape character": layout.dialect.escape != "",
        "its encoding is given": layout.dialect.encoding is not None,
        "its lines are rewritten": layout.rewrite is not None,
        "it has lines above the header": layout.titles != "",
    }
    return next((reason for reason, is_met in obstacles.items() if is_met), "")


def _scan_quotes(
    session: SparkSession, files: Mapping[int, _DividedFile]
) -> dict[int, list[QuoteScan]]:
    """Count the quotes in each range of all files, and return the results by table index."""
    parts = [(index, file, part) for index, file in files.items() for part in file.ranges]

    def work(numbers: list[int]) -> Iterator[pa.RecordBatch]:
        for number in numbers:
            yield _scan_range(number, *parts[number][1:])

    if not parts:
        return {}
    tasks = [[number] for number in range(len(parts))]
    try:
        rows = collect_arrow(map_tasks(session, tasks, work, _COUNT_ROW)).to_pylist()
    except SPARK_ERRORS as error:
        logger.debug("Quotes were not counted: %s", error)
        return {}
    scans = defaultdict[int, list[QuoteScan]](list)
    for row in sorted(rows, key=lambda row: row["range"]):
        scans[parts[row.pop("range")][0]].append(QuoteScan(**row))
    return scans


def _scan_range(number: int, file: _DividedFile, part: ByteRange) -> pa.RecordBatch:
    try:
        scan = scan_quotes(file.path, part, file.dialect)
    except OSError:
        scan = QuoteScan()
    row = {"range": number, **asdict(scan)}
    return pa.RecordBatch.from_pylist([row], schema=_COUNT_ROW)


def _log_whole(table: Table, reason: str) -> None:
    logger.debug("One task reads %s: %s", table.id, reason)
