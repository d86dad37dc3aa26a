"""Read SQLite."""

import math
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sqlalchemy import Connection, Engine

from datahub_hyperjoin.arrow_bytes import MOST_KEY_BYTES
from datahub_hyperjoin.spark.databases.connections import seconds_in_all
from datahub_hyperjoin.spark.databases.engines import SQLITE_INTERRUPTED
from datahub_hyperjoin.spark.databases.system import SETTLED, DatabaseSystem, StateRows, query

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection

_STEPS = 10_000
"""Number of steps of SQLite's virtual machine between two checks of the time limit."""
_TABLES = """
    SELECT 'main', name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
"""


class Sqlite(DatabaseSystem):
    """SQLite."""

    name = "sqlite"
    is_file = True
    # The only schema says nothing.
    names_without_recipe = "{table}"
    sql_dialect = "sqlite"
    has_states = True
    time_limit_codes = frozenset({str(SQLITE_INTERRUPTED)})
    # A column may hold values of any type, whatever its own type is.
    hex_digits = (
        "CASE WHEN typeof({0}) <> 'blob' THEN {0} "
        f"WHEN length({{0}}) <= {MOST_KEY_BYTES} THEN lower(hex({{0}})) END"
    )

    def prepare(self, connection: "DBAPIConnection", engine: Engine, timeout: float) -> None:
        """Make a connection read-only, and replace invalid bytes in text.

        SQLite does not check the text that it stores. Without replacement, one invalid value would
        make its table unreadable, and the error message would contain the value.
        """
        del timeout
        if engine.driver == "pysqlite":
            raw = cast("sqlite3.Connection", connection)
            raw.execute("PRAGMA query_only = ON")
            raw.text_factory = lambda value: value.decode("utf-8", "replace")

    def limit(self, connection: Connection, before: float | None, seconds: float) -> None:
        """Interrupt a reading that takes too long; there is no setting for the time limit."""
        del before, seconds
        raw, most = connection.connection.driver_connection, seconds_in_all(connection)
        if isinstance(raw, sqlite3.Connection):
            end = time.monotonic() + most
            is_over = None if math.isinf(most) else lambda: int(time.monotonic() > end)
            raw.set_progress_handler(is_over, _STEPS)

    def states(self, connection: Connection) -> StateRows:
        """Return the state of the file.

        A log or a journal beside it may contain changes that the file does not; then there is none.
        """
        files = {name: file for _, name, file in query(connection, "PRAGMA database_list")}
        tables = query(connection, _TABLES)
        file = Path(files["main"])
        if not file.is_file() or any(map(_has_bytes, (f"{file}-wal", f"{file}-journal"))):
            return []
        # The file is not opened: closing it would release all locks that this process holds on it,
        # including those of SQLite.
        status = file.stat()
        if time.time() - status.st_mtime < SETTLED:
            return []
        state = f"{file} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
        return [(schema, name, state) for schema, name in tables]


def _has_bytes(file: str) -> bool:
    return Path(file).exists() and Path(file).stat().st_size > 0
