"""Warn users about files that are not tables, so that nothing is left out silently."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath

from datahub_hyperjoin.catalog.archives import is_archive, warn_of_archives
from datahub_hyperjoin.catalog.files import files_of_no_table
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import ListedFile
from datahub_hyperjoin.progress import Count, Warn
from datahub_hyperjoin.spark.files.compression import COMPRESSIONS

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
