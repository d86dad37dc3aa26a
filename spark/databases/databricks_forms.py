"""Write the normal forms of values in the SQL of Databricks, which is that of Spark."""

from dataclasses import replace

from sqlalchemy import Connection
from sqlalchemy.types import (
    Boolean,
    Date,
    DateTime,
    Float,
    Integer,
    Numeric,
    String,
    TypeEngine,
)

from datahub_hyperjoin.spark.databases.binary_values import HEX_DIGITS
from datahub_hyperjoin.spark.databases.sql_forms import (
    NUMBER_TYPES,
    SqlForm,
    day_form,
    moment_form,
    plain_form,
    text_form,
    without_needless_zeros,
)
from datahub_hyperjoin.spark.databases.sql_syntax import SqlSyntax, quote_with_backslashes
from datahub_hyperjoin.tables import DataType

_EXACT_DIGITS = 15
"""Two decimals of at most this many digits are never the same double, so that one of them is the
shortest text. Engines differ in texts with more digits."""
_PLAIN_TYPES = {Integer: DataType.INTEGER, Boolean: DataType.BOOLEAN}
"""Maps database types with text in normal form to the types that readers infer from the text."""
_EXACT = "({0}) COLLATE UTF8_BINARY"
_TEXT = "CAST(v AS STRING)"
_MOMENT = "date_format(v, 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
# Without ANSI mode, small decimals have exponents.
_HAS_EXPONENT = "position('E' IN {0}) > 0"
_IS_WHOLE = "rint(v) = v"
# No decimal has enough digits for 15 of them both from 10^-15 on and below 2^53.
_FLOAT = (
    f"CASE WHEN {_IS_WHOLE} THEN CAST(try_cast(v AS BIGINT) AS STRING) "
    "WHEN abs(v) >= 1 THEN CAST(try_cast(v AS DECIMAL(38, 15)) AS STRING) "
    "ELSE CAST(try_cast(v AS DECIMAL(38, 30)) AS STRING) END"
)
# From 2^53 on, not every whole number is a double. Readers leave exponents of three digits.
_IS_FAR = f"isnan(v) OR abs(v) >= {1 << 53} OR v <> 0 AND abs(v) < 1e-15"
_DIGITS = f"trim(BOTH '0' FROM replace(replace(split({_TEXT}, 'E')[0], '.', ''), '-', ''))"
_JOINED = (
    "array_join(transform(array_sort(collect_list(struct({order}, {text} AS joined)) "
    "FILTER (WHERE {condition})), e -> e.joined), {separator})"
)

DATABRICKS_SYNTAX = SqlSyntax(
    digits_of_bytes=HEX_DIGITS["databricks"],
    quote_text=quote_with_backslashes,
    exact=_EXACT,
    matches="{0} RLIKE {1}",
    replaced="regexp_replace({0}, {1}, {2})",
    group_mark="$",
    # Its CHR has only 256 characters.
    character="decode(unhex(lpad(hex({0}), 4, '0')), 'UTF-16BE')",
    joined=_JOINED.format(text="{0}", separator="{1}", order="{2}", condition="{3}"),
    joined_bytes=(
        "unhex(" + _JOINED.format(text="{0}", separator="''", order="{1}", condition="{2}") + ")"
    ),
    materialized="AS",
    preparations=("SET TIME ZONE 'UTC'", "SET ANSI_MODE = true"),
)
"""The SQL of Databricks. Arithmetic that overflows is an error in its ANSI mode."""


def databricks_form(type_: TypeEngine[object]) -> SqlForm | None:
    """Write the normal forms of a column of Databricks.

    Returns:
        The expressions; None if SQL cannot compute the normal form.
    """
    match type_:
        case Date():
            return day_form(DATABRICKS_SYNTAX, _TEXT)
        case DateTime():
            return moment_form(DATABRICKS_SYNTAX, "v", _MOMENT)
        case String():
            # Bytes that are no UTF-8 would count as characters of one byte each.
            return text_form(DATABRICKS_SYNTAX, "make_valid_utf8({})")
        case Float():
            return _float_form()
        case Numeric():
            form = SqlForm("{}", _EXACT.format(without_needless_zeros(_TEXT)), types=NUMBER_TYPES)
            return replace(form, inexact=_HAS_EXPONENT.format(_TEXT))
        case _:
            return plain_form(type_, _PLAIN_TYPES, _EXACT.format(_TEXT))


def _float_form() -> SqlForm:
    """Write the normal forms of floats, which the driver returns as doubles of as many digits."""
    is_long = f"NOT {_IS_WHOLE} AND char_length({_DIGITS}) > {_EXACT_DIGITS}"
    return SqlForm(
        value="CAST({} AS DOUBLE)",
        folded=_EXACT.format(without_needless_zeros(_FLOAT)),
        inexact=f"{_IS_FAR} OR {is_long} OR {_HAS_EXPONENT.format(_FLOAT)}",
        types=NUMBER_TYPES,
    )


def databricks_can_compute(connection: Connection) -> bool:
    """Return whether a Databricks server can compute normal forms.

    Returns:
        True if it reads backslashes in string literals as escapes.
    """
    # Two backslashes are one if the first escapes the second.
    return connection.exec_driver_sql(r"SELECT char_length('\\')").scalar_one() == 1
