"""Write the normal forms of values in BigQuery's SQL, which is GoogleSQL."""

from dataclasses import replace

from sqlalchemy import Connection
from sqlalchemy.types import (
    TIMESTAMP,
    Boolean,
    Date,
    DateTime,
    Float,
    Integer,
    Numeric,
    String,
    Time,
    TypeEngine,
)

from datahub_hyperjoin.spark.databases.binary_values import HEX_DIGITS
from datahub_hyperjoin.spark.databases.sql_forms import (
    SqlForm,
    day_form,
    moment_form,
    plain_form,
    text_form,
    without_last_zeros,
)
from datahub_hyperjoin.spark.databases.sql_syntax import SqlSyntax, quote_in_one_line
from datahub_hyperjoin.tables import DataType

_EXACT_DIGITS = 15
"""BigQuery writes a float with these digits if they are enough, and else with 17, not with the
fewest."""
_TEXT = "CAST(v AS STRING)"
_WITHOUT_END = "rtrim({0}, {1})"
_NUMBER_TYPES = ((DataType.INTEGER, "strpos(f, '.') = 0"), (DataType.DECIMAL, "true"))
_MOMENT_TYPES = ((DataType.DATE, "strpos(f, ' ') = 0"), (DataType.TIMESTAMP, "true"))
_PLAIN_TYPES = {Integer: DataType.INTEGER, Boolean: DataType.BOOLEAN}
"""Maps database types with text in normal form to the types that readers infer from the text."""
_IS_WHOLE = "trunc(v) = v"
_FLOAT = (
    f"CASE WHEN {_IS_WHOLE} THEN CAST(SAFE_CAST(v AS INT64) AS STRING) "
    f"ELSE CAST(SAFE_CAST({_TEXT} AS BIGNUMERIC) AS STRING) END"
)
# From 2^53 on, not every whole number is a double. Readers leave exponents of three digits.
_IS_FAR = f"is_nan(v) OR abs(v) >= {1 << 53} OR v <> 0 AND abs(v) < 1e-15"
_DIGITS = f"trim(translate(split({_TEXT}, 'e')[OFFSET(0)], '-.', ''), '0')"
_TIME = "regexp_replace(format_time('%H:%M:%E6S', v), '[.]0+$', '')"

BIGQUERY_SYNTAX = SqlSyntax(
    digits_of_bytes=HEX_DIGITS["bigquery"],
    quote_text=quote_in_one_line,
    # Without a collation, even if the column has one.
    exact="collate({0}, '')",
    matches="regexp_contains({0}, {1})",
    replaced="regexp_replace({0}, {1}, {2})",
    hashed="left(to_hex(md5({0})), 16)",
    byte_length="byte_length({0})",
    without_end=_WITHOUT_END,
    joined="string_agg(CASE WHEN {3} THEN {0} END, {1} ORDER BY {2})",
    joined_bytes="from_hex(string_agg(CASE WHEN {2} THEN {0} END, '' ORDER BY {1}))",
    materialized="AS",
    has_fields=True,
)
"""The SQL of BigQuery. Arithmetic that overflows is an error."""


def bigquery_form(type_: TypeEngine[object]) -> SqlForm | None:
    """Write the normal forms of a column of BigQuery.

    Returns:
        The expressions; None if SQL cannot compute the normal form.
    """
    exact = BIGQUERY_SYNTAX.exact.format
    match type_:
        case Date() | DateTime():
            return _moment_form(type_)
        case String():
            return text_form(BIGQUERY_SYNTAX, "{}")
        case Float():
            inexact = f"{_IS_FAR} OR NOT {_IS_WHOLE} AND char_length({_DIGITS}) > {_EXACT_DIGITS}"
            return SqlForm("{}", _without_zeros(_FLOAT), inexact, types=_NUMBER_TYPES)
        case Numeric():
            return SqlForm("{}", _without_zeros(_TEXT), types=_NUMBER_TYPES)
        case Time():
            return SqlForm("{}", exact(_TIME), types=((DataType.TEXT, "true"),))
        case _:
            return plain_form(type_, _PLAIN_TYPES, _TEXT)


def _moment_form(type_: Date | DateTime) -> SqlForm:
    if isinstance(type_, Date):
        return day_form(BIGQUERY_SYNTAX, _TEXT)
    format_ = "'%E4Y-%m-%d %H:%M:%E6S', v"
    is_zoned = isinstance(type_, TIMESTAMP)
    text = f"format_timestamp({format_}, 'UTC')" if is_zoned else f"format_datetime({format_})"
    return replace(moment_form(BIGQUERY_SYNTAX, "v", text), types=_MOMENT_TYPES)


def _without_zeros(number: str) -> str:
    """Write the SQL expression that removes zeros at the end of a fraction, if there is one."""
    shortened = without_last_zeros(number, _WITHOUT_END)
    return f"CASE WHEN strpos({number}, '.') > 0 THEN {shortened} ELSE {number} END"


def bigquery_can_compute(connection: Connection) -> bool:
    """Return whether BigQuery can compute normal forms, as its only version can."""
    del connection
    return True
