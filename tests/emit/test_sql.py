import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datahub.sql_parsing.sqlglot_utils import get_dialect
from sqlglot import exp, parse_one

from datahub_hyperjoin.emit.sql import join_statement
from datahub_hyperjoin.joins import Cardinality, Join
from datahub_hyperjoin.tables import ColumnId, DataType, TableId

MakeJoin = Callable[[ColumnId, ColumnId, float], Join]
State = Callable[..., str]
Query = Callable[[str], str]

WEIRD = 'Kündig`s "best] 50%'
ORDERS, PEOPLE = "shop.order", f"shop.{WEIRD}"
NAMES = (ORDERS, PEOPLE)
PLATFORMS = """athena bigquery clickhouse cockroachdb databricks db2 dremio druid duckdb exasol glue
    hana hive mariadb mssql mysql oracle postgres presto presto-on-hive redshift snowflake spark
    sqlite starrocks teradata timescaledb trino vertica"""
READ_AS = {"glue": "trino", "hana": "postgres", "timescaledb": "postgres"} | dict.fromkeys(
    ("cockroachdb", "db2", "vertica"), ""
)
"""Where DataHub knows no dialect, or its older clients do not."""

NUMBER, TEXT = DataType.INTEGER, DataType.TEXT
PSQL = ("psql", "-h", "127.0.0.1", "-U", "postgres", "-d", "test", "-v", "ON_ERROR_STOP=1", "-qAt")
MARIADB = ("mariadb", "-h", "127.0.0.1", "-u", "root", "--default-character-set=utf8mb4", "-N")


def query_with(*command: str) -> Query:
    """Return the output of a database client; skip the test if no server responds."""

    def run(statements: str) -> str:
        done = subprocess.run(
            command, input=statements, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.replace("\t", "|").strip()

    if not shutil.which(command[0]):
        pytest.skip(f"there is no {command[0]}")
    if subprocess.run(
        command, input="SELECT 1;", capture_output=True, text=True, check=False
    ).stderr:
        pytest.skip(f"no server answers {command[0]}")
    return run


@pytest.fixture
def state(make_join: MakeJoin) -> State:
    """The statement of a join in which the first column refers to the second."""

    def make(
        first: ColumnId,
        second: ColumnId,
        *types: DataType,
        instance: str | None = None,
    ) -> str:
        join = make_join(first, second, 0.9)
        refers = Cardinality.MANY_ONE if join.left == first else Cardinality.ONE_MANY
        found = join_statement(
            replace(join, evidence=replace(join.evidence, cardinality=refers)),
            types=dict(zip((first, second), types, strict=False)),
            instances=dict.fromkeys((first.table, second.table), instance) if instance else {},
        )
        assert found
        return found

    return make


def columns(
    platform: str, *, names: tuple[str, str] = NAMES, keys: tuple[str, str] = ("select", WEIRD)
) -> list[ColumnId]:
    return [ColumnId(TableId(platform, *at[:1]), at[1]) for at in zip(names, keys, strict=True)]


def test_a_statement_is_short_and_plain(state: State) -> None:
    orders, people = TableId("postgres", "shop.public.orders"), TableId("postgres", "shop.people")
    statement = state(ColumnId(orders, "person"), ColumnId(people, "id"))
    assert statement.splitlines() == [
        "SELECT",
        "  a.*,",
        "  b.*",
        'FROM "shop"."public"."orders" AS a',
        'JOIN "shop"."people" AS b',
        '  ON a."person" = b."id"',
        "LIMIT 100",
    ]


@pytest.mark.parametrize("platform", ["file", "s3"])
def test_files_that_duckdb_cannot_read_by_their_names_have_no_statement(
    platform: str, make_join: MakeJoin
) -> None:
    names = ("a.csv", "a.CSV.gz", "a.jsonl", "a.parquet", "a.orc", "orders")
    other = ColumnId(TableId(platform, "lake/b.csv"), "id")
    readable = [
        name
        for name in names
        if join_statement(
            make_join(ColumnId(TableId(platform, f"lake/{name}"), "id"), other, 0.9), types={}
        )
    ]
    assert readable == ["a.csv", "a.CSV.gz", "a.jsonl", "a.parquet"]


def test_codes_and_names_have_no_statement(make_join: MakeJoin) -> None:
    first, second = columns("postgres")
    join = make_join(first, second, 0.9)
    assert join_statement(join, types={})
    named = replace(join, evidence=replace(join.evidence, compared_as="countries"))
    assert join_statement(named, types={}) is None


@pytest.mark.parametrize(
    ("cardinality", "first"),
    [
        (Cardinality.ONE_MANY, "right"),
        (Cardinality.MANY_ONE, "left"),
        (Cardinality.MANY_MANY, "left"),
    ],
)
def test_the_table_that_refers_comes_first(
    cardinality: Cardinality, first: str, make_join: MakeJoin
) -> None:
    left, right = (ColumnId(TableId("mysql", name), name) for name in ("left", "right"))
    join = make_join(left, right, 0.9)
    statement = join_statement(
        replace(join, evidence=replace(join.evidence, cardinality=cardinality)), types={}
    )
    assert statement
    assert f"FROM `{first}` AS a" in statement


def test_no_database_has_tables_of_two_platforms_or_environments(make_join: MakeJoin) -> None:
    here = ColumnId(TableId("postgres", "a"), "id")
    for table in (TableId("mysql", "b"), TableId("postgres", "b", "DEV")):
        assert join_statement(make_join(here, ColumnId(table, "id"), 0.9), types={}) is None


@pytest.mark.parametrize("platform", PLATFORMS.split())
def test_every_dialect_reads_its_statement_back(platform: str, state: State) -> None:
    first, second = columns(platform)
    dialect = get_dialect(READ_AS.get(platform, platform))
    read = parse_one(state(first, second, NUMBER, TEXT), dialect=dialect)
    tables = [[part.name.lower() for part in table.parts] for table in read.find_all(exp.Table)]
    assert tables == [["shop", "order"], ["shop", WEIRD.lower()]]
    (on,) = (join.args["on"] for join in read.find_all(exp.Join))
    assert [column.name.lower() for column in on.find_all(exp.Column)] == ["select", WEIRD.lower()]
    assert len(list(on.find_all(exp.Cast))) == 2
    assert [number.name for number in read.find_all(exp.Literal) if number.name == "100"]


@pytest.mark.parametrize(
    ("platform", "part"),
    [
        ("mssql", "TOP 100"),
        ("oracle", "ROWNUM <= 100"),
        ("oracle", 'FROM "SHOP"."ORDER" a'),
        (
            "snowflake",
            f'FROM "SHOP"."ORDER" AS a\nJOIN "SHOP"."{WEIRD.replace(chr(34), chr(34) * 2)}"',
        ),
        ("db2", 'a."SELECT"'),
        ("bigquery", "SELECT\n  a,\n  b\n"),
        ("cockroachdb", 'FROM "shop"."order" AS a'),
        ("mariadb", "FROM `shop`.`order` AS a"),
    ],
)
def test_databases_have_their_ways(platform: str, part: str, state: State) -> None:
    assert part in state(*columns(platform))


@pytest.mark.parametrize(
    ("platform", "text"),
    [
        ("postgres", "TEXT"),
        ("bigquery", "STRING"),
        ("mariadb", "CHAR"),
        ("mssql", "VARCHAR(MAX)"),
        ("oracle", "VARCHAR2(4000)"),
        ("hana", "VARCHAR(4000)"),
        ("cockroachdb", "VARCHAR(4000)"),
    ],
)
def test_values_of_different_types_are_compared_as_text(
    platform: str, text: str, state: State
) -> None:
    statement = state(*columns(platform), NUMBER, TEXT)
    assert statement.count("CAST(") == statement.count(f" AS {text})") == 2


@pytest.mark.parametrize(
    "types",
    [
        (),
        (NUMBER,),
        (TEXT, TEXT),
        (NUMBER, DataType.DECIMAL),
        (DataType.TIMESTAMP, DataType.DATE),
    ],
)
def test_values_that_compare_are_left_alone(types: tuple[DataType, ...], state: State) -> None:
    assert "CAST" not in state(*columns("postgres"), *types)


def test_types_are_known_by_plain_paths(make_join: MakeJoin) -> None:
    first, second = columns("postgres", keys=("[version=2.0].[type=string].code", "id"))
    plain = ColumnId(first.table, "code")
    statement = join_statement(make_join(first, second, 0.9), types={plain: TEXT, second: NUMBER})
    assert statement
    assert 'CAST(b."code" AS TEXT)' in statement or 'CAST(a."code" AS TEXT)' in statement


@pytest.mark.parametrize(
    ("platform", "member"),
    [
        ("postgres", '(\n    a."to"\n  )."city"'),
        ("snowflake", "a.\"TO\"['city']"),
        ("hive", "a.`to`.`city`"),
        ("trino", 'a."to"."city"'),
    ],
)
@pytest.mark.parametrize(
    "path", ["to.city", "[version=2.0].[type=struct].[type=struct].to.[type=string].city"]
)
def test_members_of_structs_are_reached(
    platform: str, member: str, path: str, state: State
) -> None:
    assert member in state(*columns(platform, keys=(path, "id")))


def test_a_dot_in_a_name_is_known_from_a_step(state: State) -> None:
    keys = ("[version=2.0].[type=string].to.city", "to.city")
    statement = state(*columns("s3", names=("lake/orders.parquet", "lake/cities.csv"), keys=keys))
    assert 'a."to.city" = b."to.city"' in statement


@pytest.mark.parametrize(
    ("platform", "name", "path"),
    [
        ("file", "nyc/flights.csv", "nyc/flights.csv"),
        ("file", "berlin.nyc/flights.csv", "nyc/flights.csv"),
        ("s3", "bucket/berlin.csv", "s3://bucket/berlin.csv"),
        ("gcs", "berlin.bucket/a.parquet", "gs://bucket/a.parquet"),
        ("abs", "container/a.parquet", "az://container/a.parquet"),
        ("delta-lake", "lake/a.b", "lake/a.b"),
    ],
)
def test_files_are_read_where_they_are(platform: str, name: str, path: str, state: State) -> None:
    first, second = columns(platform, names=(name, "other.csv"))
    assert f'FROM "{path}" AS a' in state(first, second, instance="berlin")


def test_a_platform_instance_is_no_part_of_a_name(state: State) -> None:
    first, second = columns("mysql", names=("berlin.shop.orders", "berlin.shop.people"))
    statement = state(first, second, instance="berlin")
    assert "FROM `shop`.`orders` AS a\nJOIN `shop`.`people` AS b" in statement


def test_sqlite_runs_it(state: State) -> None:
    first, second = columns("sqlite", names=("main.order", f"main.{WEIRD}"))
    quoted = WEIRD.replace('"', '""')
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(
            f"""CREATE TABLE "order" AS SELECT 1 AS "select", 'one' AS note UNION ALL SELECT 7, '-';
            CREATE TABLE "{quoted}" AS SELECT '1' AS "{quoted}";"""
        )
        rows = database.execute(state(first, second, NUMBER, TEXT)).fetchall()
    assert rows == [(1, "one", "1")]


def test_duckdb_reads_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: State) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'Zü "50%".csv').write_text("to.code,n\nBER,1\nTXL,2\n", encoding="utf-8")
    towns = pa.table({"at": [{"code": "BER"}, {"code": "MUC"}]})
    pq.write_table(towns, tmp_path / "towns.parquet")
    first, second = columns(
        "file", names=('Zü "50%".csv', "towns.parquet"), keys=("to.code", "at.code")
    )
    with closing(duckdb.connect()) as database:
        rows = database.execute(state(first, second)).fetchall()
    assert rows == [("BER", 1, {"code": "BER"})]


def test_postgres_runs_it(state: State) -> None:
    query = query_with(*PSQL)
    schema, quoted = "hyperjoin tést", WEIRD.replace('"', '""')
    names = (f"test.{schema}.order", f"test.{schema}.{WEIRD}")
    first, second = columns("postgres", names=names, keys=("select.code", WEIRD))
    setup = f"""BEGIN;
        CREATE SCHEMA "{schema}";
        SET LOCAL search_path = "{schema}";
        CREATE TYPE place AS (code integer);
        CREATE TABLE "order" AS SELECT row(1)::place AS "select", 'one' AS note
            UNION ALL SELECT row(7)::place, '-';
        CREATE TABLE "{quoted}" AS SELECT '1' AS "{quoted}";
    """
    rows = query(f"{setup}{state(first, second, NUMBER, TEXT)}; ROLLBACK;")
    assert rows == "(1)|one|1"


def test_mariadb_runs_it(state: State) -> None:
    query = query_with(*MARIADB)
    quoted = WEIRD.replace("`", "``")
    first, second = columns("mariadb", names=("test.order", f"test.{WEIRD}"))
    setup = f"""
        CREATE TEMPORARY TABLE test.`order` AS SELECT 1 AS `select`, 'one' AS note
            UNION ALL SELECT 7, '-';
        CREATE TEMPORARY TABLE test.`{quoted}` AS SELECT '1' AS `{quoted}`;
    """
    assert query(f"{setup}{state(first, second, NUMBER, TEXT)};") == "1|one|1"
