"""Read BigQuery, and compute normal forms in its SQL, which is GoogleSQL."""

from typing import TYPE_CHECKING

from sqlalchemy import types

from datahub_hyperjoin.spark.databases.sql_forms import (
    EXACT_DIGITS,
    FAR_NUMBER,
    FormsByType,
    SqlSyntax,
    quote_in_one_line,
    short_digits,
)
from datahub_hyperjoin.spark.databases.system import THREE_PARTS, DatabaseSystem
from datahub_hyperjoin.tables import DataType

if TYPE_CHECKING:
    from sqlalchemy import URL

_TEXT = "CAST(v AS STRING)"
_IS_WHOLE = "trunc(v) = v"
_FLOAT = (
    f"CASE WHEN {_IS_WHOLE} THEN CAST(SAFE_CAST(v AS INT64) AS STRING) "
    f"ELSE CAST(SAFE_CAST({_TEXT} AS BIGNUMERIC) AS STRING) END"
)
# BigQuery writes a float with 15 digits if they are enough, and else with 17, not with the fewest.
_DIGITS = f"trim(translate(split({_TEXT}, 'e')[OFFSET(0)], '-.', ''), '0')"
_IS_LONG = f"NOT {_IS_WHOLE} AND char_length({_DIGITS}) > {EXACT_DIGITS}"
_TIME = "regexp_replace(format_time('%H:%M:%E6S', v), '[.]0+$', '')"
_MOMENT_FORMAT = "'%E4Y-%m-%d %H:%M:%E6S', v"

# Arithmetic that overflows is an error.
_SYNTAX = SqlSyntax(
    quote_text=quote_in_one_line,
    # Without a collation, even if the column has one.
    exact="collate({0}, '')",
    matches="regexp_contains({0}, {1})",
    replaced="regexp_replace({0}, {1}, {2})",
    contains="strpos({0}, {1}) > 0",
    hashed="left(to_hex(md5({0})), 16)",
    byte_length="byte_length({0})",
    without_end="rtrim({0}, {1})",
    joined="string_agg(CASE WHEN {3} THEN {0} END, {1} ORDER BY {2})",
    joined_bytes="from_hex(string_agg(CASE WHEN {2} THEN {0} END, '' ORDER BY {1}))",
    has_fields=True,
)

_FORMS: FormsByType = {
    **_SYNTAX.usual_forms(_TEXT),
    types.TIMESTAMP: _SYNTAX.moment_form("v", f"format_timestamp({_MOMENT_FORMAT}, 'UTC')"),
    types.DateTime: _SYNTAX.moment_form("v", f"format_datetime({_MOMENT_FORMAT})"),
    types.String: _SYNTAX.text_form("{}"),
    types.Float: _SYNTAX.number_form(_FLOAT, inexact=f"is_nan(v) OR {FAR_NUMBER} OR {_IS_LONG}"),
    types.Time: _SYNTAX.plain_form(DataType.TEXT, _TIME),
}


class BigQuery(DatabaseSystem):
    """BigQuery, of which there is only one version."""

    name = "bigquery"
    table_names = THREE_PARTS
    extra = "bigquery"
    hex_digits = short_digits("byte_length({0})", "to_hex({0})")
    syntax = _SYNTAX
    forms = _FORMS
    lists_sizes = False

    def database_name(self, url: "URL") -> str:
        """Return the project."""
        return url.host or ""
