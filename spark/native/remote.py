"""List and fetch files of remote file systems through Spark, and copy them to its workers.

These are `s3a`, `abfs`, `hdfs` and all others that Spark reaches. A worker reads a copy like any
local file, so remote files need no readers of their own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)
from typing_extensions import assert_never

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import (
    CatalogTable,
    DeltaFolder,
    File,
    Folder,
    IcebergDataFile,
    IcebergFolder,
    ListedFile,
    Relation,
)
from datahub_hyperjoin.spark.errors import MissingReaderError
from datahub_hyperjoin.spark.files.folder import reading_order
from datahub_hyperjoin.spark.files.stored import DELTA_LOG
from datahub_hyperjoin.spark.memory import limited_memory
from datahub_hyperjoin.spark.native.frames import escape_pattern, table_error
from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS, collect_arrow
from datahub_hyperjoin.storage import temporary_folder
from datahub_hyperjoin.tables import Table

_MAX_FILE_BYTES = 1 << 30
"""Size of the largest file that is copied. A worker holds one file in memory at a time, and Java
arrays end at 2 GiB."""

_PATH_OF_URI = re.compile(r"[a-zA-Z0-9+.-]+:(?://[^/]*)?(/.*)")


def list_files(session: SparkSession, folder: str) -> list[ListedFile]:
    """List the files below a folder."""
    # Files that Spark treats as hidden are left out.
    reader = session.read.format("binaryFile").option("recursiveFileLookup", value=True)
    return _listed(reader.load(escape_pattern(folder)), folder)


def list_delta_logs(session: SparkSession, folder: str, *, depth: int) -> list[ListedFile]:
    """List the log files of the Delta tables below a folder."""
    # Spark treats the logs as hidden, so `list_files` does not return them.
    # Recursive listing skips hidden folders, but a pattern that names them does not.
    logs = []
    for level in range(depth + 1):
        pattern = escape_pattern(folder.rstrip("/")) + "/*" * level + f"/{DELTA_LOG}"
        with suppress(AnalysisException):  # which Spark raises if no folder matches
            logs += _listed(session.read.format("binaryFile").load(pattern), folder)
    return sorted(logs, key=lambda file: file.path)


def read_binary_files(session: SparkSession, uris: Sequence[str]) -> DataFrame:
    """Read files into rows of `path` and `content`; missing or too large ones have no row."""
    lenient = {"ignoreMissingFiles": True, "ignoreCorruptFiles": True}
    reader = session.read.format("binaryFile").options(**lenient)
    patterns = _existing(reader, [*map(escape_pattern, uris)])
    if not patterns:
        return session.createDataFrame([], "path string, content binary")
    files = reader.load(patterns).where(F.col("length") <= _MAX_FILE_BYTES)
    return files.select("path", "content")


def fetch_files(session: SparkSession, uris: Sequence[str]) -> dict[str, bytes]:
    """Fetch small files to the driver in one Spark job."""
    rows = collect_arrow(read_binary_files(session, uris))
    return dict(zip(rows["path"].to_pylist(), rows["content"].to_pylist(), strict=True))


def _existing(reader: DataFrameReader, patterns: list[str]) -> list[str]:
    """Return the glob patterns that match at least one existing file."""
    # Spark refuses all files if one is missing, and does not say which: the halves that it refuses
    # are halved again, so that n missing files among N cost about n log N attempts.
    try:
        # Spark Connect looks files up only when the schema is asked for.
        if not patterns or reader.load(patterns).columns:
            return patterns
    except AnalysisException:
        half = len(patterns) // 2
        if half:
            return _existing(reader, patterns[:half]) + _existing(reader, patterns[half:])
    return []


def _listed(files: DataFrame, folder: str) -> list[ListedFile]:
    start = len(_path_of(folder.rstrip("/"))) + 1
    micros = F.unix_micros("modificationTime")
    rows = files.select("path", "length", micros * 1000).collect()
    found = [ListedFile(uri, _path_of(uri)[start:], size, changed) for uri, size, changed in rows]
    return sorted(found, key=lambda file: file.path)


def _path_of(uri: str) -> str:
    """Return a URI without its scheme and host.

    >>> _path_of("s3a://lake/a b/c.csv"), _path_of("file:/lake/c.csv"), _path_of("hdfs:///lake")
    ('/a b/c.csv', '/lake/c.csv', '/lake')
    """
    match = _PATH_OF_URI.match(uri)
    return match[1] if match else ""


_CONCURRENT_PLANS = 4
"""Number of Iceberg tables that are planned at the same time. Each plan is a few short Spark jobs,
one after the other."""

CopyLocation = File | Folder | IcebergDataFile


@dataclass(frozen=True, slots=True)
class ShippedFile:
    """A file to copy to a worker."""

    table: Table
    table_index: int
    file_index: int
    file_count: int
    path: str
    """Path of the file relative to the table's folder, or the name of the table's only file."""

    location: CopyLocation
    """Location of a worker's copy of the file; the worker sets the path."""


@dataclass(frozen=True, slots=True)
class Shipment:
    """The files to copy to workers, and an error for each table whose files are unknown."""

    files: Mapping[str, ShippedFile]
    errors: Mapping[int, TableError]
    """The reason why the files of a table cannot be determined, by the index of the table."""


def plan_shipment(session: SparkSession, tables: Sequence[Table]) -> Shipment:
    """List the files that workers need to read the given tables."""
    files: dict[str, ShippedFile] = {}
    errors: dict[int, TableError] = {}
    # Only Iceberg tables take time here; for the others there is nothing to read.
    with ThreadPoolExecutor(_CONCURRENT_PLANS) as pool:
        plans = pool.map(partial(_locate_copies, session), tables)
        for index, (table, copies) in enumerate(zip(tables, plans, strict=True)):
            if isinstance(copies, TableError):
                errors[index] = copies
                continue
            for number, (uri, path, location) in enumerate(copies):
                files[uri] = ShippedFile(table, index, number, len(copies), path, location)
    return Shipment(files, errors)


def _locate_copies(
    session: SparkSession, table: Table
) -> list[tuple[str, str, CopyLocation]] | TableError:
    """List the files of a table, each with the location of its copy, or return an error."""
    # A file has its URI, its relative path, and the location from which a worker reads the copy.
    location = table.location
    match location:
        case File():
            return [(location.uri, location.uri.rpartition("/")[2], location)]
        case Folder():
            return [
                (f"{location.uri}/{part}", part, replace(location, parts=(part,)))
                for part in reading_order(location)
            ]
        case IcebergFolder():
            try:
                return _plan_iceberg(session, location)
            except (TableError, *SPARK_ERRORS) as error:
                return error if isinstance(error, TableError) else table_error(location, error)
        case DeltaFolder() | IcebergDataFile() | Relation() | CatalogTable():
            message = f"Files of {location} are not shipped"
            raise TypeError(message)
        case _:
            assert_never(location)


def _plan_iceberg(
    session: SparkSession, folder: IcebergFolder
) -> list[tuple[str, str, CopyLocation]]:
    try:
        from datahub_hyperjoin.spark.native.iceberg import (  # noqa: PLC0415 (optional requirement)
            plan_scan,
        )
    except ModuleNotFoundError:
        raise MissingReaderError.of_iceberg() from None
    # The metadata may name any path, so only the file name is used where the copy is written.
    found = sorted(plan_scan(session, folder).items())
    return [(uri, uri.rpartition("/")[2], file) for uri, file in found]


def receive_files(
    batches: Iterator[pa.RecordBatch], files: Mapping[str, ShippedFile]
) -> Iterator[tuple[ShippedFile, Table]]:
    """Write received files to the worker's disk one at a time, and yield each with its table."""
    # While a file is read, the memory of the worker is limited.
    for uri, content in chain.from_iterable(zip(*batch.columns, strict=True) for batch in batches):
        file = files.get(uri.as_py())
        if file is None:
            continue  # Spark writes its URI in another way than the table's metadata.
        # One copy at a time: the disk of a worker may be smaller than a table.
        with temporary_folder() as folder:
            copy = folder / file.path  # which contains the partition keys
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content.as_py())
            local = folder if isinstance(file.location, Folder) else copy
            with limited_memory():
                yield file, replace(file.table, location=replace(file.location, uri=str(local)))
