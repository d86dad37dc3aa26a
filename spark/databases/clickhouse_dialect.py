"""Describe ClickHouse to SQLAlchemy, beyond what the dialect of its driver does.

SQLAlchemy imports this module by its name, for databases of ClickHouse only, because the dialect is
installed with the extra `clickhouse`.
"""

from typing import TYPE_CHECKING

from clickhouse_sqlalchemy.drivers.http.base import ClickHouseDialect_http
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine.reflection import cache
from sqlalchemy.exc import DBAPIError, NoSuchTableError

from datahub_hyperjoin.spark.databases.clickhouse_connections import failure_text
from datahub_hyperjoin.spark.databases.clickhouse_types import ClickHouseType

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import ExceptionContext

_COLUMNS = text("""
    SELECT name, type, is_in_primary_key FROM system.columns
    WHERE database = coalesce(nullIf(:schema, ''), currentDatabase()) AND table = :name
        AND default_kind <> 'EPHEMERAL'
    ORDER BY position
""")


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
    return DBAPIError(None, None, RuntimeError(failure_text(error)))
