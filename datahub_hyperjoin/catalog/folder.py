"""The tables that a folder holds."""

from collections.abc import Iterator
from pathlib import Path

from datahub.configuration.common import AllowDenyPattern

from datahub_hyperjoin.errors import MissingFolderError, NoTablesError
from datahub_hyperjoin.places import File, FileFormat
from datahub_hyperjoin.tables import Table, TableId

_FORMATS = {f".{format_.value}": format_ for format_ in FileFormat}


def _files(folder: Path) -> Iterator[Path]:
    """Files below a folder, without those that tools hide from people (`.x`, `_SUCCESS`)."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith((".", "_")) for part in parts):
            yield path


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
    tables, seen = [], 0
    for path in _files(folder):
        seen += 1
        name = path.relative_to(folder).as_posix()
        layout = _FORMATS.get(path.suffix.lower())
        if layout is None or not allowed.allowed(name):
            continue
        full_name = f"{instance}.{name}" if instance else name
        tables.append(
            Table(
                id=TableId(platform, full_name, env),
                title=path.stem,
                place=File(location=str(path.resolve()), format=layout),
                size=path.stat().st_size,
                instance=instance or "",
            )
        )
    if not tables:
        raise NoTablesError.in_folder(str(folder), seen=seen)
    return tables
