"""Test that a lake in an object store gives the same results as the same lake on local disk."""

import gzip
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import sleep

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.folders import scan_folder, scan_stored_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.cli import main
from datahub_hyperjoin.discovery import find_joins
from datahub_hyperjoin.discovery.errors import NoSqlError, UnusableSourceError
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.find import FindConfig
from datahub_hyperjoin.find import find as find_all
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.tables import Table
from lakes.workbooks import write_workbook
from services.stores import ENVIRONMENT, SECRET, S3Server, refuse_warning, running_s3

SELECTION = TableSelection(platform="file", env="PROD")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    with running_s3(monkeypatch) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write five tables in five formats; every table joins with another table."""
    lake = tmp_path / "shop"
    lake.mkdir()
    customers = [f"C{at:03}" for at in range(60)]
    regions = [f"R-{at:02}" for at in range(30)]
    orders = [f"{at},{customers[at % 40]}" for at in range(1000, 1300)]
    (lake / "orders.csv").write_text("\n".join(["order_id,customer", *orders]))
    lines = [f"{1000 + at % 200},P{at % 7}" for at in range(400)]
    (lake / "lines.csv.gz").write_bytes(gzip.compress("\n".join(["order_id,p", *lines]).encode()))
    pq.write_table(
        pa.table({"customer": customers, "region": regions * 2}), lake / "customers.parquet"
    )
    rows = [f'{{"region": "{region}", "name": "Area {region}"}}' for region in regions]
    (lake / "regions.jsonl").write_text("\n".join(rows))
    people = [[name, f"Person {name}"] for name in customers[:50]]
    write_workbook(lake / "people.xlsx", {"People": [["customer", "person"], *people]})
    return lake


def refuse() -> SparkSession:
    pytest.fail("Spark was started")


def find(
    tables: Sequence[Table], session: Session, store: Path | None = None
) -> tuple[Findings, RunProgress]:
    progress = RunProgress()
    profile = ProfileConfig(store=store)
    found = find_all(Catalog(tables=tables), FindConfig(profile=profile), progress, session)
    return found, progress


def list_both(server: S3Server, folder: Path) -> tuple[list[Table], list[Table]]:
    uri = server.upload(folder)
    near = scan_folder(folder, SELECTION, warn=refuse_warning)
    far = scan_stored_folder("key", uri, server.store, SELECTION, warn=refuse_warning)
    return near, far


def test_a_lake_in_a_store_gives_the_joins_and_counts_of_a_local_one(
    server: S3Server, folder: Path
) -> None:
    near, far = list_both(server, folder)
    local, _ = find(near, refuse)
    stored, told = find(far, refuse)
    # The tables of the profiles differ in their locations and states.
    assert [each.columns for each in stored.profiles] == [each.columns for each in local.profiles]
    assert replace(stored, profiles=()) == replace(local, profiles=())
    assert len(stored.joins) >= 4
    assert not told.warnings


def test_files_and_sheets_in_a_store_may_be_one_table(server: S3Server, folder: Path) -> None:
    for at, year in enumerate((2023, 2024)):
        rows: list[list[str | float | None]]
        rows = [[at * 100 + row, f"C{row % 60:03}"] for row in range(100)]
        path = folder / f"{year}/trips.csv"
        path.parent.mkdir()
        path.write_text("trip,customer\n" + "".join(f"{a},{b}\n" for a, b in rows))
        write_workbook(folder / f"stays {year}.xlsx", {"Data": [["stay", "customer"], *rows]})
    uri, told = server.upload(folder), list[str]()
    far = scan_stored_folder(
        "key", uri, server.store, SELECTION, warn=lambda *each: told.append(each[0])
    )
    assert told == ["Files read as one table"] * 2
    found, progress = find(far, refuse)
    counts = {each.table.title: each.rows for each in found.profiles}
    assert (counts["trips"], counts["Data"]) == (200, 200)
    assert not progress.warnings


def test_a_second_run_with_a_store_of_profiles_reads_no_file(
    server: S3Server, folder: Path, tmp_path: Path
) -> None:
    _, far = list_both(server, folder)
    first, _ = find(far, refuse, tmp_path / "profiles")
    assert server.paths_read
    server.forget()
    again, told = find(far, refuse, tmp_path / "profiles")
    assert again == first
    assert told.counts["tables_from_profile_store"] == 5
    assert server.paths_read == []


def test_a_run_after_all_files_were_written_again_reads_no_file(
    server: S3Server, folder: Path, tmp_path: Path
) -> None:
    _, far = list_both(server, folder)
    first, _ = find(far, refuse, tmp_path / "profiles")
    sleep(1)  # the server's clock has seconds only
    _, later = list_both(server, folder)
    assert all(one.state != other.state for one, other in zip(far, later, strict=True))
    server.forget()
    again, told = find(later, refuse, tmp_path / "profiles")
    assert again == first
    assert told.counts["tables_written_again"] == 5
    assert server.paths_read == []


def test_spark_gives_the_profiles_and_joins_of_local_processes(
    server: S3Server,
    folder: Path,
    spark_for_all: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setitem(spark_for_all.sparkContext.environment, name, value)
    near, far = list_both(server, folder)
    # From this size on, tables are read by executors.
    large = [replace(table, size=1 << 28) for table in far]
    config = ProfileConfig()
    local = profile_lake(None, near, config)
    stored = profile_lake(spark_for_all, large, config)
    assert [(each.columns, each.notes) for each in stored] == [
        (each.columns, each.notes) for each in local
    ]
    assert [len(each.columns) for each in stored] == [2] * 5
    joins = find(near, lambda: spark_for_all)[0].joins
    assert find(large, lambda: spark_for_all)[0].joins == joins


def test_find_reads_a_store_and_no_secret_is_in_its_output(
    server: S3Server, folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    uri = server.upload(folder)
    caplog.set_level(logging.DEBUG)
    ran = CliRunner().invoke(main, ["find", uri, "--out", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    assert "orders.csv" in ran.output
    written = [path.read_text() for path in (tmp_path / "out").iterdir()]
    for text in (ran.output, caplog.text, *written):
        assert SECRET not in text


def test_joins_of_files_in_a_store_say_why_they_have_no_sql(server: S3Server, folder: Path) -> None:
    found = find_joins(server.upload(folder))
    with pytest.raises(NoSqlError, match="its files are remote"):
        found.sql(found.joins[0])


@pytest.mark.parametrize(
    "uri", [f"s3://AKID:{SECRET}@lake/shop", "s3://"], ids=["credentials", "no bucket"]
)
def test_find_refuses_a_uri_without_showing_its_secret(uri: str) -> None:
    with pytest.raises(UnusableSourceError) as raised:
        find_joins(uri)
    assert SECRET not in str(raised.value)
