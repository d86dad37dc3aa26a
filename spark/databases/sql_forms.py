"""Write the normal forms of database columns as SQL.

A database that computes normal forms can count and compare values that never leave it. SQL knows
neither Unicode's full case folding nor its compatibility forms, so an expression is exact for most
values only. A condition tells for which it is not, and columns with such values are read instead.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from sqlalchemy import Connection, Inspector, make_url
from sqlalchemy.types import (
    Boolean,
    Date,
    DateTime,
    Integer,
    Numeric,
    String,
    TypeEngine,
    Uuid,
)

from datahub_hyperjoin.locations import Compute, Database, Relation
from datahub_hyperjoin.normal_form import NEEDS_REWRITE, REWRITES, hash_values
from datahub_hyperjoin.spark.counting.value_types import NULL_WORDS
from datahub_hyperjoin.spark.databases.engines import without_type_warnings
from datahub_hyperjoin.spark.databases.relations import name_of
from datahub_hyperjoin.tables import DataType

_LONGEST = 1 << 20
"""Bytes of a text from which readers may cut it."""
_SPACES = "[\\t-\\r\\x1c-\\x1f ]+"
_FIRST_DAY, _LAST_DAY = "0001-01-02", "9999-12-30"
"""Days between which every moment is in a year that Python knows, in any time zone."""


@dataclass(frozen=True, slots=True)
class SqlForm:
    """SQL expressions for the normal form of a column's values."""

    value: str
    """Expression of the column `{}`, by which its rows are grouped first."""

    folded: str
    """Expression of the grouped value `v`: its text, without regard to case and spaces."""

    inexact: str = "false"
    """Condition on `v` under which the normal form may be another one."""

    normal: str = "f"
    """Expression of the folded text `f`: the normal form. An empty text is a null."""

    length: str = ""
    """Expression of the length of the value's text; empty if all lengths are alike."""

    settled: DataType | None = None
    """The type of the column if a few of its values have that type; None if all have one type."""


def quote_text(text: str) -> str:
    r"""Write a text as a literal of PostgreSQL.

    Args:
        text: Any text without null characters.

    Returns:
        The literal, which does not depend on the server's settings.

    >>> print(quote_text(r"d'\w"))
    E'd\'\\w'
    """
    return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column of a database table in SQL."""

    source: str
    """The quoted name of its table."""

    name: str
    """Its quoted name."""

    form: SqlForm | None
    """Its normal form; None if the database's SQL cannot compute it."""


def may_compute(database: Database) -> bool:
    """Return whether a database shall compute normal forms, and perhaps can.

    Args:
        database: The database.

    Returns:
        False if it has been told not to, or speaks no dialect that can.
    """
    backend = make_url(database.url.get_secret_value()).get_backend_name()
    return database.compute is Compute.DATABASE and backend in _DIALECTS


def sql_columns(
    relation: Relation, inspector: Inspector, connection: Connection
) -> dict[str, SqlColumn]:
    """Describe the columns of a table or view in the SQL of its database.

    Args:
        relation: The table or view.
        inspector: An inspector of its database.
        connection: A connection to it.

    Returns:
        The columns by name.

    Raises:
        SQLAlchemyError: The table cannot be inspected.
    """
    quote = connection.dialect.identifier_preparer.quote_identifier
    source = ".".join(quote(part) for part in (relation.schema, relation.name) if part)
    forms = _DIALECTS[connection.dialect.name]
    with without_type_warnings():
        reflected = inspector.get_columns(relation.name, relation.schema or None)
    named = {name_of(column["name"], inspector): column["type"] for column in reflected}
    return {name: SqlColumn(source, quote(name), forms(type_)) for name, type_ in named.items()}


def can_compute(connection: Connection) -> bool:
    """Return whether a database can compute normal forms.

    Args:
        connection: A connection to it.

    Returns:
        True for PostgreSQL from version 14 on, if its texts are UTF-8.
    """
    if connection.dialect.name not in _DIALECTS:
        return False
    [major, *_] = connection.dialect.server_version_info or (0,)
    if int(major) < _FIRST_VERSION:
        return False
    [(encoding, hashed, name)] = connection.exec_driver_sql(
        "SELECT pg_encoding_to_char(encoding), hashtextextended(current_database(), 0), datname "
        "FROM pg_database WHERE datname = current_database()"
    )
    # Some processors order the bytes of words in another way, which changes all hashes.
    [expected] = hash_values(pa.array([name])).tolist()
    return encoding == "UTF8" and hashed % 2**64 == expected


def _postgresql_form(type_: TypeEngine[object]) -> SqlForm | None:
    match type_:
        case Integer() | Boolean() | Uuid():
            return SqlForm("{}", _C.format("v::text"), length="char_length(v::text)")
        case String():
            return _POSTGRESQL_TEXT
        case Date():
            return SqlForm("{}", _C.format(_DAY), _far("v"))
        case DateTime(timezone=zoned):
            moment = "(v AT TIME ZONE 'UTC')" if zoned else "v"
            return SqlForm(
                "{}", _C.format(_MOMENT.format(moment)), _far(moment), settled=DataType.TIMESTAMP
            )
        case Numeric():
            return _POSTGRESQL_NUMBER
        case _:
            return None


def _far(moment: str) -> str:
    return f"{moment} NOT BETWEEN '{_FIRST_DAY}' AND '{_LAST_DAY}'"


def _rewrite(folded: str) -> str:
    """Write the expression that turns a folded text into its normal form."""
    rewritten = folded
    for pattern, replacement in REWRITES:
        rewritten = f"regexp_replace({rewritten}, {quote_text(pattern)}, {quote_text(replacement)})"
    needs = quote_text(NEEDS_REWRITE)
    return f"CASE WHEN {folded} ~ {needs} THEN {rewritten} ELSE {folded} END"


_WORDS = ", ".join(map(quote_text, ("", *NULL_WORDS)))
_C = '({}) COLLATE "C"'
"""Compares bytes, and folds the case of ASCII letters only, whatever the language."""
_DAY = "to_char(v, 'YYYY-MM-DD')"
_MOMENT = (
    "CASE WHEN {0} = date_trunc('day', {0}) THEN to_char({0}, 'YYYY-MM-DD') "
    "ELSE rtrim(rtrim(to_char({0}, 'YYYY-MM-DD HH24:MI:SS.US'), '0'), '.') END"
)
_POSTGRESQL_TEXT = SqlForm(
    value=_C.format("{}::text"),
    folded=f"btrim(regexp_replace(lower(v), {quote_text(_SPACES)}, ' ', 'g'))",
    # In UTF-8, only ASCII has one byte for each character.
    inexact=f"octet_length(v) <> char_length(v) OR octet_length(v) > {_LONGEST}",
    normal=_rewrite("f"),
    length=f"CASE WHEN lower(btrim(v)) NOT IN ({_WORDS}) THEN char_length(v) END",
    settled=DataType.TEXT,
)
_NUMBER = "trim_scale(v::text::numeric)::text"
"""Of a float, the shortest number that is read as it, without an exponent."""
_POSTGRESQL_NUMBER = SqlForm(
    "{}",
    _C.format(_NUMBER),
    "v::text IN ('NaN', 'Infinity', '-Infinity')",
    length=f"char_length({_NUMBER})",
    settled=DataType.DECIMAL,
)
_FIRST_VERSION = 14
"""The first version of PostgreSQL that converts infinity to a decimal."""
_DIALECTS: Mapping[str, Callable[[TypeEngine[object]], SqlForm | None]] = {
    "postgresql": _postgresql_form
}
