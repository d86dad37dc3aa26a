"""Write the normal forms of values in MariaDB's SQL."""

from dataclasses import replace

from sqlalchemy import Connection
from sqlalchemy.dialects.mysql import BIT, YEAR
from sqlalchemy.types import (
    TIMESTAMP,
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
from datahub_hyperjoin.spark.databases.sql_forms import (
    NUMBER_TYPES,
    SqlForm,
    day_form,
    moment_form,
    text_form,
    without_needless_zeros,
)
from datahub_hyperjoin.spark.databases.sql_syntax import SqlSyntax, quote_with_backslashes
from datahub_hyperjoin.tables import DataType

_FIRST_VERSION = (10, 11)
"""The oldest version that is tested."""
_MISREADING_MODES = {
    "EMPTY_STRING_IS_NULL",
    "NO_BACKSLASH_ESCAPES",
    "ORACLE",
    "PAD_CHAR_TO_FULL_LENGTH",
}
"""Modes in which a server would read the statements, or return values, in another way."""
_MOST_JOINED_BYTES = 1 << 24
"""Maximum size of a joined text, in bytes; larger than any that is asked for."""
# In the other binary collation, texts that differ only in spaces at the end are equal.
_EXACT = "({0}) COLLATE utf8mb4_nopad_bin"
_TEXT_TYPE = ((DataType.TEXT, "true"),)
_INTEGER_TYPE = ((DataType.INTEGER, "true"),)
_HAS_ZERO = "dayofmonth(v) = 0 OR month(v) = 0"
# From 2^53 on, not every whole number is a double. Readers leave exponents of three digits.
_IS_FAR = f"abs(v + 0e0) >= {1 << 53} OR v + 0e0 <> 0 AND abs(v + 0e0) < 1e-15"
# 38 is the largest scale, and enough for 17 digits after 15 zeros.
_FLOAT = "CAST(CAST(v AS DECIMAL(65, 38)) AS CHAR)"
_TEXT = "CAST(v AS CHAR)"
_PLAIN_FORMS = {
    BIT: SqlForm("CAST({} AS UNSIGNED)", _EXACT.format(_TEXT), types=_INTEGER_TYPE),
    YEAR: SqlForm("CAST({} AS UNSIGNED)", _EXACT.format(_TEXT), types=_INTEGER_TYPE),
    Integer: SqlForm("{}", _EXACT.format(_TEXT), types=_INTEGER_TYPE),
    Uuid: SqlForm("{}", _EXACT.format(_TEXT), types=_TEXT_TYPE),
}
"""The normal forms of types whose texts are normal forms."""

MARIADB_SYNTAX = SqlSyntax(
    digits_of_bytes=HEX_DIGITS["mariadb"],
    quote_text=quote_with_backslashes,
    exact=_EXACT,
    matches="{0} REGEXP {1}",
    replaced="regexp_replace({0}, {1}, {2})",
    # Its CHAR takes bytes, and those of this encoding are the code.
    character="convert(char({0} USING utf32) USING utf8mb4)",
    joined="group_concat(CASE WHEN {3} THEN {0} END ORDER BY {2} SEPARATOR {1})",
    joined_bytes="group_concat(CASE WHEN {2} THEN unhex({0}) END ORDER BY {1} SEPARATOR '')",
    materialized="AS",
    # Of an index, it would return the smallest values.
    scanned="{0} USE INDEX ()",
    # It keeps several temporary tables for each column, and reads a sample anew for each.
    most_columns=1,
    fence=f" LIMIT {(1 << 64) - 1}",
    # The isolation level is that of the next transaction.
    preparations=(
        "ROLLBACK",
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION READ ONLY",
    ),
    settings=(
        f"SET STATEMENT group_concat_max_len = {_MOST_JOINED_BYTES}, default_regex_flags = '' FOR "
    ),
)
"""The SQL of MariaDB."""


def mariadb_form(type_: TypeEngine[object]) -> SqlForm | None:
    """Write the normal forms of a column of MariaDB.

    Returns:
        The expressions; None if SQL cannot compute the normal form.
    """
    # The texts of such numbers have zeros that the numbers do not have.
    if getattr(type_, "zerofill", False):
        return None
    match type_:
        case Date() | DateTime() | Time():
            return _temporal_form(type_)
        case String():
            return text_form(MARIADB_SYNTAX, "convert({} USING utf8mb4)")
        case Float():
            # A float has more digits than its text, which readers get. Without a length, grouping
            # would cut texts.
            value = _EXACT.format("CAST({} AS CHAR(40))")
            folded = _EXACT.format(without_needless_zeros(_FLOAT))
            return SqlForm(value, folded, _IS_FAR, types=NUMBER_TYPES, is_unique=False)
        case Numeric():
            return SqlForm("{}", _EXACT.format(without_needless_zeros(_TEXT)), types=NUMBER_TYPES)
        case _:
            found = (form for known, form in _PLAIN_FORMS.items() if isinstance(type_, known))
            return next(found, None)


def _temporal_form(type_: Date | DateTime | Time) -> SqlForm:
    if isinstance(type_, Time):
        return SqlForm("{}", _EXACT.format(without_needless_zeros(_TEXT)), types=_TEXT_TYPE)
    if isinstance(type_, Date):
        form = day_form(MARIADB_SYNTAX, _TEXT)
    else:
        form = moment_form(MARIADB_SYNTAX, "v", "CAST(CAST(v AS DATETIME(6)) AS CHAR)")
    # When clocks go back, two points in time are the same in the session's time zone.
    is_unique = not isinstance(type_, TIMESTAMP)
    return replace(form, inexact=f"{form.inexact} OR {_HAS_ZERO}", is_unique=is_unique)


def mariadb_can_compute(connection: Connection) -> bool:
    """Return whether a MariaDB server can compute normal forms.

    Returns:
        True from version 10.11 on, if texts are sent in UTF-8 and no mode changes the meaning of
        the SQL.
    """
    modes, encoding = connection.exec_driver_sql("SELECT @@sql_mode, @@character_set_results").one()
    version = tuple(connection.dialect.server_version_info or ())
    return (
        version >= _FIRST_VERSION
        and encoding == "utf8mb4"
        and _MISREADING_MODES.isdisjoint(modes.split(","))
    )
