"""What a database tells, cheaply and for sure, of whether the rows of a table are still the same.

A state is taken before rows are read. Two that are equal must mean that no row has changed between
them; so where there is doubt there is no state, and the table is read every time. Views have none
anywhere: they may depend on the clock, or on other servers.

PostgreSQL counts the rows that are written to a table, but each session adds to the counts when
it comes to rest: a procedure that commits and goes on may keep its rows to itself for hours. What
is sure is the snapshot: a transaction that changes anything, in whichever database of the server,
has a number, and no number can end and leave the snapshot as it is. So the state of all tables is
the server's, and changes with any write. Numbers are given again after a crash that loses the last
commits, which the start of the server and that of its statistics, lost with them, tell. A standby
may be one of several behind one address, each as late as it is, and tells no state. Neither do
tables that are not in the log or whose rows are also those of others (partitions, tables that
inherit), that policies filter or that another storage keeps.

MariaDB notes when a table of InnoDB was last written, until it restarts or forgets the table. The
time is in whole seconds, and that of the *start* of the transaction that wrote, as of 10.11: one
that began in the same second may be open still, and not change the time when it commits. So
a time counts only if it is over and all transactions are younger that are open and may write.
A table that takes the place of another has a number of its own. The count of rows written, which
starts anew with statistics, tells times apart that a clock gives twice. Who may not see numbers and
transactions, which needs the privilege `PROCESS`, gets no state; nor do tables of partitions, and
those with columns that are computed when they are read. A server that only reads, or one of
a Galera cluster, may be one of several behind one address, too. MySQL keeps such times otherwise,
and was not tried.

Of SQLite, the file tells as any file does. A log or a journal beside it may hold what it does not.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.spark.databases.engines import database_error_text, system_of

logger = logging.getLogger(__name__)

Told = Iterable[tuple[str, str, str]]
"""Schemas, names, and what is told of them."""

_SETTLED = 2.0
"""Seconds after which no later change can have the same time, where times are coarse."""

_OF_POSTGRESQL = text("""
    SELECT n.nspname, c.relname, server.told
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_am a ON a.oid = c.relam
    CROSS JOIN (
        SELECT pg_postmaster_start_time() || ' ' || stats_reset || ' ' || pg_current_snapshot()
            || ' ' || (
                SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings
                WHERE category LIKE 'Client Connection Defaults%'
            ) AS told
        FROM pg_stat_bgwriter
    ) server
    WHERE server.told IS NOT NULL
        AND c.relkind IN ('r', 'm') AND c.relpersistence = 'p' AND a.amname = 'heap'
        AND NOT c.relhassubclass AND NOT c.relrowsecurity
        AND NOT pg_is_in_recovery()
        AND version() ~ '^PostgreSQL [0-9]+[.][0-9]+ '
        AND to_regclass('pg_catalog.gp_segment_configuration') IS NULL
        AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')
""")
"""The last three lines: systems that speak as PostgreSQL does, and keep rows elsewhere."""

_OF_MARIADB_ITSELF = text("""
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
"""Servers that follow others, which may stand behind one address, tell nothing."""

_OPEN_IN_MARIADB = text("""
    SET STATEMENT time_zone = '+00:00' FOR
    SELECT LEAST(
        UTC_TIMESTAMP() - INTERVAL :settled SECOND,
        COALESCE(MIN(IF(trx_is_read_only, NULL, trx_started)), UTC_TIMESTAMP())
    )
    FROM information_schema.innodb_trx
    HAVING SUM(trx_mysql_thread_id = CONNECTION_ID()) > 0
""")
_OF_MARIADB = text("""
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
_OF_SQLITE = text("""
    SELECT 'main', name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
""")


def states_of(engine: Engine) -> Mapping[tuple[str, str], str]:
    """The states of a database's tables.

    Args:
        engine: The database.

    Returns:
        By schema and name; tables that are not there have none. It depends on where the database
        is and who reads it, and on no password.
    """
    tells = _TELLS.get(system_of(engine))
    if tells is None:
        return {}
    where = _address(engine.url)
    try:
        with engine.connect() as connection:
            return {
                (schema, name): sha256(repr((where, told)).encode()).hexdigest()
                for schema, name, told in tells(connection)
            }
    except (SQLAlchemyError, OSError) as error:
        why = database_error_text(error) if isinstance(error, SQLAlchemyError) else error.strerror
        logger.debug("Its tables are read every time, as the database tells no states: %s", why)
        return {}


def _address(url: URL) -> str:
    """Without what lets someone in."""
    query = {name: value for name, value in url.query.items() if "pass" not in name.lower()}
    where = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, query)
    return where.render_as_string()


def _told_by_postgresql(connection: Connection) -> Told:
    return [(schema, name, told) for schema, name, told in connection.execute(_OF_POSTGRESQL)]


def _told_by_mariadb(connection: Connection) -> Told:
    itself = connection.execute(_OF_MARIADB_ITSELF).scalar_one_or_none()
    # The list of transactions is made anew only if no one has read it for a tenth of a second. That
    # one of our own is in it shows that it was.
    connection.execute(text("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"))
    connection.execute(text("DO SLEEP(0.2)"))
    before = connection.execute(_OPEN_IN_MARIADB, {"settled": _SETTLED}).scalar_one_or_none()
    if itself is None or before is None:
        return []
    tables = connection.execute(_OF_MARIADB, {"before": before})
    return [(schema, name, f"{itself} {told}") for schema, name, told in tables]


def _told_by_sqlite(connection: Connection) -> Told:
    files = {name: file for _, name, file in connection.execute(text("PRAGMA database_list"))}
    tables = connection.execute(_OF_SQLITE).all()
    file = Path(files["main"])
    if not file.is_file() or any(map(_has_bytes, (f"{file}-wal", f"{file}-journal"))):
        return []
    # Not opened: closing it would take this process's locks from it, SQLite's own ones included.
    found = file.stat()
    if time.time() - found.st_mtime < _SETTLED:
        return []
    told = f"{file} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
    return [(schema, name, told) for schema, name in tables]


def _has_bytes(file: str) -> bool:
    return Path(file).exists() and Path(file).stat().st_size > 0


_TELLS: Mapping[str, Callable[[Connection], Told]] = {
    "postgresql": _told_by_postgresql,
    "mariadb": _told_by_mariadb,
    "sqlite": _told_by_sqlite,
}
