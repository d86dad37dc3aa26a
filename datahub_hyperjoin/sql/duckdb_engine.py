"""Run SQL on local files with an in-memory DuckDB database.

Each table is loaded once: only its joined columns, under the name that statements give it. DuckDB
then looks the name up among its tables before it opens a file of that name, so a statement runs as
people see it, at the cost of reading each file once.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock, Timer, get_ident

import duckdb

from datahub_hyperjoin.locations import File, Folder
from datahub_hyperjoin.spark.files.header import ROW_NAME
from datahub_hyperjoin.sql.dialects import DUCKDB
from datahub_hyperjoin.sql.engines import SqlEngine
from datahub_hyperjoin.sql.errors import (
    StatementRefusedError,
    TableUnavailableError,
    TimeLimitError,
)
from datahub_hyperjoin.sql.local_files import FileAddresses, FileReading, file_readings
from datahub_hyperjoin.sql.write import TableInSql, name_in_sql
from datahub_hyperjoin.storage import temporary_folder
from datahub_hyperjoin.tables import Table, TableId

_NUMBERED = re.compile(r"column0+")
_THREADS = 4
_MEMORY = "2GB"
"""Maximum memory of DuckDB; beyond it, DuckDB writes to a private temporary folder."""


class _WaysToRead:
    """The ways to read a table.

    Each way is loaded on first use.
    """

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
    """An in-memory DuckDB database that runs SQL on local files.

    Args:
        addresses: The addresses by which the SQL that people see names files.
    """

    dialect = DUCKDB
    threads = 2  # small tables keep one thread of DuckDB busy, and Python half of another

    def __init__(
        self,
        columns: Mapping[TableId, Collection[str]],
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
        """Run a query, and return its rows.

        See `SqlEngine.fetch`.
        """
        with self._limited() as cursor:
            return cursor.execute(query).fetchall()

    def execute(self, statement: str) -> None:
        """Run a statement, and ignore its rows.

        See `SqlEngine.execute`.
        """
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
        """Yield the ways in which DuckDB can read a table.

        Each way is loaded on first use.
        """
        ways = self._ways.setdefault(table.id, _WaysToRead(self._load_all(table)))
        number = 0
        while (reading := ways.get(number)) is not None:
            yield reading
            number += 1
        if not number:
            raise TableUnavailableError.in_system(str(table.id), DUCKDB.title)

    def _load_all(self, table: Table) -> Iterator[TableInSql]:
        """Load a table once for each way in which DuckDB can read its files.

        The table is loaded as text in one encoding only.
        """
        location = table.location
        if not isinstance(location, File | Folder):
            return
        has_text = False
        for reading in file_readings(table, location, self._addresses):
            if reading.call.is_text and has_text:
                continue
            with suppress(StatementRefusedError, TableUnavailableError):
                yield self._load(reading, self._columns[table.id])
                has_text = has_text or reading.call.is_text

    def _load(self, reading: FileReading, paths: Collection[str]) -> TableInSql:
        """Load the joined columns of a table.

        If DuckDB guesses types, all columns are read first, to see that no row fails.
        """
        source, loaded = DUCKDB.write(reading.source), name_in_sql(self._unused(reading.name))
        types = {str(name): str(kind) for name, kind, *_ in self.fetch(f"DESCRIBE FROM {source}")}
        members = {path: _members(path, [*types]) for path in paths}
        # An object of columns is one row of lists for DuckDB.
        if any(types[first].endswith("[]") for first, *_ in members.values()):
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
        """Append `'` to a table name as often as needed to make it unique, ignoring case.

        DuckDB ignores the case of names, and file systems do not.

        Nearly always the name is free, so that the statement which is run is the one that is shown.
        """
        with self._naming:
            while name.lower() in self._names:
                name += "'"
            self._names.add(name.lower())
        return name

    @contextmanager
    def _limited(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield this thread's connection, and interrupt its queries at the time limit.

        Errors that it raises contain no data.
        """
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


def _members(path: str, names: Sequence[str]) -> tuple[str, ...]:
    """Split a path into the names of a column and its struct members."""
    starts = [name for name in names if path == name or path.startswith(f"{name}.")]
    # DuckDB numbers columns without a name.
    if not starts and path == ROW_NAME and _NUMBERED.fullmatch(names[0]):
        return (names[0],)
    if not starts:
        raise TableUnavailableError.in_system(path, DUCKDB.title)
    # A column may be named like a path, such as `a.b` beside a struct `a`.
    name = max(starts, key=len)
    inner = path.removeprefix(name).removeprefix(".")
    return (name, *(inner.split(".") if inner else ()))
