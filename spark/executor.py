"""Read tables in processes of this program, or on Spark.

A job says what a task does with the tables that it reads, and what rows it returns. An executor
brings tables to tasks, whether these open them, receive copies, or read parts that Spark divides:
`map_tables` reads each table in one task, `map_parts` large ones in many, and `count_by_hash` also
brings equal hashes together and counts them. `spark.routes` decides by cost which executor a stage
uses; nothing else asks where tables are read.
"""

import heapq
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from datahub_hyperjoin.locations import Database, database_of
from datahub_hyperjoin.spark.columns import TableStream
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.memory import exempt_imports, limited_memory
from datahub_hyperjoin.spark.processes import run_in_processes
from datahub_hyperjoin.spark.read import read_table, with_absolute_paths
from datahub_hyperjoin.tables import Table, TableId
from datahub_hyperjoin.visible import logger_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from datahub_hyperjoin.spark.on_spark import OnSpark

logger = logger_of(__name__)

_FEW_BYTES = 1 << 24
"""Number of bytes that this process reads in about the time that others take to start."""
_TASK_BYTES = 1 << 24
_MIN_TASKS = 8
_OPENING_BYTES = 1 << 13
"""Cost of opening a table, expressed as bytes read."""

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class TableRequest:
    """What is read of one table."""

    table: Table
    """The table, at the place where the task that reads it finds it."""

    @property
    def paths(self) -> Collection[str] | None:
        """The columns to read; None for all."""
        return None

    @property
    def is_kept(self) -> bool:
        """Whether an earlier run kept all that is wanted, so that no row is read."""
        return False


@dataclass(frozen=True)
class NumberedTable(TableRequest):
    """A table of which all columns are read, with its index."""

    index: int


Request = TypeVar("Request", bound=TableRequest)


@dataclass(frozen=True)
class Part(Generic[Request]):
    """A part of a table, as a task receives it."""

    request: Request
    number: int
    count: int
    """Number of parts of the table; 0 if Spark's own readers divide it."""

    open: Callable[[], TableStream]
    file: str = ""
    """Its path within the table, if the part is a file that Spark has copied."""


class TableJob(Generic[Request]):
    """What tasks do with the tables that they read. It travels to other processes."""

    schema: ClassVar[pa.Schema]
    """The schema of the rows that tasks return."""

    def read_whole(
        self, requests: Iterable[Request], databases: Databases
    ) -> Iterator[pa.RecordBatch]:
        """Read whole tables, one after the other. No error of a table may leave this method."""
        for request in requests:
            yield from self.read_alone(request, databases)

    def read_alone(
        self,
        request: Request,
        databases: Databases,
        number: int = 0,
        count: int = 1,
        file: str = "",
    ) -> Iterator[pa.RecordBatch]:
        """Read a table or one of its files as a part, and leave it out if it is unreadable."""
        table, paths = request.table, request.paths
        rows = partial(read_table, table, databases, max_rows=sys.maxsize, paths=paths)
        with suppress(Exception):
            # All at once: some rows of a file would not be the file.
            yield from [*self.read_part(Part(request, number, count, rows, file))]

    def read_part(self, part: Part[Request]) -> Iterator[pa.RecordBatch]:
        """Read a part. An error of a copied file leaves out the file, any other fails the job."""
        raise NotImplementedError


def executor_for(session: "SparkSession | None", config: ProfileConfig) -> "OwnProcesses | OnSpark":
    """Return what reads tables: Spark, or processes of this program if there is no session."""
    if session is None:
        return OwnProcesses()
    # PySpark takes a tenth of a second to import; small lakes need none.
    from datahub_hyperjoin.spark.on_spark import OnSpark  # noqa: PLC0415

    return OnSpark(session, config)


@dataclass(frozen=True)
class OwnProcesses:
    """Reads tables in processes of this program."""

    errors: ClassVar[tuple[type[Exception], ...]] = ()
    """What a call may raise because of a table."""
    fewest_partitions: ClassVar[int] = 1
    """The least number of hash partitions; 1 if one process counts all of them."""

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
        """Read each table in one task. Return results and lost tables by the index of the request.

        Args:
            receive: Converts the rows that tasks return to results.
            salvage: Returns the results of tables that a failed call had finished.
            may_crash: False if tasks have read these tables before, so that this process may.
            most_rows: Number of rows that are enough of a table which only Spark's readers read.
        """
        del most_rows
        located = locate(requests)
        if not may_crash:
            return dict(receive(_read_here(job, located))), []

        def run(chosen: Sequence[int]) -> Mapping[int, _Found]:
            return receive(_read_in_processes(job, [located[index] for index in chosen]))

        return run_in_halves(run, range(len(located)), salvage=salvage)

    def map_parts(self, job: TableJob[Request], requests: Sequence[Request]) -> pa.Table:
        """Return the rows of all tasks. Many tasks may read a table; a lost table has no rows."""
        located = locate(requests)
        # What is kept loads faster than a process returns it, and cannot crash this one.
        here: list[Request] = []
        others: list[Request] = []
        for request in located:
            (here if request.is_kept else others).append(request)
        if sum(request.table.size for request in others) <= _FEW_BYTES:
            return _read_here(job, located)

        def run(chosen: Sequence[int]) -> dict[int, pa.Table]:
            return {chosen[0]: _read_in_processes(job, [others[index] for index in chosen])}

        found, _ = run_in_halves(run, range(len(others)), salvage=dict[int, pa.Table])
        return pa.concat_tables([_read_here(job, here), *found.values()])

    def count_by_hash(
        self,
        job: TableJob[Request],
        requests: Sequence[Request],
        count: Callable[[pa.Table], pa.Table],
        schema: pa.Schema,
    ) -> pa.Table:
        """Count the rows of each hash partition, and add up the counts of equal first two columns.

        Args:
            count: Returns the counts of a partition, as rows of `schema`.
        """
        del schema
        # This process can hold all values, so one partition has them all.
        return count(self.map_parts(job, requests))

    def unreadable(self, job: TableJob[Request], requests: Sequence[Request]) -> set[TableId]:
        """After a job has failed, return the tables that cannot be read."""
        raise NotImplementedError  # no job fails

    @contextmanager
    def sql(self, **rows: pa.Table) -> Iterator["_DuckDB"]:
        """Within a `with` block, query rows by SQL that DuckDB and Spark both understand."""
        import duckdb  # noqa: PLC0415 (few lakes have crosswalks)

        with duckdb.connect() as connection:
            for name, table in rows.items():
                connection.register(name, table)
            yield _DuckDB(connection, {name: name for name in rows})


@dataclass(frozen=True)
class _DuckDB:
    connection: Any
    names: dict[str, str]

    def create(self, name: str, query: str) -> None:
        """Keep the rows of a query under a name, which later queries write in braces."""
        self.connection.execute(f"CREATE TABLE {name} AS {query.format_map(self.names)}")
        self.names[name] = name

    def fetch(self, query: str) -> list[Any]:
        """Return the rows of a query."""
        return [*self.connection.execute(query.format_map(self.names)).fetchall()]


def locate(requests: Sequence[Request]) -> list[Request]:
    """Return copies of requests whose local paths are absolute: tasks may run in another folder."""
    tables = with_absolute_paths([request.table for request in requests])
    return [replace(each, table=table) for each, table in zip(requests, tables, strict=True)]


def read_in_task(job: TableJob[Request], requests: Iterable[Request]) -> Iterator[pa.RecordBatch]:
    """Read whole tables in a process that one of them may end."""
    exempt_imports()
    with limited_memory(), Databases() as databases:
        yield from job.read_whole(requests, databases)


def _read_here(job: TableJob[Request], requests: Sequence[Request]) -> pa.Table:
    with Databases() as databases:
        return pa.Table.from_batches(job.read_whole(requests, databases), job.schema)


def _read_in_processes(job: TableJob[Request], requests: Sequence[Request]) -> pa.Table:
    tasks = pack(requests)
    logger.info("Reading %s tables in %s tasks", len(requests), len(tasks))
    sizes = [request.table.size for request in requests]
    return run_in_processes(tasks, partial(read_in_task, job), job.schema, sizes=sizes)


def pack(requests: Sequence[Request]) -> list[list[Request]]:
    """Group what is read of tables into Spark tasks of similar duration.

    The largest table first, each into the group that is lightest so far (Graham, "Bounds on
    multiprocessing timing anomalies", 1969). Files are packed into groups of about 16 MiB. A
    database gets at most as many groups as it may have connections, because each task opens one.
    """
    by_database: dict[Database | None, list[tuple[int, Request]]] = defaultdict(list)
    for request in requests:
        # Opening a file takes time even if it is empty, so thousands of tiny tables need several
        # tasks.
        weighed = request.table.size + _OPENING_BYTES, request
        by_database[database_of(request.table.location)].append(weighed)
    groups: list[tuple[int, list[Request]]] = []
    for database, members in by_database.items():
        needed = max(_MIN_TASKS, sum(weight for weight, _ in members) // _TASK_BYTES)
        groups += _balance(members, most=database.max_connections if database else needed)
    # Spark starts tasks in this order, and the longest one should not start last.
    return [group for _, group in sorted(groups, key=lambda group: -group[0])]


def _balance(
    members: Sequence[tuple[int, Request]], *, most: int
) -> list[tuple[int, list[Request]]]:
    """Divide weighed items into at most `most` groups, each with its total weight."""
    lightest: list[tuple[int, int, list[Request]]]
    lightest = [(0, number, []) for number in range(min(len(members), most))]
    for weight, item in sorted(members, key=lambda member: -member[0]):
        total, number, group = lightest[0]
        group.append(item)
        heapq.heapreplace(lightest, (total + weight, number, group))
    return [(total, group) for total, _, group in lightest]


def run_in_halves(
    job: Callable[[Sequence[int]], Mapping[int, _Found]],
    tables: Sequence[int],
    *,
    salvage: Callable[[], Mapping[int, _Found]],
) -> tuple[dict[int, _Found], list[int]]:
    """Run a Spark job on tables; after a crash, rerun it on each half of the unread tables.

    Spark ends the whole job and does not say which table was being read. One table among n is
    found in about log n further jobs, which read only what the first has not finished.
    """
    try:
        return dict(job(tables)), []
    except BrokenProcessPool:
        pass  # a process of this program ended
    except Exception as error:
        if not _is_lost_worker(error):
            raise
    finished = salvage()
    results = {table: finished[table] for table in tables if table in finished}
    left = [table for table in tables if table not in results]
    if len(left) <= 1:
        return results, left
    logger.warning("A process ended while it read %s tables; trying again", len(left))
    lost: list[int] = []
    middle = len(left) // 2
    for half in (left[:middle], left[middle:]):
        found, lost_of_half = run_in_halves(job, half, salvage=salvage)
        results |= found
        lost += lost_of_half
    return results, lost


def _is_lost_worker(error: Exception) -> bool:
    # PySpark takes a tenth of a second to import; processes of this program need none.
    from datahub_hyperjoin.spark.native.frames import is_lost_worker  # noqa: PLC0415
    from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS  # noqa: PLC0415

    return isinstance(error, SPARK_ERRORS) and is_lost_worker(error)
