"""Write the normal forms of values in Amazon Redshift's SQL.

The leader node and the compute nodes of a cluster have different functions. Only the compute nodes
read tables, so that the self-check takes its values from one. It has much to find out: no
documentation says how a replacement names a group, or that system views are read as tables are.
"""

from typing import Any

from sqlalchemy import Connection
from sqlalchemy.types import (
    CHAR,
    REAL,
    VARCHAR,
    Boolean,
    Date,
    DateTime,
    Float,
    Integer,
    Numeric,
    TypeEngine,
)

from datahub_hyperjoin.spark.counting.aggregate import LONGEST_TEXT
from datahub_hyperjoin.spark.databases.binary_values import HEX_DIGITS
from datahub_hyperjoin.spark.databases.probes import Probe, computes_probes, probes_of_texts
from datahub_hyperjoin.spark.databases.sql_counts import FIRST_CHARACTER
from datahub_hyperjoin.spark.databases.sql_forms import (
    DIGITS_OF_DOUBLE,
    DIGITS_OF_REAL,
    NUMBER_TYPES,
    SqlForm,
    day_form,
    decimal_form,
    moment_form,
    text_form,
    without_needless_zeros,
)
from datahub_hyperjoin.spark.databases.sql_syntax import SqlSyntax
from datahub_hyperjoin.tables import DataType

_EXACT = "collate({0}, 'case_sensitive')"
# Comparisons and groups disregard spaces at the end of a text, so no text may end with one.
_MARKED = "{} || '.'"
_UNMARKED = "left(v, len(v) - 1)"
_TEXT_OF = "CAST({} AS varchar(64))"
_TEXT = _TEXT_OF.format("v")
# No documentation says that a boolean can be cast to a text.
_TRUTH = "CASE WHEN v THEN 'true' WHEN NOT v THEN 'false' END"
# Casts of floats cut digits off, as of 0.29, which is 0.289999999999999980.
_NUDGED = "CAST(v AS float8) + sign(v) * {}"
_WITHOUT_END = "rtrim({0}, {1})"
_LONGEST_CHAR = 4096
"""Maximum length of a CHAR; as a VARCHAR, it loses the spaces at its end."""


def quote_for_redshift(text: str) -> str:
    r"""Write a text as a string literal, in which backslashes escape."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _character() -> str:
    """Write the template of a character with a given code; CHR knows those of ASCII only."""
    codes = range(FIRST_CHARACTER, FIRST_CHARACTER + LONGEST_TEXT + 1)
    # Drivers interpret a `%`.
    parts = map(quote_for_redshift, "".join(map(chr, codes)).split("%"))
    characters = f" || chr({ord('%')}) || ".join(parts).replace("{", "{{").replace("}", "}}")
    return f"substring({characters}, {{0}} - {FIRST_CHARACTER - 1}, 1)"


REDSHIFT_SYNTAX = SqlSyntax(
    digits_of_bytes=HEX_DIGITS["redshift"],
    quote_text=quote_for_redshift,
    exact="{0}",
    # With 'p', patterns are those of PCRE.
    matches="regexp_instr({0}, {1}, 1, 1, 0, 'p') > 0",
    replaced="regexp_replace({0}, {1}, {2}, 1, 'p')",
    group_mark="$",
    # The compute nodes have no SUBSTR.
    rest="substring({0}, {1}, 65535)",
    day="CAST({0} AS date)",
    without_end=_WITHOUT_END,
    digits="CAST({0} AS varchar(20))",
    character=_character(),
    joined="listagg(CASE WHEN {3} THEN {0} END, {1}) WITHIN GROUP (ORDER BY {2})",
    joined_bytes=(
        "from_varbyte(to_varbyte(nullif(listagg(CASE WHEN {2} THEN {0} END, '') "
        "WITHIN GROUP (ORDER BY {1}), ''), 'hex'), 'base64')"
    ),
    has_one_order=True,
    # Beyond this size, LISTAGG fails.
    most_joined=65_535,
    materialized="AS",
    # Plans of several columns are large, and each column needs several steps.
    most_columns=1,
)
"""The SQL of Redshift. All statements of a transaction see the same rows."""


def redshift_form(type_: TypeEngine[object]) -> SqlForm | None:
    """Write the normal forms of a column of Redshift.

    Returns:
        The expressions; None if SQL cannot compute the normal form.
    """
    match type_:
        case CHAR() | VARCHAR():
            return _text_form(type_)
        case Date() | DateTime():
            return _moment_form(type_)
        case Numeric():
            return _number_form(type_)
        case Boolean():
            return SqlForm("{}", _TRUTH, types=((DataType.BOOLEAN, "true"),))
        case Integer():
            return SqlForm("{}", _TEXT, types=((DataType.INTEGER, "true"),))
        case _:
            return None


def _text_form(type_: CHAR | VARCHAR) -> SqlForm:
    if isinstance(type_, CHAR):
        value = _EXACT.format(f"CAST({{}} AS varchar({_LONGEST_CHAR}))")
        padded = f"rpad(v, {type_.length})" if type_.length else "v"
        return text_form(REDSHIFT_SYNTAX, value, text=padded)
    return text_form(REDSHIFT_SYNTAX, _EXACT.format(_MARKED), text=_UNMARKED, spelled=_UNMARKED)


def _number_form(type_: Numeric[Any]) -> SqlForm:
    match type_:
        case REAL():
            real = "CAST(CAST({} AS float8) AS real)"
            return decimal_form(DIGITS_OF_REAL, real, _TEXT_OF, _NUDGED)
        case Float():
            return decimal_form(DIGITS_OF_DOUBLE, "CAST({} AS float8)", _TEXT_OF, _NUDGED)
        case _:
            folded = without_needless_zeros(_TEXT, _WITHOUT_END)
            return SqlForm("{}", folded, types=NUMBER_TYPES)


def _moment_form(type_: Date | DateTime) -> SqlForm:
    if isinstance(type_, Date):
        return day_form(REDSHIFT_SYNTAX, "to_char(v, 'YYYY-MM-DD')")
    moment = "(v AT TIME ZONE 'UTC')" if type_.timezone else "v"
    text = f"to_char({moment}, 'YYYY-MM-DD HH24:MI:SS.US')"
    return moment_form(REDSHIFT_SYNTAX, moment, text)


# A value that depends on a row of a table is computed where tables are read.
_ROW = " FROM (SELECT query_id AS i FROM sys_query_history LIMIT 1) AS q"


def _of_row(value: str) -> str:
    return f"CASE WHEN i > 0 THEN {value} END"


_VALUES: tuple[tuple[TypeEngine[Any], str, str], ...] = (
    (Boolean(), "true", "true"),
    (Integer(), "-7", "-7"),
    (Date(), "CAST('2024-01-31' AS date)", "2024-01-31"),
    (DateTime(), "CAST('2024-01-31 00:00:00' AS timestamp)", "2024-01-31"),
    (DateTime(), "CAST('2024-01-31 09:30:00.25' AS timestamp)", "2024-01-31 09:30:00.25"),
    (
        DateTime(timezone=True),
        "CAST('2024-01-31 01:00:00.000010+01:30' AS timestamptz)",
        "2024-01-30 23:30:00.00001",
    ),
    (Float(), "CAST(1234567.25 AS float8)", "1234567.25"),
    (Float(), "CAST(-0.29 AS float8)", "-0.29"),
    (REAL(), "CAST(-0.1 AS real)", "-0.1"),
    (Numeric(), "CAST(-0.5 AS decimal(12, 2))", "-0.5"),
    (Numeric(), "CAST(120 AS decimal(12, 2))", "120"),
    (Numeric(), "CAST(120 AS decimal(12, 0))", "120"),
    (CHAR(8), "CAST('Oslo' AS char(8))", "oslo"),
)
_PROBES = (
    *(Probe(type_, _of_row(value), normal) for type_, value, normal in _VALUES),
    *probes_of_texts(VARCHAR(9), lambda text: _of_row(quote_for_redshift(text))),
)


def redshift_can_compute(connection: Connection) -> bool:
    """Return whether Redshift's compute nodes compute some normal forms as this package does."""
    return computes_probes(connection, redshift_form, _PROBES, _ROW)
