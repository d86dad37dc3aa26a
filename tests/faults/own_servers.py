"""Run database servers that the fault tests can stop."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sqlalchemy import Engine, NullPool, create_engine
from sqlalchemy.exc import OperationalError

from engines.servers import free_port

_SECONDS = 60
_PROGRAMS = {
    "postgresql": ("initdb", "pg_ctl"),
    "mariadb": ("mariadb-install-db", "mariadbd"),
}


class OwnServer(Protocol):
    """A server with an empty database, which keeps its data and its log when it is stopped."""

    url: str
    log: Path

    def start(self) -> None:
        """Start the server, and wait until it answers."""

    def stop(self) -> None:
        """Stop the server at once, as a crash does."""


@contextmanager
def own_server(kind: str) -> Iterator[OwnServer | None]:
    """Run a server on a free port, and yield it; yield None if its programs are not installed."""
    if not all(map(shutil.which, _PROGRAMS[kind])):
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="hyperjoin-server-"))
    server = _SERVERS[kind](folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


class _Postgres:
    def __init__(self, folder: Path) -> None:
        self._data, self._port = folder / "data", free_port()
        self.log = self._data / "log"
        self.url = f"postgresql+psycopg2://postgres@127.0.0.1:{self._port}/postgres"
        # The server refuses to run as root.
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(folder, self._user)
        self._run("initdb", "--auth=trust", "--username=postgres", "--no-sync")

    def start(self) -> None:
        options = f"-p {self._port} -k {self._data} -h 127.0.0.1 -F"
        self._run("pg_ctl", "-w", "-l", str(self.log), "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [program, "-D", str(self._data), *arguments],
            check=True,
            user=self._user,
            cwd=self._data.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


class _MariaDB:
    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_port()
        self.log = folder / "log"
        self.url = f"mariadb+pymysql://root@127.0.0.1:{self._port}/mysql"
        self._process: subprocess.Popen[bytes] | None = None
        self._common = [
            "--no-defaults",
            f"--datadir={folder}/data",
            "--user=root",
            "--skip-name-resolve",
        ]
        install = ["mariadb-install-db", *self._common, "--auth-root-authentication-method=normal"]
        subprocess.run(install, check=True, capture_output=True)

    def start(self) -> None:
        places = [f"--{name}={self._folder}/{name}" for name in ("socket", "pid-file")]
        self._process = subprocess.Popen(
            [
                "mariadbd",
                *self._common,
                *places,
                f"--port={self._port}",
                "--bind-address=127.0.0.1",
            ],
            stdout=subprocess.DEVNULL,
            stderr=self.log.open("ab"),
        )
        _wait_for(self.url)

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()


_SERVERS: Mapping[str, Callable[[Path], OwnServer]] = {
    "postgresql": _Postgres,
    "mariadb": _MariaDB,
}


def _wait_for(url: str) -> None:
    engine, end = create_engine(url, poolclass=NullPool), time.monotonic() + _SECONDS
    while not _answers(engine):
        if time.monotonic() > end:
            message = f"{url} does not answer"
            raise TimeoutError(message)
        time.sleep(0.2)


def _answers(engine: Engine) -> bool:
    try:
        engine.connect().close()
    except OperationalError:
        return False
    return True
