"""Test that a cluster and a Connect server return the same results as a single process."""

import json
import multiprocessing
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from datahub_hyperjoin.joins import Evidence
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.tables import ColumnId, Table, TableId
from services import clusters

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
PlainEvidence = Callable[[Sequence[str | None], Sequence[str | None]], Evidence]
CELLS = {f"t{at}": [f"City {row % (5 * at + 5)}" for row in range(40)] for at in range(8)}
CITIES = [ColumnId(TableId("file", name), "city") for name in CELLS]
PAIRS = [*pairwise(CITIES)]

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def tables(make_table: MakeTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Table]:
    """Write tables with relative paths, which exist only in the driver's folder."""
    monkeypatch.chdir(tmp_path)
    return [
        replace(
            make_table(f"{name}.csv", "\n".join(["city", *cells])),
            location=File(uri=f"{name}.csv", format="csv"),
        )
        for name, cells in CELLS.items()
    ]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    """Run functions in a new process, because a process can have only one kind of session."""
    for name in clusters.LEFT_BY_CONNECT:
        monkeypatch.delenv(name, raising=False)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


def check(found: clusters.Found, tables: list[Table], plain_evidence: PlainEvidence) -> None:
    """Compare the results of a cluster with those of this process and of a nested loop."""
    here = [profile_table(table, ProfileConfig(), Databases()) for table in tables]
    assert {profile.fault for profile in here} == {""}
    assert found.profiles == here
    assert found.rows_after == 3
    assert found.evidence == {
        (left, right): plain_evidence(CELLS[left.table.name], CELLS[right.table.name])
        for left, right in PAIRS
    }


def executors(events: Path) -> list[set[str]]:
    """Read from Spark's log which executors ran each stage that has one task per table."""
    lines = [
        json.loads(line) for file in events.iterdir() for line in file.read_text().splitlines()
    ]
    tasks: dict[int, list[str]] = defaultdict(list)
    for line in lines:
        if line["Event"] == "SparkListenerTaskEnd":
            tasks[line["Stage ID"]].append(line["Task Info"]["Executor ID"])
    return [set(ran) for _, ran in sorted(tasks.items()) if len(ran) == len(CELLS)]


def test_two_workers_return_the_results_of_one_process(
    tmp_path: Path, elsewhere: Executor, tables: list[Table], plain_evidence: PlainEvidence
) -> None:
    events = tmp_path / "events"
    events.mkdir()
    logged = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    with clusters.standalone(tmp_path / "cluster") as cluster:
        config = replace(cluster, settings={**cluster.settings, **logged})
        found = elsewhere.submit(clusters.find, config, tmp_path, tables, PAIRS).result()
    check(found, tables, plain_evidence)
    reading, verifying = executors(events)
    assert reading == verifying == {"0", "1"}


def test_a_connect_server_returns_the_results_of_one_process(
    tmp_path: Path, elsewhere: Executor, tables: list[Table], plain_evidence: PlainEvidence
) -> None:
    with clusters.connect(tmp_path / "server") as config:
        found = elsewhere.submit(clusters.find, config, tmp_path, tables, PAIRS).result()
    assert found.session == "pyspark.sql.connect.session"
    check(found, tables, plain_evidence)
