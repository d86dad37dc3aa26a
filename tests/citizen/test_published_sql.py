"""Test that readers of DataHub can run the published SQL of joins, in a process of their own."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest
from datahub.metadata.schema_classes import QueryPropertiesClass

from datahub_hyperjoin.sql.database_engine import DatabaseEngine
from engines.servers import Server, serving
from gms import Gms
from lakes.lake import describe, write_flights
from services.stores import BUCKET, running_s3

Run = Callable[..., str]

IN_DUCKDB = """
import json, sys, duckdb
from pyarrow.fs import S3FileSystem
from fsspec.implementations.arrow import ArrowFSWrapper

class S3(ArrowFSWrapper):
    protocol = "s3"

if len(sys.argv) > 1:
    store = S3FileSystem(endpoint_override=sys.argv[1], region="us-east-1")
    duckdb.register_filesystem(S3(store))
print(json.dumps([len(duckdb.sql(sql).fetchall()) for sql in json.load(sys.stdin)]))
"""
"""A reader with DuckDB, whose extension for object stores cannot be had without the network."""

IN_POSTGRESQL = """
import json, sys, psycopg2

cursor = psycopg2.connect(sys.argv[1]).cursor()
counts = []
for sql in json.load(sys.stdin):
    cursor.execute(sql)
    counts.append(len(cursor.fetchall()))
print(json.dumps(counts))
"""


def has_unrun_sql(page: Path) -> bool:
    data = re.search(r'id="data">(.*?)</script>', page.read_text())
    assert data
    return any(note.startswith("not run") for _, note in json.loads(data[1])["statements"])


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Write a lake of CSV files, a Parquet file and a folder of files."""
    folder = tmp_path / "data" / "lake"
    write_flights(folder)
    planes = folder / "planes.csv"
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(planes), planes.with_suffix(".parquet"))
    planes.unlink()
    airports = folder.joinpath("airports.csv").read_text().splitlines()
    folder.joinpath("airports.csv").unlink()
    for part in range(2):
        file = folder / "airports" / f"part-{part}.csv"
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join([airports[0], *airports[1 + part :: 2]]) + "\n")
    return folder


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Server]:
    """Set up orders and customers in PostgreSQL."""
    with serving("postgresql", tmp_path) as server:
        server.run(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)",
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER)",
            "INSERT INTO customers SELECT at, 'Customer ' || at FROM generate_series(1, 40) at",
            "INSERT INTO orders SELECT 900 + at, at % 40 + 1 FROM generate_series(1, 90) at",
        )
        yield server


def describe_shop(gms: Gms, shop: Server) -> None:
    place = f"{shop.engine.url.database}.{shop.schema}"
    describe(gms, f"{place}.orders", ["id", "customer"], platform="postgres")
    describe(gms, f"{place}.customers", ["id", "name"], platform="postgres")


def connection_to(shop: Server) -> dict[str, object]:
    return {"database": {"url": shop.url}, "schemas": {"allow": [f"^{shop.schema}$"]}}


def headers(lake: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the path of each table of the lake, and its columns."""
    for file in lake.glob("*.csv"):
        yield file.name, file.read_text().split("\n", 1)[0].split(",")
    yield "planes.parquet", pyarrow.parquet.read_schema(lake / "planes.parquet").names
    file = lake / "airports" / "part-0.csv"
    yield "airports", file.read_text().split("\n", 1)[0].split(",")


def statements(gms: Gms) -> list[str]:
    queries = [gms.get(urn, QueryPropertiesClass) for urn in gms.urns("query")]
    return [query.statement.value for query in queries if query]


def run_elsewhere(program: str, sql: list[str], folder: Path, *arguments: str) -> list[int]:
    """Run SQL in a new process in another folder, and return its numbers of rows."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        input=json.dumps(sql),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts: list[int] = json.loads(done.stdout)
    return counts


@pytest.mark.parametrize("has_base", [False, True], ids=["default", "base"])
def test_sql_of_files_runs_in_any_folder(
    lake: Path, run: Run, tmp_path: Path, *, has_base: bool
) -> None:
    emit: dict[str, object] = {"queries": True, "documents": True}
    if has_base:
        lake.parent.joinpath("copy").symlink_to(lake)
        emit["files_at"] = str(lake.parent / "copy")
    with Gms() as gms:
        for name, columns in headers(lake):
            # DataHub's connector for files names them by their whole path.
            describe(gms, f"{lake}/{name}".strip("/"), columns)
        run(gms, emit=emit, page=str(tmp_path / "joins.html"))
        found = statements(gms)
    assert len(found) >= 3
    assert all(run_elsewhere(IN_DUCKDB, found, tmp_path / "elsewhere"))
    place = f"{lake.parent}/{'copy' if has_base else 'lake'}/"
    assert all(sql.count(place) == 2 for sql in found)


def test_sql_of_an_object_store_runs_there(
    lake: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_s3(monkeypatch) as store, Gms() as gms:
        store.upload(lake, "exports/2024")
        for name, columns in headers(lake):
            describe(gms, f"{BUCKET}/exports/2024/{name}", columns, platform="s3")
        run(gms, catalog={"folder": str(lake), "platform": "s3"}, emit={"queries": True})
        found = statements(gms)
        assert len(found) >= 3
        assert all(sql.count(f"s3://{BUCKET}/exports/2024/") == 2 for sql in found)
        assert all(run_elsewhere(IN_DUCKDB, found, tmp_path / "elsewhere", store.url))


def test_sql_that_was_not_run_stands_on_the_page_alone(
    lake: Path, run: Run, tmp_path: Path
) -> None:
    page = tmp_path / "joins.html"
    with Gms() as gms:
        for name, columns in headers(lake):
            describe(gms, name, columns)
        run(gms, emit={"queries": True, "documents": True, "run_sql": "none"}, page=str(page))
        assert gms.urns("query") == []
        assert gms.urns("erModelRelationship")
    assert f'FROM \\"{lake}/' in page.read_text()
    assert has_unrun_sql(page)


@pytest.mark.parametrize("emit", [{}, {"queries": True}], ids=["page", "queries"])
def test_a_page_alone_costs_a_database_no_more_than_what_is_shown(
    emit: dict[str, object],
    shop: Server,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("datahub_hyperjoin.joins.lists._MAX_JOINS", 0)
    ran: list[str] = []
    page = tmp_path / "joins.html"
    fetch = DatabaseEngine.fetch

    def note(engine: DatabaseEngine, query: str) -> list[tuple[object, ...]]:
        ran.append(query)
        return fetch(engine, query)

    monkeypatch.setattr(DatabaseEngine, "fetch", note)
    with Gms() as gms:
        describe_shop(gms, shop)
        run(gms, catalog={}, connections=[connection_to(shop)], emit=emit, page=str(page))
    assert bool(ran) is bool(emit)
    assert has_unrun_sql(page) is not bool(emit)


def test_sql_of_a_database_runs_in_a_plain_client(shop: Server, run: Run, tmp_path: Path) -> None:
    with Gms() as gms:
        describe_shop(gms, shop)
        run(gms, catalog={}, connections=[connection_to(shop)], emit={"queries": True})
        found = statements(gms)
    assert len(found) >= 1
    plain = shop.engine.url.set(drivername="postgresql")
    assert all(run_elsewhere(IN_POSTGRESQL, found, tmp_path / "elsewhere", str(plain)))
