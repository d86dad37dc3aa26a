"""List the ways in which DuckDB can read local files."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sqlglot import exp

from datahub_hyperjoin.file_formats import Dialect, FileFormat
from datahub_hyperjoin.locations import File, Folder
from datahub_hyperjoin.spark.files.stored import local_path
from datahub_hyperjoin.sql.write import name_in_sql
from datahub_hyperjoin.tables import Table

_STORES = {"s3": "s3://", "gcs": "gs://", "abs": "az://"}
"""Platforms whose tables are files of a store, with the prefix of their paths in DuckDB."""

_FUNCTIONS = {
    FileFormat.CSV: "read_csv",
    FileFormat.TSV: "read_csv",
    FileFormat.JSON_LINES: "read_json",
    FileFormat.JSON: "read_json",
    FileFormat.PARQUET: "read_parquet",
}
"""The DuckDB function that reads each file format; there is none for ORC and Avro."""

_NAMED = (".parquet", ".csv", ".tsv", ".json", ".jsonl", ".ndjson")
_COMPRESSED = ("", ".gz", ".zst")
_ENCODINGS = {"iso8859-1": "latin-1", "utf-16": "utf-16", "utf-16-le": "utf-16"}
"""Maps Python's names of encodings to DuckDB's names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAddresses:
    """The addresses by which readers of SQL open the files of a lake, wherever they are."""

    folder: Path
    """The lake's folder on this machine."""

    base: str = ""
    """The folder's address for readers, such as `s3://lake/exports`. By default, it follows from
    the tables' platform: the names of an object store's files are addresses without their scheme,
    and other files are opened where they are on this machine."""

    def of(self, table: Table, location: File | Folder) -> str:
        """Return the address of a file or folder.

        Args:
            table: The table.
            location: The location of its files.
        """
        path = local_path(location.uri).absolute()
        if self.base:
            inner = path.relative_to(self.folder.resolve()).as_posix()
            return f"{self.base.rstrip('/')}/{inner}"
        store, name = _STORES.get(table.id.platform), _own_name(table)
        # A dataset may stand for a folder in the store, of which this file is a copy.
        is_its_name = PurePosixPath(name).name.lower() == path.name.lower()
        return f"{store}{name}" if store and is_its_name else path.as_posix()


@dataclass(frozen=True, slots=True)
class FileReading:
    """One way in which DuckDB can read the files of a table."""

    name: str
    """The name under which the rows of the files are loaded into DuckDB."""

    shown: exp.Table
    """The table expression in SQL that people run."""

    source: exp.Table
    """Expression for a `FROM` clause that reads the files by their absolute paths."""

    is_guess: bool = False
    """Whether DuckDB guesses the types of text, so that it may fail on a later row."""

    is_text: bool = False
    """Whether all values are read as text."""


def is_readable(location: File | Folder) -> bool:
    """Return whether DuckDB can read the format of a file or folder."""
    return location.format in _FUNCTIONS


def file_readings(
    table: Table, location: File | Folder, addresses: FileAddresses | None = None
) -> Iterator[FileReading]:
    """Yield the ways in which DuckDB can read the files of a table, simplest first.

    Args:
        addresses: The addresses by which SQL names files. Without it, SQL names them by their
            tables, so that people run it in the folder of the tables.

    Yields:
        By the name alone, if that suffices; then by a function with the options that the recipe
        names; for delimited text, then all values as text.
    """
    if isinstance(location, File) and location.copy_of:
        path = str(local_path(location.uri))
        yield FileReading(table.id.name, name_in_sql(*location.copy_of), name_in_sql(path))
        return
    shown = addresses.of(table, location) if addresses else _shown_path(table)
    options = _options(location)
    pattern = _pattern(location)
    uri = str(local_path(location.uri).absolute())
    is_text = location.format.is_delimited
    guesses = is_text or location.format in {FileFormat.JSON_LINES, FileFormat.JSON}
    if isinstance(location, File) and not options and _is_named(shown):
        yield FileReading(shown, name_in_sql(shown), name_in_sql(uri), is_guess=guesses)
    else:
        calls = [_call(location, path + pattern, options) for path in (shown, uri)]
        yield FileReading(shown, calls[0], calls[1], is_guess=guesses)
    if not is_text:
        return
    # Text that is not UTF-8 is mostly Windows-1252, which Latin-1 nearly equals. In any other
    # encoding, DuckDB reads ASCII keys right.
    for encoding in dict.fromkeys([options.get("encoding"), "latin-1"]):
        added = {"encoding": encoding} if encoding else {}
        as_text = {**options, "header": True, "all_varchar": True, **added}
        calls = [_call(location, path + pattern, as_text) for path in (shown, uri)]
        yield FileReading(f"{shown} as text", calls[0], calls[1], is_text=True)


def _shown_path(table: Table) -> str:
    return _STORES.get(table.id.platform, "") + _own_name(table)


def _own_name(table: Table) -> str:
    name = table.id.name
    return name.removeprefix(f"{table.instance}.") if table.instance else name


def _is_named(path: str) -> bool:
    endings = tuple(name + compressed for name in _NAMED for compressed in _COMPRESSED)
    return path.lower().endswith(endings)


def _pattern(location: File | Folder) -> str:
    """Return the glob pattern of a folder's files; empty for a single file."""
    if isinstance(location, File):
        return ""
    endings = {"".join(PurePosixPath(part).suffixes[-2:]) for part in location.parts}
    ending = endings.pop() if len(endings) == 1 else ""
    return f"/**/*{ending if ending.count('.') == 1 else PurePosixPath(ending).suffix}"


def _options(location: File | Folder) -> dict[str, str | bool]:
    """Return the options that DuckDB needs to read a file or folder."""
    options: dict[str, str | bool] = {}
    if isinstance(location, Folder):
        # The files of a folder may lack columns, or have them in another order.
        options |= {"hive_partitioning": True, "union_by_name": True}
    if location.format.is_delimited:
        options |= _text_options(location.dialect)
    return options


def _text_options(dialect: Dialect) -> dict[str, str | bool]:
    written: dict[str, str | bool | None] = {
        "delim": dialect.delimiter,
        "quote": None if dialect.quote == Dialect().quote else dialect.quote,
        "escape": dialect.escape or None,
        "encoding": _encoding(dialect),
        # DuckDB's strict mode refuses an escape outside quotes.
        "strict_mode": False if dialect.escape else None,
    }
    return {name: value for name, value in written.items() if value is not None}


def _encoding(dialect: Dialect) -> str | None:
    if dialect.encoding is None:
        return None
    name = codecs.lookup(dialect.encoding).name
    return None if name == "utf-8" else _ENCODINGS.get(name, name)


def _call(location: File | Folder, path: str, options: dict[str, str | bool]) -> exp.Table:
    arguments: list[exp.Condition] = [exp.Literal.string(path)]
    for name, value in options.items():
        is_flag = isinstance(value, bool)
        literal = exp.Boolean(this=value) if is_flag else exp.Literal.string(str(value))
        arguments.append(exp.EQ(this=exp.to_identifier(name), expression=literal))
    function = exp.Anonymous(this=_FUNCTIONS[location.format], expressions=arguments)
    return exp.Table(this=function)
