"""Warn users about files that are not tables, so that nothing is left out silently."""

import zipfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from struct import unpack_from

from datahub_hyperjoin.catalog.files import TEXT, files_of_no_table, split_name
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import ListedFile
from datahub_hyperjoin.progress import Count, Warn
from datahub_hyperjoin.spark.files.compression import COMPRESSIONS
from datahub_hyperjoin.wording import name_some, number_of

_ARCHIVES = {".zip", ".tar", ".tgz", ".tbz2", ".txz", ".7z", ".rar"}
_MOST = 9
_NAMED = 3
_END, _END_SIZE, _LONGEST_COMMENT = b"PK\x05\x06", 22, 0xFFFF
"""First bytes and size of the last record of a ZIP archive, and maximum size of the comment after
it."""
_DIRECTORY_SIZE = 12
"""In the last record of a ZIP archive, the position of the field with the size of the file list."""
_MOST_BYTES = 8 << 20
"""Maximum size of an archive's list of files, in bytes. Longer lists are not read, because a
damaged archive may claim any size."""


def is_archive(path: PurePosixPath) -> bool:
    """Return whether a file has the extension of an archive, which may hold many files.

    >>> [is_archive(PurePosixPath(name)) for name in ("a.zip", "a.tar.gz", "a.csv.gz")]
    [True, True, False]
    """
    suffix = path.suffix.lower()
    inner = PurePosixPath(path.stem).suffix.lower()
    return suffix in _ARCHIVES or (suffix in COMPRESSIONS and inner == ".tar")


def warn_of_archives(files: Sequence[ListedFile], warn: Warn) -> None:
    """Warn about archives, and name the tables in each ZIP archive that can be read.

    Nothing is extracted: the files in an archive may be of any size.

    Args:
        warn: Receives one line for each of the first archives, and one for all others.
    """
    lines = [f"{file.path}: {_describe(file)}" for file in files[:_MOST]]
    if rest := files[_MOST:]:
        others = number_of(len(rest), "more archive")
        lines.append(f"{others}, for example {rest[0].path}: extract them in their folders")
    for line in lines:
        warn(
            "Archive not read",
            "Tables in archives get no suggestions. Extract the archive in its folder, for example "
            "with `unzip`, or leave it out with `tables.deny`",
            line,
        )


def _describe(file: ListedFile) -> str:
    """Say which tables an archive holds, if that is known, and what to do."""
    listed = _files_in(Path(file.uri))
    if listed is None:
        return "extract it in its folder"
    names = [name for name in listed if split_name(name)[1]]
    texts = [name for name in listed if name.lower().endswith(TEXT)]
    if names:
        tables = f"{number_of(len(names), 'table')}, {name_some(names, _NAMED)}"
        return f"has {tables}; extract it in its folder"
    if texts:
        tables = f"{number_of(len(texts), 'text file')}, {name_some(texts, _NAMED)}"
        return f"has {tables}; extract it in its folder if it has tables"
    return "has no files of tables"


def _files_in(path: Path) -> list[str] | None:
    """List the files in a ZIP archive; return None if its list of files cannot be read.

    The reason may be that the file is remote, damaged or not a ZIP archive, or that the list is too
    long.
    """
    try:
        if not _has_short_list(path):
            return None
        with zipfile.ZipFile(path) as archive:
            return [_printable(name) for name in archive.namelist()]
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return None


def _has_short_list(path: Path) -> bool:
    """Return whether a file is a ZIP archive whose list of files is short enough to be read."""
    with path.open("rb") as file:
        start = max(0, file.seek(0, 2) - _END_SIZE - _LONGEST_COMMENT)
        file.seek(start)
        tail = file.read()
    at = tail.rfind(_END)
    return 0 <= at <= len(tail) - _END_SIZE and (
        unpack_from("<I", tail, at + _DIRECTORY_SIZE)[0] <= _MOST_BYTES
    )


def _printable(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name)


_MOST_KINDS = 9
_BESIDE_DATA = {
    *(".asc", ".crc", ".md", ".md5", ".rst", ".schema", ".sha1", ".sha256", ".sha512", ".sig"),
    # What databases keep beside their files.
    *(".db-journal", ".db-shm", ".db-wal", ".sqlite-journal", ".sqlite-shm", ".sqlite-wal", ".wal"),
    *("authors", "changelog", "citation", "copying", "desktop.ini", "licence", "license"),
    *("manifest", "notice", "readme", "thumbs.db"),
}
"""Endings and names of files that describe data or check it."""


def warn_of_unread_files(
    files: Sequence[ListedFile], selection: TableSelection, *, warn: Warn, count: Count
) -> None:
    """Warn about files that belong to no table.

    Each archive gets a warning of its own. Other files are grouped by their extensions.
    Descriptions, checksums and files that the selection leaves out are not listed.

    Args:
        warn: Receives one line for each archive and for each kind of file.
    """
    kinds: dict[str, list[str]] = defaultdict(list)
    archives: set[str] = set()
    for path in map(PurePosixPath, files_of_no_table(files)):
        if not selection.tables.allowed(str(path)) or _is_beside_data(path):
            continue
        if is_archive(path):
            archives.add(str(path))
        else:
            kinds[_kind(path)].append(str(path))
    count("files_not_read", len(archives) + sum(map(len, kinds.values())))
    warn_of_archives([file for file in files if file.path in archives], warn)
    listed = sorted(kinds.items(), key=lambda kind: -len(kind[1]))
    rest = [path for _, paths in listed[_MOST_KINDS:] for path in paths]
    for kind, paths in [*listed[:_MOST_KINDS], ("other kinds", rest)]:
        if paths:
            noun = "file" if len(paths) == 1 else "files"
            warn(
                "Files not read",
                "No table can be read from files of these kinds. Convert them to CSV or Parquet, "
                "read databases through `connections`, or leave files out with "
                "`tables.deny`",
                f"{kind}: {len(paths)} {noun}, for example {paths[0]}",
            )


def _is_beside_data(path: PurePosixPath) -> bool:
    name = path.name.lower()
    return not {path.suffix.lower(), name, name.partition(".")[0]}.isdisjoint(_BESIDE_DATA)


def _kind(path: PurePosixPath) -> str:
    """Return a file's extension, or both extensions if the file is compressed (`.csv.gz`).

    >>> [_kind(PurePosixPath(name)) for name in ("a.XML.gz", "b.pdf", "notes")]
    ['.xml.gz', '.pdf', 'no extension']
    """
    *inner, last = ("", *path.suffixes)
    kind = "".join([*inner[-1:], last]) if last.lower() in COMPRESSIONS else last
    return kind.lower() or "no extension"
