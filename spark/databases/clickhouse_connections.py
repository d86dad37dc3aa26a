"""Prepare connections to ClickHouse, whose SQLAlchemy dialect leaves much of this to its caller."""

from contextlib import closing
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import PoolProxiedConnection

CLICKHOUSE_OVER_HTTP = ("clickhouse", "http")
"""SQLAlchemy's names of the dialect and of its driver that these functions prepare."""
_DIALECT = ("clickhouse_to_read", "http")
"""The names of the dialect that describes ClickHouse better, for SQLAlchemy's list of dialects."""
_MODULE = "datahub_hyperjoin.spark.databases.clickhouse_dialect"
_PATIENCE = 30.0
"""Seconds to wait for an answer beyond the time limit of a statement, which the server observes."""
_SETTINGS = {
    "readonly": 2,
    # A column is meant by its name, not an expression that gets this name in the same SELECT.
    "prefer_column_name_to_alias": 1,
    "enable_positional_arguments": 1,
}


class _HttpTransport(Protocol):
    """What the dialect's driver for HTTP has for each connection."""

    ch_settings: dict[str, object]
    timeout: float | None


def complete_clickhouse(url: "URL") -> "URL":
    """Complete the URL of a ClickHouse database, so that its driver streams rows.

    Returns:
        The URL with our dialect, and with a user, without whom the driver would name the user
        `None`. Those of other databases and drivers stay as they are.
    """
    from sqlalchemy.dialects import registry  # noqa: PLC0415 (lakes of files need no database)

    if (url.get_backend_name(), url.get_driver_name()) != CLICKHOUSE_OVER_HTTP:
        return url
    # Apart from the driver's own, which others in this process may use.
    registry.register(".".join(_DIALECT), _MODULE, "ClickHouseReader")
    completed = url.set(
        drivername="+".join(_DIALECT),
        username=url.username or "default",
        password=url.password or "",
    )
    # Else the driver would keep all rows in memory.
    return completed.update_query_dict({"stream": "yes"})


def prepare_clickhouse(connection: "DBAPIConnection", engine: "Engine", timeout: float) -> None:
    """Make a connection read-only, and keep errors from among rows.

    Settings are parameters of each request. A user with the setting `readonly = 1` may not change
    any, and reads without them.

    Args:
        timeout: The largest time limit of a statement, in seconds.
    """
    raw = cast("Any", connection)
    transport: _HttpTransport = raw.transport
    # Installed with the extra `clickhouse` only.
    from clickhouse_sqlalchemy.exceptions import DatabaseException  # noqa: PLC0415

    # Else the server would write an error into rows that it has begun to send.
    transport.ch_settings["wait_end_of_query"] = 1
    transport.timeout = transport.timeout or timeout + _PATIENCE
    try:
        with closing(raw.cursor()) as cursor:
            cursor.execute("SELECT value FROM system.settings WHERE name = 'readonly'")
            [(readonly,)] = cursor.fetchall()
    except (DatabaseException, OSError) as error:
        raise engine.dialect.loaded_dbapi.Error(failure_text(error)) from None
    if readonly != "1":
        transport.ch_settings.update(_SETTINGS)
        if readonly != "0":
            del transport.ch_settings["readonly"]


def limit_clickhouse(connection: "PoolProxiedConnection", seconds: float) -> None:
    """Set the time limit of a connection's next statements, if its user may change settings."""
    transport: _HttpTransport = cast("Any", connection.driver_connection).transport
    if _SETTINGS.keys() - {"readonly"} <= transport.ch_settings.keys():
        transport.ch_settings["max_execution_time"] = max(1, round(seconds))


def failure_text(error: Exception) -> str:
    """Return the message of a server or the network, without the wrappings of the driver."""
    [inner] = error.args[:1] or [error]
    return str(getattr(error, "orig", None) or getattr(inner, "reason", None) or error)
