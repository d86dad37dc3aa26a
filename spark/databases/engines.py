"""Databases that are opened on first use, and the errors of databases.

Lakes of files need no database, and to import SQLAlchemy takes a quarter of a second, so that this
module does without.
"""

import math
import re
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError, UnreadableRelationError
from datahub_hyperjoin.visible import redact

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.exc import SQLAlchemyError

SQLITE_INTERRUPTED = 9
"""SQLite's code of an interrupted statement, which Python names from release 3.11 on."""
_VALUE = re.compile(r"(?<=Could not convert )'.*'(?= into the associated python type)")
"""The value that Python cannot represent, in a message of Trino's driver."""


def database_error_text(error: Exception) -> str:
    """Return the message of an error about a database, without SQL or secrets."""
    said, _, _sql = str(getattr(error, "orig", None) or error).partition("\n== SQL")
    lines = said.splitlines()
    # PostgreSQL's driver asks whether the server is running; the caller says what to check.
    kept = [line.strip() for line in lines if not line.endswith("?")]
    return redact(_VALUE.sub("a value", "; ".join(filter(None, kept or lines))))


def database_error_code(error: "SQLAlchemyError") -> str:
    """Return the code of a database's error, or else the name of its class.

    Unlike the message, it contains no values.
    """
    original = getattr(error, "orig", None)
    if isinstance(original, sqlite3.Error):
        code = getattr(original, "sqlite_errorcode", None)
        if code is None:  # before Python 3.11
            code = SQLITE_INTERRUPTED if str(original) == "interrupted" else "error"
        return str(code)
    code = getattr(original, "pgcode", None) or next(iter(getattr(original, "args", ())), None)
    # Anything else may be a message, and so contain data.
    return str(code) if isinstance(code, int) or str(code).isalnum() else type(error).__name__


def is_out_of_time(error: "SQLAlchemyError") -> bool:
    """Return whether a statement took longer than its time limit."""
    from datahub_hyperjoin.spark.databases.system import are_out_of_time  # noqa: PLC0415

    return are_out_of_time(database_error_code(error))


def unreadable(error: "SQLAlchemyError", limit: float = math.inf) -> UnreadableRelationError:
    """Convert a database's error about a table to an error with its message and advice.

    Args:
        error: The error.
        limit: The time limit of the statement, in seconds.
    """
    if is_out_of_time(error):
        return UnreadableRelationError.too_slow(limit)
    return UnreadableRelationError.because(database_error_text(error), database_error_code(error))


def unreachable(connection: str, error: "SQLAlchemyError") -> UnreachableDatabaseError:
    """Convert a database's error to an error about its connection."""
    text, code = database_error_text(error), database_error_code(error)
    return UnreachableDatabaseError.because(connection, text, code)


@contextmanager
def without_type_warnings() -> Iterator[None]:
    """Silence SQLAlchemy's warnings about unknown types of columns, which are read as text."""
    from sqlalchemy.exc import SAWarning  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)
        yield


def open_engine(connection: str, database: Database, connections: int = 1) -> "Engine":
    """Create a SQLAlchemy engine with a limited number of connections.

    Args:
        connection: The recipe key of the database, for messages.
        database: The database.
        connections: How many connections may be open at once.
    """
    from datahub_hyperjoin.spark.databases.connections import create_reading_engine  # noqa: PLC0415

    return create_reading_engine(connection, database, connections)


class Databases(ExitStack):
    """A set of databases, each of which is opened on first use.

    All of them are closed at the end of the `with` block.
    """

    def __init__(self) -> None:
        super().__init__()
        self._engines: dict[Database, Engine] = {}

    def engine(self, relation: Relation) -> "Engine":
        """Return the engine of a table's database; of a view's, with a time limit of its own."""
        from datahub_hyperjoin.spark.databases.connections import within  # noqa: PLC0415

        if relation.database not in self._engines:
            engine = open_engine(relation.connection, relation.database)
            self._engines[relation.database] = engine
            self.callback(lambda: self._engines.pop(relation.database).dispose())
        engine = self._engines[relation.database]
        return within(engine, relation.database.view_timeout) if relation.is_view else engine
