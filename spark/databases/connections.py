"""Open connections to databases, which cannot write and have a time limit for each statement."""

import math
import re
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from datahub_hyperjoin.locations import Database
from datahub_hyperjoin.spark.databases.system import run, system_named, system_of, system_of_url
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from datahub_hyperjoin.visible import redact

if TYPE_CHECKING:
    from sqlalchemy.engine import ExceptionContext

_IN_ALL = "hyperjoin_seconds_in_all"
"""The execution option that limits the time of a whole reading."""
_THEIRS = "hyperjoin_limit_of_the_server"
"""The key of the server's time limit among what SQLAlchemy keeps for a connection."""
_OURS = "hyperjoin_limit"
"""The key of the time limit of the transaction that began last."""
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


def create_reading_engine(connection: str, database: Database, connections: int) -> Engine:
    """Create the engine of `open_engine`."""
    scheme = ""
    try:
        url = make_url(database.url.get_secret_value())
        scheme, system = url.drivername, system_of_url(url)
        if database.password:
            url = url.set(password=database.password.get_secret_value())
        url = system.complete(url)
        scheme = url.drivername
        engine = create_engine(
            url,
            pool_size=connections,
            max_overflow=0,
            hide_parameters=True,
            connect_args=system.arguments(url),
        )
    except NoSuchModuleError:
        extra = system_named(scheme.partition("+")[0]).extra
        raise UnreachableDatabaseError.without_dialect(connection, scheme, extra) from None
    except (ArgumentError, TypeError) as error:
        raise UnreachableDatabaseError.because(connection, redact(str(error))) from None
    except ModuleNotFoundError as error:
        raise UnreachableDatabaseError.without_driver(connection, str(error.name)) from None

    system.engine_created()
    event.listen(engine, "handle_error", system.translated)
    event.listen(engine, "handle_error", partial(_explain_pool, connection))
    event.listen(engine, "connect", lambda raw, _: system.prepare(raw, engine, database.timeout))
    _keep_limits(engine, database.timeout)
    return engine


def _explain_pool(connection: str, context: "ExceptionContext") -> None:
    said = "" if context.connection else str(context.original_exception)
    for error, (refused, fix) in _REFUSED_BY_POOL.items():
        if error.search(said):
            raise UnreachableDatabaseError.behind_pool(connection, refused, fix)


def within(engine: Engine, seconds: float) -> Engine:
    """Return an engine whose connections read for a limited time in all, in seconds."""
    return engine.execution_options(**{_IN_ALL: seconds})


def seconds_in_all(connection: Connection) -> float:
    """Return the time limit of a whole reading; infinite if only its statements are limited."""
    limit: float = connection.get_execution_options().get(_IN_ALL, math.inf)
    return limit


def statement_limit(connection: Connection) -> float:
    """Return the time limit in seconds of a transaction's statements.

    It is the smallest of the limits of the recipe, of `within` and of the server itself.
    """
    limit: float = connection.info[_OURS]
    return limit


def _keep_limits(engine: Engine, timeout: float) -> None:
    """Make all transactions of an engine read-only, and limit the time of their statements.

    `timeout` is the time limit of a statement in seconds, unless `within` set a smaller one.
    """
    event.listen(engine, "begin", partial(_begin, timeout=timeout))
    if not system_of(engine.dialect).rewrites_statements:
        return

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def limit(
        connection: Connection, _cursor: object, statement: str, parameters: object, *_: object
    ) -> tuple[str, object]:
        seconds = connection.info.get(_OURS, timeout)
        return system_of(engine.dialect).limited(statement, seconds), parameters


def _begin(connection: Connection, timeout: float) -> None:
    """Make a transaction read-only and set its time limit, before its first statement."""
    engine = connection.engine
    system = system_of(engine.dialect)
    if _THEIRS not in connection.info:
        connection.info[_THEIRS] = system.server_limit(connection)
    # Psycopg has begun it by `BEGIN READ ONLY`.
    if system.begin and engine.driver != "psycopg2":
        run(connection, system.begin)
    before = connection.info.get(_OURS)
    limit = min(timeout, seconds_in_all(connection), connection.info[_THEIRS])
    connection.info[_OURS] = limit
    system.limit(connection, before, limit)
