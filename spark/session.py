"""Borrows the Spark session that is there, or builds one and stops it afterwards.

What the other modules ask of a session works on Spark Connect too: data frames and SQL, nothing
of the driver's Java process.
"""

import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.config import SessionConfig
from datahub_hyperjoin.spark.errors import MissingJavaError

logger = logging.getLogger(__name__)

Session = Callable[[], SparkSession]
"""Starts Spark, or borrows it, when it is needed."""

_CONNECT = "sc://"
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
_DRIVER = {"spark.driver.memory": "2g", "spark.driver.maxResultSize": "0"}
"""The driver is here wherever workers are, and profiles of a large lake are gigabytes."""
_LOCAL = {
    "spark.pyspark.python": sys.executable,
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
}


@contextmanager
def borrow_session(config: SessionConfig) -> Iterator[SparkSession]:
    """A session for the length of a `with` block.

    Args:
        config: Which Spark to use when none is active yet.

    Yields:
        The active session, which is left as it is; or a new one, stopped at the end.

    Raises:
        MissingJavaError: Spark would have to start Java, and cannot.
    """
    found = _active()
    if found is not None:
        logger.info("Using the active Spark session")
        yield found
        return
    built = _built(config)
    try:
        yield built
    finally:
        built.stop()


@contextmanager
def lazily(config: SessionConfig) -> Iterator[Session]:
    """A session for the length of a `with` block, if it is needed.

    Args:
        config: Which Spark to use when none is active yet.

    Yields:
        What gives the session, the same each time.
    """
    with ExitStack() as borrowed:
        yield cache(partial(borrowed.enter_context, borrow_session(config)))


def settings_for(config: SessionConfig) -> dict[str, str]:
    """The settings of a new session.

    Args:
        config: Its master and the settings that go before ours.

    Returns:
        Quiet ones, and a driver that may be sent much; on one machine also this interpreter for the
        workers, whatever the environment says, and few shuffle partitions. A Connect server has its
        own.

    Examples:
        >>> settings_for(SessionConfig(master="sc://spark:15002", settings={"a": "b"}))
        {'a': 'b'}
        >>> settings_for(SessionConfig(master="local[2]"))["spark.sql.shuffle.partitions"]
        '8'
    """
    if config.master.startswith(_CONNECT):
        return dict(config.settings)
    local = _LOCAL if config.master.startswith("local") else {}
    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    return {"spark.pyspark.python": python, **_QUIET, **_DRIVER, **local, **config.settings}


def find_java() -> str:
    """The Java that Spark would start.

    Returns:
        Its path.

    Raises:
        MissingJavaError: There is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if found is None:
        raise MissingJavaError.nowhere()
    return found


def _active() -> SparkSession | None:
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _built(config: SessionConfig) -> SparkSession:
    logger.info("Starting Spark on %s", config.master)
    settings = settings_for(config)
    builder = SparkSession.builder.appName("datahub-hyperjoin")
    for key, value in settings.items():
        builder = builder.config(key, value)
    if config.master.startswith(_CONNECT):
        return builder.remote(config.master).getOrCreate()
    java = find_java()
    try:
        with _environment(_variables(config.master, settings)):
            return builder.master(config.master).getOrCreate()
    except PySparkRuntimeError as fault:
        if fault.getCondition() == "JAVA_GATEWAY_EXITED":
            raise MissingJavaError.refused(java) from fault
        raise


def _variables(master: str, settings: dict[str, str]) -> dict[str, str]:
    """What Spark takes from the environment only, while it starts."""
    variables = {"PYSPARK_PYTHON": settings["spark.pyspark.python"]}
    if master.startswith("local"):
        variables["SPARK_LOCAL_IP"] = settings["spark.driver.host"]
    return variables


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]
