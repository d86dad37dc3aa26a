"""Read tables of ZIP archives, each copied to a private folder while it is read."""

import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import PurePosixPath

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.columns import Batches, Paths, TableStream
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.formats import (
    FileFormat,
    format_named,
    format_of_content,
    format_of_suffix,
    formats_in_doubt,
)
from datahub_hyperjoin.spark.files.stored import COMPRESSIONS, DataPath, open_in_order, path_of
from datahub_hyperjoin.storage import temporary_folder

_MOST_BYTES = 4 << 30
"""Largest file of an archive that is read. Its copy takes as much space."""
_IS_ENCRYPTED = 1
_BYTES_EXAMINED = 1 << 14


class ZipArchive(FileFormat):
    """A ZIP archive, whose files of tables are members."""

    name = "zip"
    title = "files in ZIP archives"
    suffixes = (".zip",)
    has_members = True

    def list_members(self, path: DataPath, *, views: bool = True) -> list[tuple[str, ...]]:
        """List the files that are tables."""
        del views
        with _opened(path) as archive:
            files = archive.infolist()
            return [(each.filename,) for each in files if _format_of(archive, each)]

    def read(self, file: File, paths: Paths) -> TableStream:
        """See `FileFormat.read`."""
        [member] = file.member
        with ExitStack() as opened:
            copy = opened.enter_context(temporary_folder()) / "member"
            with _opened(path_of(file)) as archive, copy.open("wb") as target:
                format_ = _format_of(archive, archive.getinfo(member))
                with archive.open(member) as source:
                    shutil.copyfileobj(source, target)
            inner = replace(file, uri=str(copy), format=format_ or "csv", member=(), store=None)
            stream = format_named(inner.format).read(inner, paths)
            # From here on, the returned stream removes the copy.
            return replace(stream, batches=_batches(stream.batches, opened.pop_all()))


def _batches(batches: Batches, opened: ExitStack) -> Batches:
    with opened:
        yield from batches


def _format_of(archive: zipfile.ZipFile, file: zipfile.ZipInfo) -> str:
    """Return the format of a table in an archive; empty for files that are not read."""
    path = PurePosixPath(file.filename)
    is_hidden = any(part.startswith((".", "_")) for part in path.parts)
    if file.is_dir() or is_hidden or file.flag_bits & _IS_ENCRYPTED:
        return ""
    inner = path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
    named = format_of_suffix(inner.suffix)
    doubtful = [] if named else formats_in_doubt(inner.suffix)
    if not 0 < file.file_size <= _MOST_BYTES or not (named or doubtful):
        return ""
    if named and (named.has_members or named.schema_suffix):
        return ""
    with archive.open(file) as opened:
        head = opened.read(_BYTES_EXAMINED)
    if found := format_of_content(head):
        return "" if format_named(found).has_members else found
    if named:
        return named.name
    from datahub_hyperjoin.spark.files.delimited import has_rows  # noqa: PLC0415 (above this room)

    return "csv" if has_rows(head) else ""


@contextmanager
def _opened(path: DataPath) -> Iterator[zipfile.ZipFile]:
    try:
        with open_in_order(path) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, KeyError, EOFError, zlib.error):
        raise UnreadableTableError.in_archive() from None
