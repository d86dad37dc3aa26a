"""The common interface of all systems that run SQL."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import TracebackType

from typing_extensions import Self

from datahub_hyperjoin.sql.dialects import SqlDialect
from datahub_hyperjoin.sql.write import TableInSql
from datahub_hyperjoin.tables import Table, TableId


class SqlEngine(ABC):
    """The interface of a system that runs SQL on tables.

    An engine is a context manager.
    """

    dialect: SqlDialect
    """The dialect of the engine's SQL, known once the engine is open."""

    threads: int = 1
    """Number of threads that may use the engine at once."""

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the engine."""
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close all connections, and delete all temporary data."""

    def interrupt(self) -> None:  # noqa: B027 (most engines are for one thread)
        """End the queries of other threads; do nothing in an engine that only one thread uses."""

    @abstractmethod
    def readings(self, table: Table) -> Iterator[TableInSql]:
        """Yield the ways in which this system can read a table.

        Yields:
            At least one way, the plainest first. Each is prepared when it is asked for.
        """

    @abstractmethod
    def fetch(self, query: str) -> list[tuple[object, ...]]:
        """Run a query that returns few rows."""

    @abstractmethod
    def execute(self, statement: str) -> None:
        """Run a statement, and ignore its rows.

        Reading the rows could fail on values that Python cannot represent, such as dates before
        Christ.
        """


class OneWayEngine(SqlEngine):
    """A system that can read each table in one way only: by its name.

    A run may have thousands of joins of one table, so the system is asked about it once.
    """

    def __init__(self) -> None:
        self._ways: dict[TableId, TableInSql] = {}

    @abstractmethod
    def reading(self, table: Table) -> TableInSql:
        """Ask the system how to read a table."""

    def readings(self, table: Table) -> Iterator[TableInSql]:
        """Yield the only way to read a table.

        See `SqlEngine.readings`.
        """
        if table.id not in self._ways:
            self._ways[table.id] = self.reading(table)
        yield self._ways[table.id]
