"""Detect whether database tables may have changed, without reading their rows.

The state of a table is taken before its rows are read. Two equal states must guarantee that no row
has changed between them. In case of doubt a table has no state and is read every time. Views never
have one: they may depend on the clock or on other servers.

**PostgreSQL** counts the rows written to each table, but a session publishes its counts only when
it becomes idle: a procedure that commits and continues may hold them back for hours. The snapshot
is reliable: every transaction that changes data, in any database of the server, has a number, and
when it ends, the snapshot changes. The state of all tables is therefore that of the server, and any
write changes it. After a crash that loses the last commits, numbers are used again; the start times
of the server and of its statistics, which are lost with them, reveal that. These have no state:

* standby servers, since one address may lead to several, each with a different delay;
* tables that are not logged, or whose rows belong to other tables as well (partitions,
  inheritance), are filtered by policies or kept by another storage.

**MariaDB** records when an InnoDB table was last written, until the server restarts or forgets the
table. The time is in whole seconds, and it is the time when the writing transaction *started* (as
of 10.11): a transaction that began in the same second may still be open, and leave the time
unchanged when it commits. A time therefore counts only if its second is over and all open
transactions that may write are younger. Two more values are part of the state: the number of the
table, since a table that replaces another has its own, and the counter of written rows (reset with
the statistics), which distinguishes equal times after the clock was set back. These have no state:

* tables read by a user without the privilege `PROCESS`, who cannot see numbers and transactions;
* partitioned tables, and tables with columns that are computed on reading;
* read-only servers and Galera clusters, where one address may lead to several servers.

MySQL records times in another way, which has not been tested.

**Snowflake** has no states. Its `LAST_ALTERED` changes with every statement that writes, but the
documentation does not say whether it is the time of the statement or of the commit: of two
transactions that insert into a table, the older could commit last and leave the later time
unchanged. `SYSTEM$LAST_CHANGE_COMMIT_TIME` is documented to reveal every change, but it takes one
call for each table, and it has not been tried on a real account.

**SQLite** is a file, so the state is that of the file. A log or a journal beside it may contain
changes that the file does not; then there is no state.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.spark.databases.engines import database_error_text
from datahub_hyperjoin.spark.databases.transactions import system_of
from datahub_hyperjoin.visible import logger_of

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
