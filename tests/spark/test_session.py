"""Test that an active session is used, and that a new one gets the settings it needs."""

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
