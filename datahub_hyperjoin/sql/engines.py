"""The common interface of all systems that run SQL."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import Timer
from types import TracebackType
from typing import TYPE_CHECKING
from uuid import uuid4

from typing_extensions import Self

from datahub_hyperjoin.locations import CatalogTable
from datahub_hyperjoin.sql.dialects import SPARK, SqlDialect
from datahub_hyperjoin.sql.errors import (
    StatementRefusedError,
    TableUnavailableError,
    TimeLimitError,
)
from datahub_hyperjoin.sql.write import TableInSql, name_in_sql
from datahub_hyperjoin.tables import Table, TableId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SqlEngine(ABC):
    """A system that runs SQL on tables, as a context manager."""

    dialect: SqlDialect
    """The dialect of the engine's SQL, known once the engine is open."""

    threads: int = 1

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
        """Yield the ways to read a table, plainest first; each is prepared when it is asked for."""

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
        """Yield the only way to read a table."""
        if table.id not in self._ways:
            self._ways[table.id] = self.reading(table)
        yield self._ways[table.id]


class SparkEngine(OneWayEngine):
    """A Spark session that runs SQL on the tables of its catalogs."""

    dialect = SPARK

    def __init__(
        self, session: "SparkSession", columns: Mapping[TableId, Collection[str]], *, timeout: float
    ) -> None:
        super().__init__()
        self._session = session
        self._columns = columns
        self._timeout = timeout

    def close(self) -> None:
        """Do nothing, because the Spark session belongs to the run."""

    def reading(self, table: Table) -> TableInSql:
        """Read a table by its name in its Spark catalog."""
        location = table.location
        if not isinstance(location, CatalogTable):
            raise TableUnavailableError.in_system(str(table.id), SPARK.title)
        named = name_in_sql(location.catalog, *location.schema.split("."), location.name)
        members = {path: tuple(path.split(".")) for path in self._columns[table.id]}
        # Few lakes need it.
        from datahub_hyperjoin.spark.native.frames import leaf_expressions, load_frame  # noqa: PLC0415

        columns, _ = leaf_expressions(load_frame(self._session, location))
        binary = frozenset(each.path for each in columns if each.is_binary)
        return TableInSql(shown=named, run=named, members=members, binary=binary)

    def fetch(self, query: str) -> list[tuple[object, ...]]:
        """Run a query, and return its rows."""
        with self._limited():
            return [tuple(row) for row in self._session.sql(query).collect()]

    def execute(self, statement: str) -> None:
        """Run a statement, and ignore its rows."""
        with self._limited():
            # This sink makes Spark compute all rows, and stores none.
            self._session.sql(statement).write.format("noop").mode("overwrite").save()

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Interrupt queries of the `with` block at the time limit."""
        # Errors that it raises contain no data.
        from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS  # noqa: PLC0415 (few lakes need it)

        tag, ended = f"hyperjoin-{uuid4()}", []

        def interrupt() -> None:
            ended.append(tag)
            self._session.interruptTag(tag)

        timer = Timer(self._timeout, interrupt)
        self._session.addTag(tag)
        timer.start()
        try:
            yield
        except SPARK_ERRORS as error:
            # An interrupted statement fails like any other; only the timer knows the reason.
            if ended:
                raise TimeLimitError.after(self._timeout) from None
            raise StatementRefusedError.by(SPARK.title, type(error).__name__) from None
        finally:
            timer.cancel()
            self._session.removeTag(tag)
