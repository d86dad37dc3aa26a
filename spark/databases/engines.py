"""Opens databases for reading only, gently: few connections, and statements that end in time."""

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
_CAREFUL: Mapping[str, Callable[[float], tuple[str, ...]]] = {
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
"""What a new connection is told, for statements of so many seconds at most."""


def database_error_text(error: SQLAlchemyError) -> str:
    """What a database says of an error, without the statement and without secrets.

    Args:
        error: What was raised.

    Returns:
        One line.
    """
    return in_short(str(getattr(error, "orig", None) or error))


def system_of(engine: Engine) -> str:
    """The system that a database is one of.

    Args:
        engine: The database, after it was first asked something.

    Returns:
        SQLAlchemy's name of it; MariaDB's also if the URL takes it for MySQL.
    """
    return "mariadb" if getattr(engine.dialect, "is_mariadb", False) else engine.dialect.name


@contextmanager
def quietly() -> Iterator[None]:
    """Types that SQLAlchemy does not know are no news: their columns are read as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)
        yield


def open_engine(connection: str, database: Database) -> Engine:
    """An engine with one connection, which it makes when it is first asked something.

    Args:
        connection: The database's key in the recipe, for messages.
        database: Where it is.

    Returns:
        The engine; whoever asked disposes of it.

    Raises:
        UnreachableDatabaseError: The URL cannot be used, or there is no driver for it.
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
    def be_careful(raw: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        name = system_of(engine)
        cursor = raw.cursor()
        if name in _CAREFUL:
            for statement in _CAREFUL[name](database.timeout):
                cursor.execute(statement)
        cursor.close()
        raw.commit()

    return engine


class Databases:
    """The databases that a task reads: each is opened when it is first asked for."""

    def __init__(self) -> None:
        self._open: dict[Database, Engine] = {}
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.close()
        self._open.clear()

    def engine(self, relation: Relation) -> Engine:
        """The engine of a table's database, closed when the task ends.

        Args:
            relation: The table.

        Returns:
            The same engine each time.

        Raises:
            UnreachableDatabaseError: It cannot be opened.
        """
        if relation.database not in self._open:
            engine = open_engine(relation.connection, relation.database)
            self._opened.callback(engine.dispose)
            self._open[relation.database] = engine
        return self._open[relation.database]
