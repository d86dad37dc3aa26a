"""Let SQLAlchemy know all errors of Trino's driver."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.engine import ExceptionContext
    from sqlalchemy.exc import SQLAlchemyError

_HTTP_ERRORS = {"HttpError", "Http502Error", "Http503Error", "Http504Error"}
"""Exceptions of the driver that are none of the database interface, such as a wrong password."""


def translate_http_error(context: "ExceptionContext") -> "SQLAlchemyError | None":
    """Return SQLAlchemy's error for an answer of HTTP that is no answer of Trino."""
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 (lakes of files need no database)

    error = context.original_exception
    return SQLAlchemyError(str(error)) if type(error).__name__ in _HTTP_ERRORS else None
