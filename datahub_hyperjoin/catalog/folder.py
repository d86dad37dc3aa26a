"""The tables that a folder holds."""

from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from hashlib import sha256
from pathlib import Path, PurePosixPath

from datahub.configuration.common import AllowDenyPattern

from datahub_hyperjoin.errors import MissingFolderError, NoTablesError
from datahub_hyperjoin.places import DeltaFolder, File, FileFormat, Folder, IcebergFolder, Place
from datahub_hyperjoin.spark.files.compression import COMPRESSIONS
from datahub_hyperjoin.tables import Table, TableId

_FORMATS = {
    **{f".{format_.value}": format_ for format_ in FileFormat},
    ".ndjson": FileFormat.JSON_LINES,
}
_MAY_BE_PACKED = {FileFormat.CSV, FileFormat.TSV, FileFormat.JSON_LINES}
_LOG = "_delta_log"
"""The folder that makes another one a Delta table."""
METADATA = "metadata/*.metadata.json"
"""The files that make a folder an Iceberg table."""
_PART = "part-"
"""What the files begin with that Spark and Hadoop write for one table."""


def _files(folder: Path) -> Iterator[Path]:
    """Files below a folder, without those that tools hide from people (`.x`, `_SUCCESS`)."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith((".", "_")) for part in parts):
            yield path


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


def scan_folder(
    folder: Path,
    *,
    platform: str,
    env: str,
    instance: str | None,
    allowed: AllowDenyPattern,
) -> list[Table]:
    """Lists the tables below a folder.

    A table's name is its path below the folder, file type included, so that no two tables share
    one; a platform instance stands before it, as in DataHub's own urns.

    Args:
        folder: Where to look.
        platform: DataHub platform of the tables.
        env: DataHub environment of the tables.
        instance: DataHub platform instance of the tables.
        allowed: Which paths below the folder are wanted.

    Returns:
        Tables by name.

    Raises:
        MissingFolderError: There is no such folder.
        NoTablesError: No file below it is a table that is wanted.
    """
    if not folder.is_dir():
        raise MissingFolderError.at(str(folder))
    files: dict[tuple[PurePosixPath, FileFormat | None], list[Path]] = defaultdict(list)
    logs = _logs(folder)
    seen = 0
    for path in _files(folder):
        seen += 1
        layout, table = split_name(path.name)[1], table_of(_below(folder, path), logs.keys())
        if (layout or table in logs) and allowed.allowed(str(table)):
            files[table, None if table in logs else layout].append(path)
    if not files:
        raise NoTablesError.in_folder(str(folder), seen=seen)
    return [
        Table(
            id=TableId(platform, f"{instance}.{table}" if instance else str(table), env),
            title=split_name(table.name)[0],
            place=_place(folder, table, layout, paths) if layout else _logged(logs[table]),
            size=sum(path.stat().st_size for path in paths),
            instance=instance or "",
            state=_state([*logs[table].iterdir()] if table in logs else paths),
        )
        for (table, layout), paths in sorted(files.items())
    ]


def _state(files: list[Path]) -> str:
    """Sizes and times of change, which any writer of files moves on."""
    seen = sorted((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    return sha256(repr([*seen]).encode()).hexdigest()


def _below(folder: Path, path: Path) -> PurePosixPath:
    return PurePosixPath(path.relative_to(folder).as_posix())


def _logs(folder: Path) -> dict[PurePosixPath, Path]:
    """The folder that says which files are a table, by table."""
    metadata = {file.parent for file in folder.rglob(METADATA)}
    logs = {log for log in folder.rglob(_LOG) if log.is_dir()}
    # The log of a Delta table goes before metadata that it has for readers of Iceberg.
    return {_below(folder, log.parent): log for log in (*metadata, *logs)}


def _logged(log: Path) -> Place:
    location = str(log.parent.resolve())
    of_delta = log.name == _LOG
    return DeltaFolder(location=location) if of_delta else IcebergFolder(location=location)


def _place(folder: Path, table: PurePosixPath, layout: FileFormat, files: list[Path]) -> Place:
    location = str((folder / table).resolve())
    if (folder / table).is_file():
        return File(location=location, format=layout)
    parts = tuple(file.relative_to(folder / table).as_posix() for file in files)
    return Folder(location=location, format=layout, parts=parts)
