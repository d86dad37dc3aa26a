"""Write the normal forms of values in PostgreSQL's SQL."""

from sqlalchemy import Connection
from sqlalchemy.types import (
    CHAR,
    Boolean,
    Date,
    DateTime,
    Float,
    Integer,
    Numeric,
    String,
    TypeEngine,
    Uuid,
)

from datahub_hyperjoin.spark.databases.binary_values import HEX_DIGITS
from datahub_hyperjoin.spark.databases.sql_forms import (
    NUMBER_TYPES,
    SqlForm,
    day_form,
    moment_form,
    plain_form,
    text_form,
)
from datahub_hyperjoin.spark.databases.sql_syntax import SqlSyntax
from datahub_hyperjoin.tables import DataType

_FIRST_VERSION = 13
"""The first version with `trim_scale`."""
_PLAIN_TYPES = {Integer: DataType.INTEGER, Boolean: DataType.BOOLEAN, Uuid: DataType.TEXT}
"""Maps database types with text in normal form to the types that readers infer from the text."""
_IS_ODD = "v::text IN ('NaN', 'Infinity', '-Infinity')"
# From 2^53 on, not every whole number is a double. Readers leave exponents of three digits.
_IS_FAR = f"{_IS_ODD} OR abs(v) >= {1 << 53} OR v <> 0 AND abs(v) < 1e-15"
# Both PostgreSQL and Arrow write the shortest number that is read as the same float.
_FLOAT = f"CASE WHEN {_IS_ODD} THEN v::text ELSE trim_scale(v::text::numeric)::text END"


def quote_for_postgresql(text: str) -> str:
    r"""Write a text as a PostgreSQL string literal.

    Returns:
        The literal, which does not depend on the server's settings.

    >>> print(quote_for_postgresql(r"d'\w"))
    E'd\'\\w'
    """
    return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


POSTGRESQL_SYNTAX = SqlSyntax(
    digits_of_bytes=HEX_DIGITS["postgresql"],
    quote_text=quote_for_postgresql,
    # Under this collation, only ASCII letters have upper and lower case.
    exact='({0}) COLLATE "C"',
    matches="{0} ~ {1}",
    replaced="regexp_replace({0}, {1}, {2}, 'g')",
    joined_bytes=(
        "encode(string_agg(decode({0}, 'hex'), ''::bytea ORDER BY {1}) FILTER (WHERE {2}), "
        "'base64')"
    ),
    fence=" OFFSET 0",
    preparations=("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",),
)
"""The SQL of PostgreSQL."""


def postgresql_form(type_: TypeEngine[object]) -> SqlForm | None:
    """Write the normal forms of a column of PostgreSQL.

    Returns:
        The expressions; None if SQL cannot compute the normal form.
    """
    exact = POSTGRESQL_SYNTAX.exact.format
    match type_:
        case Date() | DateTime():
            return _moment_form(type_)
        case String():
            # As text, the value has no spaces at its end.
            padded = f"rpad(v, {type_.length})" if isinstance(type_, CHAR) and type_.length else "v"
            return text_form(POSTGRESQL_SYNTAX, "{}::text", text=padded)
        case Float():
            return SqlForm("{}", exact(_FLOAT), _IS_FAR, types=NUMBER_TYPES)
        case Numeric():
            return SqlForm("{}", exact("trim_scale(v)::text"), _IS_ODD, types=NUMBER_TYPES)
        case _:
            return plain_form(type_, _PLAIN_TYPES, exact("v::text"))


def _moment_form(type_: Date | DateTime) -> SqlForm:
    if isinstance(type_, Date):
        return day_form(POSTGRESQL_SYNTAX, "to_char(v, 'YYYY-MM-DD')")
    moment = "(v AT TIME ZONE 'UTC')" if type_.timezone else "v"
    text = f"to_char({moment}, 'YYYY-MM-DD HH24:MI:SS.US')"
    return moment_form(POSTGRESQL_SYNTAX, moment, text)


def postgresql_can_compute(connection: Connection) -> bool:
    """Return whether a PostgreSQL server can compute normal forms.

    Returns:
        True from version 13 on, if its texts are UTF-8.
    """
    [major, *_] = connection.dialect.server_version_info or (0,)
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    return int(major) >= _FIRST_VERSION and encoding == "UTF8"
