"""Read ClickHouse over HTTP, and compute normal forms in its SQL.

Its SQLAlchemy dialect leaves much to its caller, and its types cannot be used: it fails at some
names of types, for the whole table, and leaves values in the time zone, the padding or the
precision of their column. So columns have ClickHouse's own names of types here, and their values
are read as text.
"""

import re
from contextlib import closing
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.dialects import registry
from sqlalchemy.engine.reflection import cache
from sqlalchemy.exc import DBAPIError, NoSuchTableError
from sqlalchemy.types import TypeEngine, UserDefinedType

from datahub_hyperjoin.spark.databases.sql_forms import (
    FAR_NUMBER,
    SqlForm,
    SqlSyntax,
    quote_with_backslashes,
)
from datahub_hyperjoin.spark.databases.system import DatabaseSystem
from datahub_hyperjoin.tables import DataType

if TYPE_CHECKING:
    from sqlalchemy import URL
    from sqlalchemy.engine import ExceptionContext
    from sqlalchemy.engine.interfaces import DBAPIConnection

try:
    from clickhouse_sqlalchemy.drivers.http.base import ClickHouseDialect_http
except ModuleNotFoundError:  # installed with the extra `clickhouse`
    ClickHouseDialect_http = object

_DIALECT = ("clickhouse_to_read", "http")
"""SQLAlchemy's names of our dialect and of its driver."""
_PATIENCE = 30.0
"""Seconds to wait for an answer beyond the time limit of a statement, which the server observes."""
_SETTINGS = {
    "readonly": 2,
    # A column is meant by its name, not an expression that gets this name in the same SELECT.
    "prefer_column_name_to_alias": 1,
    "enable_positional_arguments": 1,
}
# 32 is the scale that is enough for 17 digits after 15 zeros.
_FLOAT = "toString(toDecimal256OrNull(toString(v), 32))"

_SYNTAX = SqlSyntax(
    quote_text=quote_with_backslashes,
    exact="{0}",
    matches="match({0}, {1})",
    replaced="replaceRegexpAll({0}, {1}, {2})",
    hashed="hex(substring(MD5({0}), 1, 8))",
    byte_length="length({0})",
    # Its function writes one byte. No text is as long as the characters of three bytes.
    character=(
        "CASE WHEN {0} < 128 THEN char({0}) ELSE char(192 + intDiv({0}, 64), 128 + bitAnd({0}, 63))"
        " END"
    ),
    joined=(
        "arrayStringConcat(arrayMap(e -> e.1, arraySort(e -> e.2, "
        "groupArrayIf((ifNull({0}, ''), ({2})), ifNull({3}, false)))), {1})"
    ),
    joined_bytes=(
        "base64Encode(arrayStringConcat(arrayMap(e -> unhex(e.1), arraySort(e -> e.2, "
        "groupArrayIf((ifNull({0}, ''), ({1})), ifNull({2}, false))))))"
    ),
    # It plans several columns in one statement for longer than each in its own.
    most_columns=1,
)
_COLUMNS = text("""
    SELECT name, type, is_in_primary_key FROM system.columns
    WHERE database = coalesce(nullIf(:schema, ''), currentDatabase()) AND table = :name
        AND default_kind <> 'EPHEMERAL'
    ORDER BY position
""")
# It compresses rows to fewer bytes than others need, and than it sends: 8 for each at least.
_SIZES = """
    SELECT t.database, t.name, if(t.total_rows IS NULL, 0,
        greatest(ifNull(p.bytes, 0), 8 * t.total_rows, 1))
    FROM system.tables AS t
    LEFT JOIN (
        SELECT database, table, sum(data_uncompressed_bytes) AS bytes
        FROM system.parts WHERE active GROUP BY database, table
    ) AS p ON p.database = t.database AND p.table = t.name
"""


class ClickHouse(DatabaseSystem):
    """ClickHouse."""

    name = "clickhouse"
    port = 8123
    extra = "clickhouse"
    asks_limit = "SELECT value FROM system.settings WHERE name = 'max_execution_time'"
    schema_is_database = True
    sizes = _SIZES
    # Its primary keys sort rows, and may repeat.
    declares_keys = False
    syntax = _SYNTAX
    # The oldest that is tested.
    first_version = (26, 9)
    # Not every user may change settings.
    answers = MappingProxyType(
        {"SELECT value = '1' FROM system.settings WHERE name = 'prefer_column_name_to_alias'": "1"}
    )

    def complete(self, url: "URL") -> "URL":
        """Lead a URL over HTTP to our dialect, and let its driver stream rows."""
        if (url.get_backend_name(), url.get_driver_name()) != ("clickhouse", "http"):
            return url
        # Apart from the driver's own, which others in this process may use.
        registry.register(".".join(_DIALECT), __name__, ClickHouseReader.__name__)
        completed = url.set(
            drivername="+".join(_DIALECT),
            # Without a user, the driver would name it `None`.
            username=url.username or "default",
            password=url.password or "",
        )
        # Else the driver would keep all rows in memory.
        return completed.update_query_dict({"stream": "yes"})

    def prepare(self, connection: "DBAPIConnection", engine: Engine, timeout: float) -> None:
        """Make a connection read-only, and keep errors from among rows.

        Settings are parameters of each request. A user with the setting `readonly = 1` may not
        change any, and reads without them.
        """
        if engine.driver != "http":
            return
        raw = cast("Any", connection)
        transport = raw.transport
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
            raise engine.dialect.loaded_dbapi.Error(_failure_text(error)) from None
        if readonly != "1":
            transport.ch_settings.update(_SETTINGS)
            if readonly != "0":
                del transport.ch_settings["readonly"]

    def limit(self, connection: Connection, before: float | None, seconds: float) -> None:
        """Set the time limit of the next statements, if the user may change settings."""
        del before
        if connection.engine.driver != "http":
            return
        transport = cast("Any", connection.connection.driver_connection).transport
        if _SETTINGS.keys() - {"readonly"} <= transport.ch_settings.keys():
            transport.ch_settings["max_execution_time"] = max(1, round(seconds))

    def is_integer(self, type_: TypeEngine[Any]) -> bool:
        """Return whether the values of a column are whole numbers."""
        if isinstance(type_, ClickHouseType):
            return type_.is_integer
        return super().is_integer(type_)

    def opaque_type(self, type_: TypeEngine[Any]) -> DataType | None:
        """Return the type of a column that is not read; None if it is."""
        if not isinstance(type_, ClickHouseType):
            return super().opaque_type(type_)
        if type_.read:
            return None
        return DataType.BINARY if type_.family == "AggregateFunction" else DataType.NESTED

    def reading(self, type_: TypeEngine[Any]) -> str | None:
        """Return the expression that reads the column `{0}`; None if drivers read it as it is."""
        return type_.read if isinstance(type_, ClickHouseType) else super().reading(type_)

    def form(self, type_: TypeEngine[Any]) -> SqlForm | None:
        """Write the normal forms of a column."""
        if not isinstance(type_, ClickHouseType) or not type_.read:
            return None
        read = type_.read.format("v")
        match type_.family:
            case "String" | "FixedString" | "Enum8" | "Enum16":
                return _SYNTAX.text_form(type_.read)
            case "Float64" | "Float32" | "BFloat16":
                inexact = f"NOT isFinite(v) OR {FAR_NUMBER}"
                return _SYNTAX.number_form(_FLOAT, value=type_.read, inexact=inexact, unique=False)
            case "Decimal":
                return SqlForm("{}", read, types=_SYNTAX.number_types())
            case "DateTime" | "DateTime64":
                return _moment_form(read)
            case family:
                return _SYNTAX.plain_form(_PLAIN_TYPES.get(family, DataType.INTEGER), read)


def _moment_form(text_: str) -> SqlForm:
    """Write the normal forms of points in time; all are in years that Python knows."""
    shortened = (
        f"CASE WHEN match(substr({text_}, 12), '^00:00:00([.]0+)?$') THEN left({text_}, 10) "
        f"ELSE {_SYNTAX.without_needless_zeros(text_)} END"
    )
    # Those outside of the years from 1900 to 2299 may have the text of the first or the last.
    return SqlForm("{}", shortened, text=text_, types=_SYNTAX.moment_types(), is_unique=False)


_INTEGER = re.compile(r"U?Int[0-9]+")
_WRAPPED = re.compile(
    r"(?:Nullable\(|LowCardinality\(|SimpleAggregateFunction\([^,]*, )(.*)\)", re.DOTALL
)
_PLAIN_TYPES = {
    "Bool": DataType.BOOLEAN,
    "Date": DataType.DATE,
    "Date32": DataType.DATE,
    **dict.fromkeys(("IPv4", "IPv6", "Time", "Time64", "UUID"), DataType.TEXT),
}
"""Maps types whose texts are normal forms to the types that readers infer from the text. All others
are integers."""
_AS_TEXT = "CAST(toString({0}) AS Nullable(String))"


def _valid(text_: str) -> str:
    """Write the expression that replaces what is no text.

    The driver takes a null character and a digit for another character.
    """
    return f"replaceAll(toValidUTF8({text_}), '\\0', '\ufffd')"


_TEXTS = {
    **dict.fromkeys(("Bool", "Date", "Date32", "Enum8", "Enum16", "IPv4", "IPv6"), _AS_TEXT),
    **dict.fromkeys(("Time", "UUID"), _AS_TEXT),
    # Their time zones only say how points in time are shown.
    **dict.fromkeys(("DateTime", "DateTime64"), "CAST(toString({0}, 'UTC') AS Nullable(String))"),
    **dict.fromkeys(("Decimal", "Time64"), _SYNTAX.without_needless_zeros(_AS_TEXT)),
    "FixedString": _valid(r"trim(TRAILING '\0' FROM CAST({0} AS Nullable(String)))"),
    "String": _valid("CAST({0} AS Nullable(String))"),
    # Python and Arrow have no floats of fewer bits, and would show digits that these do not have.
    **dict.fromkeys(("BFloat16", "Float32"), "CAST(toString({0}) AS Nullable(Float64))"),
    "Float64": "CAST({0} AS Nullable(Float64))",
}
"""By type, the expression that reads the column `{}`: as text or, if it is a float, as a double."""


class ClickHouseType(UserDefinedType[object]):
    """The type of a column of ClickHouse, by its name."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: object) -> str:
        """Return the name of the type, as SQLAlchemy asks for it."""
        return self.name

    @property
    def family(self) -> str:
        """The name without parameters, and without what allows nulls or stores values once."""
        name = self.name
        while (found := _WRAPPED.fullmatch(name)) is not None:
            name = found[1]
        return name.partition("(")[0]

    @property
    def is_integer(self) -> bool:
        """Whether the values are whole numbers."""
        return _INTEGER.fullmatch(self.family) is not None

    @property
    def read(self) -> str | None:
        """The expression that reads the column `{}`: as text or, if it is a float, as a double.

        None if the values are neither numbers nor texts nor times.
        """
        return _AS_TEXT if self.is_integer else _TEXTS.get(self.family)


class ClickHouseReader(ClickHouseDialect_http):  # type: ignore[misc] # the driver has no types
    """The dialect of ClickHouse over HTTP, with ClickHouse's own types and database errors."""

    supports_statement_cache = True

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        """Let errors of the driver, which has no classes of its own, be errors of a database."""
        event.listen(engine, "handle_error", _as_database_error, retval=True)

    def get_schema_names(self, connection: Connection, **options: object) -> list[str]:
        """List the databases, without that of the system."""
        names: list[str] = super().get_schema_names(connection, **options)
        return [name for name in names if name != "system"]

    @cache
    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: object
    ) -> list[dict[str, object]]:
        """List the columns of a table or view that can be read."""
        names = {"schema": schema or "", "name": table_name}
        columns = [
            {
                "name": name,
                "type": ClickHouseType(type_),
                "nullable": "Nullable" in type_,
                "default": None,
                "sorts": bool(sorts),
            }
            for name, type_, sorts in connection.execute(_COLUMNS, names)
        ]
        if not columns:
            raise NoSuchTableError(table_name)
        return columns

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: object
    ) -> dict[str, object]:
        """Return the columns that sort a table, whose values may repeat.

        Of columns with nulls there are none, since no range of the key would have these rows.
        """
        columns = self.get_columns(connection, table_name, schema, **options)
        key = [column for column in columns if column["sorts"]]
        names = [] if any(column["nullable"] for column in key) else [each["name"] for each in key]
        return {"constrained_columns": names, "name": None}


def _as_database_error(context: "ExceptionContext") -> DBAPIError | None:
    error = context.original_exception
    if context.sqlalchemy_exception is not None or not isinstance(error, Exception):
        return None
    return DBAPIError(None, None, RuntimeError(_failure_text(error)))


def _failure_text(error: Exception) -> str:
    """Return the message of a server or the network, without the wrappings of the driver."""
    [inner] = error.args[:1] or [error]
    return str(getattr(error, "orig", None) or getattr(inner, "reason", None) or error)
