"""Open databases read-only, with few connections and a time limit for statements."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import TracebackType

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SAWarning, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry
from typing_extensions import Self

from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.redact import in_short
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError

_MILLISECONDS = 1000
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
    "sqlite": lambda _: ("PRAGMA query_only = ON",),
}
"""Statements that make a new connection read-only and set its time limit in seconds."""


def database_error_text(error: SQLAlchemyError) -> str:
    """Return the database's message for an error, without the statement and without secrets.

    Args:
        error: The exception that SQLAlchemy raised.

    Returns:
        The message in one line.
    """
    return in_short(str(getattr(error, "orig", None) or error))


def system_of(engine: Engine) -> str:
    """Identify the database system.

    Args:
        engine: The database, after its first connection.

    Returns:
        SQLAlchemy's name of the system; `mariadb` even if the URL says `mysql`.
    """
    return "mariadb" if getattr(engine.dialect, "is_mariadb", False) else engine.dialect.name


@contextmanager
def without_type_warnings() -> Iterator[None]:
    """Silence the warnings about column types that SQLAlchemy does not know.

    The values of such columns are read as text.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)
        yield


def open_engine(connection: str, database: Database) -> Engine:
    """Create an engine with one connection, which opens on first use.

    Args:
        connection: The database's key in the recipe, for messages.
        database: The database.

    Returns:
        The engine; the caller must dispose of it.

    Raises:
        UnreachableDatabaseError: The URL is invalid, or its driver is not installed.
    """
    try:
        url = make_url(database.url.get_secret_value())
        if database.password:
            url = url.set(password=database.password.get_secret_value())
        engine = create_engine(url, pool_size=1, max_overflow=0, hide_parameters=True)
    except (ArgumentError, NoSuchModuleError, TypeError) as error:
        raise UnreachableDatabaseError.because(connection, in_short(str(error))) from None
    except ModuleNotFoundError as error:
        raise UnreachableDatabaseError.without_driver(connection, str(error.name)) from None

    @event.listens_for(engine, "connect")
    def configure(raw: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        system = system_of(engine)
        cursor = raw.cursor()
        if system in _SESSION_SETTINGS:
            for statement in _SESSION_SETTINGS[system](database.timeout):
                cursor.execute(statement)
        cursor.close()
        raw.commit()

    return engine


class Databases:
    """The databases that a task reads; each is opened on first use and closed with the task."""

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

    def engine(self, relation: Relation) -> Engine:
        """Return the engine of a table's database.

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
