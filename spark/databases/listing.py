"""List the tables and views of a database."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, Inspector, inspect, text
from sqlalchemy.dialects.postgresql.base import PGInspector
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.spark.databases.engines import database_error_text, unreachable
from datahub_hyperjoin.spark.databases.stored_names import reported_name
from datahub_hyperjoin.spark.databases.transactions import system_of
from datahub_hyperjoin.visible import logger_of

# The state of a table is taken before its rows are read. Two equal states must guarantee that no
# row has changed between them. In case of doubt a table has no state and is read every time. Views
# never have one: they may depend on the clock or on other servers.
#
# **PostgreSQL** counts the rows written to each table, but a session publishes its counts only when
# it becomes idle: a procedure that commits and continues may hold them back for hours. The snapshot
# is reliable: every transaction that changes data, in any database of the server, has a number, and
# when it ends, the snapshot changes. The state of all tables is therefore that of the server, and
# any write changes it. After a crash that loses the last commits, numbers are used again; the start
# times of the server and of its statistics, which are lost with them, reveal that. These have no
# state:
#
# * standby servers, since one address may lead to several, each with a different delay;
# * tables that are not logged, or whose rows belong to other tables as well (partitions,
#   inheritance), are filtered by policies or kept by another storage.
#
# **MariaDB** records when an InnoDB table was last written, until the server restarts or forgets
# the table. The time is in whole seconds, and it is the time when the writing transaction *started*
# (as of 10.11): a transaction that began in the same second may still be open, and leave the time
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
#
# **Snowflake** has no states. Its `LAST_ALTERED` changes with every statement that writes, but the
# documentation does not say whether it is the time of the statement or of the commit: of two
# transactions that insert into a table, the older could commit last and leave the later time
# unchanged. `SYSTEM$LAST_CHANGE_COMMIT_TIME` is documented to reveal every change, but it takes one
# call for each table, and it has not been tried on a real account.
#
# **SQLite** is a file, so the state is that of the file. A log or a journal beside it may contain
# changes that the file does not; then there is no state.

logger = logger_of(__name__)

StateRows = Iterable[tuple[str, str, str]]
"""Schema, name and state of tables. States are compared only for equality."""

_SETTLED = 2.0
"""Two changes this many seconds apart have different timestamps, even if the clock is coarse."""

_POSTGRESQL_TABLES = text("""
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
""")
"""Query for the states of tables. Its last three lines exclude systems that only speak PostgreSQL's
protocol."""

_MARIADB_SERVER = text("""
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
""")
"""Identifies a server; returns no row if several servers may share the server's address."""

_MARIADB_LATEST_TIME = text("""
    SET STATEMENT time_zone = '+00:00' FOR
    SELECT LEAST(
        UTC_TIMESTAMP() - INTERVAL :settled SECOND,
        COALESCE(MIN(IF(trx_is_read_only, NULL, trx_started)), UTC_TIMESTAMP())
    )
    FROM information_schema.innodb_trx
    HAVING SUM(trx_mysql_thread_id = CONNECTION_ID()) > 0
""")
_MARIADB_TABLES = text("""
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
""")
_SQLITE_TABLES = text("""
    SELECT 'main', name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
""")


def states_of(engine: Engine) -> Mapping[tuple[str, str], str]:
    """For each table, compute a hash that changes whenever the table's rows change.

    This hash is the table's state. It also depends on the address of the database and on the user,
    but not on the password.

    Returns:
        States by schema and name, without the tables that have none.
    """
    read_states = _STATE_READERS.get(system_of(engine))
    if read_states is None:
        return {}
    address = _address(engine.url)
    try:
        with engine.connect() as connection:
            return {
                (schema, name): sha256(repr((address, state)).encode()).hexdigest()
                for schema, name, state in read_states(connection)
            }
    except (SQLAlchemyError, OSError) as error:
        reason = (
            database_error_text(error) if isinstance(error, SQLAlchemyError) else error.strerror
        )
        logger.debug(
            "Cannot tell which tables have changed, so all are read. The database says: %s", reason
        )
        return {}


def _address(url: URL) -> str:
    """Return a database URL without passwords."""
    query = {name: value for name, value in url.query.items() if "pass" not in name.lower()}
    address = URL.create(
        url.drivername, url.username, None, url.host, url.port, url.database, query
    )
    return address.render_as_string()


def _states_in_postgresql(connection: Connection) -> StateRows:
    tables = connection.execute(_POSTGRESQL_TABLES)
    return [(schema, name, state) for schema, name, state in tables]


def _states_in_mariadb(connection: Connection) -> StateRows:
    """For each MariaDB table, return a state that changes whenever the table's rows change.

    Tables that may be changing now are left out: those that were written in the last two seconds,
    or after the start of an open transaction that may write.
    """
    server = connection.execute(_MARIADB_SERVER).scalar_one_or_none()
    # MariaDB caches its list of transactions until nobody has read it for 0.1 seconds. The list is
    # up to date if our own transaction is in it; the statement returns no time if it is not.
    connection.execute(text("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"))
    connection.execute(text("DO SLEEP(0.2)"))
    settled = {"settled": _SETTLED}
    before = connection.execute(_MARIADB_LATEST_TIME, settled).scalar_one_or_none()
    if server is None or before is None:
        return []
    tables = connection.execute(_MARIADB_TABLES, {"before": before})
    return [(schema, name, f"{server} {state}") for schema, name, state in tables]


def _states_in_sqlite(connection: Connection) -> StateRows:
    files = {name: file for _, name, file in connection.execute(text("PRAGMA database_list"))}
    tables = connection.execute(_SQLITE_TABLES).all()
    file = Path(files["main"])
    if not file.is_file() or any(map(_has_bytes, (f"{file}-wal", f"{file}-journal"))):
        return []
    # The file is not opened: closing it would release all locks that this process holds on it,
    # including those of SQLite.
    status = file.stat()
    if time.time() - status.st_mtime < _SETTLED:
        return []
    state = f"{file} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
    return [(schema, name, state) for schema, name in tables]


def _has_bytes(file: str) -> bool:
    return Path(file).exists() and Path(file).stat().st_size > 0


_STATE_READERS: Mapping[str, Callable[[Connection], StateRows]] = {
    "postgresql": _states_in_postgresql,
    "mariadb": _states_in_mariadb,
    "sqlite": _states_in_sqlite,
}


_SYSTEM_SCHEMAS = {"information_schema", "mysql", "performance_schema", "sys", "pg_catalog"}
_SCHEMA_IS_DATABASE = {"mysql", "mariadb", "clickhouse"}
"""Database systems in which a schema is a database."""
_SIZES = {
    # The size of an empty table is known, unlike that of a partitioned one, which has no bytes.
    "postgresql": "SELECT n.nspname, c.relname, "
    "greatest(pg_relation_size(c.oid), CAST(c.relkind <> 'p' AS int)) FROM pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'm')",
    # It compresses rows to fewer bytes than others need, and than it sends: 8 for each at least.
    "clickhouse": "SELECT t.database, t.name, if(t.total_rows IS NULL, 0, "
    "greatest(ifNull(p.bytes, 0), 8 * t.total_rows, 1)) FROM system.tables AS t "
    "LEFT JOIN (SELECT database, table, sum(data_uncompressed_bytes) AS bytes "
    "FROM system.parts WHERE active GROUP BY database, table) AS p "
    "ON p.database = t.database AND p.table = t.name",
    "mysql": "SELECT table_schema, table_name, data_length FROM information_schema.tables",
}
_SIZES["mariadb"] = _SIZES["mysql"]
# A table that inherits from another and adds no column is a partition in the older way.
_PARTS_IN_POSTGRESQL = text("""
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
""")
# One statement, since SQLAlchemy's for each schema return at most 10,000 tables. It compresses
# rows, too; of tables outside of it, it knows neither bytes nor rows.
_TABLES_OF_SNOWFLAKE = (
    "SELECT table_schema, table_name, greatest(bytes, 8 * row_count, 1), "
    "table_type IN ('VIEW', 'MATERIALIZED VIEW') FROM information_schema.tables"
)


@dataclass(frozen=True, slots=True, order=True)
class ListedRelation:
    """A table or view that a database or Spark catalog lists."""

    schema: str
    """Schema that contains the table or view."""

    name: str
    """Name of the table or view, without the schema."""

    size: int
    """Bytes on disk, at least 1; 0 if the database does not report it."""

    state: str = ""
    """A value that differs whenever the rows may have changed; empty if that is uncertain."""

    part_of: str = ""
    """Schema and name of the table that also returns these rows, as a partitioned table returns
    those of its partitions; empty if there is none."""

    is_view: bool = False
    """Whether reading it runs a query of unknown cost: a view that is not materialized."""

    @property
    def path(self) -> str:
        """Schema and name, joined by a dot."""
        return f"{self.schema}.{self.name}"


def without_parts(relations: Iterable[ListedRelation]) -> list[ListedRelation]:
    """Leave out partitions of tables that are listed themselves, whose rows would count twice."""
    chosen = {each.path: each for each in relations}
    return [each for each in chosen.values() if each.part_of not in chosen]


def list_relations(
    engine: Engine, connection: str, *, wanted: Callable[[str], bool], views: bool
) -> list[ListedRelation]:
    """List the tables in the wanted schemas of a database, and the views if `views` is true.

    System schemas are left out.

    On MySQL and ClickHouse servers, schemas are databases. If the URL names a database, only that
    one is listed.

    Args:
        wanted: Function that tells whether to list a schema.
    """
    try:
        if engine.dialect.name == "snowflake":
            listed = _list_snowflake(engine, views=views)
            sizes = {name: size for name, (size, _) in listed.items()}
            relations = {
                name: is_view
                for name, (_, is_view) in listed.items()
                if not _is_system(name[0]) and wanted(name[0])
            }
        else:
            sizes = _sizes(engine)
            relations = _relations(engine, wanted, views=views)
        parts = _parts(engine)
    except SQLAlchemyError as error:
        raise unreachable(connection, error) from None
    # States have to be older than the rows that are read later.
    states = states_of(engine)
    return sorted(
        ListedRelation(
            *name,
            sizes.get(name, 0),
            states.get(name, ""),
            part_of=parts.get(name, ""),
            is_view=is_view,
        )
        for name, is_view in relations.items()
    )


def _relations(
    engine: Engine, wanted: Callable[[str], bool], *, views: bool
) -> dict[tuple[str, str], bool]:
    """Return schema and name of each table, and of each view if `views` is true.

    The value tells whether it is a view.
    """
    inspector = inspect(engine)
    return {
        (schema, name): is_view
        for schema in _schemas(engine, inspector)
        if wanted(schema)
        for name, is_view in _names(inspector, schema, views=views).items()
    }


def _schemas(engine: Engine, inspector: Inspector) -> list[str]:
    if engine.dialect.name in _SCHEMA_IS_DATABASE and engine.url.database:
        # The URL names the one to read.
        return [engine.url.database]
    return [schema for schema in inspector.get_schema_names() if not _is_system(schema)]


def _is_system(schema: str) -> bool:
    return schema.lower() in _SYSTEM_SCHEMAS or schema.startswith("pg_")


def _names(inspector: Inspector, schema: str, *, views: bool) -> dict[str, bool]:
    """Return the names of tables and views, and whether each is a view."""
    names = dict.fromkeys(inspector.get_table_names(schema), False)
    is_postgresql = inspector.dialect.name == "postgresql"
    # SQLAlchemy lists foreign tables and materialized views apart from others.
    if is_postgresql and isinstance(inspector, PGInspector):
        names |= dict.fromkeys(inspector.get_foreign_table_names(schema), False)
    if not views:
        return names
    # Some dialects list views among the tables, too.
    names |= dict.fromkeys(inspector.get_view_names(schema), True)
    if is_postgresql:
        names |= dict.fromkeys(inspector.get_materialized_view_names(schema), False)
    return names


def _parts(engine: Engine) -> dict[tuple[str, str], str]:
    """Map each partition of PostgreSQL to the table that it is a part of."""
    if engine.dialect.name != "postgresql":
        return {}
    with engine.connect() as connection:
        rows = connection.execute(_PARTS_IN_POSTGRESQL).all()
    return {(schema, name): whole for schema, name, whole in rows}


def _sizes(engine: Engine) -> dict[tuple[str, str], int]:
    """Return how many bytes each table takes on disk.

    For an unknown database system, it returns nothing.
    """
    statement = _SIZES.get(engine.dialect.name)
    if statement is None:
        return {}
    with engine.connect() as connection:
        rows = connection.execute(text(statement)).all()
    return {(schema, name): int(size or 0) for schema, name, size in rows}


def _list_snowflake(engine: Engine, *, views: bool) -> dict[tuple[str, str], tuple[int, bool]]:
    """Return the size of each table and of each view, and whether it is a view.

    Views are listed if `views` is true.
    """
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(_TABLES_OF_SNOWFLAKE).all()
        dialect = connection.dialect
        return {
            (reported_name(schema, dialect), reported_name(name, dialect)): (
                0 if is_view else int(size or 0),
                bool(is_view),
            )
            for schema, name, size, is_view in rows
            if views or not is_view
        }
