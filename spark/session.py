"""Provide the active Spark session, or create a new one.

A new session is stopped after use.

Other modules use only data frames and SQL, and never the driver's Java process, so that they work
on Spark Connect, too.
"""

import atexit
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from datahub_hyperjoin.spark.config import SessionConfig
from datahub_hyperjoin.spark.errors import MissingJavaError
from datahub_hyperjoin.storage import temporary_folder
from datahub_hyperjoin.visible import logger_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logger_of(__name__)

Session = Callable[[], "SparkSession"]
"""Returns the Spark session; the first call starts Spark if no session is active."""

OptionalSession = Callable[[], "SparkSession | None"]
"""Returns the Spark session, like `Session`, or None if all tables are read by processes of this
program."""


@dataclass(frozen=True)
class LazySession:
    """A `Session` that tells before its first call which session that call would create."""

    config: SessionConfig
    """The session to create if none is active."""

    opens: Session

    @property
    def is_local(self) -> bool:
        """Whether the session's tasks run on this machine only; this does not start Spark."""
        return is_local_master(self.setting("spark.master", ""))

    def setting(self, key: str, default: str) -> str:
        """Return a setting of the session; this does not start Spark."""
        active = active_session()
        if active is None:
            # As in a new session, the master overrides one among the settings.
            return {**self.config.settings, "spark.master": self.config.master}.get(key, default)
        return active.conf.get(key, default) or default

    def __call__(self) -> "SparkSession":
        """Return the session; the first call starts Spark if no session is active."""
        return self.opens()


_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
"""Variable from which PySpark takes the arguments of the driver's Java process."""
_JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
"""Spark setting for the driver's Java options; those in the recipe's `extraJavaOptions` come after.
"""
_QUIET = {
    **dict.fromkeys(("spark.ui.enabled", "spark.ui.showConsoleProgress"), "false"),
    "spark.log.level": "ERROR",
}
_DRIVER = {"spark.driver.memory": "2g", "spark.driver.maxResultSize": "0"}
"""Settings of the driver, which receives the profiles: those of a large lake are gigabytes."""
# The loopback address keeps the driver out of reach of other machines, and 200 partitions, which is
# Spark's default, would be too many for one machine.
_LOCAL = {
    "spark.pyspark.python": sys.executable,
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
}


@contextmanager
def borrow_session(config: SessionConfig) -> Iterator["SparkSession"]:
    """Provide a Spark session within a `with` block."""
    active = active_session()
    if active is not None:
        logger.info("Using the active Spark session")
        yield active
        return
    created = _create(config)
    try:
        yield created
    finally:
        created.stop()


@contextmanager
def lazy_session(config: SessionConfig) -> Iterator[LazySession]:
    """Provide a function that opens a Spark session on its first call."""
    with ExitStack() as borrowed:
        opens = cache(partial(borrowed.enter_context, borrow_session(config)))
        yield LazySession(config, opens)


def is_local_master(master: str) -> bool:
    """Return whether Spark's tasks run in the driver's Java process."""
    # As in Spark itself, `local-cluster[...]` is a cluster.
    return master == "local" or master.startswith("local[")


def settings_for(config: SessionConfig) -> dict[str, str]:
    """Return the settings of a new Spark session.

    Examples:
        >>> settings_for(SessionConfig(master="sc://spark:15002", settings={"a": "b"}))
        {'a': 'b'}
        >>> settings_for(SessionConfig(master="local[2]"))["spark.sql.shuffle.partitions"]
        '8'
    """
    if config.is_connect:
        return dict(config.settings)
    local = _LOCAL if config.master.startswith("local") else {}
    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    # Later entries win, so a recipe can override every setting.
    return {"spark.pyspark.python": python, **_QUIET, **_DRIVER, **local, **config.settings}


def find_java() -> str:
    """Find the Java executable that Spark will start."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if java is None:
        raise MissingJavaError.nowhere()
    return java


def active_session() -> "SparkSession | None":
    """Return the active Spark session; None if there is none."""
    # PySpark takes a tenth of a second to import; small lakes need none.
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _create(config: SessionConfig) -> "SparkSession":
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 (as above)
    from pyspark.sql import SparkSession  # noqa: PLC0415

    # The parameters of a Connect server's URL may hold a token.
    logger.info("Starting Spark on %s", config.master.partition("/;")[0])
    settings = settings_for(config)
    if config.master.startswith("local"):
        settings.setdefault("spark.local.dir", str(_spill_folder()))
    builder = SparkSession.builder.appName("datahub-hyperjoin")
    for key, value in settings.items():
        builder = builder.config(key, value)
    if config.is_connect:
        return builder.remote(config.master).getOrCreate()
    # Checked first, because PySpark reports missing Java only through a failed process.
    java = find_java()
    # The driver's temporary files are in a private folder: Java does not read TMPDIR. Killed, it
    # leaves libraries that it unpacked and Spark's folders.
    options = f'"-Djava.io.tmpdir={_spill_folder()}" {settings.get(_JAVA_OPTIONS, "")}'.rstrip()
    variables = {"PYSPARK_PYTHON": settings["spark.pyspark.python"]}
    if config.master.startswith("local"):
        # Otherwise Spark looks up the name of this machine, which may not resolve offline.
        variables["SPARK_LOCAL_IP"] = settings["spark.driver.host"]
    try:
        with _environment(variables):
            _start_java({"spark.master": config.master, **settings, _JAVA_OPTIONS: options})
            return builder.master(config.master).getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() == "JAVA_GATEWAY_EXITED":
            raise MissingJavaError.refused(java) from error
        raise


@cache
def _spill_folder() -> Path:
    """Return a private folder into which Spark writes temporary data.

    Elsewhere, every user of the machine could read it. It stays until this process ends, because
    Java uses the first session's folder for all.
    """
    opened = ExitStack()
    atexit.register(opened.close)
    return opened.enter_context(temporary_folder())


def _start_java(settings: dict[str, str]) -> None:
    """Start the driver's Java process, and pass the settings in a private file.

    A process that runs already is kept. PySpark would pass them as arguments, which every user of
    the machine can read. The file is read before Java answers. The session receives the settings
    again afterwards, because Spark trims those of a file, and ignores the file if the user's own
    arguments name another one.
    """
    arguments = os.environ.get(_ARGUMENTS, "pyspark-shell")
    with temporary_folder() as folder:
        file = folder / "spark.properties"
        file.touch(mode=0o600)
        file.write_text("".join(map(_property, settings.items())), "utf-8")
        ours = f"--load-spark-defaults --properties-file {shlex.quote(str(file))}"
        with _environment({_ARGUMENTS: f"{ours} {arguments}"}):
            from pyspark import SparkContext  # noqa: PLC0415 (as above)

            SparkContext.getSystemProperty("java.version")


def _property(setting: tuple[str, str]) -> str:
    r"""Format a setting as a line of a properties file.

    >>> _property(("spark.a:b", " x=1\n"))
    'spark.a\\u003ab=\\u0020x\\u003d1\\u000a\n'
    """
    name, value = (
        re.sub(r"[\s\\=:#!]", lambda found: rf"\u{ord(found[0]):04x}", text) for text in setting
    )
    return f"{name}={value}\n"


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    # Restored afterwards, because this process may start Spark again with other settings.
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
