"""Read MariaDB and MySQL, and compute normal forms in MariaDB's SQL."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from sqlalchemy import Connection, Inspector, Row, types
from sqlalchemy.dialects.mysql import BIT, ENUM, SET, YEAR
from sqlalchemy.dialects.mysql.types import _NumericType
from sqlalchemy.types import TypeEngine, _Binary

from datahub_hyperjoin.arrow_bytes import MOST_KEY_BYTES
from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.databases.sql_forms import (
    FormsByType,
    SqlForm,
    SqlSyntax,
    quote_with_backslashes,
    short_digits,
)
from datahub_hyperjoin.spark.databases.system import (
    SETTLED,
    DatabaseSystem,
    StateRows,
    milliseconds,
    query,
    relation_in_quotes,
)
from datahub_hyperjoin.tables import DataType

_WITHHELD = """
    SELECT column_name FROM information_schema.columns
    WHERE table_schema = :schema AND table_name = :name AND NOT FIND_IN_SET('select', privileges)
"""
_GRANTED = """
    SELECT column_name, data_type, column_type, character_maximum_length, numeric_precision,
        numeric_scale
    FROM information_schema.columns WHERE table_schema = :schema AND table_name = :name
    ORDER BY ordinal_position
"""
_FOR_CONTENTS = {"MEDIUMBLOB", "LONGBLOB"}
"""Types of columns that hold no keys, and that are expensive to look into."""


class MySql(DatabaseSystem):
    """MySQL, and MariaDB as long as no connection has shown that it is MariaDB."""

    name = "mysql"
    port = 3306
    scheme = "mysql+pymysql"
    # The schema, which the URL names, says nothing.
    names_without_recipe = "{table}"
    sql_dialect = "mysql"
    begin = "START TRANSACTION READ ONLY"
    asks_limit = "SHOW SESSION VARIABLES LIKE 'max_execution_time'"
    limit_unit = "ms"
    rewrites_statements = True
    time_limit_codes = frozenset({"1969", "3024"})
    schema_is_database = True
    sizes = "SELECT table_schema, table_name, data_length FROM information_schema.tables"
    withheld_columns = _WITHHELD
    hex_digits = short_digits("length({0})", "convert(lower(hex({0})) USING utf8mb4)")

    def limited(self, statement: str, seconds: float) -> str:
        """Limit the time of a statement by a hint.

        >>> MySql().limited("SELECT 1", 60)
        'SELECT /*+ MAX_EXECUTION_TIME(60000) */ 1'
        """
        hint = f"SELECT /*+ MAX_EXECUTION_TIME({milliseconds(seconds)}) */"
        return re.sub(r"\A\s*SELECT\b", hint, statement)

    def column_name(self, reported: str) -> str:
        """Read doubled quotes as one: SQLAlchemy parses the statement that creates the table."""
        return reported.replace("``", "`")

    def granted_columns(
        self, relation: Relation, inspector: Inspector
    ) -> Sequence[Mapping[str, Any]]:
        """Describe the columns on which the user has a privilege.

        Who may select some columns only, or may not see the query of a view, may not see the
        statement that creates the table either, from which SQLAlchemy reads the columns.
        """
        bind, kinds = inspector.bind, getattr(inspector.dialect, "ischema_names", {})
        rows = query(bind, _GRANTED, schema=relation.schema, name=relation.name)
        if not rows:
            # A view of what no longer exists has no columns, and only a query tells why.
            table = relation_in_quotes(relation, inspector.dialect)
            query(bind, f"SELECT 1 FROM {table} LIMIT 0")  # noqa: S608 (a quoted name)
        return [
            {
                # As in the statement that creates the table.
                "name": row.column_name.replace("`", "``"),
                "type": _type_of(row, kinds.get(row.data_type, types.NullType)),
            }
            for row in rows
        ]

    def has_digits(self, type_: TypeEngine[Any]) -> bool:
        """Leave out columns of bytes that hold contents, and no keys."""
        name, length = type(type_).__name__, getattr(type_, "length", None) or 0
        is_wide = name == "BINARY" and length > MOST_KEY_BYTES
        return super().has_digits(type_) and name not in _FOR_CONTENTS and not is_wide

    def reading(self, type_: TypeEngine[Any]) -> str | None:
        """Read bits, of which the driver would return bytes, as numbers."""
        return "CAST({0} AS UNSIGNED)" if isinstance(type_, BIT) else super().reading(type_)


def _type_of(row: Row[Any], kind: type[TypeEngine[Any]]) -> TypeEngine[Any]:
    if issubclass(kind, (ENUM, SET)):
        return types.String(row.character_maximum_length)
    if issubclass(kind, (types.String, _Binary)):
        return kind(row.character_maximum_length)
    sizes = (row.numeric_precision, row.numeric_scale) if issubclass(kind, types.Numeric) else ()
    if not issubclass(kind, _NumericType):
        return kind()
    build = cast("Callable[..., TypeEngine[Any]]", kind)
    return build(*sizes, zerofill="zerofill" in row.column_type)


_MISREADING_MODES = {
    "EMPTY_STRING_IS_NULL",
    "NO_BACKSLASH_ESCAPES",
    "ORACLE",
    "PAD_CHAR_TO_FULL_LENGTH",
}
"""Modes in which a server would read the statements, or return values, in another way."""
_MOST_JOINED_BYTES = 1 << 24
"""Maximum size of a joined text, in bytes; larger than any that is asked for."""
_HAS_ZERO = "dayofmonth(v) = 0 OR month(v) = 0"
# From 2^53 on, not every whole number is a double. Readers leave exponents of three digits.
_IS_FAR = f"abs(v + 0e0) >= {1 << 53} OR v + 0e0 <> 0 AND abs(v + 0e0) < 1e-15"
# 38 is the largest scale, and enough for 17 digits after 15 zeros.
_FLOAT = "CAST(CAST(v AS DECIMAL(65, 38)) AS CHAR)"
_TEXT = "CAST(v AS CHAR)"

_SYNTAX = SqlSyntax(
    quote_text=quote_with_backslashes,
    # In the other binary collation, texts that differ only in spaces at the end are equal.
    exact="({0}) COLLATE utf8mb4_nopad_bin",
    matches="{0} REGEXP {1}",
    replaced="regexp_replace({0}, {1}, {2})",
    # Its CHAR takes bytes, and those of this encoding are the code.
    character="convert(char({0} USING utf32) USING utf8mb4)",
    joined="group_concat(CASE WHEN {3} THEN {0} END ORDER BY {2} SEPARATOR {1})",
    joined_bytes="group_concat(CASE WHEN {2} THEN unhex({0}) END ORDER BY {1} SEPARATOR '')",
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


def _temporal(form: SqlForm, *, is_unique: bool = True) -> SqlForm:
    return replace(form, inexact=f"{form.inexact} OR {_HAS_ZERO}", is_unique=is_unique)


_MOMENT = _SYNTAX.moment_form("v", "CAST(CAST(v AS DATETIME(6)) AS CHAR)")
_FORMS: FormsByType = {
    **_SYNTAX.usual_forms(_TEXT),
    types.Time: _SYNTAX.plain_form(DataType.TEXT, _SYNTAX.without_needless_zeros(_TEXT)),
    types.Date: _temporal(_SYNTAX.day_form(_TEXT)),
    # When clocks go back, two points in time are the same in the session's time zone.
    types.TIMESTAMP: _temporal(_MOMENT, is_unique=False),
    types.DateTime: _temporal(_MOMENT),
    types.String: _SYNTAX.text_form("convert({} USING utf8mb4)"),
    # A float has more digits than its text, which readers get. Without a length, grouping would cut
    # texts.
    types.Float: _SYNTAX.number_form(
        _FLOAT, value=_SYNTAX.exact.format("CAST({} AS CHAR(40))"), inexact=_IS_FAR, unique=False
    ),
    BIT: _SYNTAX.plain_form(DataType.INTEGER, _TEXT, "CAST({} AS UNSIGNED)"),
    YEAR: _SYNTAX.plain_form(DataType.INTEGER, _TEXT, "CAST({} AS UNSIGNED)"),
}

# MariaDB records when an InnoDB table was last written, until the server restarts or forgets the
# table. The time is in whole seconds, and it is the time when the writing transaction *started* (as
# of 10.11): a transaction that began in the same second may still be open, and leave the time
# unchanged when it commits. A time therefore counts only if its second is over and all open
# transactions that may write are younger. Two more values are part of the state: the number of the
# table, since a table that replaces another has its own, and the counter of written rows (reset
# with the statistics), which distinguishes equal times after the clock was set back. These have no
# state:
#
# * tables read by a user without the privilege `PROCESS`, who cannot see numbers and transactions;
# * partitioned tables, and tables with columns that are computed on reading;
# * read-only servers and Galera clusters, where one address may lead to several servers.
#
# MySQL records times in another way, which has not been tested.
_SERVER = """
    SELECT CONCAT_WS(
        ' ', @@hostname, @@port, UNIX_TIMESTAMP() - variable_value,
        @@time_zone, @@system_time_zone, @@sql_mode, @@character_set_results
    )
    FROM information_schema.global_status
    WHERE variable_name = 'UPTIME' AND @@tx_isolation <> 'READ-UNCOMMITTED'
        AND NOT EXISTS (
            SELECT 1 FROM information_schema.global_variables
            WHERE variable_name IN ('READ_ONLY', 'WSREP_ON') AND variable_value <> 'OFF'
        )
"""
"""Identifies a server; returns no row if several servers may share the server's address."""
_LATEST_TIME = """
    SET STATEMENT time_zone = '+00:00' FOR
    SELECT LEAST(
        UTC_TIMESTAMP() - INTERVAL :settled SECOND,
        COALESCE(MIN(IF(trx_is_read_only, NULL, trx_started)), UTC_TIMESTAMP())
    )
    FROM information_schema.innodb_trx
    HAVING SUM(trx_mysql_thread_id = CONNECTION_ID()) > 0
"""
_STATES = """
    SET STATEMENT time_zone = '+00:00' FOR
    SELECT t.table_schema, t.table_name,
        CONCAT_WS(' ', s.table_id, s.modified_counter, t.create_time, t.update_time)
    FROM information_schema.tables t
    JOIN information_schema.innodb_sys_tablestats s
        ON BINARY s.name = BINARY CONCAT(t.table_schema, '/', t.table_name)
    WHERE t.engine = 'InnoDB' AND t.table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')
        AND t.create_time < :before AND t.update_time < :before
        AND (t.table_schema, t.table_name) NOT IN (
            SELECT table_schema, table_name FROM information_schema.columns
            WHERE LOCATE('VIRTUAL', extra) > 0
        )
"""


class MariaDb(MySql):
    """MariaDB."""

    name = "mariadb"
    scheme = "mariadb+pymysql"
    asks_limit = "SHOW SESSION VARIABLES LIKE 'max_statement_time'"
    limit_unit = "s"
    has_states = True
    syntax = _SYNTAX
    forms = _FORMS
    # The oldest that is tested.
    first_version = (10, 11)

    def limited(self, statement: str, seconds: float) -> str:
        """Limit the time of a statement, and of no other.

        >>> MariaDb().limited("SELECT 1", 60)
        'SET STATEMENT max_statement_time = 60.000 FOR SELECT 1'
        >>> MariaDb().limited("SET STATEMENT sql_mode = '' FOR SELECT 1", 60)
        "SET STATEMENT max_statement_time = 60.000, sql_mode = '' FOR SELECT 1"
        """
        setting = f"SET STATEMENT max_statement_time = {seconds:.3f}"
        if found := re.match(r"\s*SET STATEMENT ", statement):
            return f"{setting}, {statement[found.end() :]}"
        is_query = re.match(r"[\s(]*(SELECT|WITH)\b", statement)
        return f"{setting} FOR {statement}" if is_query else statement

    def states(self, connection: Connection) -> StateRows:
        """Return a state for each table, without those that may be changing now.

        These were written in the last two seconds, or after the start of an open transaction that
        may write.
        """
        server = query(connection, _SERVER)
        # MariaDB caches its list of transactions until nobody has read it for 0.1 seconds. The list
        # is up to date if our own transaction is in it; the statement returns no time if it is not.
        connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        connection.exec_driver_sql("DO SLEEP(0.2)")
        before = query(connection, _LATEST_TIME, settled=SETTLED)
        if not server or not before or before[0][0] is None:
            return []
        tables = query(connection, _STATES, before=before[0][0])
        return [(schema, name, f"{server[0][0]} {state}") for schema, name, state in tables]

    def form(self, type_: TypeEngine[Any]) -> SqlForm | None:
        """Write the normal forms of a column."""
        # The texts of such numbers have zeros that the numbers do not have.
        return None if getattr(type_, "zerofill", False) else super().form(type_)

    def can_compute(self, connection: Connection) -> bool:
        """Return whether the server is of version 10.11 or later, and reads and sends as assumed.

        Texts must be sent in UTF-8, and no mode may change the meaning of the SQL.
        """
        asked = "SELECT @@sql_mode, @@character_set_results"
        modes, encoding = connection.exec_driver_sql(asked).one()
        reads_alike = encoding == "utf8mb4" and _MISREADING_MODES.isdisjoint(modes.split(","))
        return reads_alike and super().can_compute(connection)
