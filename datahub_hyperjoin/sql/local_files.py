"""List the ways in which DuckDB can read local files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sqlglot import exp

from datahub_hyperjoin.locations import File, Folder
from datahub_hyperjoin.spark.files.formats import DuckDbCall, format_of
from datahub_hyperjoin.spark.files.stored import local_path
from datahub_hyperjoin.sql.write import name_in_sql
from datahub_hyperjoin.tables import Table

_STORES = {"s3": "s3://", "gcs": "gs://", "abs": "az://"}
"""Platforms whose tables are files of a store, with the prefix of their paths in DuckDB."""

_COMPRESSED = ("", ".gz", ".zst")
_OF_FOLDERS = {"hive_partitioning": True, "union_by_name": True}


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

    call: DuckDbCall
    """How the format reads them."""


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
        [call] = format_of(location).duckdb_calls(location.dialect)
        yield FileReading(table.id.name, name_in_sql(*location.copy_of), name_in_sql(path), call)
        return
    shown = addresses.of(table, location) if addresses else _shown_path(table)
    uri = str(local_path(location.uri).absolute())
    pattern = _pattern(location)
    for call in format_of(location).duckdb_calls(location.dialect):
        if isinstance(location, File) and not call.options and _is_enough(shown, call):
            yield FileReading(shown, name_in_sql(shown), name_in_sql(uri), call)
        else:
            # The files of a folder may lack columns, or have them in another order.
            of_folder = {} if isinstance(location, File) else _OF_FOLDERS
            named, source = (_table(call, path + pattern, of_folder) for path in (shown, uri))
            name = f"{shown} as text" if call.is_text else shown
            yield FileReading(name, named, source, call)


def _shown_path(table: Table) -> str:
    return _STORES.get(table.id.platform, "") + _own_name(table)


def _own_name(table: Table) -> str:
    name = table.id.name
    return name.removeprefix(f"{table.instance}.") if table.instance else name


def _is_enough(path: str, call: DuckDbCall) -> bool:
    """Return whether DuckDB calls this function if it is given the path alone."""
    return path.lower().endswith(
        tuple(name + compressed for name in call.suffixes for compressed in _COMPRESSED)
    )


def _pattern(location: File | Folder) -> str:
    """Return the glob pattern of a folder's files; empty for a single file."""
    if isinstance(location, File):
        return ""
    endings = {"".join(PurePosixPath(part).suffixes[-2:]) for part in location.parts}
    ending = endings.pop() if len(endings) == 1 else ""
    return f"/**/*{ending if ending.count('.') == 1 else PurePosixPath(ending).suffix}"


def _table(call: DuckDbCall, path: str, of_folder: Mapping[str, str | bool]) -> exp.Table:
    arguments: list[exp.Condition] = [exp.Literal.string(path)]
    for name, value in {**of_folder, **call.options}.items():
        is_flag = isinstance(value, bool)
        literal = exp.Boolean(this=value) if is_flag else exp.Literal.string(str(value))
        arguments.append(exp.EQ(this=exp.to_identifier(name), expression=literal))
    return exp.Table(this=exp.Anonymous(this=call.function, expressions=arguments))
