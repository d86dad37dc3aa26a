"""The tables that a folder holds in a file system that Spark reaches."""

from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import PurePosixPath

from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.errors import NoRemoteTablesError
from datahub_hyperjoin.catalog.folder import METADATA, split_name, table_of
from datahub_hyperjoin.catalog.selection import Selection
from datahub_hyperjoin.places import (
    DeltaFolder,
    File,
    FileFormat,
    Folder,
    IcebergFolder,
    Place,
    RemoteFolder,
)
from datahub_hyperjoin.spark.errors import UnreachableSourceError
from datahub_hyperjoin.spark.native.frames import SPARK_FAULTS, words_of
from datahub_hyperjoin.spark.native.remote import ListedFile, list_files, list_logs
from datahub_hyperjoin.tables import Table


def scan_remote_folder(
    session: SparkSession, connection: str, folder: RemoteFolder, chosen: Selection
) -> list[Table]:
    """Lists the tables of a folder.

    Args:
        session: Where to run.
        connection: The folder's key in the recipe.
        folder: Which one.
        chosen: Which tables are wanted, and what they are called.

    Returns:
        Tables by path.

    Raises:
        UnreachableSourceError: There is no such folder, or Spark cannot reach it.
        NoRemoteTablesError: It has no table that is wanted.
    """
    try:
        listed = list_files(session, folder.location)
        depth = max((file.path.count("/") for file in listed), default=0)
        log = list_logs(session, folder.location, depth=depth)
    except SPARK_FAULTS as error:
        raise UnreachableSourceError.of_folder(connection, words_of(error)) from error
    logged = _logged(listed, log)
    files: dict[tuple[PurePosixPath, FileFormat | None], list[ListedFile]] = defaultdict(list)
    for file in (*listed, *log):
        path = PurePosixPath(file.path)
        layout, table = split_name(path.name)[1], table_of(path, logged.keys())
        if (layout or table in logged) and chosen.tables.allowed(str(table)):
            files[table, None if table in logged else layout].append(file)
    if not files:
        raise NoRemoteTablesError.in_folder_of(connection, seen=len(listed))
    name = folder.location.partition("://")[2].strip("/")
    return [
        chosen.table(
            folder=name,
            table=str(table),
            title=split_name(table.name)[0],
            place=_place(table, layout, held) if layout else logged[table],
            size=sum(file.size for file in held),
            state=_state(held),
        )
        for (table, layout), held in sorted(files.items(), key=lambda item: str(item[0][0]))
    ]


def _logged(
    listed: Sequence[ListedFile], log: Sequence[ListedFile]
) -> dict[PurePosixPath, DeltaFolder | IcebergFolder]:
    """Tables of which a log or metadata say which files are theirs."""
    found: dict[PurePosixPath, DeltaFolder | IcebergFolder] = {}
    described = [file for file in listed if PurePosixPath(file.path).match(METADATA)]
    # The log of a Delta table goes before metadata that it has for readers of Iceberg.
    for files, kind in ((described, IcebergFolder), (log, DeltaFolder)):
        for file in files:
            table = PurePosixPath(file.path).parent.parent
            found[table] = kind(location=_location(table, file))
    return found


def _location(table: PurePosixPath, file: ListedFile) -> str:
    return file.location.removesuffix(file.path) + str(table)


def _place(table: PurePosixPath, layout: FileFormat, files: Sequence[ListedFile]) -> Place:
    location = _location(table, files[0])
    if str(table) == files[0].path:
        return File(location=location, format=layout)
    parts = tuple(str(PurePosixPath(file.path).relative_to(table)) for file in files)
    return Folder(location=location, format=layout, parts=parts)


def _state(files: Sequence[ListedFile]) -> str:
    """Sizes and times of change, which any writer of files moves on."""
    seen = sorted((file.path, file.size, file.changed.isoformat()) for file in files)
    return sha256(repr(seen).encode()).hexdigest()
