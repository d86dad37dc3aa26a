"""Read remote Iceberg tables from copies of their files.

So Spark needs no Iceberg jar.

On the driver, Spark fetches the files of the table's metadata and pyiceberg plans which data files
hold the current snapshot. In workers, pyiceberg reads copies of these data files.

This module needs pyiceberg, an optional requirement; import it where it is used.
"""

import pickle
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pydantic import ValidationError as SchemaError
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import ValidationError
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import FileScanTask, StaticTable
from pyiceberg.table.metadata import TableMetadata
from pyspark.sql import SparkSession

from datahub_hyperjoin.locations import IcebergDataFile, IcebergFolder
from datahub_hyperjoin.spark.columns import TableStream
from datahub_hyperjoin.spark.errors import NoMetadataError
from datahub_hyperjoin.spark.files.iceberg import VERSION_HINT, choose_metadata, stream_rows
from datahub_hyperjoin.spark.files.nested import translate_read_errors
from datahub_hyperjoin.spark.native.remote import fetch_files, list_files


class CopiedFiles(FileIO):
    """A read-only file system that finds the copy of a file by the URI of the original."""

    def __init__(self, copies: Mapping[str, bytes | Path]) -> None:
        super().__init__()
        self.copies = dict(copies)

    def new_input(self, location: str) -> InputFile:
        """Return the copy of a file, given the URI of the original file."""
        return _CopiedFile(location, self.copies.get(location))

    def new_output(self, location: str) -> OutputFile:
        """Raise an error, because this file system is read-only."""
        raise NotImplementedError(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Raise an error, because this file system is read-only."""
        raise NotImplementedError(location)


class _CopiedFile(InputFile):
    def __init__(self, location: str, copy: bytes | Path | None) -> None:
        super().__init__(location)
        self._copy = copy

    def __len__(self) -> int:
        with self.open() as file:
            return int(file.size())

    def exists(self) -> bool:
        return self._copy is not None

    def open(self, seekable: bool = True) -> pa.NativeFile:  # noqa: FBT001, FBT002 (pyiceberg's)
        if self._copy is None:
            message = f"Spark cannot read {self.location}"
            raise FileNotFoundError(message)
        if isinstance(self._copy, Path):
            return pa.OSFile(str(self._copy))
        return pa.BufferReader(self._copy)


@dataclass(frozen=True, slots=True)
class _Scan:
    metadata: TableMetadata
    deletes: Mapping[str, bytes]
    """Contents of files that list deleted rows, by their URIs in the metadata."""


def plan_scan(session: SparkSession, folder: IcebergFolder) -> dict[str, IcebergDataFile]:
    """Plan how to read the data files, by URI, of a remote Iceberg table's current snapshot."""
    # A file that the metadata places below the table's own location is read below `folder`: the
    # recipe may reach the same bytes under another scheme or mount, as in `s3a://` for `s3://`.
    metadata, uri = _read_metadata(session, folder)
    files = CopiedFiles({})

    def relocate(file: str) -> str:
        below = file.removeprefix(metadata.location.rstrip("/") + "/")
        return file if below == file else f"{folder.uri}/{below}"

    def fetch(wanted: Iterable[str]) -> dict[str, bytes]:
        # In one Spark job; pyiceberg would fetch them one by one.
        uris = {file: relocate(file) for file in wanted}
        contents = fetch_files(session, [*uris.values()])
        return {file: contents[at] for file, at in uris.items() if at in contents}

    with translate_read_errors(ValueError, NotImplementedError):
        tasks = _plan_tasks(_table(metadata, uri, files), files, fetch)
        deletes = fetch({file.file_path for task in tasks for file in task.delete_files})
    # Old snapshots may be many, and every worker receives the metadata.
    slim: dict[str, object] = {"snapshots": [], "snapshot_log": [], "metadata_log": [], "refs": {}}
    current = metadata.model_copy(update={**slim, "current_snapshot_id": None})
    # Pickled once for all data files.
    scan = pickle.dumps(_Scan(current, deletes))
    uris = {relocate(task.file.file_path): pickle.dumps(task) for task in tasks}
    return {at: IcebergDataFile(uri=at, scan=scan, task=task) for at, task in uris.items()}


def read_data_file(file: IcebergDataFile, paths: Collection[str] | None) -> TableStream:
    """Open the copy of an Iceberg data file as a stream of rows."""
    scan: _Scan = pickle.loads(file.scan)  # noqa: S301 - ours
    task: FileScanTask = pickle.loads(file.task)  # noqa: S301 - ours
    # Delete files refer to the data file by its URI in the metadata, not by that of the copy.
    files = CopiedFiles({**scan.deletes, task.file.file_path: Path(file.uri)})
    return stream_rows(_table(scan.metadata, file.uri, files), paths, [task])


def _read_metadata(session: SparkSession, folder: IcebergFolder) -> tuple[TableMetadata, str]:
    listed = {file.path: file for file in list_files(session, f"{folder.uri}/metadata")}
    # Looked up in the listing: to fetch a file that is missing costs Spark several attempts.
    hint = b""
    if VERSION_HINT in listed:
        uri = listed[VERSION_HINT].uri
        hint = fetch_files(session, [uri]).get(uri, b"")
    changed = {path: file.changed for path, file in listed.items()}
    newest = listed[choose_metadata(changed, hint.decode("utf-8", "replace"))]
    files = CopiedFiles(fetch_files(session, [newest.uri]))
    try:
        with translate_read_errors():
            return FromInputFile.table_metadata(files.new_input(newest.uri)), newest.uri
    except (ValidationError, SchemaError) as error:
        raise NoMetadataError.in_file(newest.path) from error


def _plan_tasks(
    table: StaticTable, files: CopiedFiles, fetch: Callable[[Iterable[str]], dict[str, bytes]]
) -> list[FileScanTask]:
    """List the data files that contain a table's rows."""
    # The manifest list and all manifests are fetched first.
    snapshot = table.current_snapshot()
    if snapshot is None:
        return []
    files.copies.update(fetch([snapshot.manifest_list]))
    manifests = snapshot.manifests(files)
    files.copies.update(fetch(manifest.manifest_path for manifest in manifests))
    return [*table.scan().plan_files()]


def _table(metadata: TableMetadata, uri: str, files: CopiedFiles) -> StaticTable:
    name, catalog = ("static-table", uri), NoopCatalog("static-table")
    return StaticTable(
        identifier=name, metadata=metadata, metadata_location=uri, io=files, catalog=catalog
    )
