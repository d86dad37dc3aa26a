"""Write the SQL of each join, and run it in the system that contains its tables."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial

from typing_extensions import assert_never

from datahub_hyperjoin.cell_parts import CellParts
from datahub_hyperjoin.joins import CrosswalkJoin, Join, JoinedColumns, RunSql, Statement
from datahub_hyperjoin.locations import (
    CatalogTable,
    Database,
    DeltaFolder,
    File,
    Folder,
    IcebergDataFile,
    IcebergFolder,
    Relation,
    TableLocation,
    is_remote,
)
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.spark.files.formats import format_of
from datahub_hyperjoin.spark.profiles.store import Store, result_key
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.sql.duckdb_engine import DuckDbEngine
from datahub_hyperjoin.sql.engines import SparkEngine, SqlEngine
from datahub_hyperjoin.sql.errors import NoStatementError
from datahub_hyperjoin.sql.find import LakeInSql, agrees, find_statement, write_statement
from datahub_hyperjoin.sql.write import columns_in_order, sides_of
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.value_forms import VALUE_FORMS
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_STEP = 100

_AnyJoin = Join | CrosswalkJoin
_Paths = Mapping[TableId, Collection[str]]
_System = Database | type[DuckDbEngine] | type[SparkEngine]


@dataclass(frozen=True, kw_only=True)
class SqlTest:
    """The joins whose SQL is run, and the time limit of a query."""

    timeout: float
    run: RunSql = RunSql.ALL
    shown: Collection[JoinedColumns] = ()

    def includes(self, join: _AnyJoin, system: _System) -> bool:
        """Return whether the SQL of a join is run in its system."""
        match self.run:
            case RunSql.SHOWN:
                # DuckDB runs in this process, where nobody else waits for it.
                return system is DuckDbEngine or join.pairs in self.shown
            case RunSql.ALL:
                return True
            case RunSql.NONE:
                return False
        assert_never(self.run)


def run_joins(
    joins: Sequence[_AnyJoin],
    lake: LakeInSql,
    *,
    session: Session,
    test: SqlTest,
    progress: Progress,
) -> dict[JoinedColumns, Statement]:
    """Return a SQL statement for each join, or the reason why there is none."""
    statements: dict[JoinedColumns, Statement] = {}
    # The joins of one system share an engine, which connects or loads each table once.
    by_system: dict[_System, list[_AnyJoin]] = defaultdict(list)
    for join in joins:
        system = _system_of_join(join, lake)
        if isinstance(system, NoStatementError):
            statements[join.pairs] = Statement(reason=str(system))
        else:
            by_system[system].append(join)
    for system, group in by_system.items():
        found = _Group(system, group, lake, session, test)
        for join, statement in zip(group, found.statements(), strict=True):
            statements[join.pairs] = statement
            if len(statements) % _STEP == 0:
                progress.say(f"Wrote the SQL of {len(statements)} of {len(joins)} joins")
    return statements


@dataclass(frozen=True, slots=True)
class _Group:
    """The joins whose tables are all in one system."""

    system: _System
    joins: Sequence[_AnyJoin]
    lake: LakeInSql
    session: Session
    test: SqlTest

    def statements(self) -> Iterator[Statement]:
        """Find the SQL of the joins, in their order."""
        try:
            engine = self._open()
        except NoStatementError as error:
            yield from (error.as_statement for _ in self.joins)
            return
        find = partial(self._find, engine)
        with engine:
            if engine.threads == 1:
                yield from map(find, self.joins)
                return
            with ThreadPoolExecutor(engine.threads) as pool:
                try:
                    yield from pool.map(find, self.joins)
                except BaseException:
                    engine.interrupt()  # otherwise, Ctrl-C would wait for the queries that run
                    raise

    def _open(self) -> SqlEngine:
        """Open an engine that can read the columns of the joins."""
        columns, timeout = _columns_of(self.joins), self.test.timeout
        if self.system is DuckDbEngine:
            return DuckDbEngine(
                self._places(columns), timeout=timeout, addresses=self.lake.addresses
            )
        if self.system is SparkEngine:
            return SparkEngine(self.session(), columns, timeout=timeout)
        # SQLAlchemy takes a quarter of a second to import; lakes of files need none.
        from datahub_hyperjoin.sql.database_engine import DatabaseEngine  # noqa: PLC0415

        table = self.lake.tables[self.joins[0].left.table]
        return DatabaseEngine(table, columns, timeout=timeout)

    def _places(self, columns: _Paths) -> dict[TableId, dict[str, int | None]]:
        """Return the places of columns in their tables, as far as they are known."""
        return {
            table: {
                path: profile.position if profile else None
                for path in paths
                for profile in [self.lake.columns.get(ColumnId(table, path))]
            }
            for table, paths in columns.items()
        }

    def _find(self, engine: SqlEngine, join: _AnyJoin) -> Statement:
        """Find the SQL of a join, by running it if that is wanted."""
        is_run = self.test.includes(join, self.system)
        try:
            return (find_statement if is_run else write_statement)(join, self.lake, engine)
        except Exception as error:  # noqa: BLE001 (the guard that keeps one join from ending the run)
            logger.warning("No SQL for %s = %s: %s", join.left, join.right, type(error).__name__)
            return Statement(reason=str(NoStatementError.unexpectedly(error)), untested=True)


def _system_of_join(join: _AnyJoin, lake: LakeInSql) -> _System | NoStatementError:
    """Return the system that contains all tables of a join, or the reason why none does."""
    compared_as = join.measured.compared_as
    if compared_as not in VALUE_FORMS and not CellParts.read(compared_as):
        return NoStatementError.of_entities(compared_as)
    tables = dict.fromkeys(column.table for pair in join.pairs for column in pair)
    systems = [_system_of_table(lake.tables[table].location) for table in tables]
    errors = (each for each in systems if isinstance(each, NoStatementError))
    if error := next(errors, None):
        return error
    if any(each != systems[0] for each in systems):
        return NoStatementError.across_systems(len(tables))
    return systems[0]


def _system_of_table(location: TableLocation) -> _System | NoStatementError:
    match location:
        case Relation():
            return location.database
        case CatalogTable():
            return SparkEngine
        case File() | Folder():
            return _system_of_files(location)
        case DeltaFolder():
            return NoStatementError.of_format("Delta tables")
        case IcebergFolder() | IcebergDataFile():
            return NoStatementError.of_format("Iceberg tables")
        case _:
            assert_never(location)


def _system_of_files(location: File | Folder) -> _System | NoStatementError:
    format_ = format_of(location)
    if is_remote(location.uri) and not format_.has_members:
        return NoStatementError.of_remote_files()
    if format_.duckdb_calls(location.dialect):
        return DuckDbEngine
    return NoStatementError.of_format(format_.title)


def _columns_of(joins: Sequence[_AnyJoin]) -> Mapping[TableId, dict[str, None]]:
    """For each table, return the paths of its joined columns, without duplicates."""
    columns: dict[TableId, dict[str, None]] = defaultdict(dict)
    for join in joins:
        for pair in join.pairs:
            for column in pair:
                columns[column.table][column.path] = None
    return columns


_RESULTS = "statements"


def find_join_sql(
    joins: Sequence[Join | CrosswalkJoin],
    lake: LakeInSql,
    *,
    store: Store,
    session: Session,
    test: SqlTest,
    progress: Progress,
) -> dict[JoinedColumns, Statement]:
    """Find a SQL statement for each join."""
    # Stored SQL is reused if the tables have not changed.
    kept = store.results(_RESULTS)
    keys = {join.pairs: _key(join, lake, test.timeout) for join in joins}
    stored = {
        pairs: Statement(**json.loads(kept[key])) for pairs, key in keys.items() if key in kept
    }
    changed = [join for join in joins if join.pairs not in stored]
    run = run_joins(changed, lake, session=session, test=test, progress=progress)
    statements = _with_two_steps(joins, {**stored, **run})
    store.keep_results(
        _RESULTS,
        {
            keys[pairs]: json.dumps(asdict(found))
            for pairs, found in statements.items()
            if found.was_run
        },
    )
    progress.count("sql_from_profile_store", len(stored))
    progress.count("joins_with_sql", sum(bool(found.sql) for found in statements.values()))
    progress.count("joins_with_sql_not_run", sum(not each.was_run for each in statements.values()))
    progress.count(
        "joins_with_normalised_sql", sum(bool(found.compared) for found in statements.values())
    )
    return statements


def _key(join: Join | CrosswalkJoin, lake: LakeInSql, timeout: float) -> str:
    tables = dict.fromkeys(column.table for pair in join.pairs for column in pair)
    columns = sides_of(join) if isinstance(join, Join) else columns_in_order(join)
    return result_key(
        [lake.tables[table] for table in tables],
        repr(columns),
        repr(join.evidence),
        # A statement that took too long may end within another limit.
        repr(timeout),
        repr(lake.addresses),
    )


def _with_two_steps(
    joins: Sequence[Join | CrosswalkJoin], statements: dict[JoinedColumns, Statement]
) -> dict[JoinedColumns, Statement]:
    """For joins that have no SQL, reuse the SQL that joins their columns through a crosswalk."""
    # If the statement was run, it must return as many rows as the evidence of the join states.
    lent = {}
    for join in joins:
        if isinstance(join, Join) and join.via and not statements[join.pairs].sql:
            steps = (join.left, join.via[0]), (join.via[1], join.right)
            statement = statements.get(steps)
            if statement and (not statement.was_run or agrees(statement.rows, join.measured.rows)):
                lent[join.pairs] = statement
    return {**statements, **lent}
