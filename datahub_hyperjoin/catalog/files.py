"""Recognise tables among the files of a local or remote folder, and tell which files are none."""

import lzma
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path, PurePosixPath
from struct import unpack_from

from datahub_hyperjoin.catalog.errors import UnknownSheetError
from datahub_hyperjoin.catalog.series import (
    HUDI_FILE,
    HUDI_LOG,
    HUDI_TABLE,
    is_hudi_metadata,
    newest_of_hudi,
)
from datahub_hyperjoin.catalog.table_selection import TableSelection, name_in_excel
from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import (
    DeltaFolder,
    File,
    Folder,
    IcebergFolder,
    ListedFile,
    ObjectStore,
    TableLocation,
)
from datahub_hyperjoin.progress import Count, Warn
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.delimited import Csv, DelimitedText
from datahub_hyperjoin.spark.files.excel import Workbook, can_read_workbooks
from datahub_hyperjoin.spark.files.formats import (
    format_named,
    format_of_content,
    format_of_suffix,
    formats_in_doubt,
)
from datahub_hyperjoin.spark.files.stored import (
    COMPRESSIONS,
    DELTA_LOG,
    ICEBERG_METADATA,
    DecompressedFile,
    StoredFile,
)
from datahub_hyperjoin.tables import Table
from datahub_hyperjoin.wording import name_some, number_of

_ARCHIVE = "zip"
"""Name of the format of archives whose members are tables."""
_PART_PREFIX = "part-"
"""Prefix of the files that Spark and Hadoop write for one table."""


def tables_of(
    files: Sequence[ListedFile],
    selection: TableSelection,
    *,
    folder: str = "",
    store: ObjectStore | None = None,
) -> list[Table]:
    """Group the files of a folder into tables."""
    files = newest_of_hudi(files)
    formatted = _tables_with_metadata(files)
    paths = [PurePosixPath(file.path) for file in files]
    hudi = {path.parent.parent for path in paths if path.match(HUDI_TABLE)}
    by_path = {file.path: file for file in files}
    # Files of several formats in one folder are as many tables.
    members: dict[tuple[PurePosixPath, str | None], list[ListedFile]] = defaultdict(list)
    for file in files:
        path = PurePosixPath(file.path)
        table = _table_path(path, formatted.keys() | hudi)
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
                state=state_of([*described_by, *_schema_of(table, format_, by_path)]),
            )
        )
    return tables


def _schema_of(
    table: PurePosixPath, format_: str | None, files: Mapping[str, ListedFile]
) -> list[ListedFile]:
    """Return the file beside a table's file that describes it, if the format has such files."""
    suffix = format_named(format_).schema_suffix if format_ else ""
    schema = files.get(f"{_without_compression(table)}{suffix}")
    return [schema] if suffix and schema else []


def _files_of_no_table(files: Sequence[ListedFile]) -> list[str]:
    """List the files that do not belong to any table."""
    formatted = _tables_with_metadata(files).keys()
    return [
        file.path
        for file in files
        if _format_of(file) is None
        and PurePosixPath(file.path).parent.name != DELTA_LOG
        and not is_hudi_metadata(PurePosixPath(file.path))
        and _table_path(PurePosixPath(file.path), formatted) not in formatted
    ]


def _without_compression(path: PurePosixPath) -> PurePosixPath:
    """Return a file's path without the extension of its compression, such as `.gz`."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path


def split_name(name: str) -> tuple[str, str | None]:
    """Split a file or folder name into its base name and the file format of its extensions.

    >>> split_name("flights.csv.gz"), split_name("orders"), split_name("stops.txt")
    (('flights', 'csv'), ('orders', None), ('stops', None))
    """
    path = PurePosixPath(name)
    inner = _without_compression(path)
    is_compressed = inner != path
    format_ = format_of_suffix(inner.suffix)
    if format_ is None or format_.has_members or (is_compressed and not format_.may_be_compressed):
        in_doubt = any(not each.has_members for each in formats_in_doubt(inner.suffix))
        return (inner.stem if in_doubt else name), None
    return inner.stem, format_.name


def _table_path(
    path: PurePosixPath, formatted: AbstractSet[PurePosixPath] = frozenset()
) -> PurePosixPath:
    """Return the path of the table to which a file belongs: the file itself or a folder above it.

    >>> [str(_table_path(PurePosixPath(name))) for name in ("a/b.csv", "a.parquet/0.parquet")]
    ['a/b.csv', 'a.parquet']
    >>> str(_table_path(PurePosixPath("sales/orders/year=2024/month=1/x.parquet")))
    'sales/orders'
    >>> str(_table_path(PurePosixPath("sales/orders/part-00000-x.snappy.parquet")))
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
    is_part = path.name.startswith(_PART_PREFIX) or HUDI_FILE.fullmatch(path.name)
    return path.parent if is_part and parents else path


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
        elif any(PurePosixPath(file.path).match(ICEBERG_METADATA) for file in own):
            tables[table] = IcebergFolder(uri=_uri(table, own[0])), own
    return tables


def _format_of(file: ListedFile) -> str | None:
    """Return the format of a data file; None for any other file."""
    path = PurePosixPath(file.path)
    if path.parent.name == DELTA_LOG or file.format == _ARCHIVE:
        return None
    return file.format or split_name(path.name)[1]


def _uri(table: PurePosixPath, file: ListedFile) -> str:
    return file.uri.removesuffix(file.path) + str(table)


def _location(
    table: PurePosixPath,
    format_: str,
    files: Sequence[ListedFile],
    selection: TableSelection,
    store: ObjectStore | None,
) -> TableLocation:
    uri = _uri(table, files[0])
    dialect = selection.dialect_of(files[0].path)
    if str(table) == files[0].path:
        return File(uri=uri, format=format_, dialect=dialect, store=store)
    parts = tuple(str(PurePosixPath(file.path).relative_to(table)) for file in files)
    return Folder(
        uri=uri,
        format=format_,
        parts=parts,
        dialect=dialect,
        store=store,
        has_others=any(HUDI_FILE.fullmatch(PurePosixPath(part).name) for part in parts),
    )


def state_of(files: Sequence[ListedFile]) -> str:
    """Hash the paths, sizes and modification times of files."""
    seen = sorted((file.path, file.size, file.changed) for file in files)
    return sha256(repr(seen).encode()).hexdigest()


def recognise_formats(
    files: Sequence[ListedFile], selection: TableSelection, store: ObjectStore | None = None
) -> list[ListedFile]:
    """Look into the files whose names may say another format than their content has.

    In object stores, only files whose names leave the format in doubt are looked into, since each
    look is a request.
    """
    found = ((file, _format_by_content(file, selection, store)) for file in files)
    return [replace(file, format=format_) if format_ else file for file, format_ in found]


def _format_by_content(
    file: ListedFile, selection: TableSelection, store: ObjectStore | None
) -> str:
    inner = _without_compression(PurePosixPath(file.path))
    named = format_of_suffix(inner.suffix)
    # Files of many tables are looked into where these are listed.
    possible = [each for each in formats_in_doubt(inner.suffix) if not each.has_members]
    if not (possible or (named and not store)) or not selection.tables.allowed(file.path):
        return ""
    path = StoredFile(file.uri, store) if store else Path(file.uri)
    # What cannot be read is reported among the files that are not read.
    with suppress(OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, TableError):
        with DecompressedFile(path) as opened:
            found = format_of_content(opened.read(_BYTES_LOOKED_AT))
        if found:
            is_as_named = named and (
                named.name == found
                or {named.name, found} == _JSON_FORMATS
                # The first bytes need not show that an archive is a workbook.
                or (found == _ARCHIVE and named.has_members)
            )
            return "" if is_as_named else found
        if named and (isinstance(named, DelimitedText) or named.schema_suffix):
            return ""
        for format_ in possible or [Csv()]:
            if format_.recognises(path, selection.dialect_of(file.path)):
                return format_.name
    return ""


_BYTES_LOOKED_AT = 1 << 12
_JSON_FORMATS = {"json", "jsonl"}

_LOCKS = "~$*"
"""Pattern of the names of lock files, which exist while somebody has a workbook open."""


def is_workbook(file: ListedFile) -> bool:
    """Return whether a file has the extension of a workbook, and no other content."""
    return (file.format or _format_named(file)) == Workbook.name


def _format_named(file: ListedFile) -> str:
    named = format_of_suffix(PurePosixPath(file.path).suffix)
    return named.name if named else ""


def tables_of_workbooks(
    files: Sequence[ListedFile],
    selection: TableSelection,
    *,
    folder: str = "",
    store: ObjectStore | None = None,
    warn: Warn,
    count: Count,
) -> list[Table]:
    """List the sheets of workbooks as tables."""
    files = [
        file for file in files if is_workbook(file) and not PurePosixPath(file.path).match(_LOCKS)
    ]
    if files and not can_read_workbooks():
        count("files_not_read", len(files))
        warn(
            "Excel files not read",
            "Their sheets get no suggestions, since the package that reads them is missing",
            f"{number_of(len(files), 'file')}, for example {files[0].path}; run "
            "`pip install 'datahub-hyperjoin[excel]'`",
        )
        return []
    tables: list[Table] = []
    others: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for file in files:
        wanted = selection.options_of(file.path).sheet
        try:
            names = [sheet for (sheet,) in _list_sheets(file, store)]
            chosen = [name for name in names if wanted is None or fnmatchcase(name, wanted)]
            tables += _tables_of_workbook(file, chosen, selection, folder, store)
            if wanted:
                others[wanted][file.path] = [] if chosen else names
        except TableError as error:
            count("files_not_read", 1)
            warn(
                "Workbook not read",
                "Its sheets get no suggestions. Leave it out with `tables.deny`",
                f"{file.path} {error}",
            )
    for sheet, found in others.items():
        _miss_sheet(sheet, found, warn, count)
    return tables


def _miss_sheet(sheet: str, found: Mapping[str, list[str]], warn: Warn, count: Count) -> None:
    """Tell which workbooks lack a sheet that was asked for; raise an error if all do."""
    if all(found.values()):
        raise UnknownSheetError.named(sheet, among=found)
    for path, names in found.items():
        if names:
            count("files_not_read", 1)
            warn(
                "Workbook without the sheet",
                "None of its sheets is read. Correct `sheet`, or its `pattern`",
                f"{path} has no sheet {sheet!r}, only {name_some(names)}",
            )


def _tables_of_workbook(
    file: ListedFile,
    sheets: Sequence[str],
    selection: TableSelection,
    folder: str,
    store: ObjectStore | None,
) -> Iterator[Table]:
    dialect = selection.dialect_of(file.path)
    is_excel = selection.platform == "excel"
    for sheet in sheets:
        name = f"{file.path}/{sheet}"
        if selection.tables.allowed(name):
            yield selection.table(
                folder=folder,
                table=name_in_excel(file.path, sheet) if is_excel else name,
                title=sheet,
                location=File(
                    uri=file.uri,
                    format=Workbook.name,
                    member=(sheet,),
                    dialect=dialect,
                    store=store,
                ),
                size=file.size,
                state=state_of([file]),
            )


def _list_sheets(file: ListedFile, store: ObjectStore | None) -> list[tuple[str, ...]]:
    if store is None:
        return Workbook().list_members(Path(file.uri))
    try:
        return Workbook().list_members(StoredFile(file.uri, store))
    except OSError as error:
        raise UnreadableTableError.because(str(error)) from error


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


def _is_archive(path: PurePosixPath) -> bool:
    """Return whether a file has the extension of an archive, which may hold many files.

    >>> [_is_archive(PurePosixPath(name)) for name in ("a.zip", "a.tar.gz", "a.csv.gz")]
    [True, True, False]
    """
    suffix = path.suffix.lower()
    inner = PurePosixPath(path.stem).suffix.lower()
    return suffix in _ARCHIVES or (suffix in COMPRESSIONS and inner == ".tar")


def tables_of_archives(
    files: Sequence[ListedFile], selection: TableSelection, *, warn: Warn
) -> list[Table]:
    """List the tables in the ZIP archives of a local folder, and name the files that are none."""
    tables: list[Table] = []
    for file in files:
        if PurePosixPath(file.path).suffix.lower() != _ZIP and file.format != _ARCHIVE:
            continue
        with suppress(TableError):
            members = _members_of(file)
            found = [*_tables_of_archive(file, members, selection)]
            read = {_printable(name) for (name,) in members}
            rest = [name for name in _files_in(Path(file.uri)) or () if name not in read]
            others = [name for name in rest if _may_be_table(PurePosixPath(name))]
            if found and others:
                line = f"{file.path}: {name_some(others, _NAMED)}; extract what is a table"
                _warn_of_archive(warn, line)
            tables += found
    return tables


_ZIP = ".zip"


def _members_of(file: ListedFile) -> Sequence[tuple[str, ...]]:
    path = Path(file.uri)
    return format_named(_ARCHIVE).list_members(path) if _files_in(path) is not None else []


def _may_be_table(path: PurePosixPath) -> bool:
    is_hidden = any(part.startswith((".", "_")) for part in path.parts)
    return not is_hidden and (format_of_suffix(path.suffix) is not None or _is_archive(path))


def _tables_of_archive(
    file: ListedFile, members: Sequence[tuple[str, ...]], selection: TableSelection
) -> Iterator[Table]:
    for (member,) in members:
        name = f"{file.path}/{member}"
        if selection.tables.allowed(name):
            yield selection.table(
                folder="",
                table=name,
                title=split_name(PurePosixPath(member).name)[0],
                location=File(
                    uri=file.uri,
                    format=_ARCHIVE,
                    member=(member,),
                    dialect=selection.dialect_of(name),
                ),
                size=file.size,
                state=state_of([file]),
            )


def _warn_of_archives(files: Sequence[ListedFile], warn: Warn) -> None:
    """Warn about archives of which no table is read."""
    lines = [f"{file.path}: extract it in its folder if it has tables" for file in files[:_MOST]]
    if rest := files[_MOST:]:
        others = number_of(len(rest), "more archive")
        lines.append(f"{others}, for example {rest[0].path}: extract them in their folders")
    for line in lines:
        _warn_of_archive(warn, line)


def _warn_of_archive(warn: Warn, line: str) -> None:
    warn(
        "Archive not read",
        "Only text, JSON, Parquet, ORC and Avro in ZIP archives without a password are read. "
        "Extract the rest in its folder, for example with `unzip`, or leave it out with "
        "`tables.deny`",
        line,
    )


def _files_in(path: Path) -> list[str] | None:
    """List the files in a ZIP archive; return None if its list of files cannot be read."""
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


_MOST_KINDS, _MOST_NAMED = 9, 40
"""Maximum number of kinds of files with a line of their own, and of others that are named."""
_BESIDE_DATA = {
    *(".asc", ".crc", ".md", ".md5", ".rst", ".schema", ".sha1", ".sha256", ".sha512", ".sig"),
    # What databases keep beside their files.
    *(".db-journal", ".db-shm", ".db-wal", ".sqlite-journal", ".sqlite-shm", ".sqlite-wal", ".wal"),
    *("authors", "changelog", "citation", "copying", "desktop.ini", "licence", "license"),
    *("manifest", "notice", "readme", "thumbs.db"),
}
"""Endings and names of files that describe data or check it."""


def warn_of_unused_options(
    files: Sequence[ListedFile], selection: TableSelection, *, warn: Warn
) -> None:
    """Warn about patterns that no file fits."""
    for each in selection.options:
        fitting = [file for file in files if each.fits(file.path)]
        asked = f", of which sheet {each.sheet!r} was asked for" if each.sheet else ""
        if files and not (any(map(is_workbook, fitting)) if asked else fitting):
            noun = "workbook" if asked else "file"
            warn(
                "Options of no file",
                "Correct the `pattern`, which is compared with the path below the folder",
                f"no {noun} fits {each.pattern!r}{asked}",
            )


def warn_of_unread_files(
    files: Sequence[ListedFile], selection: TableSelection, *, warn: Warn, count: Count
) -> None:
    """Warn about files that belong to no table."""
    kinds: dict[str, list[str]] = defaultdict(list)
    zipped = {file.path for file in files if file.format == _ARCHIVE}
    archives: set[str] = set()
    for path in map(PurePosixPath, _files_of_no_table(files)):
        if not selection.tables.allowed(str(path)) or _is_beside_data(path):
            continue
        if _is_archive(path) or str(path) in zipped:
            archives.add(str(path))
        else:
            kinds[_kind(path)].append(str(path))
    logs = [file.path for file in files if HUDI_LOG.fullmatch(PurePosixPath(file.path).name)]
    count("files_not_read", len(archives) + len(logs) + sum(map(len, kinds.values())))
    if logs:
        warn(
            "Log files of Hudi not read",
            "Rows changed since the last compaction are read as they were. Compact the table, or "
            "read it with Spark through `connections`",
            f"{number_of(len(logs), 'file')}, for example {logs[0]}",
        )
    _warn_of_archives([file for file in files if file.path in archives], warn)
    listed = sorted(kinds.items(), key=lambda kind: -len(kind[1]))
    others = dict(listed[_MOST_KINDS:])
    rest = [path for paths in others.values() for path in paths]
    named = f"other kinds ({name_some([*others], _MOST_NAMED)})"
    for kind, paths in [*listed[:_MOST_KINDS], (named, rest)]:
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
