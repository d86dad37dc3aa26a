"""Read PostgreSQL, and compute normal forms in its SQL."""

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Inspector, types
from sqlalchemy.dialects.postgresql.base import PGInspector
from sqlalchemy.types import TypeEngine

from datahub_hyperjoin.spark.databases.sql_forms import (
    FAR_NUMBER,
    FormsByType,
    SqlForm,
    SqlSyntax,
    short_digits,
)
from datahub_hyperjoin.spark.databases.system import (
    THREE_PARTS,
    DatabaseSystem,
    StateRows,
    milliseconds,
    query,
)
from datahub_hyperjoin.tables import DataType

if TYPE_CHECKING:
    from sqlalchemy import URL

_IS_ODD = "v::text IN ('NaN', 'Infinity', '-Infinity')"
# Both PostgreSQL and Arrow write the shortest number that is read as the same float.
_FLOAT = f"CASE WHEN {_IS_ODD} THEN v::text ELSE trim_scale(v::text::numeric)::text END"

# PostgreSQL counts the rows written to each table, but a session publishes its counts only when it
# becomes idle: a procedure that commits and continues may hold them back for hours. The snapshot is
# reliable: every transaction that changes data, in any database of the server, has a number, and
# when it ends, the snapshot changes. The state of all tables is therefore that of the server, and
# any write changes it. After a crash that loses the last commits, numbers are used again; the start
# times of the server and of its statistics, which are lost with them, reveal that. These have no
# state:
#
# * standby servers, since one address may lead to several, each with a different delay;
# * tables that are not logged, or whose rows belong to other tables as well (partitions,
#   inheritance), are filtered by policies or kept by another storage;
# * by the last three lines, tables of systems that only speak PostgreSQL's protocol.
_STATES = """
    SELECT n.nspname, c.relname, server.state
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_am a ON a.oid = c.relam
    CROSS JOIN (
        SELECT pg_postmaster_start_time() || ' ' || stats_reset || ' ' || pg_current_snapshot()
            || ' ' || (
                SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings
                WHERE category LIKE 'Client Connection Defaults%'
            ) AS state
        FROM pg_stat_bgwriter
    ) server
    WHERE server.state IS NOT NULL
        AND c.relkind IN ('r', 'm') AND c.relpersistence = 'p' AND a.amname = 'heap'
        AND NOT c.relhassubclass AND NOT c.relrowsecurity
        AND NOT pg_is_in_recovery()
        AND version() ~ '^PostgreSQL [0-9]+[.][0-9]+ '
        AND to_regclass('pg_catalog.gp_segment_configuration') IS NULL
        AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')
"""
# The size of an empty table is known, unlike that of a partitioned one, which has no bytes.
_SIZES = """
    SELECT n.nspname, c.relname,
        greatest(pg_relation_size(c.oid), CAST(c.relkind <> 'p' AS int))
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'm')
"""
# A table that inherits from another and adds no column is a partition in the older way.
_PARTS = """
    SELECT n.nspname, c.relname, pn.nspname || '.' || p.relname
    FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class p ON p.oid = i.inhparent
    JOIN pg_namespace pn ON pn.oid = p.relnamespace
    WHERE has_any_column_privilege(p.oid, 'SELECT') AND (
        c.relispartition OR NOT EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attislocal
        )
    )
"""
_WITHHELD = """
    SELECT a.attname FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE n.nspname = :schema AND c.relname = :name
        AND NOT has_column_privilege(c.oid, a.attnum, 'SELECT')
"""


def _quote_for_postgresql(text: str) -> str:
    r"""Write a text as a string literal that does not depend on the server's settings.

    >>> print(_quote_for_postgresql(r"d'\w"))
    E'd\'\\w'
    """
    return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SYNTAX = SqlSyntax(
    quote_text=_quote_for_postgresql,
    # Under this collation, only ASCII letters have upper and lower case.
    exact='({0}) COLLATE "C"',
    matches="{0} ~ {1}",
    replaced="regexp_replace({0}, {1}, {2}, 'g')",
    joined_bytes=(
        "encode(string_agg(decode({0}, 'hex'), ''::bytea ORDER BY {1}) FILTER (WHERE {2}), "
        "'base64')"
    ),
    materialized="AS MATERIALIZED",
    fence=" OFFSET 0",
    preparations=("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",),
)


def _text_form(type_: types.String) -> SqlForm:
    # As text, the value has no spaces at its end.
    is_padded = isinstance(type_, types.CHAR) and type_.length
    padded = f"rpad(v, {type_.length})" if is_padded else "v"
    return _SYNTAX.text_form("{}::text", text=padded)


def postgres_moment(type_: types.DateTime, syntax: SqlSyntax = _SYNTAX) -> SqlForm:
    """Write the normal forms of points in time as PostgreSQL and Redshift compute them."""
    moment = "(v AT TIME ZONE 'UTC')" if type_.timezone else "v"
    return syntax.moment_form(moment, f"to_char({moment}, 'YYYY-MM-DD HH24:MI:SS.US')")


_exact = _SYNTAX.exact.format
_number_form = partial(SqlForm, "{}", types=_SYNTAX.number_types())
_FORMS: FormsByType = {
    **_SYNTAX.usual_forms("v::text"),
    types.Date: _SYNTAX.day_form("to_char(v, 'YYYY-MM-DD')"),
    types.DateTime: postgres_moment,
    types.String: _text_form,
    types.Float: _number_form(_exact(_FLOAT), f"{_IS_ODD} OR {FAR_NUMBER}"),
    types.Numeric: _number_form(_exact("trim_scale(v)::text"), _IS_ODD),
}


_LIST = "CASE WHEN cardinality({0}) > 0 THEN '[' || array_to_string({0}, ', ', '') || ']' END"


def _is_list(type_: TypeEngine[Any]) -> bool:
    elements = (types.String, types.Integer)
    return isinstance(type_, types.ARRAY) and isinstance(type_.item_type, elements)


class PostgresProtocol(DatabaseSystem):
    """A system that speaks PostgreSQL's protocol, and has its settings."""

    # It is no query, before which alone a transaction may choose its isolation level.
    asks_limit = "SHOW statement_timeout"
    limit_unit = "ms"
    has_search_path = True

    def limit_statement(self, seconds: float) -> str:
        """Limit the time of the transaction's statements."""
        return f"SET LOCAL statement_timeout = {milliseconds(seconds)}"


class PostgreSql(PostgresProtocol):
    """PostgreSQL."""

    name = "postgresql"
    platform = "postgres"
    table_names = THREE_PARTS
    port = 5432
    names_without_recipe = "{schema}.{table}"
    sql_dialect = "postgres"
    begin = "SET TRANSACTION READ ONLY"
    time_limit_codes = frozenset({"57014"})
    sizes = _SIZES
    parts = _PARTS
    withheld_columns = _WITHHELD
    hex_digits = short_digits("octet_length({0})", "encode({0}, 'hex')")
    syntax = _SYNTAX
    forms = _FORMS
    # The first with `trim_scale`.
    first_version = (13,)
    answers = MappingProxyType({"SHOW server_encoding": "UTF8"})
    by_default = True
    has_states = True

    def opaque_type(self, type_: TypeEngine[Any]) -> DataType | None:
        """See `DatabaseSystem.opaque_type`."""
        return None if _is_list(type_) else super().opaque_type(type_)

    def reading(self, type_: TypeEngine[Any]) -> str | None:
        """Read arrays as lists in files are read."""
        return _LIST if _is_list(type_) else super().reading(type_)

    def behind(self, url: "URL") -> str:
        """Recognise Redshift by its host.

        It speaks this protocol, but this dialect asks for columns in SQL that it does not know.
        """
        host = url.host or ""
        is_at_amazon = ".redshift" in host and host.endswith(".amazonaws.com")
        return "redshift" if is_at_amazon else self.name

    def names(self, inspector: Inspector, schema: str, *, views: bool) -> dict[str, bool]:
        """Add foreign tables and materialized views, which SQLAlchemy lists apart from others."""
        names = super().names(inspector, schema, views=views)
        if isinstance(inspector, PGInspector):
            names = dict.fromkeys(inspector.get_foreign_table_names(schema), False) | names
        if views:
            names |= dict.fromkeys(inspector.get_materialized_view_names(schema), False)
        return names

    def states(self, connection: Connection) -> StateRows:
        """Return the state of the server for each table."""
        return [(schema, name, state) for schema, name, state in query(connection, _STATES)]
