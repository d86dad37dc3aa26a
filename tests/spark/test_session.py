"""Test that an active session is reused, and that a new one gets all necessary settings."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.config import SessionConfig
from datahub_hyperjoin.spark.errors import MissingJavaError
from datahub_hyperjoin.spark.session import borrow_session, find_java, settings_for
from datahub_hyperjoin.storage import remove_abandoned_folders
from services.clusters import LEFT_BY_CONNECT

ROOT = Path(__file__).parents[2]


def test_an_active_session_is_used_and_keeps_running(spark: SparkSession) -> None:
    with borrow_session(SessionConfig(master="local[1]")) as borrowed:
        assert borrowed is spark
    assert spark.range(3).count() == 3


def test_settings_of_the_recipe_override_the_defaults() -> None:
    config = SessionConfig(master="local[2]", settings={"spark.sql.shuffle.partitions": "3"})
    assert settings_for(config)["spark.sql.shuffle.partitions"] == "3"


def test_workers_of_one_machine_run_this_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    assert settings_for(SessionConfig())["spark.pyspark.python"] == sys.executable
    cluster = settings_for(SessionConfig(master="spark://cluster:7077"))
    assert cluster["spark.pyspark.python"] == "/opt/python"


@pytest.mark.parametrize("master", ["local[2]", "spark://cluster:7077"])
def test_the_driver_accepts_results_of_any_size(master: str) -> None:
    assert settings_for(SessionConfig(master=master))["spark.driver.maxResultSize"] == "0"


def test_missing_java_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingJavaError, match=r"needs Java 17 or newer.*openjdk-17-jre-headless"):
        find_java()


def test_java_home_precedes_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == str(java)


@pytest.mark.spark
def test_java_that_ends_at_once_is_reported(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    program = """
        from datahub_hyperjoin.spark.errors import MissingJavaError
        from datahub_hyperjoin.spark.config import SessionConfig
        from datahub_hyperjoin.spark.session import borrow_session
        try:
            with borrow_session(SessionConfig(master="local[1]")):
                print("started")
        except MissingJavaError as fault:
            print(fault)
    """
    variables = {name: value for name, value in os.environ.items() if name not in LEFT_BY_CONNECT}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        env={**variables, "JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{java} ended before Spark had started" in done.stdout


@pytest.mark.parametrize("name", ["sparkContext", ".rdd", "_jvm", "_jdf", "_jsc"])
def test_no_feature_is_used_that_spark_connect_lacks(name: str) -> None:
    sources = {path.name: path.read_text() for path in (ROOT / "spark").glob("*.py")}
    assert len(sources) > 5
    assert [file for file, source in sources.items() if name in source] == []


_SETTINGS = {
    "spark.hadoop.fs.s3a.secret.key": "hush-1 = \\u0041: #!",
    "spark.sql.catalog.shop.url": "jdbc:postgresql://shop/?password=hush-2&user=Zoë",
    "spark.driver.memory": "640m",
}


_START = """
    import glob, json, os, stat, threading
    from pathlib import Path
    from datahub_hyperjoin.spark.config import SessionConfig
    from datahub_hyperjoin.spark.session import borrow_session

    seen, modes, started = set(), set(), threading.Event()

    def watch():
        while not started.wait(0.02):
            look()
            for file in glob.glob(os.environ["TMPDIR"] + "/*/*/spark.properties"):
                modes.add(stat.S_IMODE(os.stat(file).st_mode))

    def look():
        for file in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                seen.add(Path(file).read_bytes())
            except OSError:
                pass  # it has ended

    def listening():
        own = {os.getpid(), *map(int, Path("/proc/self/task/%s/children" % os.getpid())
            .read_text().split())}
        inodes = set()
        for pid in own:
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                try:
                    inodes.add(os.readlink(descriptor))
                except OSError:
                    pass  # it is closed
        for table in ("tcp", "tcp6"):
            for line in Path("/proc/net/" + table).read_text().splitlines()[1:]:
                _, local, _, state, *_, inode = line.split()[:10]
                if state == "0A" and f"socket:[{inode}]" in inodes:
                    yield local.partition(":")[0]

    def exposed(folder):
        for path in folder.iterdir():
            others = stat.S_IMODE(path.stat().st_mode) & 0o077
            if path.is_dir() and others:
                yield from exposed(path)
            elif others:
                yield str(path)

    watcher = threading.Thread(target=watch)
    watcher.start()
    settings = json.loads(os.environ["SETTINGS"])
    with borrow_session(SessionConfig(master="local[1]", settings=settings)) as session:
        frame = session.range(1).mapInArrow(lambda batches: batches, "id long")
        frame.repartition(2).collect()
        started.set()
        watcher.join()
        look()
        java = [line for line in seen if b"org.apache.spark.deploy.SparkSubmit" in line]
        print(json.dumps({
            "java": len(java) > 0,
            "told": [line.decode() for line in seen if b"hush" + b"-" in line],
            "memory": any(b"-Xmx640m" in line for line in java),
            "modes": [*modes],
            "left": glob.glob(os.environ["TMPDIR"] + "/*/*/spark.properties"),
            "settings": {key: session.sparkContext.getConf().get(key) for key in settings},
            "listening": sorted({*listening()}),
            "shuffled": len(glob.glob(os.environ["TMPDIR"] + "/**/shuffle_*.data", recursive=True)),
            "exposed": [*exposed(Path(os.environ["TMPDIR"]))],
        }))
"""
_LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.fixture(scope="module")
def temporaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("temporaries")


@pytest.fixture(scope="module")
def started(temporaries: Path) -> dict[str, Any]:
    """Start Spark in a new process, and return what the process observes."""
    variables = {name: value for name, value in os.environ.items() if name not in LEFT_BY_CONNECT}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(_START)],
        env={**variables, "TMPDIR": str(temporaries), "SETTINGS": json.dumps(_SETTINGS)},
        capture_output=True,
        text=True,
        check=True,
    )
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return seen


@pytest.mark.spark
def test_settings_are_in_no_list_of_processes(started: dict[str, Any]) -> None:
    assert (started["java"], started["told"]) == (True, [])
    assert (started["modes"], started["left"]) == ([0o600], [])


@pytest.mark.spark
def test_settings_reach_spark_as_they_are_written(started: dict[str, Any]) -> None:
    assert started["settings"] == _SETTINGS
    assert started["memory"]


@pytest.mark.spark
def test_what_spark_writes_to_disk_is_private_and_removed(
    started: dict[str, Any], temporaries: Path
) -> None:
    assert started["shuffled"]
    assert started["exposed"] == []
    assert list(temporaries.iterdir()) == []


@pytest.mark.spark
def test_the_next_run_removes_what_a_killed_spark_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
        from datahub_hyperjoin.spark.config import SessionConfig
        from datahub_hyperjoin.spark.session import borrow_session

        with borrow_session(SessionConfig(master="local[1]")) as session:
            frame = session.range(1).mapInArrow(lambda batches: batches, "id long")
            print(frame.repartition(2).count(), flush=True)
            input()
    """
    variables = {name: value for name, value in os.environ.items() if name not in LEFT_BY_CONNECT}
    temporaries = tmp_path / "with a space"
    temporaries.mkdir()
    run = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**variables, "TMPDIR": str(temporaries)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with run:
        assert run.stdout
        assert run.stdout.readline() == b"1\n"
        os.killpg(run.pid, signal.SIGKILL)
    before = set(temporaries.rglob("*"))
    assert any(path.name.startswith("artifacts-") for path in before)
    monkeypatch.setattr(tempfile, "tempdir", str(temporaries))
    remove_abandoned_folders()
    assert list(temporaries.iterdir()) == []


@pytest.mark.spark
def test_spark_listens_to_this_machine_alone(started: dict[str, Any]) -> None:
    assert started["listening"]
    assert {*started["listening"]} <= _LOOPBACK


def test_the_token_of_a_connect_server_is_in_no_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: SparkSession.Builder) -> SparkSession:
        raise ConnectionRefusedError

    monkeypatch.setattr(SparkSession, "active", lambda: None)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refuse)
    config = SessionConfig(master="sc://spark:15002/;token=hush")
    with (
        caplog.at_level("INFO"),
        pytest.raises(ConnectionRefusedError, match=r"^$"),
        borrow_session(config),
    ):
        pass
    assert "Starting Spark on sc://spark:15002\n" in caplog.text
    assert "hush" not in caplog.text
