"""Describe the tables of Databricks to SQLAlchemy, beyond what the dialect of its driver does.

SQLAlchemy imports this module by its name, for databases of Databricks only, because the dialect is
installed with the extra `databricks`.
"""

import re
from itertools import takewhile
from typing import Any

from databricks.sqlalchemy.base import DatabricksDialect
from sqlalchemy import Connection
from sqlalchemy.engine.interfaces import ReflectedColumn
from sqlalchemy.engine.reflection import cache
from sqlalchemy.exc import DBAPIError, NoSuchTableError
from sqlalchemy.types import (
    JSON,
    BigInteger,
    Boolean,
    Date,
    DateTime,
    Double,
    Float,
    Integer,
    LargeBinary,
    NullType,
    Numeric,
    SmallInteger,
    String,
    TypeEngine,
)

_TYPES: dict[str, TypeEngine[Any]] = {
    "bigint": BigInteger(),
    "binary": LargeBinary(),
    "boolean": Boolean(),
    "char": String(),
    "date": Date(),
    "decimal": Numeric(),
    "double": Double(),
    "float": Float(),
    "int": Integer(),
    "smallint": SmallInteger(),
    "string": String(),
    "timestamp": DateTime(timezone=True),
    "timestamp_ntz": DateTime(),
    "tinyint": SmallInteger(),
    "varchar": String(),
    # Not read, whatever they hold.
    "array": JSON(),
    "map": JSON(),
    "object": JSON(),
    "struct": JSON(),
    "variant": JSON(),
}
"""The types of columns by the first word of their names. Others are read as text."""


class DatabricksReader(DatabricksDialect):
    """The dialect of Databricks, with types that tell binary and nested columns from texts."""

    supports_statement_cache = True

    @cache
    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: object
    ) -> list[ReflectedColumn]:
        """List the columns of a table or view.

        The dialect of the driver would call binary and nested columns texts, and list the columns
        of all tables whose names match that of the table as a pattern.
        """
        quote = self.identifier_preparer.quote_identifier
        names = filter(None, (self.catalog, schema or self.schema, table_name))
        try:
            rows = connection.exec_driver_sql(f"DESCRIBE TABLE {'.'.join(map(quote, names))}").all()
        except DBAPIError as error:
            if "TABLE_OR_VIEW_NOT_FOUND" in str(error.orig):
                raise NoSuchTableError(table_name) from error
            raise
        # Partitions and clusters follow the columns, under headings that have no type.
        described = takewhile(lambda row: row.data_type, rows)
        return [
            {"name": name, "type": _type_of(type_), "nullable": True, "default": None}
            for name, type_, *_comment in described
        ]


def _type_of(name: str) -> TypeEngine[Any]:
    family = re.match("[a-z_]*", name)
    return _TYPES.get(family[0], NullType()) if family else NullType()
