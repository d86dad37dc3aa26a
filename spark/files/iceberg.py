"""Read the current snapshot of an Iceberg table."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from datahub_hyperjoin.spark.columns import (
    Batches,
    Paths,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.errors import MissingReaderError, NoMetadataError
from datahub_hyperjoin.spark.files.nested import (
    flatten,
    leaf_columns,
    top_level_fields,
    translate_read_errors,
)

if TYPE_CHECKING:
    from pyiceberg.table import FileScanTask, StaticTable

_METADATA_FILE = re.compile(r"v?(\d+).*\.metadata\.json")
VERSION_HINT = "version-hint.text"


def read_iceberg(
    path: Path, paths: Paths, *, metadata: str = "", files: range | None = None
) -> TableStream:
    """Open the current snapshot of a metadata file (default: the newest), or some of its files."""
    # The metadata names the data files, which may be outside the folder. One data file at a time is
    # in memory, with the columns to read.
    table = _open(path, metadata)
    tasks = None if files is None else _plan(table)[files.start : files.stop]
    return stream_rows(table, paths, tasks)


def list_iceberg_files(path: Path) -> tuple[str, list[int]]:
    """Return the newest metadata file of an Iceberg table, and its data files' sizes in bytes."""
    table = _open(path)
    return table.metadata_location, [task.file.file_size_in_bytes for task in _plan(table)]


def _open(path: Path, metadata: str = "") -> "StaticTable":
    """Open an Iceberg table by one of its metadata files, by default the newest one."""
    try:
        from pyiceberg.exceptions import ValidationError  # noqa: PLC0415 (an optional requirement)
        from pyiceberg.table import StaticTable  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingReaderError.of_iceberg() from None
    with translate_read_errors():
        file = Path(metadata) if metadata else _newest_metadata(path / "metadata")
    try:
        with translate_read_errors():
            return StaticTable.from_metadata(str(file))
    except ValidationError as error:
        raise NoMetadataError.in_file(file.name) from error


def _plan(table: "StaticTable") -> "list[FileScanTask]":
    """Return the data files of a table's current snapshot, in the order of their paths."""
    with translate_read_errors(ValueError, NotImplementedError):
        return sorted(table.scan().plan_files(), key=lambda task: task.file.file_path)


def stream_rows(
    table: "StaticTable", paths: Paths, tasks: "Sequence[FileScanTask] | None" = None
) -> TableStream:
    """Read the rows of an Iceberg table, or of some of its data files (`tasks`), as a stream."""
    schema = table.schema().as_arrow()
    columns, notes = choose_columns(leaf_columns(schema), paths)
    names = readable_paths(columns)
    # Without a comparable column, one field is read to count the rows.
    fields = top_level_fields(schema, names) or schema.names[:1]
    extent = RowEstimate()
    return TableStream(columns, _batches(table, fields, names, extent, tasks), notes, extent)


def _newest_metadata(folder: Path) -> Path:
    """Find the newest metadata file in a table's metadata folder."""
    hint = folder / VERSION_HINT
    changed = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    return folder / choose_metadata(
        changed, hint.read_text("utf-8") if hint.name in changed else ""
    )


def choose_metadata(changed: Mapping[str, int], hint: str) -> str:
    """Return the name of the newest metadata file, given all file names and the version hint.

    >>> choose_metadata({"v9.metadata.json": 0, "v10.metadata.json": 0}, "9")
    'v10.metadata.json'
    >>> choose_metadata({"7-a.metadata.json": 1, "8-b.metadata.json": 2}, "7-a")
    '7-a.metadata.json'
    """
    named = hint.strip()
    for name in (named, f"{named}.metadata.json"):
        if named and name in changed:
            return name
    # A hint that is a number may be out of date; Iceberg's own readers look further, too.
    versions = [
        (int(version[1]), changed[name], name)
        for name in changed
        if (version := _METADATA_FILE.fullmatch(name))
    ]
    if not versions:
        raise NoMetadataError.of_any_version()
    return max(versions)[-1]


def _batches(
    table: "StaticTable",
    fields: Sequence[str],
    names: Sequence[str],
    extent: RowEstimate,
    chosen: "Sequence[FileScanTask] | None",
) -> Batches:
    from pyiceberg.exceptions import ResolveError  # noqa: PLC0415 (an optional requirement)
    from pyiceberg.io.pyarrow import ArrowScan  # noqa: PLC0415

    with translate_read_errors(ValueError, NotImplementedError, ResolveError):
        scan = table.scan(selected_fields=tuple(fields))
        # Given all tasks at once, `to_record_batches` would hold all files in memory.
        reader = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
        tasks = [*scan.plan_files()] if chosen is None else chosen
        # An upper bound: the counts include rows that were deleted later.
        extent.rows = sum(task.file.record_count for task in tasks)
        for task in tasks:
            for batch in reader.to_record_batches([task]):
                yield flatten(batch, names)
