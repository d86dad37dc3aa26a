"""Open read-only connections to databases, with a time limit for each statement."""

import re
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, cast

from typing_extensions import Self

from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.redact import redact
from datahub_hyperjoin.spark.databases.clickhouse_connections import (
    CLICKHOUSE_OVER_HTTP,
    complete_clickhouse,
    prepare_clickhouse,
)
from datahub_hyperjoin.spark.databases.databricks_connections import complete_databricks
from datahub_hyperjoin.spark.databases.redshift_connections import (
    complete_redshift,
    describe_redshift_types,
)
from datahub_hyperjoin.spark.databases.snowflake_sessions import snowflake_arguments
from datahub_hyperjoin.spark.databases.trino_connections import limit_trino, translate_http_error
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.pool import ConnectionPoolEntry

_MILLISECONDS = 1000
_VALUE = re.compile(r"(?<=Could not convert )'.*'(?= into the associated python type)")
"""The value that Python cannot represent, in a message of Trino's driver."""
_SESSION_SETTINGS: Mapping[str, Callable[[float], tuple[str, ...]]] = {
    "postgresql": lambda seconds: (
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        f"SET statement_timeout = {round(seconds * _MILLISECONDS)}",
    ),
    "mariadb": lambda seconds: (
        "SET SESSION TRANSACTION READ ONLY",
        f"SET SESSION max_statement_time = {seconds}",
    ),
    "mysql": lambda seconds: (
        "SET SESSION TRANSACTION READ ONLY",
        f"SET SESSION max_execution_time = {round(seconds * _MILLISECONDS)}",
    ),
    # It can only make single transactions read-only.
    "redshift": lambda seconds: (f"SET statement_timeout = {round(seconds * _MILLISECONDS)}",),
    # Two days are its largest limit.
    "databricks": lambda seconds: (f"SET STATEMENT_TIMEOUT = {min(round(seconds), 172_800)}",),
    "sqlite": lambda _: ("PRAGMA query_only = ON",),
}
"""Statements that make a new connection read-only, where a system can do this, and set its time
limit in seconds."""


def database_error_text(error: "SQLAlchemyError") -> str:
    """Return a database's error message without SQL or secrets.

    Args:
        error: The exception that SQLAlchemy raised.

    Returns:
        The message in one line.
    """
    said, _, _sql = str(getattr(error, "orig", None) or error).partition("\n== SQL")
    lines = said.splitlines()
    # PostgreSQL's driver asks whether the server is running; the caller says what to check.
    kept = [line.strip() for line in lines if not line.endswith("?")]
    return redact(_VALUE.sub("a value", "; ".join(filter(None, kept or lines))))


def system_of(engine: "Engine") -> str:
    """Return the name of an engine's database system, such as `postgresql`.

    Args:
        engine: The database, after its first connection.

    Returns:
        SQLAlchemy's name of the system; `mariadb` even if the URL says `mysql`.
    """
    return "mariadb" if getattr(engine.dialect, "is_mariadb", False) else engine.dialect.name


@contextmanager
def without_type_warnings() -> Iterator[None]:
    """Within a `with` block, silence SQLAlchemy's warnings about unknown column types.

    The values of such columns are read as text.
    """
    from sqlalchemy.exc import SAWarning  # noqa: PLC0415 (as below)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)
        yield


def open_engine(connection: str, database: Database, connections: int = 1) -> "Engine":
    """Create a SQLAlchemy engine with a limited number of connections.

    Args:
        connection: The database's key in the recipe, for messages.
        database: The database.
        connections: Maximum number of connections open at once.

    Returns:
        The engine; the caller must dispose of it.

    Raises:
        UnreachableDatabaseError: The URL is invalid, or its driver is not installed.
    """
    # Lakes of files need no database, and the import takes a quarter of a second.
    from sqlalchemy import create_engine, event, make_url  # noqa: PLC0415
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError  # noqa: PLC0415

    scheme = ""
    try:
        url = complete_redshift(make_url(database.url.get_secret_value()))
        scheme = url.drivername
        if database.password:
            url = url.set(password=database.password.get_secret_value())
        url = complete_databricks(complete_clickhouse(url))
        engine = create_engine(
            url,
            pool_size=connections,
            max_overflow=0,
            hide_parameters=True,
            connect_args=snowflake_arguments(url, database.timeout),
        )
    except NoSuchModuleError:
        raise UnreachableDatabaseError.without_dialect(connection, scheme) from None
    except (ArgumentError, TypeError) as error:
        raise UnreachableDatabaseError.because(connection, redact(str(error))) from None
    except ModuleNotFoundError as error:
        raise UnreachableDatabaseError.without_driver(connection, str(error.name)) from None

    if engine.dialect.name == "redshift":
        describe_redshift_types()
    event.listen(engine, "handle_error", translate_http_error)

    @event.listens_for(engine, "connect")
    def configure(raw: "DBAPIConnection", _: "ConnectionPoolEntry") -> None:
        _configure(raw, engine, database.timeout)

    return engine


def _configure(connection: "DBAPIConnection", engine: "Engine", timeout: float) -> None:
    system = system_of(engine)
    if (system, engine.driver) == CLICKHOUSE_OVER_HTTP:
        prepare_clickhouse(connection, engine, timeout)
        return
    if system == "trino":
        limit_trino(connection, engine, timeout)
    if system in _SESSION_SETTINGS:
        cursor = connection.cursor()
        for statement in _SESSION_SETTINGS[system](timeout):
            cursor.execute(statement)
        cursor.close()
        # A rollback would undo settings that were made in its transaction.
        connection.commit()
    if engine.driver in _FOR_ODD_VALUES:
        _FOR_ODD_VALUES[engine.driver](connection)


def _keep_early_dates(connection: "DBAPIConnection") -> None:
    """Make a connection return a date as text if Python cannot represent the date.

    Python has no years before 1, PostgreSQL has: `0044-03-15 BC`.
    """
    from psycopg2 import extensions  # noqa: PLC0415 (installed with the extra `postgres` only)

    def or_text(convert: Callable[[str | None, object], object]) -> Callable[..., object]:
        def read(text: str | None, cursor: object) -> object:
            try:
                return convert(text, cursor)
            except (ValueError, OverflowError):
                return text

        return read

    for name in ("DATE", "DATETIME", "DATETIMETZ"):
        known = getattr(extensions, f"PY{name}")
        type_ = extensions.new_type(known.values, name, or_text(known))
        # SQLAlchemy passes on the connection of the driver, under a type that all drivers share.
        extensions.register_type(type_, cast("extensions.connection", connection))


def _replace_invalid_text(connection: "DBAPIConnection") -> None:
    """Make a connection replace invalid bytes in text.

    SQLite does not check the text that it stores. Without replacement, one invalid value would make
    its table unreadable, and the error message would contain the value.
    """
    raw = cast("sqlite3.Connection", connection)
    raw.text_factory = lambda value: value.decode("utf-8", "replace")


_FOR_ODD_VALUES = {"psycopg2": _keep_early_dates, "pysqlite": _replace_invalid_text}
"""For each driver that would fail at a single odd value, a function that prepares a connection."""


class Databases:
    """A set of databases, each of which is opened on first use.

    All of them are closed at the end of the `with` block.
    """

    def __init__(self) -> None:
        self._engines: dict[Database, Engine] = {}
        self._exit_stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exit_stack.close()
        self._engines.clear()

    def engine(self, relation: Relation) -> "Engine":
        """Return the SQLAlchemy engine for a table's database.

        Args:
            relation: The table.

        Returns:
            The same engine for all tables of a database.

        Raises:
            UnreachableDatabaseError: The URL is invalid, or its driver is not installed.
        """
        if relation.database not in self._engines:
            engine = open_engine(relation.connection, relation.database)
            self._exit_stack.callback(engine.dispose)
            self._engines[relation.database] = engine
        return self._engines[relation.database]
