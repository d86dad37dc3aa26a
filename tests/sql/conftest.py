"""Set up lakes of files and databases, and make joins with given evidence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datahub_hyperjoin.joins import Cardinality, Evidence, Join, RunSql, Statement
from datahub_hyperjoin.locations import DEFAULT_DIALECT, Dialect, File
from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.sql import LakeInSql, SqlTest, run_joins
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Lengths,
    Table,
    TableId,
)
from engines.servers import KINDS, Server, serving

MakeFile = Callable[..., Table]
MakeJoin = Callable[..., Join]
Run = Callable[..., list[Statement]]
RowsOf = Callable[[Statement], int]
MakeProfile = Callable[[ColumnId, Sequence[str]], ColumnProfile]


@pytest.fixture
def make_file(tmp_path: Path) -> MakeFile:
    """Return a function that writes a file and describes its table as a scan would."""

    def make(
        name: str, content: str | bytes | pa.Table, dialect: Dialect = DEFAULT_DIALECT
    ) -> Table:
        path = tmp_path / "lake" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pa.Table):
            pq.write_table(content, path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        suffix = path.suffix.lstrip(".").lower().replace("ndjson", "jsonl")
        location = File(uri=str(path), format=suffix, dialect=dialect)
        return Table(id=TableId("file", name), title=name, location=location, size=1)

    return make


@pytest.fixture
def make_join() -> MakeJoin:
    """Return a function that makes a join of given columns with a given number of rows."""

    def make(
        *pairs: tuple[tuple[Table, str], tuple[Table, str]],
        rows: int,
        compared_as: str = "",
        cardinality: Cardinality = Cardinality.MANY_MANY,
    ) -> Join:
        ends = [tuple(ColumnId(table.id, path) for table, path in pair) for pair in pairs]
        evidence = Evidence(
            shared=1,
            left_containment=1.0,
            right_containment=1.0,
            cardinality=cardinality,
            left_fan_out=1.0,
            right_fan_out=1.0,
            rows=rows,
            compared_as=compared_as,
        )
        (left, right), *further = ends
        return Join(
            left=left,
            right=right,
            joinability=0.9,
            evidence=evidence,
            further=tuple((first, second) for first, second in further),
        )

    return make


@pytest.fixture
def make_profile() -> MakeProfile:
    """Return a function that makes the profile of a column from its values."""

    def make(column: ColumnId, values: Sequence[str]) -> ColumnProfile:
        sample = tuple({normal_form(value): value for value in values}.values())
        return ColumnProfile(
            id=column,
            position=0,
            type=DataType.TEXT,
            rows=len(values),
            nulls=0,
            distinct=len(sample),
            sketch=b"",
            sample=sample,
            counts=tuple(1 for _ in sample),
            lengths=Lengths(shortest=1, mean=1.0, longest=1),
            patterns=(),
        )

    return make


class Lines:
    """A progress report that only collects its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def no_session() -> NoReturn:
    pytest.fail("no Spark is needed")


@pytest.fixture
def progress() -> Lines:
    return Lines()


@pytest.fixture
def run(progress: Lines) -> Run:
    """Return a function that runs the SQL of joins, and returns their statements in order."""

    def run_all(
        *joins: Join,
        tables: list[Table],
        columns: Mapping[ColumnId, ColumnProfile] | None = None,
        timeout: float = 60,
        session: Session = no_session,
    ) -> list[Statement]:
        found = run_joins(
            joins,
            LakeInSql(tables={table.id: table for table in tables}, columns=columns or {}),
            session=session,
            test=SqlTest(timeout=timeout, run=RunSql.ALL),
            progress=progress,  # type: ignore[arg-type]
        )
        return [found[join.pairs] for join in joins]

    return run_all


@pytest.fixture
def rows_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RowsOf:
    """Return a function that runs a statement in a new DuckDB and counts the rows."""

    def count(statement: Statement) -> int:
        monkeypatch.chdir(tmp_path / "lake")
        with duckdb.connect() as connection:
            return len(connection.execute(statement.sql).fetchall())

    return count


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        yield running
