"""Test that a run does not reread the tables that an earlier, killed run has read."""

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.stages.profiling import read_profiles
from datahub_hyperjoin.tables import Table, TableId

TABLES, ROWS = 9, 60_000

RUN = """
import pickle, sys
from pathlib import Path
from datahub_hyperjoin.stages.profiling import read_profiles
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.session import lazy_session

tables, config = pickle.loads(Path(sys.argv[1]).read_bytes())
with lazy_session(SessionConfig(master="local[1]")) as session:
    read_profiles(tables, session, config, HyperJoinReport())
"""


@pytest.fixture
def tables(tmp_path: Path) -> list[Table]:
    """Write nine files, each of which takes a moment to read."""
    rows = "".join(f"{at},name {at}\n" for at in range(ROWS))
    made = []
    for name in (f"t{at}" for at in range(TABLES)):
        path = tmp_path / f"{name}.csv"
        path.write_text("id,name\n" + rows)
        location = File(uri=str(path), format="csv")
        id_ = TableId("file", name)
        made.append(Table(id=id_, title=name, location=location, size=1, state="known"))
    return made


def count_profiles(folder: Path) -> int:
    """Count the stored profiles, with `os.walk` because `rglob` fails if a folder disappears."""
    files = (name for _, _, names in os.walk(folder) for name in names)
    return sum(name.endswith(".profiles") for name in files)


def test_the_next_run_goes_on(spark: SparkSession, tmp_path: Path, tables: list[Table]) -> None:
    if is_remote():
        pytest.skip("workers elsewhere write nothing into the store")

    config = ProfileConfig(store=tmp_path / "kept")
    arguments = tmp_path / "arguments"
    arguments.write_bytes(pickle.dumps((tables, config)))
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and count_profiles(tmp_path) < 3:
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    left = count_profiles(tmp_path)
    assert 3 <= left < TABLES
    report = HyperJoinReport()
    found = read_profiles(tables, lambda: spark, config, report)
    assert [profile.rows for profile in found] == [ROWS] * TABLES
    assert left - 1 <= report.tables_from_profile_store <= left
    again = HyperJoinReport()
    assert read_profiles(tables, lambda: spark, config, again) == found
    assert again.tables_from_profile_store == TABLES
