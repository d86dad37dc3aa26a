"""Copy remote files to Spark's workers, many files in each task.

A worker reads the copy like any local file, so remote files need no readers of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from typing_extensions import assert_never

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import (
    CatalogTable,
    DeltaFolder,
    File,
    Folder,
    IcebergDataFile,
    IcebergFolder,
    Relation,
)
from datahub_hyperjoin.spark.errors import MissingIcebergError
from datahub_hyperjoin.spark.files.folder import reading_order
from datahub_hyperjoin.spark.memory import limited_memory
from datahub_hyperjoin.spark.native.frames import table_error
from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS
from datahub_hyperjoin.storage import temporary_folder
from datahub_hyperjoin.tables import Table

_CONCURRENT_PLANS = 4
"""Number of Iceberg tables that are planned at the same time. Each plan is a few short Spark jobs,
one after the other."""

CopyLocation = File | Folder | IcebergDataFile
"""A table location whose files can be copied to a worker."""


@dataclass(frozen=True, slots=True)
class ShippedFile:
    """A file to copy to a worker."""

    table: Table
    """The table."""

    table_index: int
    """The index of the table among the shipped tables."""

    file_index: int
    """The index of the file among the files of the table."""

    file_count: int
    """Number of files that the table has."""

    path: str
    """Path of the file relative to the table's folder, or the name of the table's only file."""

    location: CopyLocation
    """Location of a worker's copy of the file; the worker sets the path."""


@dataclass(frozen=True, slots=True)
class Shipment:
    """The files to copy to workers, and an error for each table whose files are unknown."""

    files: Mapping[str, ShippedFile]
    """Files by URI."""

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
    """List the files of a table, each with the location of its copy, or return an error.

    A file has its URI, its relative path, and the location from which a worker reads the copy.
    """
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
        raise MissingIcebergError.of_table() from None
    plan = plan_scan(session, folder)
    # The metadata may name any path, so only the file name is used where the copy is written.
    return [
        (uri, uri.rpartition("/")[2], IcebergDataFile(uri=uri, scan=plan.scan, task=task))
        for uri, task in sorted(plan.tasks.items())
    ]


def receive_files(
    batches: Iterator[pa.RecordBatch], files: Mapping[str, ShippedFile]
) -> Iterator[tuple[ShippedFile, Table]]:
    """Write received files to the worker's disk one at a time, and yield each with its table.

    While a file is read, the memory of the worker is limited.

    Yields:
        A file, and its table with the location of the copy. The copy is removed when the next
        file is requested.
    """
    for uri, content in chain.from_iterable(zip(*batch.columns, strict=True) for batch in batches):
        file = files.get(uri.as_py())
        if file is None:
            continue  # Spark writes its URI in another way than the table's metadata.
        # One copy at a time: the disk of a worker may be smaller than a table.
        with _written(Path(file.path), content.as_py()) as folder, limited_memory():
            yield file, replace(file.table, location=_local(file, folder))


def _local(file: ShippedFile, folder: Path) -> CopyLocation:
    match file.location:
        case Folder():
            return replace(file.location, uri=str(folder))
        case File() | IcebergDataFile():
            return replace(file.location, uri=str(folder / file.path))
        case _:
            assert_never(file.location)


@contextmanager
def _written(path: Path, content: bytes) -> Iterator[Path]:
    """Write a file to a temporary folder that exists only within a `with` block.

    The file keeps its relative path, which contains the partition keys.
    """
    with temporary_folder() as folder:
        copy = folder / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        yield folder
