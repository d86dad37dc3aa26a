"""Read Databricks, and compute normal forms in its SQL, which is that of Spark."""

import re
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, types
from sqlalchemy.dialects import registry
from sqlalchemy.engine.reflection import cache
from sqlalchemy.exc import DBAPIError, NoSuchTableError
from sqlalchemy.types import TypeEngine

from datahub_hyperjoin.spark.databases.sql_forms import (
    EXACT_DIGITS,
    FAR_NUMBER,
    FormsByType,
    SqlSyntax,
    quote_with_backslashes,
    short_digits,
)
from datahub_hyperjoin.spark.databases.system import THREE_PARTS, DatabaseSystem

if TYPE_CHECKING:
    from databricks.sqlalchemy.base import DatabricksDialect
    from sqlalchemy import URL
    from sqlalchemy.engine.interfaces import ReflectedColumn
else:
    try:
        from databricks.sqlalchemy.base import DatabricksDialect
    except ModuleNotFoundError:  # installed with the extra `databricks`
        DatabricksDialect = object

_DIALECT = ("databricks_to_read", "databricks")
"""SQLAlchemy's names of our dialect and of its driver."""
_TYPES: dict[str, TypeEngine[Any]] = {
    "bigint": types.BigInteger(),
    "binary": types.LargeBinary(),
    "boolean": types.Boolean(),
    "date": types.Date(),
    "decimal": types.Numeric(),
    "double": types.Double(),
    "float": types.Float(),
    "int": types.Integer(),
    "timestamp": types.DateTime(timezone=True),
    "timestamp_ntz": types.DateTime(),
    **dict.fromkeys(("smallint", "tinyint"), types.SmallInteger()),
    **dict.fromkeys(("char", "string", "varchar"), types.String()),
    # Not read, whatever they hold.
    **dict.fromkeys(("array", "map", "object", "struct", "variant"), types.JSON()),
}
"""The types of columns by the first word of their names. Others are read as text."""
_TEXT = "CAST(v AS STRING)"
# Without ANSI mode, small decimals have exponents.
_HAS_EXPONENT = "position('E' IN {0}) > 0"
_IS_WHOLE = "rint(v) = v"
# No decimal has enough digits for 15 of them both from 10^-15 on and below 2^53.
_FLOAT = (
    f"CASE WHEN {_IS_WHOLE} THEN CAST(try_cast(v AS BIGINT) AS STRING) "
    "WHEN abs(v) >= 1 THEN CAST(try_cast(v AS DECIMAL(38, 15)) AS STRING) "
    "ELSE CAST(try_cast(v AS DECIMAL(38, 30)) AS STRING) END"
)
_DIGITS = f"trim(BOTH '0' FROM replace(replace(split({_TEXT}, 'E')[0], '.', ''), '-', ''))"
_INEXACT_FLOAT = (
    f"isnan(v) OR {FAR_NUMBER} OR NOT {_IS_WHOLE} AND char_length({_DIGITS}) > {EXACT_DIGITS} "
    f"OR {_HAS_EXPONENT.format(_FLOAT)}"
)
_JOINED = (
    "array_join(transform(array_sort(collect_list(struct({order}, {text} AS joined)) "
    "FILTER (WHERE {condition})), e -> e.joined), {separator})"
)

# Arithmetic that overflows is an error in ANSI mode.
_SYNTAX = SqlSyntax(
    quote_text=quote_with_backslashes,
    exact="({0}) COLLATE UTF8_BINARY",
    matches="{0} RLIKE {1}",
    replaced="regexp_replace({0}, {1}, {2})",
    group_mark="$",
    # Its CHR has only 256 characters.
    character="decode(unhex(lpad(hex({0}), 4, '0')), 'UTF-16BE')",
    joined=_JOINED.format(text="{0}", separator="{1}", order="{2}", condition="{3}"),
    joined_bytes=(
        "unhex(" + _JOINED.format(text="{0}", separator="''", order="{1}", condition="{2}") + ")"
    ),
    preparations=("SET TIME ZONE 'UTC'", "SET ANSI_MODE = true"),
)


_FORMS: FormsByType = {
    **_SYNTAX.usual_forms(_TEXT),
    types.DateTime: _SYNTAX.moment_form("v", "date_format(v, 'yyyy-MM-dd HH:mm:ss.SSSSSS')"),
    # Bytes that are no UTF-8 would count as characters of one byte each.
    types.String: _SYNTAX.text_form("make_valid_utf8({})"),
    # The driver returns floats as doubles of as many digits.
    types.Float: _SYNTAX.number_form(_FLOAT, value="CAST({} AS DOUBLE)", inexact=_INEXACT_FLOAT),
    types.Numeric: _SYNTAX.number_form(_TEXT, inexact=_HAS_EXPONENT.format(_TEXT)),
}


class Databricks(DatabaseSystem):
    """Databricks."""

    name = "databricks"
    table_names = THREE_PARTS
    extra = "databricks"
    asks_limit = "SET STATEMENT_TIMEOUT"
    keeps_session = True
    hex_digits = short_digits("octet_length({0})", "lower(hex({0}))")
    syntax = _SYNTAX
    forms = _FORMS
    # Two backslashes are one if the first escapes the second, as in our literals.
    answers = MappingProxyType({r"SELECT char_length('\\')": "1"})
    lists_sizes = False

    def database_name(self, url: "URL") -> str:
        """Return the catalog."""
        [catalog] = url.normalized_query.get("catalog", ("",))
        return catalog

    def complete(self, url: "URL") -> "URL":
        """Lead a URL of the driver's own dialect to ours."""
        if (url.get_backend_name(), url.get_driver_name()) != ("databricks", "databricks"):
            return url
        # Apart from the driver's own, which others in this process may use.
        registry.register(".".join(_DIALECT), __name__, DatabricksReader.__name__)
        return url.set(drivername="+".join(_DIALECT))

    def limit_statement(self, seconds: float) -> str:
        """Limit the time of the session's statements; two days are the largest limit."""
        return f"SET STATEMENT_TIMEOUT = {min(round(seconds), 172_800)}"


class DatabricksReader(DatabricksDialect):
    """The dialect of Databricks, with types that tell binary and nested columns from texts."""

    supports_statement_cache = True

    @cache
    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: object
    ) -> "list[ReflectedColumn]":
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
    return _TYPES.get(family[0], types.NullType()) if family else types.NullType()
