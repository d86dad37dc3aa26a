"""The SQL dialects in which databases can compute the normal forms of values."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlalchemy import Connection, make_url
from sqlalchemy.exc import ArgumentError
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

from datahub_hyperjoin.locations import Compute, Database
from datahub_hyperjoin.spark.databases.bigquery_forms import (
    BIGQUERY_SYNTAX,
    bigquery_can_compute,
    bigquery_form,
)
from datahub_hyperjoin.spark.databases.binary_values import HEX_DIGITS, is_binary
from datahub_hyperjoin.spark.databases.clickhouse_forms import (
    CLICKHOUSE_SYNTAX,
    clickhouse_can_compute,
    clickhouse_form,
)
from datahub_hyperjoin.spark.databases.databricks_forms import (
    DATABRICKS_SYNTAX,
    databricks_can_compute,
    databricks_form,
)
from datahub_hyperjoin.spark.databases.mariadb_forms import (
    MARIADB_SYNTAX,
    mariadb_can_compute,
    mariadb_form,
)
from datahub_hyperjoin.spark.databases.probes import Probe, computes_probes, probes_of_texts
from datahub_hyperjoin.spark.databases.redshift_connections import complete_redshift
from datahub_hyperjoin.spark.databases.redshift_forms import (
    REDSHIFT_SYNTAX,
    redshift_can_compute,
    redshift_form,
)
from datahub_hyperjoin.spark.databases.sql_forms import (
    NUMBER_TYPES,
    SqlForm,
    day_form,
    moment_form,
    plain_form,
    text_form,
    without_needless_zeros,
)
from datahub_hyperjoin.spark.databases.sql_syntax import SqlSyntax, quote_in_one_line
from datahub_hyperjoin.spark.databases.transactions import system_of
from datahub_hyperjoin.spark.databases.trino_forms import (
    TRINO_SYNTAX,
    trino_can_compute,
    trino_form,
)
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


@dataclass(frozen=True, slots=True)
class ComputingDialect:
    """A SQL dialect in which a database can compute the normal forms of values."""

    syntax: SqlSyntax
    """The parts of the SQL in which database systems differ."""

    form_of: Callable[[TypeEngine[object]], SqlForm | None]
    """Function that writes the normal forms of a column, given its type as SQLAlchemy reflects it.
    It returns None if SQL cannot compute them."""

    can_compute: Callable[[Connection], bool]
    """Function that tells whether the server of a connection can compute normal forms."""

    by_default: bool
    """Whether databases compute normal forms unless the recipe says otherwise. Those of a system
    that takes several times longer than reading the rows do not, nor do those of ClickHouse, which
    was measured as an engine in a process, not as a server, and of BigQuery, Databricks, Redshift,
    Snowflake and Trino, which were not measured at all."""

    lists_sizes: bool = True
    """Whether databases list the sizes of their tables. Otherwise, their rows are counted first."""

    def form_of_column(self, name: str, type_: TypeEngine[object]) -> SqlForm | None:
        """Write the normal forms of a column; None if SQL cannot compute them."""
        if self.syntax.has_fields and "." in name:
            return None
        if is_binary(type_):
            digits = self.syntax.digits_of_bytes
            return SqlForm(self.syntax.exact.format(digits), "v") if digits else None
        return self.form_of(type_)


COMPUTING_DIALECTS: dict[str, ComputingDialect] = {
    "bigquery": ComputingDialect(
        BIGQUERY_SYNTAX, bigquery_form, bigquery_can_compute, by_default=False, lists_sizes=False
    ),
    "clickhouse": ComputingDialect(
        CLICKHOUSE_SYNTAX, clickhouse_form, clickhouse_can_compute, by_default=False
    ),
    "databricks": ComputingDialect(
        DATABRICKS_SYNTAX,
        databricks_form,
        databricks_can_compute,
        by_default=False,
        lists_sizes=False,
    ),
    "mariadb": ComputingDialect(
        MARIADB_SYNTAX, mariadb_form, mariadb_can_compute, by_default=False
    ),
    "postgresql": ComputingDialect(
        POSTGRESQL_SYNTAX, postgresql_form, postgresql_can_compute, by_default=True
    ),
    "redshift": ComputingDialect(
        REDSHIFT_SYNTAX, redshift_form, redshift_can_compute, by_default=False, lists_sizes=False
    ),
    "snowflake": ComputingDialect(
        SNOWFLAKE_SYNTAX, snowflake_form, snowflake_can_compute, by_default=False
    ),
    "trino": ComputingDialect(
        TRINO_SYNTAX, trino_form, trino_can_compute, by_default=False, lists_sizes=False
    ),
}
"""The dialects, by the name of the database system."""


def is_asked_to_compute(database: Database) -> bool:
    """Return whether a database counts and compares values if it can, by the recipe.

    Args:
        database: The database; its system decides if the recipe does not.
    """
    if database.compute is not None:
        return database.compute is Compute.DATABASE
    dialect = named_dialect(database)
    return dialect is not None and dialect.by_default


def named_dialect(database: Database) -> ComputingDialect | None:
    """Return the dialect of the system that a database's URL names; None if there is none.

    Args:
        database: The database; its version or settings may be unsuitable.
    """
    try:
        url = make_url(database.url.get_secret_value())
    except ArgumentError:
        return None
    return COMPUTING_DIALECTS.get(complete_redshift(url).get_backend_name())


def computing_dialect(connection: Connection) -> ComputingDialect | None:
    """Return the dialect in which a database can compute normal forms; None if it cannot.

    Returns:
        The dialect; None if the system has none, or if its version or settings are unsuitable.
    """
    dialect = COMPUTING_DIALECTS.get(system_of(connection.engine))
    return dialect if dialect and dialect.can_compute(connection) else None
