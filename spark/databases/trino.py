"""Read Trino, and compute normal forms in its SQL."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import types
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.spark.databases.sql_forms import (
    DIGITS_OF_DOUBLE,
    DIGITS_OF_REAL,
    FormsByType,
    Probe,
    SqlForm,
    SqlSyntax,
    probes_of_texts,
    short_digits,
    usual_probes,
)
from datahub_hyperjoin.spark.databases.system import THREE_PARTS, DatabaseSystem
from datahub_hyperjoin.tables import DataType

if TYPE_CHECKING:
    from sqlalchemy.engine import ExceptionContext

_TEXT_OF = "CAST({} AS varchar)"
_TEXT = _TEXT_OF.format("v")
# Readers get microseconds.
_MOMENT = "CAST(v AS timestamp(6))"
_TIME = "CAST(CAST(v AS time(6)) AS varchar)"
_CONTROL = re.compile(r"[\0-\x1f]")
_JOINED = "array_join(array_agg({text} ORDER BY {order}) FILTER (WHERE {condition}), {separator})"
_HTTP_ERRORS = {"HttpError", "Http502Error", "Http503Error", "Http504Error"}
"""Exceptions of the driver that are none of the database interface, such as a wrong password."""


def _quote_for_trino(text: str) -> str:
    r"""Write a text as a string literal, without control characters.

    Only if there are such characters, backslashes escape.

    >>> print(_quote_for_trino(r"d'\w"), _quote_for_trino("\\w\t"))
    'd''\w' U&'\\w\0009'
    """
    quoted = text.replace("'", "''")
    if not _CONTROL.search(text):
        return f"'{quoted}'"
    escaped = quoted.replace("\\", "\\\\")
    escaped = _CONTROL.sub(lambda found: f"\\{ord(found[0]):04x}", escaped)
    return f"U&'{escaped}'"


# Arithmetic that overflows is an error.
_SYNTAX = SqlSyntax(
    quote_text=_quote_for_trino,
    exact="{0}",
    matches="regexp_like({0}, {1})",
    replaced="regexp_replace({0}, {1}, {2})",
    group_mark="$",
    hashed="to_hex(substr(md5(to_utf8({0})), 1, 8))",
    length="length({0})",
    byte_length="length(to_utf8({0}))",
    start="substr({0}, 1, {1})",
    day="DATE {0}",
    digits="CAST({0} AS varchar)",
    bits="bitwise_or_agg({0})",
    # The result of LISTAGG has at most one MiB.
    joined=_JOINED.format(text="{0}", separator="{1}", order="{2}", condition="{3}"),
    joined_bytes=(
        "from_hex(" + _JOINED.format(text="{0}", separator="''", order="{1}", condition="{2}") + ")"
    ),
    # It limits the stages of a statement, and each column needs several.
    most_columns=1,
)


def _moment_form(type_: types.DateTime) -> SqlForm:
    # Equal points in time are one group, whatever their time zones.
    value = "CAST(at_timezone({}, 'UTC') AS timestamp(12))" if type_.timezone else "{}"
    form = _SYNTAX.moment_form(_MOMENT, f"CAST({_MOMENT} AS varchar)")
    return replace(form, value=value, inexact=f"{form.inexact} OR v <> {_MOMENT}")


def _time_form(type_: types.Time) -> SqlForm | None:
    if type_.timezone:
        return None
    is_whole = f"substr({_TIME}, 9) = '.000000'"
    folded = f"CASE WHEN {is_whole} THEN substr({_TIME}, 1, 8) ELSE {_TIME} END"
    form = _SYNTAX.plain_form(DataType.TEXT, folded)
    return replace(form, inexact="v <> CAST(v AS time(6))")


_FORMS: FormsByType = {
    **_SYNTAX.usual_forms(_TEXT),
    # Those of CHAR get the spaces at their end with which readers get them.
    types.String: _SYNTAX.text_form("CAST({} AS varchar)"),
    types.REAL: _SYNTAX.decimal_form(DIGITS_OF_REAL, "CAST(CAST({} AS double) AS real)", _TEXT_OF),
    types.Float: _SYNTAX.decimal_form(DIGITS_OF_DOUBLE, "CAST({} AS double)", _TEXT_OF),
    types.DateTime: _moment_form,
    types.Time: _time_form,
}
_PROBES = (
    *usual_probes("DATE '{}'", "TIMESTAMP '{}'", "double", "decimal"),
    Probe(types.Integer(), "-7", "-7"),
    Probe(
        types.DateTime(timezone=True),
        "TIMESTAMP '2024-01-31 01:00:00.000010 +01:30'",
        "2024-01-30 23:30:00.00001",
    ),
    Probe(types.Time(), "TIME '09:30:00'", "09:30:00"),
    Probe(types.Time(), "TIME '09:30:00.25'", "09:30:00.250000"),
    Probe(types.REAL(), "CAST(-0.1 AS real)", "-0.1"),
    *probes_of_texts(types.String(), _quote_for_trino),
)


class Trino(DatabaseSystem):
    """Trino, and so Starburst."""

    name = "trino"
    table_names = THREE_PARTS
    schema_follows = True
    extra = "trino"
    asks_limit = "SHOW SESSION LIKE 'query_max_execution_time'"
    keeps_session = True
    hex_digits = short_digits("length({0})", "lower(to_hex({0}))")
    syntax = _SYNTAX
    forms = _FORMS
    # Versions differ, and so do the regular expressions that a server may be set to.
    probes = _PROBES
    lists_sizes = False

    def translated(self, context: "ExceptionContext") -> SQLAlchemyError | None:
        """Return the error for an answer of HTTP that is no answer of Trino."""
        error = context.original_exception
        return SQLAlchemyError(str(error)) if type(error).__name__ in _HTTP_ERRORS else None

    def limit_statement(self, seconds: float) -> str:
        """Limit the time of the session's statements."""
        return f"SET SESSION query_max_execution_time = '{seconds}s'"
