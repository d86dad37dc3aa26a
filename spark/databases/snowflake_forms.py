"""Write the normal forms of values in Snowflake's SQL."""

from dataclasses import replace

from sqlalchemy import Connection
from sqlalchemy.types import Boolean, Date, DateTime, Float, Numeric, String, TypeEngine

from datahub_hyperjoin.spark.databases.binary_values import HEX_DIGITS
from datahub_hyperjoin.spark.databases.probes import Probe, computes_probes, probes_of_texts
from datahub_hyperjoin.spark.databases.sql_forms import (
    NUMBER_TYPES,
    SqlForm,
    day_form,
    moment_form,
    text_form,
    without_needless_zeros,
)
from datahub_hyperjoin.spark.databases.sql_syntax import SqlSyntax, quote_in_one_line
from datahub_hyperjoin.tables import DataType

# An empty specification removes the collation of a column.
_EXACT = "collate({0}, '')"
_WITHOUT_END = "rtrim({0}, {1})"
_ZONED = {"TIMESTAMP_LTZ", "TIMESTAMP_TZ"}
_MOMENT_TEXT = "to_char({0}, 'YYYY-MM-DD HH24:MI:SS.FF6')"
# Readers get microseconds.
_HAS_NANOSECONDS = "mod(date_part(nanosecond, v), 1000) <> 0"
# SQL cannot write the shortest number that is read as the same float. If any number of at most 15
# digits is, it is the only one.
_FIFTEEN_DIGITS = (
    "CASE WHEN abs(v) < 1e6 THEN CAST(v AS NUMBER(16, 9)) "
    "WHEN abs(v) < 1e9 THEN CAST(v AS NUMBER(16, 6)) "
    "WHEN abs(v) < 1e12 THEN CAST(v AS NUMBER(16, 3)) "
    "WHEN abs(v) < 1e15 THEN CAST(v AS NUMBER(16, 0)) END"
)
# A NaN is greater than all numbers.
_HAS_MORE_DIGITS = f"NOT abs(v) < 1e15 OR CAST({_FIFTEEN_DIGITS} AS FLOAT) <> v"
_PROBES = (
    Probe(Boolean(), "true", "true"),
    Probe(Date(), "to_date('2024-01-31')", "2024-01-31"),
    Probe(DateTime(), "to_timestamp_ntz('2024-01-31 00:00:00')", "2024-01-31"),
    Probe(DateTime(), "to_timestamp_ntz('2024-01-31 09:30:00.25')", "2024-01-31 09:30:00.25"),
    Probe(Float(), "CAST(1234567.25 AS FLOAT)", "1234567.25"),
    Probe(Numeric(), "CAST(-0.5 AS NUMBER(12, 2))", "-0.5"),
    Probe(Numeric(), "CAST(120 AS NUMBER(12, 2))", "120"),
    Probe(Numeric(), "CAST(120 AS NUMBER(12, 0))", "120"),
    *probes_of_texts(String(1), quote_in_one_line),
)

SNOWFLAKE_SYNTAX = SqlSyntax(
    digits_of_bytes=HEX_DIGITS["snowflake"],
    quote_text=quote_in_one_line,
    exact=_EXACT,
    # Its other functions compare a regular expression with the whole text.
    matches="regexp_instr({0}, {1}) > 0",
    replaced="regexp_replace({0}, {1}, {2})",
    has_silent_groups=False,
    length="length({0})",
    without_end=_WITHOUT_END,
    digits="to_varchar(CAST({0} AS NUMBER(38, 0)))",
    bits="bitor_agg({0})",
    joined="listagg(CASE WHEN {3} THEN {0} END, {1}) WITHIN GROUP (ORDER BY {2})",
    joined_bytes=(
        "base64_encode(hex_decode_binary("
        "listagg(CASE WHEN {2} THEN {0} END, '') WITHIN GROUP (ORDER BY {1})))"
    ),
    materialized="AS",
)
"""The SQL of Snowflake."""


def snowflake_form(type_: TypeEngine[object]) -> SqlForm | None:
    """Write the normal forms of a column of Snowflake.

    Returns:
        The expressions; None if SQL cannot compute the normal form.
    """
    match type_:
        case Boolean():
            types = ((DataType.BOOLEAN, "true"),)
            return SqlForm("{}", _EXACT.format("to_varchar(v)"), types=types)
        case String():
            # Every text has a length. SQLAlchemy does not understand it if more follows, such as a
            # collation.
            return text_form(SNOWFLAKE_SYNTAX, "{}") if type_.length else None
        case Float():
            folded = _number_text(_FIFTEEN_DIGITS)
            # A zero with a sign may be a group of its own.
            return SqlForm("{}", folded, _HAS_MORE_DIGITS, types=NUMBER_TYPES, is_unique=False)
        case Numeric():
            return SqlForm("{}", _number_text("v"), types=NUMBER_TYPES)
        case _:
            return _temporal_form(type_)


def _number_text(value: str) -> str:
    """Write the text of a number, without zeros at the end of its fraction."""
    return _EXACT.format(without_needless_zeros(f"to_varchar({value})", _WITHOUT_END))


def _temporal_form(type_: TypeEngine[object]) -> SqlForm | None:
    if isinstance(type_, Date):
        return day_form(SNOWFLAKE_SYNTAX, "to_char(v, 'YYYY-MM-DD')")
    # The classes of these types are installed with the extra `snowflake` only.
    name = type(type_).__name__
    if not isinstance(type_, DateTime) and name not in _ZONED | {"TIMESTAMP_NTZ"}:
        return None
    zoneless = "convert_timezone('UTC', v)" if name in _ZONED else "v"
    moment = f"CAST({zoneless} AS TIMESTAMP_NTZ)"
    form = moment_form(SNOWFLAKE_SYNTAX, moment, _MOMENT_TEXT.format(moment))
    # The same point in time may be in several time zones.
    is_unique = name not in _ZONED
    return replace(form, inexact=f"{form.inexact} OR {_HAS_NANOSECONDS}", is_unique=is_unique)


def snowflake_can_compute(connection: Connection) -> bool:
    """Return whether Snowflake computes the normal forms of some values as this package does.

    Its functions depend on parameters of the account and of the session.
    """
    return computes_probes(connection, snowflake_form, _PROBES)
