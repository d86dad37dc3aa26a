"""Recognise tables among the files of a local or remote folder."""

from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from hashlib import sha256
from pathlib import PurePosixPath

from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.file_formats import FileFormat
from datahub_hyperjoin.locations import (
    DeltaFolder,
    File,
    Folder,
    IcebergFolder,
    ListedFile,
    TableLocation,
)
from datahub_hyperjoin.object_stores import ObjectStore
from datahub_hyperjoin.spark.files.compression import COMPRESSIONS
from datahub_hyperjoin.spark.files.fixed_width import WIDTHS
from datahub_hyperjoin.tables import Table

_FORMATS = {
    **{f".{format_.value}": format_ for format_ in FileFormat if format_ is not FileFormat.DUCKDB},
    ".ndjson": FileFormat.JSON_LINES,
    ".psv": FileFormat.CSV,
    ".tab": FileFormat.TSV,
}
TEXT = ".txt"
"""The extension of both delimited text and prose, so that only the content of a file tells whether
it is a table."""
_COMPRESSIBLE = {
    *(FileFormat.CSV, FileFormat.TSV, FileFormat.FIXED_WIDTH),
    *(FileFormat.JSON_LINES, FileFormat.JSON),
}
"""Formats whose files may be compressed as a whole; the others compress inside the file."""

DELTA_LOG = "_delta_log"
"""Name of the folder that makes its parent a Delta table."""
_ICEBERG_METADATA = "metadata/*.metadata.json"
"""Files that make a folder an Iceberg table."""
_PART_PREFIX = "part-"
"""Prefix of the files that Spark and Hadoop write for one table."""


def tables_of(
    files: Sequence[ListedFile],
    selection: TableSelection,
    *,
    folder: str = "",
    store: ObjectStore | None = None,
) -> list[Table]:
    """Group the files of a folder into tables.

    The name of a table is its path below the folder with the file extension, so no two tables
    have the same name.

    Args:
        store: The object store from which Arrow reads the files, if they are in one.
    """
    formatted = _tables_with_metadata(files)
    schemas = {file.path: [file] for file in files if file.path.endswith(WIDTHS)}
    # Files of several formats in one folder are as many tables.
    members: dict[tuple[PurePosixPath, FileFormat | None], list[ListedFile]] = defaultdict(list)
    for file in files:
        path = PurePosixPath(file.path)
        table = table_path(path, formatted.keys())
        format_ = None if table in formatted else _format_of(file)
        if (format_ or table in formatted) and selection.tables.allowed(str(table)):
            members[table, format_].append(file)
    tables = []
    for (table, format_), own in sorted(members.items()):
        location, described_by = (
            (_location(table, format_, own, selection, store), own) if format_ else formatted[table]
        )
        tables.append(
            selection.table(
                folder=folder,
                table=str(table),
                title=split_name(table.name)[0],
                location=location,
                size=sum(file.size for file in own),
                state=state_of([*described_by, *schemas.get(_schema_of(table), [])]),
            )
        )
    return tables


def _schema_of(table: PurePosixPath) -> str:
    """Return the path of the schema file that belongs to a fixed-width table."""
    return str(table.with_suffix("") if table.suffix.lower() in COMPRESSIONS else table) + WIDTHS


def files_of_no_table(files: Sequence[ListedFile]) -> list[str]:
    """List the files that do not belong to any table."""
    formatted = _tables_with_metadata(files).keys()
    return [
        file.path
        for file in files
        if _format_of(file) is None
        and PurePosixPath(file.path).parent.name != DELTA_LOG
        and table_path(PurePosixPath(file.path), formatted) not in formatted
    ]


def without_compression(path: PurePosixPath) -> PurePosixPath:
    """Return a file's path without the extension of its compression, such as `.gz`."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path


def split_name(name: str) -> tuple[str, FileFormat | None]:
    """Split a file or folder name into its base name and the file format of its extensions.

    >>> split_name("flights.csv.gz"), split_name("orders"), split_name("stops.txt")
    (('flights', <FileFormat.CSV: 'csv'>), ('orders', None), ('stops', None))
    """
    path = PurePosixPath(name)
    inner = without_compression(path)
    is_compressed = inner != path
    format_ = _FORMATS.get(inner.suffix.lower())
    if inner.suffix.lower() == TEXT:
        return inner.stem, None
    if format_ is None or (is_compressed and format_ not in _COMPRESSIBLE):
        return name, None
    return inner.stem, format_


def table_path(
    path: PurePosixPath, formatted: AbstractSet[PurePosixPath] = frozenset()
) -> PurePosixPath:
    """Return the path of the table to which a file belongs: the file itself or a folder above it.

    A folder is a table if it is a Delta or Iceberg table (`formatted`), if its name has the
    extension of a table file, if it has folders named `key=value`, or if its files have the prefix
    that Spark gives to the parts of a table.

    >>> [str(table_path(PurePosixPath(name))) for name in ("a/b.csv", "a.parquet/0.parquet")]
    ['a/b.csv', 'a.parquet']
    >>> str(table_path(PurePosixPath("sales/orders/year=2024/month=1/x.parquet")))
    'sales/orders'
    >>> str(table_path(PurePosixPath("sales/orders/part-00000-x.snappy.parquet")))
    'sales/orders'
    """
    # From the top, so that a table inside a table folder belongs to the outer one.
    parents = [parent for parent in reversed(path.parents) if parent.name]
    for parent in parents:
        if parent in formatted or split_name(parent.name)[1]:
            return parent
        # A folder `key=value` holds a partition of the table above it.
        if "=" in parent.name and parent.parent.name:
            return parent.parent
    return path.parent if path.name.startswith(_PART_PREFIX) and parents else path


def _tables_with_metadata(
    files: Sequence[ListedFile],
) -> dict[PurePosixPath, tuple[DeltaFolder | IcebergFolder, list[ListedFile]]]:
    """Find Delta and Iceberg tables, each with its log or metadata files."""
    folders: dict[PurePosixPath, list[ListedFile]] = defaultdict(list)
    for file in files:
        folders[PurePosixPath(file.path).parent].append(file)
    tables: dict[PurePosixPath, tuple[DeltaFolder | IcebergFolder, list[ListedFile]]] = {}
    # Logs come last and win: a Delta table may have Iceberg metadata for other readers, too.
    for folder in sorted(folders, key=lambda folder: folder.name == DELTA_LOG):
        own, table = folders[folder], folder.parent
        if folder.name == DELTA_LOG:
            tables[table] = DeltaFolder(uri=_uri(table, own[0])), own
        elif any(PurePosixPath(file.path).match(_ICEBERG_METADATA) for file in own):
            tables[table] = IcebergFolder(uri=_uri(table, own[0])), own
    return tables


def _format_of(file: ListedFile) -> FileFormat | None:
    """Return the format of a data file; None for any other file.

    Files of a Delta log are not data files, whatever their extension.
    """
    path = PurePosixPath(file.path)
    if path.parent.name == DELTA_LOG:
        return None
    return FileFormat.CSV if file.is_delimited else split_name(path.name)[1]


def _uri(table: PurePosixPath, file: ListedFile) -> str:
    """Derive a table's URI from the URI of one of its files."""
    return file.uri.removesuffix(file.path) + str(table)


def _location(
    table: PurePosixPath,
    format_: FileFormat,
    files: Sequence[ListedFile],
    selection: TableSelection,
    store: ObjectStore | None,
) -> TableLocation:
    uri = _uri(table, files[0])
    if str(table) == files[0].path:
        return File(uri=uri, format=format_, dialect=selection.dialect, store=store)
    parts = tuple(str(PurePosixPath(file.path).relative_to(table)) for file in files)
    return Folder(uri=uri, format=format_, parts=parts, dialect=selection.dialect, store=store)


def state_of(files: Sequence[ListedFile]) -> str:
    """Hash the paths, sizes and modification times of files.

    Two runs compare their hashes to detect whether a table has changed.
    """
    seen = sorted((file.path, file.size, file.changed) for file in files)
    return sha256(repr(seen).encode()).hexdigest()
