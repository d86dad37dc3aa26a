"""Which tables the files of a folder are, here or in a file system that Spark reaches."""

from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath

from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import (
    DeltaFolder,
    Dialect,
    File,
    FileFormat,
    Folder,
    IcebergFolder,
    ListedFile,
    TableLocation,
)
from datahub_hyperjoin.spark.files.compression import COMPRESSIONS
from datahub_hyperjoin.tables import Table

_FORMATS = {
    **{f".{format_.value}": format_ for format_ in FileFormat},
    ".ndjson": FileFormat.JSON_LINES,
}
_MAY_BE_PACKED = {FileFormat.CSV, FileFormat.TSV, FileFormat.JSON_LINES}
LOG = "_delta_log"
"""The folder that makes another one a Delta table."""
_METADATA = "metadata/*.metadata.json"
"""The files that make a folder an Iceberg table."""
_PART = "part-"
"""What the files begin with that Spark and Hadoop write for one table."""


def tables_of(
    files: Sequence[ListedFile], chosen: TableSelection, *, folder: str = ""
) -> list[Table]:
    """Groups files into tables.

    A table's name is its path below the folder, file type included, so that no two tables share
    one.

    Args:
        files: The folder's, those of the logs of Delta tables among them.
        chosen: Which tables are wanted, and what they are called.
        folder: What the folder is called in the tables' names.

    Returns:
        Tables by path.
    """
    logged = _logged(files)
    held: dict[tuple[PurePosixPath, FileFormat | None], list[ListedFile]] = defaultdict(list)
    for file in files:
        path = PurePosixPath(file.path)
        table = table_of(path, logged.keys())
        layout = None if table in logged else _layout(path)
        if (layout or table in logged) and chosen.tables.allowed(str(table)):
            held[table, layout].append(file)
    return [
        chosen.table(
            folder=folder,
            table=str(table),
            title=split_name(table.name)[0],
            place=_place(table, layout, own, chosen.dialect) if layout else logged[table].place,
            size=sum(file.size for file in own),
            state=_state(own if layout else logged[table].log),
        )
        for (table, layout), own in sorted(held.items())
    ]


def split_name(name: str) -> tuple[str, FileFormat | None]:
    """What a file or folder is called, and what its name says of the format.

    >>> split_name("flights.csv.gz"), split_name("orders")
    (('flights', <FileFormat.CSV: 'csv'>), ('orders', None))
    """
    path = PurePosixPath(name)
    packed = path.suffix.lower() in COMPRESSIONS
    inner = PurePosixPath(path.stem) if packed else path
    layout = _FORMATS.get(inner.suffix.lower())
    if layout is None or (packed and layout not in _MAY_BE_PACKED):
        return name, None
    return inner.stem, layout


def table_of(
    path: PurePosixPath, logged: AbstractSet[PurePosixPath] = frozenset()
) -> PurePosixPath:
    """The table that a file belongs to: the file itself, or a folder above it.

    A folder is a table if it has a log or metadata, if its name ends as a file's does, if folders
    below it are called `key=value`, or if the file is one of those that Spark numbers.

    >>> [str(table_of(PurePosixPath(name))) for name in ("a/b.csv", "a.parquet/0.parquet")]
    ['a/b.csv', 'a.parquet']
    >>> str(table_of(PurePosixPath("sales/orders/year=2024/month=1/x.parquet")))
    'sales/orders'
    >>> str(table_of(PurePosixPath("sales/orders/part-00000-x.snappy.parquet")))
    'sales/orders'
    """
    above = [one for one in reversed(path.parents) if one.name]
    for one in above:
        if one in logged or split_name(one.name)[1]:
            return one
        if "=" in one.name and one.parent.name:
            return one.parent
    return path.parent if path.name.startswith(_PART) and above else path


@dataclass(frozen=True, slots=True)
class _Logged:
    """A table of which a log or metadata say which files are its own."""

    place: DeltaFolder | IcebergFolder
    log: tuple[ListedFile, ...]
    """The files that say so."""


def _logged(files: Sequence[ListedFile]) -> dict[PurePosixPath, _Logged]:
    folders: dict[PurePosixPath, list[ListedFile]] = defaultdict(list)
    for file in files:
        folders[PurePosixPath(file.path).parent].append(file)
    found = {}
    # The log of a Delta table goes before metadata that it has for readers of Iceberg.
    for folder in sorted(folders, key=lambda one: one.name == LOG):
        log, table = folders[folder], folder.parent
        if folder.name == LOG:
            found[table] = _Logged(DeltaFolder(location=_location(table, log[0])), tuple(log))
        elif any(PurePosixPath(file.path).match(_METADATA) for file in log):
            found[table] = _Logged(IcebergFolder(location=_location(table, log[0])), tuple(log))
    return found


def _layout(path: PurePosixPath) -> FileFormat | None:
    """The format of a table's file; those of logs hold no rows."""
    return None if path.parent.name == LOG else split_name(path.name)[1]


def _location(table: PurePosixPath, file: ListedFile) -> str:
    return file.location.removesuffix(file.path) + str(table)


def _place(
    table: PurePosixPath, layout: FileFormat, files: Sequence[ListedFile], dialect: Dialect
) -> TableLocation:
    location = _location(table, files[0])
    if str(table) == files[0].path:
        return File(location=location, format=layout, dialect=dialect)
    parts = tuple(str(PurePosixPath(file.path).relative_to(table)) for file in files)
    return Folder(location=location, format=layout, parts=parts, dialect=dialect)


def _state(files: Sequence[ListedFile]) -> str:
    """Sizes and times of change, which any writer of files moves on."""
    seen = sorted((file.path, file.size, file.changed) for file in files)
    return sha256(repr(seen).encode()).hexdigest()
