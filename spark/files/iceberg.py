"""Reads Iceberg tables: the rows of the current snapshot, as the newest metadata has them."""

import re
from collections.abc import Collection, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from datahub_hyperjoin.spark.columns import RowEstimate, TableStream, choose_columns, read_of
from datahub_hyperjoin.spark.errors import MissingIcebergError, NoMetadataError
from datahub_hyperjoin.spark.files.nested import fields_of, flatten, leaves_of, parsing

if TYPE_CHECKING:
    from pyiceberg.table import StaticTable

_VERSION = re.compile(r"v?(\d+).*\.metadata\.json")
_HINT = "version-hint.text"


def read_iceberg(path: Path, paths: Collection[str] | None) -> TableStream:
    """Opens an Iceberg table.

    Args:
        path: Its folder.
        paths: The columns to read; without it, all.

    Returns:
        The reading. Data files are where the metadata says, which may be outside the folder, and
        one is held in memory at a time, in the columns to read.

    Raises:
        MissingIcebergError: The package that reads the metadata is not installed.
        UnreadableTableError: The metadata cannot be read.
    """
    try:
        from pyiceberg.exceptions import ValidationError  # noqa: PLC0415 (an optional requirement)
        from pyiceberg.table import StaticTable  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingIcebergError.of_table() from None
    with parsing():
        newest = newest_metadata(path / "metadata")
    try:
        with parsing():
            table = StaticTable.from_metadata(str(newest))
    except ValidationError as fault:
        raise NoMetadataError.in_file(newest.name) from fault
    schema = table.schema().as_arrow()
    columns, notes = choose_columns(leaves_of(schema), paths)
    names = read_of(columns)
    # Rows count though nothing that can be compared is asked for.
    fields = fields_of(schema, names) or schema.names[:1]
    extent = RowEstimate()
    return TableStream(columns, _batches(table, fields, names, extent), notes, extent)


def newest_metadata(folder: Path) -> Path:
    """The file that tells how a table is now.

    Args:
        folder: Where every change of the table has left a file.

    Returns:
        The one that a hint names, else that of the highest version. A hint that is a number may
        be behind; Iceberg's own readers look on from it.

    Raises:
        NoMetadataError: There is none.
    """
    hint = folder / _HINT
    named = hint.read_text("utf-8").strip() if hint.is_file() else ""
    for file in (folder / named, folder / f"{named}.metadata.json"):
        if named and file.is_file():
            return file
    versions = [
        (int(found[1]), file.stat().st_mtime_ns, file)
        for file in folder.iterdir()
        if (found := _VERSION.fullmatch(file.name))
    ]
    if not versions:
        raise NoMetadataError.of_any_version()
    return max(versions)[-1]


def _batches(
    table: "StaticTable", fields: Sequence[str], names: Sequence[str], extent: RowEstimate
) -> Generator[pa.RecordBatch, None, None]:
    from pyiceberg.exceptions import ResolveError  # noqa: PLC0415 (an optional requirement)
    from pyiceberg.io.pyarrow import ArrowScan  # noqa: PLC0415

    with parsing(ValueError, NotImplementedError, ResolveError):
        scan = table.scan(selected_fields=tuple(fields))
        # Asked for all files at once, it would hold all of them in memory.
        files = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
        tasks = [*scan.plan_files()]
        # Rows that were deleted since are counted, too.
        extent.rows = sum(task.file.record_count for task in tasks)
        for task in tasks:
            for batch in files.to_record_batches([task]):
                yield flatten(batch, names)
