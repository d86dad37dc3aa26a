"""Read tables in Spark tasks: the calls of `OwnProcesses`, on data frames.

A table is read on the route that suits it. A task opens many small tables, or one part of a large
one; it receives copies of remote files; or Spark's own readers divide a table.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeVar
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (everyone's name for it)
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.spark.columns import (
    Column,
    TableStream,
    readable_paths,
    with_usable_values,
)
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.executor import (
    Part,
    Request,
    TableJob,
    locate,
    pack,
    read_in_task,
    run_in_halves,
)
from datahub_hyperjoin.spark.files.table_parts import TablePart, divide_large, read_part
from datahub_hyperjoin.spark.memory import limited_memory
from datahub_hyperjoin.spark.native.frames import load_frame, select_columns
from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS, collect_arrow, map_tasks
from datahub_hyperjoin.spark.native.remote import (
    ShippedFile,
    plan_shipment,
    read_binary_files,
    receive_files,
)
from datahub_hyperjoin.spark.native.text_ranges import divide_files
from datahub_hyperjoin.spark.routes import Route, whole_route_of
from datahub_hyperjoin.tables import Table, TableId
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_Batches = Iterator[pa.RecordBatch]
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class OnSpark:
    """Reads tables in tasks of a Spark session."""

    session: SparkSession
    config: ProfileConfig
    errors: ClassVar[tuple[type[Exception], ...]] = SPARK_ERRORS
    fewest_partitions: ClassVar[int] = 4

    def map_tables(
        self,
        job: TableJob[Request],
        requests: Sequence[Request],
        receive: Callable[[pa.Table], Mapping[int, _Found]],
        *,
        salvage: Callable[[], Mapping[int, _Found]] = dict,
        may_crash: bool = True,
        most_rows: int = sys.maxsize,
    ) -> tuple[dict[int, _Found], list[int]]:
        """Read each table in one task; of a table in many remote files, the first file.

        A table that Spark's own readers refuse has no result.
        """
        del may_crash
        located = locate(requests)
        routes = self._by_route(located)
        found: dict[int, _Found] = {}
        lost: list[int] = []

        def run(
            read: Callable[[TableJob[Request], list[Request]], DataFrame], chosen: Sequence[int]
        ) -> Mapping[int, _Found]:
            return receive(collect_arrow(read(job, [located[index] for index in chosen])))

        ways = (self._read_whole, Route.LOCAL_BATCH), (self._read_first_files, Route.SHIPPED)
        for read, route in ways:
            if routes[route]:
                more, less = run_in_halves(partial(run, read), routes[route], salvage=salvage)
                found |= more
                lost += less
        for index in routes[Route.DISTRIBUTED]:
            with suppress(*SPARK_ERRORS):
                rows = self._read_natively(job, located[index], most_rows)
                found |= receive(collect_arrow(rows))
        return found, lost

    def map_parts(self, job: TableJob[Request], requests: Sequence[Request]) -> DataFrame:
        """Describe the rows of all tasks, of which many may read one table.

        An unreadable table has no rows, except that one that many tasks read may fail the job.
        """
        located = locate(requests)
        routes = self._by_route(located)
        frames = []
        batch = [located[index] for index in routes[Route.LOCAL_BATCH]]
        divided = self._divide([request.table for request in batch])
        if whole := [request for request in batch if request.table.id not in divided]:
            frames.append(self._read_whole(job, whole))
        if divided:
            frames.append(self.read_parts(job, batch, divided))
        if shipped := [located[index] for index in routes[Route.SHIPPED]]:
            files = plan_shipment(self.session, [request.table for request in shipped]).files
            frames.append(self.read_files(job, shipped, files))
        for index in routes[Route.DISTRIBUTED]:
            # Spark may refuse one table already at this point; all others are still read.
            with suppress(*SPARK_ERRORS):
                frames.append(self._read_natively(job, located[index]))
        return _union(frames or [self.session.createDataFrame([], from_arrow_schema(job.schema))])

    def count_by_hash(
        self,
        job: TableJob[Request],
        requests: Sequence[Request],
        count: Callable[[pa.Table], pa.Table],
        schema: pa.Schema,
    ) -> pa.Table:
        """Count the rows of each hash partition, and add up the counts of equal first two columns.

        Unreadable tables are left out.
        """

        def worker(rows: pa.Table) -> pa.Table:
            return count(rows)

        def run(readable: Sequence[Request]) -> pa.Table:
            first, second, *numbers = schema.names
            # Partitions hold disjoint values, so their counts add up.
            sums = (
                self.map_parts(job, readable)
                .groupBy("partition")
                .applyInArrow(worker, from_arrow_schema(schema))
                .groupBy(first, second)
                .agg(*(F.sum(name).alias(name) for name in numbers))
            )
            return collect_arrow(sums)

        try:
            return run(requests)
        except SPARK_ERRORS:
            # One table fails the job if many tasks read it or if it crashes its worker.
            lost = self.unreadable(job, requests, failed=True)
            return run([request for request in requests if request.table.id not in lost])

    def unreadable(
        self, job: TableJob[Request], requests: Sequence[Request], *, failed: bool = False
    ) -> set[TableId]:
        """Return the tables that Spark cannot read, after a job with all of them has failed.

        Halving them costs about two jobs for each level, while one job for each would take hours.
        """
        if not failed:
            with suppress(*SPARK_ERRORS):
                self.map_parts(job, requests).count()
                return set()
        half = len(requests) // 2
        if not half:
            return {request.table.id for request in requests}
        return self.unreadable(job, requests[:half]) | self.unreadable(job, requests[half:])

    @contextmanager
    def sql(self, **rows: pa.Table | DataFrame) -> Iterator["_SparkSQL"]:
        """Within a `with` block, query rows by SQL that DuckDB and Spark both understand."""
        sql = _SparkSQL(self.session)
        try:
            for name, each in rows.items():
                is_frame = isinstance(each, DataFrame)
                sql.name(name, each if is_frame else self.session.createDataFrame(each))
            yield sql
        finally:
            for view in sql.names.values():
                self.session.catalog.dropTempView(view)

    def read_parts(
        self,
        job: TableJob[Request],
        requests: Sequence[Request],
        divided: Mapping[TableId, Sequence[TablePart]],
    ) -> DataFrame:
        """Read each part of the divided tables in a task of its own.

        An error in one part fails the job: the rows of the others are not the whole table.
        """
        parts = [
            Part(request, number, len(all_), partial(read_part, part, request.paths))
            for request in requests
            for all_ in [divided.get(request.table.id, ())]
            for number, part in enumerate(all_)
        ]

        def work(numbers: list[int]) -> _Batches:
            with limited_memory():
                for number in numbers:
                    yield from job.read_part(parts[number])

        # Each part has a number, since parts of one table share what must not be copied for each.
        tasks = [[number] for number in range(len(parts))]
        return map_tasks(self.session, tasks, work, job.schema)

    def read_files(
        self,
        job: TableJob[Request],
        requests: Sequence[Request],
        files: Mapping[str, ShippedFile],
        *,
        are_tables: bool = False,
    ) -> DataFrame:
        """Read each of some remote files, by URI, where a task receives a copy of it."""

        def worker(batches: _Batches) -> _Batches:
            received = (
                (file, replace(requests[file.table_index], table=table))
                for file, table in receive_files(batches, files)
            )
            if are_tables:
                yield from job.read_whole((request for _, request in received), Databases())
            for file, request in received:
                numbers = file.file_index, file.file_count, file.path
                yield from job.read_alone(request, Databases(), *numbers)

        frame = read_binary_files(self.session, [*files])
        return frame.mapInArrow(worker, from_arrow_schema(job.schema))

    def read_frame(
        self, job: TableJob[Request], request: Request, frame: DataFrame, columns: Sequence[Column]
    ) -> DataFrame:
        """Read a table in the partitions of a data frame, which has its readable columns."""
        paths = readable_paths(columns)

        def worker(batches: _Batches) -> _Batches:
            named = (batch.rename_columns(paths) for batch in batches)
            stream = with_usable_values(TableStream(tuple(columns), named, []))
            context = TaskContext.get()
            number = context.partitionId() if context else 0
            with limited_memory():
                yield from job.read_part(Part(request, number, 0, lambda: stream))

        return frame.mapInArrow(worker, from_arrow_schema(job.schema))

    def _read_natively(
        self, job: TableJob[Request], request: Request, most_rows: int | None = None
    ) -> DataFrame:
        rows = load_frame(self.session, request.table.location)
        if most_rows is not None:  # which are few, and so for one task
            rows = rows.limit(most_rows).coalesce(1)
        frame, columns, _ = select_columns(rows, request.paths)
        return self.read_frame(job, request, frame, columns)

    def _read_whole(self, job: TableJob[Request], requests: Sequence[Request]) -> DataFrame:
        tasks = pack(requests)
        logger.info("Reading %s tables in %s tasks", len(requests), len(tasks))
        return map_tasks(self.session, tasks, partial(read_in_task, job), job.schema)

    def _read_first_files(self, job: TableJob[Request], requests: Sequence[Request]) -> DataFrame:
        planned = plan_shipment(self.session, [request.table for request in requests]).files
        files = {uri: file for uri, file in planned.items() if file.file_index == 0}
        return self.read_files(job, requests, files, are_tables=True)

    def _by_route(self, requests: Sequence[Request]) -> dict[Route, list[int]]:
        routes = defaultdict[Route, list[int]](list)
        for index, request in enumerate(requests):
            routes[whole_route_of(request.table, self.config)].append(index)
        return routes

    def _divide(self, tables: Sequence[Table]) -> dict[TableId, Sequence[TablePart]]:
        """Divide large tables into parts."""
        large = [table for table in tables if table.size >= self.config.split_bytes]
        divided = divide_large(large, size=self.config.split_bytes)
        texts = divide_files(self.session, large)
        return divided | {large[index].id: parts for index, parts in texts.items()}


class _SparkSQL:
    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self.names: dict[str, str] = {}
        """The views by the names that queries write in braces."""

    def name(self, name: str, rows: DataFrame) -> None:
        """Make rows known to queries under a name of its own in the session."""
        self.names[name] = f"{name}_{uuid4().hex}"
        rows.createOrReplaceTempView(self.names[name])

    def create(self, name: str, query: str) -> None:
        """Keep the rows of a query under a name, which later queries write in braces."""
        # Else Spark would read all tables again for each count. To drop the view unpersists it.
        self.name(name, self._rows(query).persist())

    def fetch(self, query: str) -> list[Any]:
        """Return the rows of a query."""
        return [tuple(row) for row in self._rows(query).collect()]

    def _rows(self, query: str) -> DataFrame:
        return self._session.sql(query.format_map(self.names))


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    if len(frames) == 1:
        return frames[0]
    half = len(frames) // 2
    return _union(frames[:half]).union(_union(frames[half:]))
