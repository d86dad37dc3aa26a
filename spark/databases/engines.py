"""Open connections to databases, which cannot write and have a time limit for each statement."""

import math
import re
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
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
from datahub_hyperjoin.spark.databases.redshift_connections import (
    complete_redshift,
    describe_redshift_types,
)
from datahub_hyperjoin.spark.databases.transactions import keep_limits, system_of, within
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError, UnreadableRelationError

if TYPE_CHECKING:
    from psycopg2 import extensions
    from sqlalchemy import URL, Engine
    from sqlalchemy.engine import ExceptionContext
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.pool import ConnectionPoolEntry

_DRIVER = ("databricks", "databricks")
"""SQLAlchemy's names of the dialect and of its driver."""
_DIALECT = ("databricks_to_read", "databricks")
"""The names of the dialect that describes tables better, for SQLAlchemy's list of dialects."""
_MODULE = "datahub_hyperjoin.spark.databases.databricks_dialect"


def complete_databricks(url: "URL") -> "URL":
    """Let the URL of a Databricks workspace lead to our dialect.

    Returns:
        The URL with our dialect. Those of other databases and drivers stay as they are.
    """
    from sqlalchemy.dialects import registry  # noqa: PLC0415 (lakes of files need no database)

    if (url.get_backend_name(), url.get_driver_name()) != _DRIVER:
        return url
    # Apart from the driver's own, which others in this process may use.
    registry.register(".".join(_DIALECT), _MODULE, "DatabricksReader")
    return url.set(drivername="+".join(_DIALECT))


def snowflake_arguments(url: "URL") -> dict[str, object]:
    """Return the arguments with which Snowflake's driver opens a connection.

    They set parameters of the session when it begins. Formats are those that our SQL relies on,
    whatever the account or the user prefers.
    """
    if url.get_backend_name() != "snowflake":
        return {}
    parameters = {
        "DATE_INPUT_FORMAT": "AUTO",
        "QUERY_TAG": "datahub-hyperjoin",
        # With true, a quoted name in small letters would be another name.
        "QUOTED_IDENTIFIERS_IGNORE_CASE": False,
        "TIMESTAMP_INPUT_FORMAT": "AUTO",
        "TIMEZONE": "UTC",
    }
    return {"session_parameters": parameters}


_HTTP_ERRORS = {"HttpError", "Http502Error", "Http503Error", "Http504Error"}
"""Exceptions of the driver that are none of the database interface, such as a wrong password."""


def translate_http_error(context: "ExceptionContext") -> "SQLAlchemyError | None":
    """Return SQLAlchemy's error for an answer of HTTP that is no answer of Trino."""
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 (lakes of files need no database)

    error = context.original_exception
    return SQLAlchemyError(str(error)) if type(error).__name__ in _HTTP_ERRORS else None


_REFUSED_BY_POOL = {
    # Some versions tell the reason to their log only.
    re.compile("transaction blocks not allowed|^server closed the connection unexpectedly"): (
        "its pool ends each connection that begins a transaction, as `pool_mode = statement` does",
        "Name a pool in the mode `transaction` or `session` in its `url`, or the server itself",
    ),
    re.compile("unsupported startup parameter"): (
        "its pool refuses the `options` of its `url`",
        "Remove them, or let the pool ignore them with `ignore_startup_parameters`",
    ),
}
"""What a pool of PostgreSQL's connections refuses, and what to do, by its error on connecting."""
SQLITE_INTERRUPTED = 9
"""SQLite's code of an interrupted statement, which Python names from release 3.11 on."""
_OUT_OF_TIME = {"57014", "1969", "3024", str(SQLITE_INTERRUPTED)}
"""Codes of the error that a statement exceeded its time limit: those of PostgreSQL, MariaDB, MySQL
and SQLite."""
_VALUE = re.compile(r"(?<=Could not convert )'.*'(?= into the associated python type)")
"""The value that Python cannot represent, in a message of Trino's driver."""


def database_error_text(error: "SQLAlchemyError") -> str:
    """Return a database's error message without SQL or secrets."""
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
    return database_error_code(error) in _OUT_OF_TIME


def unreadable(error: "SQLAlchemyError", limit: float = math.inf) -> UnreadableRelationError:
    """Convert a database's error about a table to an error with its message and advice.

    Args:
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
    """Within a `with` block, silence SQLAlchemy's warnings about unknown column types.

    The values of such columns are read as text.
    """
    from sqlalchemy.exc import SAWarning  # noqa: PLC0415 (as below)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)
        yield


def open_engine(connection: str, database: Database, connections: int = 1) -> "Engine":
    """Create a SQLAlchemy engine with a limited number of connections."""
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
            connect_args=_arguments(url),
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

    event.listen(engine, "handle_error", partial(_explain_pool, connection))

    @event.listens_for(engine, "connect")
    def configure(raw: "DBAPIConnection", _: "ConnectionPoolEntry") -> None:
        _configure(raw, engine, database.timeout)

    keep_limits(engine, database.timeout)
    return engine


def _explain_pool(connection: str, context: "ExceptionContext") -> None:
    said = "" if context.connection else str(context.original_exception)
    for error, (refused, fix) in _REFUSED_BY_POOL.items():
        if error.search(said):
            raise UnreachableDatabaseError.behind_pool(connection, refused, fix)


def _arguments(url: "URL") -> dict[str, object]:
    """Return the arguments with which a driver opens connections."""
    if url.get_driver_name() == "pymysql":
        # Else it would turn the session's `autocommit` off. Transactions begin all the same.
        return {"autocommit": True}
    return snowflake_arguments(url)


def _configure(connection: "DBAPIConnection", engine: "Engine", timeout: float) -> None:
    if (system_of(engine), engine.driver) == CLICKHOUSE_OVER_HTTP:
        prepare_clickhouse(connection, engine, timeout)
    if engine.driver in _PREPARATIONS:
        _PREPARATIONS[engine.driver](connection)


def _prepare_psycopg(connection: "DBAPIConnection") -> None:
    """Let a connection begin transactions that cannot write, and read all dates."""
    raw = cast("extensions.connection", connection)
    raw.set_session(readonly=True)
    _keep_early_dates(raw)


def _keep_early_dates(connection: "extensions.connection") -> None:
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
        extensions.register_type(type_, connection)


def _prepare_sqlite(connection: "DBAPIConnection") -> None:
    """Make a connection read-only, and replace invalid bytes in text.

    SQLite does not check the text that it stores. Without replacement, one invalid value would make
    its table unreadable, and the error message would contain the value.
    """
    raw = cast("sqlite3.Connection", connection)
    raw.execute("PRAGMA query_only = ON")
    raw.text_factory = lambda value: value.decode("utf-8", "replace")


_PREPARATIONS = {"psycopg2": _prepare_psycopg, "pysqlite": _prepare_sqlite}
"""For each driver that would write, or fail at a single odd value, a function that prepares a
connection."""


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

        Returns:
            The same pool of connections for all tables of a database; views have a time limit of
            their own.
        """
        if relation.database not in self._engines:
            engine = open_engine(relation.connection, relation.database)
            self._exit_stack.callback(engine.dispose)
            self._engines[relation.database] = engine
        engine = self._engines[relation.database]
        return within(engine, relation.database.view_timeout) if relation.is_view else engine
