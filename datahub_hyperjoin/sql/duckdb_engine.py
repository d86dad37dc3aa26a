"""Run SQL on local files with an in-memory DuckDB database.

Each table is loaded once: only its joined columns, under the name that statements give it. DuckDB
then looks the name up among its tables before it opens a file of that name, so a statement runs as
people see it, at the cost of reading each file once.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path, PurePosixPath
from threading import Lock, Timer, get_ident

import duckdb
from sqlglot import exp

from datahub_hyperjoin.locations import File, Folder, TableLocation
from datahub_hyperjoin.spark.files.folder import first_file
from datahub_hyperjoin.spark.files.formats import DuckDbCall, format_of
from datahub_hyperjoin.spark.files.header import ROW_NAME
from datahub_hyperjoin.spark.files.stored import local_path
from datahub_hyperjoin.sql.dialects import DUCKDB
from datahub_hyperjoin.sql.engines import SqlEngine
from datahub_hyperjoin.sql.errors import (
    StatementRefusedError,
    TableUnavailableError,
    TimeLimitError,
)
from datahub_hyperjoin.sql.write import TableInSql, name_in_sql
from datahub_hyperjoin.storage import temporary_folder
from datahub_hyperjoin.tables import Table, TableId

_STORES = {"s3": "s3://", "gcs": "gs://", "abs": "az://"}
"""Platforms whose tables are files of a store, with the prefix of their paths in DuckDB."""

_COMPRESSED = ("", ".gz", ".zst")
_OF_FOLDERS = {"hive_partitioning": True, "union_by_name": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAddresses:
    """The addresses by which readers of SQL open the files of a lake, wherever they are."""

    folder: Path
    base: str = ""
    """The folder's address for readers, such as `s3://lake/exports`. By default, it follows from
    the tables' platform: the names of an object store's files are addresses without their scheme,
    and other files are opened where they are on this machine."""

    def of(self, table: Table, location: File | Folder) -> str:
        """Return the address of a file or folder."""
        path = local_path(location.uri).absolute()
        if self.base:
            inner = path.relative_to(self.folder.resolve()).as_posix()
            return f"{self.base.rstrip('/')}/{inner}"
        store, name = _store_of(table), _own_name(table)
        # A dataset may stand for a folder in the store, of which this file is a copy.
        is_its_name = PurePosixPath(name).name.lower() == path.name.lower()
        return f"{store}{name}" if store and is_its_name else path.as_posix()


@dataclass(frozen=True, slots=True)
class FileReading:
    """One way in which DuckDB can read the files of a table."""

    name: str
    """The name under which the rows of the files are loaded into DuckDB."""

    shown: exp.Table
    source: exp.Table
    """Expression for a `FROM` clause that reads the files by their absolute paths."""

    call: DuckDbCall


def _file_readings(
    table: Table, location: File | Folder, addresses: FileAddresses | None = None
) -> Iterator[FileReading]:
    """Yield the ways in which DuckDB can read the files of a table, simplest first."""
    if isinstance(location, File) and location.copy_of:
        path = str(local_path(location.uri))
        [call] = format_of(location).duckdb_calls_of(location)
        yield FileReading(table.id.name, name_in_sql(*location.copy_of), name_in_sql(path), call)
        return
    shown = addresses.of(table, location) if addresses else _store_of(table) + _own_name(table)
    # The name of a file is a pattern for DuckDB.
    shown, uri = escape(shown), escape(str(local_path(location.uri).absolute()))
    ends = _ends(location)
    if isinstance(location, Folder) and location.newest and not addresses:
        # The table is called after one of its files.
        shown = shown.removesuffix(escape(location.newest)).rstrip("/") or "."
    first = location if isinstance(location, File) else first_file(location)
    for call in format_of(location).duckdb_calls_of(first):
        if isinstance(location, File) and not call.options and _is_enough(shown, call):
            yield FileReading(shown, name_in_sql(shown), name_in_sql(uri), call)
        else:
            # The files of a folder may lack columns, or have them in another order.
            of_folder = {} if isinstance(location, File) else _OF_FOLDERS
            named, source = (_table(call, path, ends, of_folder) for path in (shown, uri))
            name = f"{shown} as text" if call.is_text else shown
            yield FileReading(name, named, source, call)


def _store_of(table: Table) -> str:
    return _STORES.get(table.id.platform, "")


def _own_name(table: Table) -> str:
    name = table.id.name
    return name.removeprefix(f"{table.instance}.") if table.instance else name


def _is_enough(path: str, call: DuckDbCall) -> bool:
    """Return whether DuckDB calls this function if it is given the path alone."""
    return path.lower().endswith(
        tuple(name + compressed for name in call.suffixes for compressed in _COMPRESSED)
    )


def _ends(location: File | Folder) -> list[str]:
    """Return what follows the path of a folder: a glob pattern of its files, or each file."""
    if isinstance(location, File):
        return [""]
    if location.pattern:
        return [f"/{location.pattern}"]
    if location.has_others:
        return [f"/{escape(part)}" for part in location.parts]
    endings = {"".join(PurePosixPath(part).suffixes[-2:]) for part in location.parts}
    ending = endings.pop() if len(endings) == 1 else ""
    # A pattern of any depth would read what a program has not yet written to its end.
    depths = {part.count("/") for part in location.parts}
    inner = "/*" * depths.pop() if len(depths) == 1 else "/**"
    return [f"{inner}/*{ending if ending.count('.') == 1 else PurePosixPath(ending).suffix}"]


def _table(
    call: DuckDbCall, path: str, ends: Sequence[str], of_folder: Mapping[str, str | int]
) -> exp.Table:
    files: list[exp.Condition] = [exp.Literal.string(path + end) for end in ends]
    arguments: list[exp.Condition] = files if len(files) == 1 else [exp.Array(expressions=files)]
    for name, value in {**of_folder, **call.options}.items():
        literal = exp.convert(value)
        # A control character would be invisible.
        if isinstance(value, str) and not value.isprintable():
            literal = exp.Chr(expressions=[exp.convert(ord(value))])
        arguments.append(exp.EQ(this=exp.to_identifier(name), expression=literal))
    return exp.Table(this=exp.Anonymous(this=call.function, expressions=arguments))


_JSON = "read_json"
"""The function for which columns have no order."""
_PLACED = re.compile(r"column_?\d+")
_NUMBER = re.compile(r"(_\d+)+$")
_THREADS = 4
_MEMORY = "2GB"
"""Maximum memory of DuckDB; beyond it, DuckDB writes to a private temporary folder."""


class _WaysToRead:
    """The ways to read a table, each of which is loaded on first use."""

    def __init__(self, unread: Iterator[TableInSql]) -> None:
        self._unread = unread
        self._lock = Lock()
        self._read: list[TableInSql] = []
        self._error: TimeLimitError | None = None

    def get(self, number: int) -> TableInSql | None:
        """Return the way with index `number` to read the table; None if there are fewer ways."""
        with self._lock:
            while len(self._read) <= number:
                if self._error:
                    raise self._error
                try:
                    self._read.append(next(self._unread))
                except StopIteration:
                    return None
                except TimeLimitError as error:
                    # Kept, because another attempt would take as long.
                    self._error = error
            return self._read[number]


class DuckDbEngine(SqlEngine):
    """An in-memory DuckDB database that runs SQL on local files."""

    dialect = DUCKDB
    threads = 2  # small tables keep one thread of DuckDB busy, and Python half of another

    def __init__(
        self,
        columns: Mapping[TableId, Mapping[str, int | None]],
        *,
        timeout: float,
        addresses: FileAddresses | None = None,
    ) -> None:
        self._columns = columns
        self._addresses = addresses
        self._timeout = timeout
        self._ways: dict[TableId, _WaysToRead] = {}
        self._names: set[str] = set()
        self._naming = Lock()
        self._cursors: dict[int, duckdb.DuckDBPyConnection] = {}
        self._open = ExitStack()
        self._connection = duckdb.connect(
            config={
                "threads": min(_THREADS, os.cpu_count() or 1),
                "memory_limit": _MEMORY,
                "temp_directory": str(self._open.enter_context(temporary_folder())),
                # Nothing is fetched from the network.
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )

    def close(self) -> None:
        """Close the database, and delete its temporary folder."""
        for cursor in self._cursors.values():
            cursor.close()
        self._connection.close()
        self._open.close()

    def fetch(self, query: str) -> list[tuple[object, ...]]:
        """Run a query, and return its rows."""
        with self._limited() as cursor:
            return cursor.execute(query).fetchall()

    def execute(self, statement: str) -> None:
        """Run a statement, and ignore its rows."""
        with self._limited() as cursor:
            cursor.execute(statement)

    def interrupt(self) -> None:
        """End the queries of all threads."""
        for cursor in [*self._cursors.values()]:
            cursor.interrupt()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """Return this thread's own connection to the database."""
        if (thread := get_ident()) not in self._cursors:
            cursor = self._connection.cursor()
            # A table's name never means a variable of this program.
            cursor.execute("SET python_enable_replacements = false")
            self._cursors[thread] = cursor
        return self._cursors[thread]

    def readings(self, table: Table) -> Iterator[TableInSql]:
        """Yield the ways in which DuckDB can read a table."""
        # Each way is loaded on first use.
        ways = self._ways.setdefault(table.id, _WaysToRead(self._load_all(table)))
        number = 0
        while (reading := ways.get(number)) is not None:
            yield reading
            number += 1
        if not number:
            raise TableUnavailableError.in_system(
                str(table.id), DUCKDB.title, _obstacle(table.location)
            )

    def _load_all(self, table: Table) -> Iterator[TableInSql]:
        """Load a table once for each way in which DuckDB can read its files."""
        # The table is loaded as text in one encoding only.
        location = table.location
        if not isinstance(location, File | Folder):
            return
        # The files of a folder have columns in different orders.
        places = self._columns[table.id]
        places = places if isinstance(location, File) else dict.fromkeys(places)
        has_text = False
        for reading in _file_readings(table, location, self._addresses):
            if reading.call.is_text and has_text:
                continue
            with suppress(StatementRefusedError, TableUnavailableError):
                yield self._load(reading, places)
                has_text = has_text or reading.call.is_text

    def _load(self, reading: FileReading, places: Mapping[str, int | None]) -> TableInSql:
        """Load the joined columns of a table."""
        # If DuckDB guesses types, all columns are read first, to see that no row fails.
        source, loaded = DUCKDB.write(reading.source), name_in_sql(self._unused(reading.name))
        types = {str(name): str(kind) for name, kind, *_ in self.fetch(f"DESCRIBE FROM {source}")}
        if reading.call.function == _JSON or any(
            kind.startswith("STRUCT") for kind in types.values()
        ):
            places = dict.fromkeys(places)
        members = {path: _members(path, at, [*types]) for path, at in places.items()}
        # An object of columns is one row of lists or objects for DuckDB.
        are_lists = all(kind.endswith("[]") for kind in types.values())
        if are_lists or any(_is_nested(types[first], inner) for first, *inner in members.values()):
            raise TableUnavailableError.in_system(reading.name, DUCKDB.title)
        tops = dict.fromkeys(DUCKDB.write(name_in_sql(first)) for first, *_ in members.values())
        # People's statement reads all columns of all rows, where a guess may turn out to be wrong.
        if reading.call.is_guess:
            self.execute(f"SELECT COUNT(COLUMNS(*)) FROM {source}")  # noqa: S608 (own names)
        self.execute(
            f"CREATE TABLE {DUCKDB.write(loaded)} AS SELECT {', '.join(tops)} FROM {source}"  # noqa: S608
        )
        binary = frozenset(path for path, names in members.items() if types[names[0]] == "BLOB")
        return TableInSql(shown=reading.shown, run=loaded, members=members, binary=binary)

    def _unused(self, name: str) -> str:
        """Append `'` to a table name as often as needed to make it unique, ignoring case."""
        # DuckDB ignores the case of names, and file systems do not.
        # Nearly always the name is free, so that the statement which is run is the one that is
        # shown.
        with self._naming:
            while name.lower() in self._names:
                name += "'"
            self._names.add(name.lower())
        return name

    @contextmanager
    def _limited(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield this thread's connection, and interrupt its queries at the time limit."""
        # Errors that it raises contain no data.
        cursor = self._cursor()
        timer = Timer(self._timeout, cursor.interrupt)
        timer.start()
        try:
            yield cursor
        except duckdb.InterruptException:
            raise TimeLimitError.after(self._timeout) from None
        except duckdb.Error as error:
            raise StatementRefusedError.by(DUCKDB.title, type(error).__name__) from None
        finally:
            timer.cancel()


def _members(path: str, place: int | None, names: Sequence[str]) -> tuple[str, ...]:
    """Split a path into the names of a column and its struct members."""
    # DuckDB numbers columns of one name, in any case, and those without a name in another way.
    place = 0 if path == ROW_NAME else place
    if place is not None and place < len(names) and _is_made_of(names[place], path):
        return (names[place],)
    starts = [name for name in names if path == name or path.startswith(f"{name}.")]
    if not starts:
        raise TableUnavailableError.in_system(path, DUCKDB.title)
    # A column may be named like a path, such as `a.b` beside a struct `a`.
    name = max(starts, key=len)
    inner = path.removeprefix(name).removeprefix(".")
    return (name, *(inner.split(".") if inner else ()))


def _obstacle(location: TableLocation) -> str:
    if not isinstance(location, File | Folder):
        return ""
    first = location if isinstance(location, File) else first_file(location)
    return format_of(first).duckdb_obstacle(first)


_LIST = re.compile(r"(VARCHAR|U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER)\[\]")


def _is_nested(kind: str, inner: Sequence[str]) -> bool:
    # A list of texts or of whole numbers is read as its text.
    is_deep = kind.endswith("[]") and not _LIST.fullmatch(kind)
    return is_deep or (not inner and kind.startswith(("STRUCT", "MAP")))


def _is_made_of(name: str, path: str) -> bool:
    """Return whether a name in DuckDB is that of a column, which may be numbered in either.

    >>> _is_made_of("id_1", "id_2"), _is_made_of("column4", "column_5"), _is_made_of("a", "a_2")
    (True, True, False)
    """
    if _PLACED.fullmatch(name):
        return path == ROW_NAME or _PLACED.fullmatch(path) is not None
    return name == path or _NUMBER.sub("", name) == _NUMBER.sub("", path) != name
