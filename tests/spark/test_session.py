"""Test that an active session is used, and that a new one gets the settings it needs."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from clusters import LEFT_BY_CONNECT
from datahub_hyperjoin.spark.config import SessionConfig
from datahub_hyperjoin.spark.errors import MissingJavaError
from datahub_hyperjoin.spark.session import borrow_session, find_java, settings_for

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


@pytest.mark.spark
def test_settings_are_in_no_list_of_processes(tmp_path: Path) -> None:
    program = """
        import glob, json, os, stat, threading
        from pathlib import Path
        from datahub_hyperjoin.spark.config import SessionConfig
        from datahub_hyperjoin.spark.session import borrow_session

        seen, modes, started = set(), set(), threading.Event()

        def watch():
            while not started.is_set():
                for file in glob.glob("/proc/[0-9]*/cmdline"):
                    try:
                        seen.add(Path(file).read_bytes())
                    except OSError:
                        pass  # it has ended
                for file in glob.glob(os.environ["TMPDIR"] + "/*/*/spark.properties"):
                    modes.add(stat.S_IMODE(os.stat(file).st_mode))

        watcher = threading.Thread(target=watch)
        watcher.start()
        settings = json.loads(os.environ["SETTINGS"])
        with borrow_session(SessionConfig(master="local[1]", settings=settings)) as session:
            session.range(1).collect()
            started.set()
            watcher.join()
            seen.update(Path(file).read_bytes() for file in glob.glob("/proc/[0-9]*/cmdline"))
            java = [line for line in seen if b"org.apache.spark.deploy.SparkSubmit" in line]
            left = glob.glob(os.environ["TMPDIR"] + "/*/*/spark.properties")
            print(json.dumps({
                "java": len(java),
                "told": [line.decode() for line in seen if b"hush" + b"-" in line],
                "memory": any(b"-Xmx640m" in line for line in java),
                "modes": [*modes],
                "left": left,
                "settings": {key: session.sparkContext.getConf().get(key) for key in settings},
            }))
    """
    variables = {name: value for name, value in os.environ.items() if name not in LEFT_BY_CONNECT}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        env={**variables, "TMPDIR": str(tmp_path), "SETTINGS": json.dumps(_SETTINGS)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("java") >= 1
    assert found == {
        "told": [],
        "memory": True,
        "modes": [0o600],
        "left": [],
        "settings": _SETTINGS,
    }


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
