"""Write the normal forms of values in Trino's SQL."""

import re
from dataclasses import replace

from sqlalchemy import Connection
from sqlalchemy.types import (
    REAL,
    Boolean,
    Date,
    DateTime,
    Float,
    Integer,
    Numeric,
    String,
    Time,
    TypeEngine,
    Uuid,
)

from datahub_hyperjoin.spark.databases.binary_values import HEX_DIGITS
from datahub_hyperjoin.spark.databases.probes import Probe, computes_probes, probes_of_texts
from datahub_hyperjoin.spark.databases.sql_forms import (
    DIGITS_OF_DOUBLE,
    DIGITS_OF_REAL,
    NUMBER_TYPES,
    SqlForm,
    day_form,
    decimal_form,
    moment_form,
    plain_form,
    text_form,
    without_needless_zeros,
)
from datahub_hyperjoin.spark.databases.sql_syntax import SqlSyntax
from datahub_hyperjoin.tables import DataType

_PLAIN_TYPES = {Integer: DataType.INTEGER, Boolean: DataType.BOOLEAN, Uuid: DataType.TEXT}
"""Maps database types with text in normal form to the types that readers infer from the text."""
_TEXT_OF = "CAST({} AS varchar)"
_TEXT = _TEXT_OF.format("v")
# Readers get microseconds.
_MOMENT = "CAST(v AS timestamp(6))"
_TIME = "CAST(CAST(v AS time(6)) AS varchar)"
_CONTROL = re.compile(r"[\0-\x1f]")
_JOINED = "array_join(array_agg({text} ORDER BY {order}) FILTER (WHERE {condition}), {separator})"


def quote_for_trino(text: str) -> str:
    r"""Write a text as a string literal, without control characters.

    Returns:
        The literal; only if there are such characters, backslashes escape.

    >>> print(quote_for_trino(r"d'\w"), quote_for_trino("\\w\t"))
    'd''\w' U&'\\w\0009'
    """
    quoted = text.replace("'", "''")
    if not _CONTROL.search(text):
        return f"'{quoted}'"
    escaped = quoted.replace("\\", "\\\\")
    escaped = _CONTROL.sub(lambda found: f"\\{ord(found[0]):04x}", escaped)
    return f"U&'{escaped}'"


TRINO_SYNTAX = SqlSyntax(
    digits_of_bytes=HEX_DIGITS["trino"],
    quote_text=quote_for_trino,
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
    materialized="AS",
    # It limits the stages of a statement, and each column needs several.
    most_columns=1,
)
"""The SQL of Trino. Arithmetic that overflows is an error."""


def trino_form(type_: TypeEngine[object]) -> SqlForm | None:
    """Write the normal forms of a column of Trino.

    Returns:
        The expressions; None if SQL cannot compute the normal form.
    """
    match type_:
        case String():
            # Those of CHAR get the spaces at their end with which readers get them.
            return text_form(TRINO_SYNTAX, "CAST({} AS varchar)")
        case REAL():
            return decimal_form(DIGITS_OF_REAL, "CAST(CAST({} AS double) AS real)", _TEXT_OF)
        case Float():
            return decimal_form(DIGITS_OF_DOUBLE, "CAST({} AS double)", _TEXT_OF)
        case Numeric():
            return SqlForm("{}", without_needless_zeros(_TEXT), types=NUMBER_TYPES)
        case _:
            return plain_form(type_, _PLAIN_TYPES, _TEXT) or _temporal_form(type_)


def _temporal_form(type_: TypeEngine[object]) -> SqlForm | None:
    match type_:
        case Date():
            return day_form(TRINO_SYNTAX, _TEXT)
        case DateTime():
            # Equal points in time are one group, whatever their time zones.
            value = "CAST(at_timezone({}, 'UTC') AS timestamp(12))" if type_.timezone else "{}"
            form = moment_form(TRINO_SYNTAX, _MOMENT, f"CAST({_MOMENT} AS varchar)")
            inexact = f"{form.inexact} OR v <> {_MOMENT}"
            return replace(form, value=value, inexact=inexact)
        case Time() if not type_.timezone:
            is_whole = f"substr({_TIME}, 9) = '.000000'"
            folded = f"CASE WHEN {is_whole} THEN substr({_TIME}, 1, 8) ELSE {_TIME} END"
            inexact = "v <> CAST(v AS time(6))"
            return SqlForm("{}", folded, inexact, types=((DataType.TEXT, "true"),))
        case _:
            return None


_PROBES = (
    Probe(Boolean(), "true", "true"),
    Probe(Integer(), "-7", "-7"),
    Probe(Date(), "DATE '2024-01-31'", "2024-01-31"),
    Probe(DateTime(), "TIMESTAMP '2024-01-31 00:00:00'", "2024-01-31"),
    Probe(DateTime(), "TIMESTAMP '2024-01-31 09:30:00.25'", "2024-01-31 09:30:00.25"),
    Probe(
        DateTime(timezone=True),
        "TIMESTAMP '2024-01-31 01:00:00.000010 +01:30'",
        "2024-01-30 23:30:00.00001",
    ),
    Probe(Time(), "TIME '09:30:00'", "09:30:00"),
    Probe(Time(), "TIME '09:30:00.25'", "09:30:00.250000"),
    Probe(Float(), "CAST(1234567.25 AS double)", "1234567.25"),
    Probe(REAL(), "CAST(-0.1 AS real)", "-0.1"),
    Probe(Numeric(), "CAST(-0.5 AS decimal(12, 2))", "-0.5"),
    Probe(Numeric(), "CAST(120 AS decimal(12, 2))", "120"),
    Probe(Numeric(), "CAST(120 AS decimal(12, 0))", "120"),
    *probes_of_texts(String(), quote_for_trino),
)


def trino_can_compute(connection: Connection) -> bool:
    """Return whether Trino computes the normal forms of some values as this package does.

    Its versions differ, and so do the regular expressions that a server may be set to.
    """
    return computes_probes(connection, trino_form, _PROBES)
