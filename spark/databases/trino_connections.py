"""Limit the time of Trino's statements, and let SQLAlchemy know all errors of its driver."""

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.engine import ExceptionContext
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.exc import SQLAlchemyError

_HTTP_ERRORS = {"HttpError", "Http502Error", "Http503Error", "Http504Error"}
"""Exceptions of the driver that are none of the database interface, such as a wrong password."""


def limit_trino(connection: "DBAPIConnection", engine: "Engine", timeout: float) -> None:
    """Set the time limit of a connection's statements.

    Args:
        connection: A new connection.
        engine: The database of Trino.
        timeout: Time limit of a statement, in seconds.

    Raises:
        Exception: The driver's `OperationalError`: the server refuses the connection.
    """
    driver = engine.dialect.loaded_dbapi
    cursor = connection.cursor()
    try:
        # Not every user who may read may also set properties of a session.
        with suppress(driver.ProgrammingError):
            cursor.execute(f"SET SESSION query_max_execution_time = '{timeout}s'")
    except Exception as error:
        if type(error).__name__ not in _HTTP_ERRORS:
            raise
        raise driver.OperationalError(str(error)) from None
    cursor.close()


def translate_http_error(context: "ExceptionContext") -> "SQLAlchemyError | None":
    """Return SQLAlchemy's error for an answer of HTTP that is no answer of Trino.

    Args:
        context: An error while a statement is executed.

    Returns:
        The error; None for others.
    """
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 (lakes of files need no database)

    error = context.original_exception
    return SQLAlchemyError(str(error)) if type(error).__name__ in _HTTP_ERRORS else None
