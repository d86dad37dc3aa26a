"""Run SQL on the tables of Spark's catalogs."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING
from uuid import uuid4

from datahub_hyperjoin.locations import CatalogTable
from datahub_hyperjoin.sql.dialects import SPARK
from datahub_hyperjoin.sql.engines import OneWayEngine
from datahub_hyperjoin.sql.errors import (
    StatementRefusedError,
    TableUnavailableError,
    TimeLimitError,
)
from datahub_hyperjoin.sql.write import TableInSql, name_in_sql
from datahub_hyperjoin.tables import Table, TableId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkEngine(OneWayEngine):
    """A Spark session that runs SQL on the tables of its catalogs."""

    dialect = SPARK

    def __init__(
        self,
        session: "SparkSession",
        columns: Mapping[TableId, Collection[str]],
        *,
        timeout: float,
    ) -> None:
        super().__init__()
        self._session = session
        self._columns = columns
        self._timeout = timeout

    def close(self) -> None:
        """Do nothing, because the Spark session belongs to the run."""

    def reading(self, table: Table) -> TableInSql:
        """Read a table by its name in its Spark catalog.

        See `OneWayEngine.reading`.
        """
        location = table.location
        if not isinstance(location, CatalogTable):
            raise TableUnavailableError.in_system(str(table.id), SPARK.title)
        named = name_in_sql(location.catalog, *location.schema.split("."), location.name)
        members = {path: tuple(path.split(".")) for path in self._columns[table.id]}
        # Few lakes need it.
        from datahub_hyperjoin.spark.native.frames import (  # noqa: PLC0415
            leaf_expressions,
            load_frame,
        )

        columns, _ = leaf_expressions(load_frame(self._session, location))
        binary = frozenset(each.path for each in columns if each.is_binary)
        return TableInSql(shown=named, run=named, members=members, binary=binary)

    def fetch(self, query: str) -> list[tuple[object, ...]]:
        """Run a query, and return its rows.

        See `SqlEngine.fetch`.
        """
        with self._limited():
            return [tuple(row) for row in self._session.sql(query).collect()]

    def execute(self, statement: str) -> None:
        """Run a statement, and ignore its rows.

        See `SqlEngine.execute`.
        """
        with self._limited():
            # This sink makes Spark compute all rows, and stores none.
            self._session.sql(statement).write.format("noop").mode("overwrite").save()

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Interrupt queries of the `with` block at the time limit.

        Errors that it raises contain no data.
        """
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
