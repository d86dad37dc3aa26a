"""Write SQL that computes the normal forms of a column's values.

A database that computes normal forms can count and compare values that never leave it. SQL knows
neither Unicode's full case folding nor its compatibility forms, so an expression is exact for most
values only. A condition tells for which it is not, and columns with such values are read instead.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

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

from datahub_hyperjoin.normal_form import NEEDS_REWRITE, REWRITES
from datahub_hyperjoin.tables import DataType

_LONGEST = 1 << 20
"""Maximum length of a text in bytes; readers may cut longer texts."""
_SPACES = "[\\t-\\r\\x1c-\\x1f ]+"
_FIRST_DAY, _LAST_DAY = "0001-01-02", "9999-12-30"
"""First and last day on which the year is one that Python supports, whatever the time zone."""


@dataclass(frozen=True, slots=True)
class SqlForm:
    """SQL expressions that compute the normal forms of a column's values."""

    value: str
    """Expression by which rows are grouped first: the value of the column `{}`."""

    folded: str
    """Expression that turns the grouped value `v` into text, without regard to case and spaces."""

    inexact: str = "false"
    """Condition on `v` under which the normal form that SQL computes may be wrong."""

    normal: str = "f"
    """Expression that turns the folded text `f` into the normal form. An empty text is a null."""

    text: str = "f"
    """Expression of `v` or `f`: the text of the value as readers return it."""

    types: tuple[tuple[DataType, str], ...] = ()
    """The possible types of a value, each with a condition on the normal form `f`. The first true
    condition determines the type. The tuple is empty for texts, which may be of any type.

    Texts may also be words such as `NA`, which mean null in some columns, and several of them may
    have one normal form."""

    @property
    def is_text(self) -> bool:
        """Whether the values are texts."""
        return not self.types


def quote_text(text: str) -> str:
    r"""Write a text as a PostgreSQL string literal.

    Args:
        text: Any text without null characters.

    Returns:
        The literal, which does not depend on the server's settings.

    >>> print(quote_text(r"d'\w"))
    E'd\'\\w'
    """
    return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def sql_form_of(type_: TypeEngine[object], connection: Connection) -> SqlForm | None:
    """Return the SQL for the normal forms of a column's values; None if SQL cannot compute them.

    Args:
        type_: The column's type, as SQLAlchemy reflects it.
        connection: A connection to its database.

    Returns:
        The expressions; None if the database's SQL cannot compute the normal form.
    """
    forms = COMPUTING_DIALECTS.get(connection.dialect.name)
    return forms(type_) if forms else None


def can_compute(connection: Connection) -> bool:
    """Return whether a database can compute normal forms.

    Args:
        connection: A connection to it.

    Returns:
        True for PostgreSQL from version 13 on, if its texts are UTF-8.
    """
    if connection.dialect.name not in COMPUTING_DIALECTS:
        return False
    [major, *_] = connection.dialect.server_version_info or (0,)
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    return int(major) >= _FIRST_VERSION and encoding == "UTF8"


def _postgresql_form(type_: TypeEngine[object]) -> SqlForm | None:
    match type_:
        case Date() | DateTime():
            return _postgresql_moment(type_)
        case CHAR(length=int() as length):
            # As text, the value has no spaces at its end.
            return replace(_POSTGRESQL_TEXT, text=f"rpad(v, {length})")
        case String():
            return _POSTGRESQL_TEXT
        case Float():
            return SqlForm("{}", _C.format(_FLOAT), _IS_FAR, types=_NUMBERS)
        case Numeric():
            return SqlForm("{}", _C.format("trim_scale(v)::text"), _IS_ODD, types=_NUMBERS)
        case _:
            # These have texts that are normal forms.
            plain = [each for known, each in _PLAIN_TYPES.items() if isinstance(type_, known)]
            types = tuple((data_type, "true") for data_type in plain)
            return SqlForm("{}", _C.format("v::text"), types=types) if types else None


def _postgresql_moment(type_: Date | DateTime) -> SqlForm:
    if isinstance(type_, Date):
        days = ((DataType.DATE, "true"),)
        return SqlForm("{}", _C.format(_DAY), _far("v"), types=days)
    moment = "(v AT TIME ZONE 'UTC')" if type_.timezone else "v"
    return SqlForm(
        value="{}",
        folded=_C.format(_MOMENT.format(moment)),
        inexact=_far(moment),
        text=f"to_char({moment}, '{_MICROSECONDS}')",
        types=_MOMENTS,
    )


def _far(moment: str) -> str:
    return f"{moment} NOT BETWEEN '{_FIRST_DAY}' AND '{_LAST_DAY}'"


def _rewrite(folded: str) -> str:
    """Write the SQL expression that converts a case-folded text to its normal form."""
    rewritten = folded
    for pattern, replacement in REWRITES:
        rewritten = f"regexp_replace({rewritten}, {quote_text(pattern)}, {quote_text(replacement)})"
    # Bytes are compared much faster than patterns, and these values begin with `-` or a digit.
    may_need = f"{folded} >= '-' AND {folded} < ':'"
    needs = f"CASE WHEN {may_need} THEN {folded} ~ {quote_text(NEEDS_REWRITE)} END"
    return f"CASE WHEN {needs} THEN {rewritten} ELSE {folded} END"


_PLAIN_TYPES = {Integer: DataType.INTEGER, Boolean: DataType.BOOLEAN, Uuid: DataType.TEXT}
"""Maps database types with text in normal form to the types that readers infer from the text."""
_C = '({}) COLLATE "C"'
"""Template that applies the collation "C" to a text: the text is compared by bytes, and only ASCII
letters have upper and lower case."""
_DAY = "to_char(v, 'YYYY-MM-DD')"
_MICROSECONDS = "YYYY-MM-DD HH24:MI:SS.US"
_MOMENT = (
    "CASE WHEN {0} = date_trunc('day', {0}) THEN to_char({0}, 'YYYY-MM-DD') "
    f"ELSE rtrim(rtrim(to_char({{0}}, '{_MICROSECONDS}'), '0'), '.') END"
)
_IS_ODD = "v::text IN ('NaN', 'Infinity', '-Infinity')"
# From 2^53 on, not every whole number is a double. Readers leave exponents of three digits.
_IS_FAR = f"{_IS_ODD} OR abs(v) >= {1 << 53} OR v <> 0 AND abs(v) < 1e-15"
# Both PostgreSQL and Arrow write the shortest number that is read as the same float.
_FLOAT = f"CASE WHEN {_IS_ODD} THEN v::text ELSE trim_scale(v::text::numeric)::text END"
_NUMBERS = ((DataType.INTEGER, "strpos(f, '.') = 0"), (DataType.DECIMAL, "true"))
_MOMENTS = ((DataType.DATE, "length(f) = 10"), (DataType.TIMESTAMP, "true"))
_SOME_SPACES = "[\\t-\\r\\x1c-\\x1f]|  "
# To look for spaces takes half of the time of replacing them, and few values have any.
_FOLDED = (
    f"btrim(lower(CASE WHEN v ~ {quote_text(_SOME_SPACES)} "
    f"THEN regexp_replace(v, {quote_text(_SPACES)}, ' ', 'g') ELSE v END))"
)
_POSTGRESQL_TEXT = SqlForm(
    value=_C.format("{}::text"),
    folded=_FOLDED,
    # In UTF-8, only ASCII has one byte for each character.
    inexact=f"octet_length(v) <> char_length(v) OR octet_length(v) > {_LONGEST}",
    normal=_rewrite("f"),
    text="v",
)
_FIRST_VERSION = 13
"""The first version of PostgreSQL with `trim_scale`."""
COMPUTING_DIALECTS: Mapping[str, Callable[[TypeEngine[object]], SqlForm | None]] = {
    "postgresql": _postgresql_form
}
"""Functions that write the normal forms of a column type, by SQLAlchemy's name of the dialect."""
