"""Run read-only SQL in a database, over one connection and with a time limit."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import CursorResult, String
from sqlalchemy.dialects.postgresql import INET
from sqlalchemy.exc import SQLAlchemyError
from sqlglot import exp

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.databases.connections import statement_limit, within
from datahub_hyperjoin.spark.databases.engines import (
    database_error_code,
    is_out_of_time,
    open_engine,
)
from datahub_hyperjoin.spark.databases.relations import (
    choose_relation_columns,
    inspect_database,
    reflect_columns,
)
from datahub_hyperjoin.spark.databases.system import system_of
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError, UnreadableRelationError
from datahub_hyperjoin.sql.dialects import MYSQL, POSTGRES, SQLITE
from datahub_hyperjoin.sql.engines import OneWayEngine
from datahub_hyperjoin.sql.errors import (
    NoStatementError,
    StatementRefusedError,
    TableUnavailableError,
    TimeLimitError,
)
from datahub_hyperjoin.sql.write import TableInSql, name_in_sql
from datahub_hyperjoin.tables import Table, TableId

_DIALECTS = {dialect.name: dialect for dialect in (POSTGRES, MYSQL, SQLITE)}


class DatabaseEngine(OneWayEngine):
    """An engine that runs SQL in a database, through SQLAlchemy."""

    def __init__(
        self, table: Table, columns: Mapping[TableId, Collection[str]], *, timeout: float
    ) -> None:
        super().__init__()
        relation = _relation(table)
        self._columns = columns
        self._timeout = timeout
        try:
            opened = open_engine(relation.connection, relation.database)
        except UnreachableDatabaseError as error:
            raise TableUnavailableError(str(error)) from None
        self._engine = within(opened, timeout)
        try:
            # Only a connection shows whether a server of MySQL's dialect is MariaDB.
            self._engine.connect().close()
        except SQLAlchemyError as error:
            raise StatementRefusedError.by(self._engine.name, database_error_code(error)) from None
        system = system_of(self._engine.dialect)
        if system.sql_dialect not in _DIALECTS:
            self.close()
            raise NoStatementError.without_time_limit(system.name)
        self.dialect = _DIALECTS[system.sql_dialect]

    def close(self) -> None:
        """Close the connection."""
        self._engine.dispose()

    def reading(self, table: Table) -> TableInSql:
        """Read a table by its name and schema."""
        location = _relation(table)
        # SQLite's only schema needs no name, and an attached database may have another.
        parts = [location.schema] if location.schema and self.dialect is not SQLITE else []
        named = name_in_sql(*parts, location.name)
        try:
            inspector = inspect_database(self._engine)
            columns, _ = choose_relation_columns(location, inspector)
            reflected = reflect_columns(location, inspector)
        except UnreadableRelationError as error:
            raise TableUnavailableError(str(error)) from None
        binary = frozenset(each.path for each in columns if each.is_binary)
        is_plain = (self.dialect.shows_bytes or not binary) and self._selects_all(named)
        return TableInSql(
            shown=named,
            run=named,
            members={path: (path,) for path in self._columns[table.id]},
            binary=binary,
            addresses=frozenset(each.name for each in reflected if isinstance(each.type, INET)),
            texts=frozenset(each.name for each in reflected if isinstance(each.type, String)),
            listed=() if is_plain else tuple(each.path for each in columns if not each.is_withheld),
        )

    def _selects_all(self, table: exp.Table) -> bool:
        """Return whether the user may select all columns of a table."""
        try:
            self.execute(self.dialect.write(exp.select("*").from_(table).limit(0)))
        except StatementRefusedError:
            return False
        return True

    def fetch(self, query: str) -> list[tuple[object, ...]]:
        """Run a query, and return its rows."""
        with self._running(query) as result:
            return [tuple(row) for row in result]

    def execute(self, statement: str) -> None:
        """Run a statement, and ignore its rows."""
        with self._running(statement) as result:
            if self.dialect is SQLITE:  # which runs a statement while its rows are read
                result.fetchall()

    @contextmanager
    def _running(self, statement: str) -> Iterator[CursorResult[Any]]:
        """Run a statement, and provide its result in a `with` block."""
        # The errors of a statement contain no data.
        limit = self._timeout
        try:
            with self._engine.connect() as connection:
                connection.begin()
                limit = statement_limit(connection)
                # Without parameters, no driver reads a `%` in the statement as one.
                options = connection.execution_options(no_parameters=True)
                yield options.exec_driver_sql(statement)
        except SQLAlchemyError as error:
            if is_out_of_time(error):
                raise TimeLimitError.after(limit, own=limit >= self._timeout) from None
            raise StatementRefusedError.by(self.dialect.title, database_error_code(error)) from None


def _relation(table: Table) -> Relation:
    if not isinstance(table.location, Relation):
        raise TableUnavailableError.in_system(str(table.id), "a database")
    return table.location
