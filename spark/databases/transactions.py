"""Begin transactions that cannot write, and limit the time of their statements.

Behind a pool, other programs use the same session of the server later. So whatever is set here ends
with its transaction or its statement: `BEGIN READ ONLY` and `SET LOCAL` in PostgreSQL and Redshift,
`START TRANSACTION READ ONLY` and `SET STATEMENT` in MariaDB, a hint in MySQL. Sessions of
Snowflake, Trino and Databricks belong to one connection and end with it.

An administrator may have limited the time of statements, too. The smaller limit holds.
"""

import math
import re
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from datahub_hyperjoin.spark.databases.clickhouse_connections import (
    CLICKHOUSE_OVER_HTTP,
    limit_clickhouse,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, CursorResult, Engine, Row

_IN_ALL = "hyperjoin_seconds_in_all"
"""The execution option that limits the time of a whole reading."""
_THEIRS = "hyperjoin_limit_of_the_server"
"""The key of the server's time limit among what SQLAlchemy keeps for a connection."""
_OURS = "hyperjoin_limit"
"""The key of the time limit of the transaction that began last."""
_STEPS = 10_000
"""Number of steps of SQLite's virtual machine between two checks of the time limit."""
_BEGIN: Mapping[str, str] = {
    "postgresql": "SET TRANSACTION READ ONLY",
    "mariadb": "START TRANSACTION READ ONLY",
    "mysql": "START TRANSACTION READ ONLY",
}
"""Statements with which a transaction begins that cannot write."""
_ASK: Mapping[str, str] = {
    # It is no query, before which alone a transaction may choose its isolation level.
    "postgresql": "SHOW statement_timeout",
    "redshift": "SHOW statement_timeout",
    "mariadb": "SHOW SESSION VARIABLES LIKE 'max_statement_time'",
    "mysql": "SHOW SESSION VARIABLES LIKE 'max_execution_time'",
    "clickhouse": "SELECT value FROM system.settings WHERE name = 'max_execution_time'",
    "snowflake": "SHOW PARAMETERS LIKE 'STATEMENT_TIMEOUT_IN_SECONDS' IN SESSION",
    "trino": "SHOW SESSION LIKE 'query_max_execution_time'",
    "databricks": "SET STATEMENT_TIMEOUT",
}
"""Statements that return the time limit with which a session begins, among the values of a row."""
_IN_MILLISECONDS = {"postgresql", "redshift", "mysql"}
"""Systems whose numbers without a unit are milliseconds; elsewhere they are seconds."""
_SET_LOCAL: Mapping[str, Callable[[float], str]] = {
    "postgresql": lambda seconds: f"SET LOCAL statement_timeout = {_milliseconds(seconds)}",
    "redshift": lambda seconds: f"SET LOCAL statement_timeout = {_milliseconds(seconds)}",
}
"""Statements that limit the time of a transaction's statements, given the seconds."""
_SET_SESSION: Mapping[str, Callable[[float], str]] = {
    "snowflake": lambda seconds: (
        f"ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = {math.ceil(seconds)}"
    ),
    "trino": lambda seconds: f"SET SESSION query_max_execution_time = '{seconds}s'",
    # Two days are its largest limit.
    "databricks": lambda seconds: f"SET STATEMENT_TIMEOUT = {min(round(seconds), 172_800)}",
}
"""Statements that limit the time of a session's statements, where no other program uses it."""
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds of each unit in which a system writes its limit."""


def system_of(engine: "Engine") -> str:
    """Return the name of an engine's database system, such as `postgresql`.

    Returns:
        SQLAlchemy's name of the system; `mariadb` even if the URL says `mysql`.
    """
    return "mariadb" if getattr(engine.dialect, "is_mariadb", False) else engine.dialect.name


def within(engine: "Engine", seconds: float) -> "Engine":
    """Return an engine whose connections read for a limited time in all.

    Args:
        seconds: Time limit of each statement, and of all rows that it returns.
    """
    return engine.execution_options(**{_IN_ALL: seconds})


def seconds_in_all(connection: "Connection") -> float:
    """Return the time limit of a whole reading; infinite if only its statements are limited."""
    limit: float = connection.get_execution_options().get(_IN_ALL, math.inf)
    return limit


def keep_limits(engine: "Engine", timeout: float) -> None:
    """Make all transactions of an engine read-only, and limit the time of their statements.

    Args:
        timeout: Time limit of a statement in seconds, unless `within` set a smaller one.
    """
    from sqlalchemy import event  # noqa: PLC0415 (lakes of files need no database)

    @event.listens_for(engine, "begin")
    def begin(connection: "Connection") -> None:
        _begin(connection, timeout)

    if engine.dialect.name not in {"mysql", "mariadb"}:
        return

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def limit(
        connection: "Connection",
        _cursor: object,
        statement: str,
        parameters: object,
        *_: object,
    ) -> tuple[str, object]:
        seconds = connection.info.get(_OURS, timeout)
        is_mariadb = system_of(engine) == "mariadb"
        rewrite = limited_in_mariadb if is_mariadb else limited_in_mysql
        return rewrite(statement, seconds), parameters


def statement_limit(connection: "Connection") -> float:
    """Return the time limit of the statements of a connection's transaction, in seconds.

    Returns:
        The smallest of the limits of the recipe, of `within` and of the server itself.
    """
    limit: float = connection.info[_OURS]
    return limit


def limited_in_mariadb(statement: str, seconds: float) -> str:
    """Limit the time of a statement of MariaDB, and of no other.

    Examples:
        >>> limited_in_mariadb("SELECT 1", 60)
        'SET STATEMENT max_statement_time = 60.000 FOR SELECT 1'
        >>> limited_in_mariadb("SET STATEMENT sql_mode = '' FOR SELECT 1", 60)
        "SET STATEMENT max_statement_time = 60.000, sql_mode = '' FOR SELECT 1"
    """
    setting = f"SET STATEMENT max_statement_time = {seconds:.3f}"
    if found := re.match(r"\s*SET STATEMENT ", statement):
        return f"{setting}, {statement[found.end() :]}"
    return (
        f"{setting} FOR {statement}" if re.match(r"[\s(]*(SELECT|WITH)\b", statement) else statement
    )


def limited_in_mysql(statement: str, seconds: float) -> str:
    """Limit the time of a statement of MySQL, and of no other.

    Examples:
        >>> limited_in_mysql("SELECT 1", 60)
        'SELECT /*+ MAX_EXECUTION_TIME(60000) */ 1'
    """
    hint = f"SELECT /*+ MAX_EXECUTION_TIME({_milliseconds(seconds)}) */"
    return re.sub(r"\A\s*SELECT\b", hint, statement)


def _begin(connection: "Connection", timeout: float) -> None:
    """Make a transaction read-only and set its time limit, before its first statement."""
    engine = connection.engine
    system = system_of(engine)
    if _THEIRS not in connection.info:
        connection.info[_THEIRS] = _ask(connection, system)
    # Psycopg has begun it by `BEGIN READ ONLY`.
    if system in _BEGIN and engine.driver != "psycopg2":
        _run(connection, _BEGIN[system])
    before = connection.info.get(_OURS)
    limit = min(timeout, seconds_in_all(connection), connection.info[_THEIRS])
    connection.info[_OURS] = limit
    if system in _SET_LOCAL:
        _run(connection, _SET_LOCAL[system](limit))
    elif system in _SET_SESSION and before != limit:
        _set_in_session(connection, _SET_SESSION[system](limit))
    elif (system, engine.driver) == CLICKHOUSE_OVER_HTTP:
        limit_clickhouse(connection.connection, limit)
    elif system == "sqlite":
        _interrupt(connection, seconds_in_all(connection))


def _ask(connection: "Connection", system: str) -> float:
    """Return the time limit under which a session begins, in seconds; infinite if it has none."""
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 (lakes of files need no database)

    if system not in _ASK:
        return math.inf
    row: Row[Any] | None = None
    # An error ends the transaction of other systems.
    with suppress(*([SQLAlchemyError] if system in _SET_SESSION else [])):
        row = _run(connection, _ASK[system]).first()
    unit = "ms" if system in _IN_MILLISECONDS else "s"
    found = [_seconds(value, unit) for value in row or ()]
    return min((each for each in found if each), default=math.inf)


def _set_in_session(connection: "Connection", statement: str) -> None:
    from sqlalchemy.exc import ProgrammingError  # noqa: PLC0415 (as above)

    # Not every user who may read may also change a session.
    with suppress(ProgrammingError):
        _run(connection, statement)


def _run(connection: "Connection", statement: str) -> "CursorResult[Any]":
    # A connection that streams its results would declare a cursor for each statement.
    return connection.exec_driver_sql(statement, execution_options={"stream_results": False})


def _seconds(value: object, unit: str) -> float:
    """Read a duration such as `10min`; 0 if there is none."""
    found = _DURATION.fullmatch(str(value))
    return float(found[1]) * _UNITS.get(found[2] or unit, 0.0) if found else 0.0


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _interrupt(connection: "Connection", seconds: float) -> None:
    """Interrupt SQLite, which has no setting for the time limit."""
    raw = connection.connection.driver_connection
    if isinstance(raw, sqlite3.Connection):
        end = time.monotonic() + seconds
        is_over = None if math.isinf(seconds) else lambda: int(time.monotonic() > end)
        raw.set_progress_handler(is_over, _STEPS)
