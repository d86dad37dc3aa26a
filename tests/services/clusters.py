"""Run Spark in several processes: a standalone cluster and a Connect server."""

import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2
import pyspark

from datahub_hyperjoin.joins import Evidence
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.profiles.local_batch import profile_local_batch
from datahub_hyperjoin.spark.session import borrow_session
from datahub_hyperjoin.spark.verification.verify import verify_joins
from datahub_hyperjoin.tables import Pair, Table, TableProfile

HOST = "127.0.0.1"
WORKERS = 2
LEFT_BY_CONNECT = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
"""Environment variables that a Spark Connect session sets and does not remove."""
_NONE: Mapping[str, str] = {}
_AMOUNTS = {"spark.executor.resource.gpu.amount": "1", "spark.task.resource.gpu.amount": "0.5"}
"""The settings of a recipe for a cluster with GPUs, each of which two tasks share."""
NO_GPU, OWN_GPU = "echo 3", "nvidia-smi --query-gpu=index --format=csv,noheader | head -n 1"
"""Commands that print the number of a GPU: of one that does not exist, and of this machine's first.
"""
_HOME = Path(pyspark.__file__).parent
_PATIENCE = 180.0
"""Maximum number of seconds to wait for a process to start or to end."""
_MASTER, _WORKER, _CONNECT = (
    "org.apache.spark.deploy.master.Master",
    "org.apache.spark.deploy.worker.Worker",
    "org.apache.spark.sql.connect.service.SparkConnectServer",
)


@dataclass(frozen=True)
class Found:
    """The results of a session: profiles, evidence and facts about the session itself."""

    session: str
    """Name of the module that defines the session's class."""

    profiles: list[TableProfile]
    evidence: dict[Pair, Evidence]

    rows_after: int
    """Result of counting three rows in the session after its second borrower has finished."""


def find(config: SessionConfig, folder: Path, tables: list[Table], pairs: list[Pair]) -> Found:
    """Start a Spark session, then profile and verify tables with it.

    The process works in the given folder.
    """
    warnings.simplefilter("error")
    os.chdir(folder)
    with borrow_session(config) as own:
        with borrow_session(SessionConfig()) as session:
            profiles = profile_local_batch(session, tables, ProfileConfig())
            evidence = verify_joins(session, tables, pairs)
        return Found(
            session=type(session).__module__,
            profiles=profiles,
            evidence=evidence,
            rows_after=own.range(3).count(),
        )


@contextmanager
def local(folder: Path) -> Iterator[SessionConfig]:
    """Configure a session whose driver and workers are in one process."""
    yield SessionConfig(master="local[2]", settings=_settings(folder))


@contextmanager
def standalone(folder: Path, worker_options: str = "") -> Iterator[SessionConfig]:
    """Start a master and two workers, whose Java gets further options.

    Each worker has one core and its own working directory.
    """
    port, page = _free_port(), _free_port()
    url = f"spark://{HOST}:{port}"
    where = ["--host", HOST]
    with ExitStack() as stack:
        master = [_MASTER, *where, "--port", str(port), "--webui-port", str(page)]
        stack.enter_context(_running(folder / "master", "spark-class", master))
        _wait(lambda: _workers(page) == 0, folder)
        for at in range(WORKERS):
            home = folder / f"worker-{at}"
            worker = [_WORKER, *where, "--cores", "1", "--memory", "4g", "--webui-port", "0"]
            worker += ["--work-dir", str(home), url]
            options = {"SPARK_WORKER_OPTS": worker_options}
            stack.enter_context(_running(home, "spark-class", worker, options))
        _wait(lambda: _workers(page) == WORKERS, folder)
        settings = {
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.executor.memory": "640m",
            # Nothing begins before both are there; else one may have done all when the other comes.
            "spark.cores.max": str(WORKERS),
            "spark.scheduler.minRegisteredResourcesRatio": "1",
            **_settings(folder),
        }
        yield SessionConfig(master=url, settings=settings)


@contextmanager
def standalone_with_gpus(folder: Path, find_gpu: str = NO_GPU) -> Iterator[SessionConfig]:
    """Start such a cluster, whose workers offer the GPU whose number a command prints."""
    folder.mkdir(parents=True)
    script = folder / "discovery.sh"
    script.write_text(
        f'#!/bin/sh\necho "{{\\"name\\": \\"gpu\\", \\"addresses\\": [\\"$({find_gpu})\\"]}}"\n'
    )
    script.chmod(0o700)
    offer = "-Dspark.worker.resource.gpu"
    with standalone(folder, f"{offer}.amount=1 {offer}.discoveryScript={script}") as cluster:
        yield replace(cluster, settings={**cluster.settings, **_AMOUNTS})


@contextmanager
def connect_with_gpus(folder: Path, find_gpu: str = NO_GPU) -> Iterator[SessionConfig]:
    """Start such a cluster, and a Connect server that uses it."""
    with (
        standalone_with_gpus(folder / "cluster", find_gpu) as cluster,
        connect(folder / "connect", cluster) as server,
    ):
        yield replace(server, settings=_AMOUNTS)


@contextmanager
def connect(folder: Path, cluster: SessionConfig | None = None) -> Iterator[SessionConfig]:
    """Start a Connect server that runs two tasks at once, in its process or on a cluster."""
    port = _free_port()
    cluster = cluster or SessionConfig(master="local[2]", settings=_settings(folder))
    settings = {
        **cluster.settings,
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
    }
    command = ["--class", _CONNECT, "--master", cluster.master]
    command += [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    memory = {"SPARK_DAEMON_MEMORY": "1g"}
    with _running(folder / "server", "spark-submit", [*command, "spark-internal"], memory):
        _wait(lambda: _listens(port), folder)
        yield SessionConfig(master=f"sc://{HOST}:{port}")


KINDS = {"local": local, "standalone": standalone, "connect": connect}


def _settings(folder: Path) -> dict[str, str]:
    return {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }


@contextmanager
def _running(
    home: Path, script: str, arguments: list[str], variables: Mapping[str, str] = _NONE
) -> Iterator[None]:
    """Run one of Spark's scripts in a folder, then end it and all processes that it started."""
    home.mkdir(parents=True)
    own = {
        "SPARK_HOME": str(_HOME),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [_HOME / "bin" / script, *arguments],
            cwd=home,
            env={**os.environ, **own, **variables},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield
    finally:
        process.terminate()  # a worker ends its executors then
        try:
            process.wait(_PATIENCE)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait(ready: Callable[[], bool], folder: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while not ready():
        if time.monotonic() > end:
            message = f"Spark is not up after {_PATIENCE:.0f} s; its logs are below {folder}"
            raise TimeoutError(message)
        time.sleep(0.1)


def _workers(page: int) -> int | None:
    """Return the number of workers on the master's status page, or None before it answers."""
    try:
        # The page is not found for a moment after the master listens.
        status = httpx2.get(f"http://{HOST}:{page}/json/").raise_for_status()
    except httpx2.HTTPError:
        return None
    return int(status.json()["aliveworkers"])


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port)).close()
    except ConnectionRefusedError:
        return False
    return True


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        return int(listener.getsockname()[1])
