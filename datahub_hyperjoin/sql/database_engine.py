"""Run read-only SQL in a database, over one connection and with a time limit."""

import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, CursorResult
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.databases.engines import open_engine, system_of
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from datahub_hyperjoin.sql.dialects import MYSQL, POSTGRES, SQLITE
from datahub_hyperjoin.sql.engines import SqlEngine
from datahub_hyperjoin.sql.errors import (
    NoStatementError,
    StatementRefusedError,
    TableUnavailableError,
    TimeLimitError,
)
from datahub_hyperjoin.sql.write import TableInSql, name_in_sql
from datahub_hyperjoin.tables import Table, TableId

_DIALECTS = {"postgresql": POSTGRES, "mariadb": MYSQL, "mysql": MYSQL, "sqlite": SQLITE}
"""Dialects of the systems in which the time of a statement can be limited."""

_INTERRUPTED = 9
"""SQLite's code of an interrupted statement, which Python names from release 3.11 on."""
_TIME_IS_OVER = {"57014", "1969", "3024", str(_INTERRUPTED)}
"""Codes of the error that a statement exceeded its time limit: those of PostgreSQL, MariaDB, MySQL
and SQLite."""
_STEPS = 10_000
"""Number of steps of SQLite's virtual machine between two checks of the time limit."""


class DatabaseEngine(SqlEngine):
    """An engine that runs SQL in a database, through SQLAlchemy.

    Args:
        table: Any table of the database.
        columns: The paths of the columns that joins need, by table.
        timeout: Time limit of each query, in seconds.

    Raises:
        NoStatementError: The database does not answer, or cannot limit the time of a statement.
    """

    def __init__(
        self, table: Table, columns: Mapping[TableId, Collection[str]], *, timeout: float
    ) -> None:
        relation = _relation(table)
        self._columns = columns
        self._timeout = timeout
        # Databases take a limit of 0 for none.
        database = replace(relation.database, timeout=max(timeout, 1.0))
        try:
            self._engine = open_engine(relation.connection, database)
        except UnreachableDatabaseError as error:
            raise TableUnavailableError(str(error)) from None
        try:
            # Only a connection shows whether a server of MySQL's dialect is MariaDB.
            self._engine.connect().close()
        except SQLAlchemyError as error:
            raise StatementRefusedError.by(self._engine.name, _code_of(error)) from None
        system = system_of(self._engine)
        if system not in _DIALECTS:
            self.close()
            raise NoStatementError.without_time_limit(system)
        self.dialect = _DIALECTS[system]

    def close(self) -> None:
        """Close the connection."""
        self._engine.dispose()

    def readings(self, table: Table) -> Iterator[TableInSql]:
        """Yield the only way to read a table: by its name and schema.

        A database can read a table in this way only.
        """
        location = _relation(table)
        # SQLite's only schema needs no name, and an attached database may have another.
        parts = [location.schema] if location.schema and self.dialect is not SQLITE else []
        named = name_in_sql(*parts, location.name)
        members = {path: (path,) for path in self._columns[table.id]}
        yield TableInSql(shown=named, run=named, members=members)

    def fetch(self, query: str) -> list[tuple[object, ...]]:
        """Run a query, and return its rows.

        See `SqlEngine.fetch`.
        """
        with self._running(query) as result:
            return [tuple(row) for row in result]

    def execute(self, statement: str) -> None:
        """Run a statement, and ignore its rows.

        See `SqlEngine.execute`.
        """
        with self._running(statement) as result:
            if self.dialect is SQLITE:  # which runs a statement while its rows are read
                result.fetchall()

    @contextmanager
    def _running(self, statement: str) -> Iterator[CursorResult[Any]]:
        """Run a statement, and provide its result in a `with` block.

        The errors of a statement contain no data.
        """
        try:
            with self._engine.connect() as connection:
                self._watch(connection)
                # Without parameters, no driver reads a `%` in the statement as one.
                options = connection.execution_options(no_parameters=True)
                yield options.exec_driver_sql(statement)
        except SQLAlchemyError as error:
            code = _code_of(error)
            if code in _TIME_IS_OVER:
                raise TimeLimitError.after(self._timeout) from None
            raise StatementRefusedError.by(self.dialect.title, code) from None

    def _watch(self, connection: Connection) -> None:
        """Interrupt SQLite's statements at the time limit.

        Other databases have a setting for the time limit.
        """
        raw = connection.connection.driver_connection
        if isinstance(raw, sqlite3.Connection):
            end = time.monotonic() + self._timeout
            raw.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)


def _relation(table: Table) -> Relation:
    if not isinstance(table.location, Relation):
        raise TableUnavailableError.in_system(str(table.id), "a database")
    return table.location


def _code_of(error: SQLAlchemyError) -> str:
    """Return the code of a database error.

    The message may contain values, so it is not used.
    """
    original = error.orig if isinstance(error, DBAPIError) else None
    if isinstance(original, sqlite3.Error):
        code = getattr(original, "sqlite_errorcode", None)
        if code is None:  # before Python 3.11
            code = _INTERRUPTED if str(original) == "interrupted" else "error"
        return str(code)
    code = getattr(original, "pgcode", None) or next(iter(getattr(original, "args", ())), None)
    # Anything else may be a message, and so contain data.
    return str(code) if isinstance(code, int) or str(code).isalnum() else type(error).__name__
