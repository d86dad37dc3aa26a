"""Write the normal forms of values in ClickHouse's SQL."""

from sqlalchemy import Connection
from sqlalchemy.types import TypeEngine

from datahub_hyperjoin.spark.databases.clickhouse_types import ClickHouseType
from datahub_hyperjoin.spark.databases.sql_forms import (
    MOMENT_TYPES,
    NUMBER_TYPES,
    SqlForm,
    text_form,
    without_needless_zeros,
)
from datahub_hyperjoin.spark.databases.sql_syntax import SqlSyntax, quote_with_backslashes
from datahub_hyperjoin.tables import DataType

_FIRST_VERSION = (26, 9)
"""The oldest version that is tested."""
# From 2^53 on, not every whole number is a double. Readers leave exponents of three digits.
_IS_FAR = f"NOT isFinite(v) OR abs(v) >= {1 << 53} OR v <> 0 AND abs(v) < 1e-15"
# 32 is the scale that is enough for 17 digits after 15 zeros.
_FLOAT = "toString(toDecimal256OrNull(toString(v), 32))"
_PLAIN_TYPES = {
    "Bool": DataType.BOOLEAN,
    "Date": DataType.DATE,
    "Date32": DataType.DATE,
    "IPv4": DataType.TEXT,
    "IPv6": DataType.TEXT,
    "Time": DataType.TEXT,
    "Time64": DataType.TEXT,
    "UUID": DataType.TEXT,
}
"""Maps types whose texts are normal forms to the types that readers infer from the text. All others
are integers."""

CLICKHOUSE_SYNTAX = SqlSyntax(
    quote_text=quote_with_backslashes,
    exact="{0}",
    matches="match({0}, {1})",
    replaced="replaceRegexpAll({0}, {1}, {2})",
    hashed="hex(substring(MD5({0}), 1, 8))",
    byte_length="length({0})",
    # Its function writes one byte. No text is as long as the characters of three bytes.
    character=(
        "CASE WHEN {0} < 128 THEN char({0}) ELSE char(192 + intDiv({0}, 64), 128 + bitAnd({0}, 63))"
        " END"
    ),
    joined=(
        "arrayStringConcat(arrayMap(e -> e.1, arraySort(e -> e.2, "
        "groupArrayIf((ifNull({0}, ''), ({2})), ifNull({3}, false)))), {1})"
    ),
    joined_bytes=(
        "base64Encode(arrayStringConcat(arrayMap(e -> unhex(e.1), arraySort(e -> e.2, "
        "groupArrayIf((ifNull({0}, ''), ({1})), ifNull({2}, false))))))"
    ),
    materialized="AS",
    # It plans several columns in one statement for longer than each in its own.
    most_columns=1,
)
"""The SQL of ClickHouse."""


def clickhouse_form(type_: TypeEngine[object]) -> SqlForm | None:
    """Write the normal forms of a column of ClickHouse.

    Returns:
        The expressions; None if SQL cannot compute the normal form.
    """
    if not isinstance(type_, ClickHouseType) or not type_.read:
        return None
    text = type_.read.format("v")
    match type_.family:
        case "String" | "FixedString" | "Enum8" | "Enum16":
            return text_form(CLICKHOUSE_SYNTAX, type_.read)
        case "Float64" | "Float32" | "BFloat16":
            folded = without_needless_zeros(_FLOAT)
            # A zero with a sign is a group of its own.
            return SqlForm(type_.read, folded, _IS_FAR, types=NUMBER_TYPES, is_unique=False)
        case "Decimal":
            return SqlForm("{}", text, types=NUMBER_TYPES)
        case "DateTime" | "DateTime64":
            return _moment_form(text)
        case family:
            plain = _PLAIN_TYPES.get(family, DataType.INTEGER)
            return SqlForm("{}", text, types=((plain, "true"),))


def _moment_form(text: str) -> SqlForm:
    """Write the normal forms of points in time; all are in years that Python knows."""
    shortened = (
        f"CASE WHEN match(substr({text}, 12), '^00:00:00([.]0+)?$') THEN left({text}, 10) "
        f"ELSE {without_needless_zeros(text)} END"
    )
    # Those outside of the years from 1900 to 2299 may have the text of the first or the last.
    return SqlForm("{}", shortened, text=text, types=MOMENT_TYPES, is_unique=False)


def clickhouse_can_compute(connection: Connection) -> bool:
    """Return whether a ClickHouse server can compute normal forms.

    Returns:
        True from version 26.9 on, unless the user may not change settings.
    """
    major, minor, *_ = connection.dialect.server_version_info or (0, 0)
    is_set = "SELECT value = '1' FROM system.settings WHERE name = 'prefer_column_name_to_alias'"
    return (int(major), int(minor)) >= _FIRST_VERSION and bool(
        connection.exec_driver_sql(is_set).scalar_one()
    )
