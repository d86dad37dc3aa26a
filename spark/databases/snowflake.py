"""Read Snowflake, and compute normal forms in its SQL.

It has no states of tables. Its `LAST_ALTERED` changes with every statement that writes, but the
documentation does not say whether it is the time of the statement or of the commit: of two
transactions that insert into a table, the older could commit last and leave the later time
unchanged. `SYSTEM$LAST_CHANGE_COMMIT_TIME` is documented to reveal every change, but it takes one
call for each table, and it has not been tried on a real account.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, types
from sqlalchemy.types import TypeEngine

from datahub_hyperjoin.spark.databases.sql_forms import (
    FormsByType,
    SqlForm,
    SqlSyntax,
    probes_of_texts,
    quote_in_one_line,
    short_digits,
    usual_probes,
)
from datahub_hyperjoin.spark.databases.system import (
    THREE_PARTS,
    DatabaseSystem,
    RelationName,
    is_of_system,
    reported_name,
)
from datahub_hyperjoin.tables import DataType

if TYPE_CHECKING:
    from sqlalchemy import URL

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
# One statement, since SQLAlchemy's for each schema return at most 10,000 tables. It compresses rows
# to fewer bytes than it sends: 8 for each at least. Of tables outside of it, it knows neither.
_TABLES = (
    "SELECT table_schema, table_name, greatest(bytes, 8 * row_count, 1), "
    "table_type IN ('VIEW', 'MATERIALIZED VIEW') FROM information_schema.tables"
)
_PROBES = (
    *usual_probes("to_date('{}')", "to_timestamp_ntz('{}')", "FLOAT", "NUMBER"),
    *probes_of_texts(types.String(1), quote_in_one_line),
)

_SYNTAX = SqlSyntax(
    quote_text=quote_in_one_line,
    # An empty specification removes the collation of a column.
    exact="collate({0}, '')",
    # Its other functions compare a regular expression with the whole text.
    matches="regexp_instr({0}, {1}) > 0",
    replaced="regexp_replace({0}, {1}, {2})",
    has_silent_groups=False,
    length="length({0})",
    without_end="rtrim({0}, {1})",
    digits="to_varchar(CAST({0} AS NUMBER(38, 0)))",
    bits="bitor_agg({0})",
    joined="listagg(CASE WHEN {3} THEN {0} END, {1}) WITHIN GROUP (ORDER BY {2})",
    joined_bytes=(
        "base64_encode(hex_decode_binary("
        "listagg(CASE WHEN {2} THEN {0} END, '') WITHIN GROUP (ORDER BY {1})))"
    ),
)


_FORMS: FormsByType = {
    types.Boolean: _SYNTAX.plain_form(DataType.BOOLEAN, "to_varchar(v)"),
    # Every text has a length. SQLAlchemy does not understand it if more follows, as a collation.
    types.String: lambda type_: _SYNTAX.text_form("{}") if type_.length else None,
    types.Float: _SYNTAX.number_form(
        f"to_varchar({_FIFTEEN_DIGITS})", inexact=_HAS_MORE_DIGITS, unique=False
    ),
    types.Numeric: _SYNTAX.number_form("to_varchar(v)"),
    types.Date: _SYNTAX.day_form("to_char(v, 'YYYY-MM-DD')"),
}


class Snowflake(DatabaseSystem):
    """Snowflake."""

    name = "snowflake"
    table_names = THREE_PARTS
    has_lower_case_names = True
    schema_follows = True
    extra = "snowflake"
    asks_limit = "SHOW PARAMETERS LIKE 'STATEMENT_TIMEOUT_IN_SECONDS' IN SESSION"
    keeps_session = True
    hex_digits = short_digits("octet_length({0})", "hex_encode({0}, 0)")
    syntax = _SYNTAX
    forms = _FORMS
    # Functions depend on parameters of the account and of the session.
    probes = _PROBES

    def arguments(self, url: "URL") -> dict[str, object]:
        """Set the formats that our SQL relies on, whatever the account or the user prefers."""
        del url
        parameters = {
            "DATE_INPUT_FORMAT": "AUTO",
            "QUERY_TAG": "datahub-hyperjoin",
            # With true, a quoted name in small letters would be another name.
            "QUOTED_IDENTIFIERS_IGNORE_CASE": False,
            "TIMESTAMP_INPUT_FORMAT": "AUTO",
            "TIMEZONE": "UTC",
        }
        return {"session_parameters": parameters}

    def limit_statement(self, seconds: float) -> str:
        """Limit the time of the session's statements."""
        return f"ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = {math.ceil(seconds)}"

    def relations(
        self, engine: Engine, wanted: Callable[[str], bool], *, views: bool
    ) -> dict[RelationName, tuple[int, bool]]:
        """List tables and views with their sizes in one statement."""
        with engine.connect() as connection:
            rows = connection.exec_driver_sql(_TABLES).all()
        named = partial(reported_name, dialect=engine.dialect)
        listed = ((named(row[0]), named(row[1]), *row[2:]) for row in rows)
        return {
            (schema, name): (0 if is_view else int(size or 0), bool(is_view))
            for schema, name, size, is_view in listed
            if not is_of_system(schema) and wanted(schema) and (views or not is_view)
        }

    def form(self, type_: TypeEngine[Any]) -> SqlForm | None:
        """Write the normal forms of a column; the classes of some types have no module here."""
        return super().form(type_) or _moment_form(type_)


def _moment_form(type_: TypeEngine[Any]) -> SqlForm | None:
    # The classes of these types are installed with the extra `snowflake` only.
    name = type(type_).__name__
    if not isinstance(type_, types.DateTime) and name not in _ZONED | {"TIMESTAMP_NTZ"}:
        return None
    zoneless = "convert_timezone('UTC', v)" if name in _ZONED else "v"
    moment = f"CAST({zoneless} AS TIMESTAMP_NTZ)"
    form = _SYNTAX.moment_form(moment, _MOMENT_TEXT.format(moment))
    # The same point in time may be in several time zones.
    is_unique = name not in _ZONED
    return replace(form, inexact=f"{form.inexact} OR {_HAS_NANOSECONDS}", is_unique=is_unique)
