"""Start whole runs of `datahub ingest`, in processes that attacks can end."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakes.lake import write_table

PASSWORD = "correct-horse-7f3a"  # noqa: S105 - a canary, which no log may show
CELL = "Quetzalcanary"
"""A word in cells of every table, which neither logs nor outputs may show."""
CANARIES = (PASSWORD, CELL)
OUTPUT, STORE, MODEL, LOG = "joins.json", "store", "model", "log"
_STARTED = "Stage started: "
_SPENT = re.compile(r"Time spent in stage <(.+?) at [^>]+>: ([\d.]+) seconds")
_WHOLE_RUN_S = 600


def seeded(*parts: object) -> random.Random:
    """Return a random generator whose seed is built from the given parts.

    It draws the same numbers in all Python versions.
    """
    return random.Random(" ".join(map(str, parts)))  # noqa: S311 - not for secrets


def write_lake(folder: Path, tables: int) -> None:
    """Write tables with keys, tables that refer to them, and damaged tables."""
    choices = seeded(0)
    hubs = max(tables // 5, 1)
    for hub in range(hubs):
        ids = [f"H{hub:02}-{at:03}" for at in range(60)]
        names = [f"{CELL} {hub} {at}" for at in range(60)]
        write_table(folder, f"hub{hub:02}.csv", {"id": ids, "title": names})
    for at in range(tables - hubs):
        hub = at % hubs
        columns = {
            "number": range(at * 1000, at * 1000 + 80),
            f"hub{hub:02}_id": [f"H{hub:02}-{choices.randrange(60):03}" for _ in range(80)],
            "note": [f"{CELL}{choices.randrange(30)}" for _ in range(80)],
        }
        write_table(folder, f"fact{at:03}.csv", columns)
    ragged = f"a,b\n{CELL},1\n{CELL},2,{CELL}\n"
    folder.joinpath("ragged.csv").write_text(ragged)
    folder.joinpath("broken.json").write_text(f'{{"a": "{CELL}"}}\n{{"a": {CELL}\n')
    folder.joinpath("broken.parquet").write_bytes(f"PAR1{CELL}PAR1".encode())
    folder.joinpath("odd.csv").write_bytes(f"a,b\n{CELL}\xe1,1\n".encode("utf-16"))


def records(output: Path) -> list[dict[str, Any]]:
    """Read the records that a run wrote, without metadata that differs between runs.

    Raises:
        ValueError: The file is not JSON.
        TypeError: It is not a list of records.
    """
    read = json.loads(output.read_text())
    if not isinstance(read, list) or not all(isinstance(record, dict) for record in read):
        message = "not a list of records"
        raise TypeError(message)
    return [{**record, "systemMetadata": None} for record in read]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder, by path."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def paths(folder: Path) -> set[str]:
    """Return the paths of all files and folders below a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@dataclass
class Run:
    """A run over a lake, which keeps all its files in one folder."""

    folder: Path
    process: subprocess.Popen[bytes]
    leaks: set[str] = field(default_factory=set)
    """Secrets of `CANARIES` that were visible in the list of all processes."""

    @property
    def log(self) -> str:
        """The output of the run so far."""
        return self.folder.joinpath(LOG).read_text(errors="replace")

    def reach(self, stage: str) -> bool:
        """Wait for a stage to start, and return whether it did.

        An empty name does not wait.
        """
        return not stage or self.wait(lambda: f"{_STARTED}{stage} at" in self.log)

    def wait(self, condition: Callable[[], bool], seconds: float = _WHOLE_RUN_S) -> bool:
        """Wait until a condition holds or the run ends, and return whether the condition holds."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            lines = _command_lines()
            self.leaks.update(word for word in CANARIES if word.encode() in lines)
            if condition():
                return True
            if self.process.poll() is not None:
                return condition()
            time.sleep(0.2)
        return False

    def finish(self, seconds: float = _WHOLE_RUN_S) -> bool:
        """Wait for all processes of the run, and return whether they have ended."""
        deadline = time.monotonic() + seconds
        self.wait(lambda: False, seconds)
        while any(self.members()) and time.monotonic() < deadline:
            time.sleep(0.2)
        return self.process.poll() is not None and not any(self.members())

    def members(self) -> Iterator[int]:
        """Yield the ids of all live processes of this run, even those without a parent."""
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                in_session = os.getsid(int(entry.name)) == self.process.pid
                state = entry.joinpath("stat").read_text().rpartition(")")[2].split()[0]
            except (OSError, IndexError):
                continue  # just ended
            if in_session and state != "Z":
                yield int(entry.name)

    def kill(self, *, everything: bool) -> None:
        """Kill the run's first process, or all its processes."""
        for process in [*self.members()] if everything else [self.process.pid]:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.wait()

    def stages(self) -> dict[str, float]:
        """Return the duration of each stage of this run."""
        return {name: float(seconds) for name, seconds in _SPENT.findall(self.log)}


def start(lake: Path, folder: Path, **changes: Mapping[str, Any]) -> Run:
    """Start a run that keeps all its files in a folder.

    `changes` are merged into the sections of the recipe.
    """
    temporary = folder / "tmp"
    # A folder of someone else's, whose name looks like one of a run.
    temporary.joinpath("hyperjoin-run-of-somebody").mkdir(parents=True, exist_ok=True)
    config: dict[str, dict[str, Any]] = {
        "catalog": {"folder": str(lake)},
        "profile": {"store": str(folder / STORE)},
        "model": {
            "path": str(folder / MODEL),
            "ranking": {"scoring": "blend"},  # so that a network is trained and saved
            "network": {"width": 32},
            "training": {"epochs": 6},
        },
        "spark": {
            "master": "local[2]",
            "settings": {"spark.hadoop.fs.s3a.secret.key": "${HYPERJOIN_PASSWORD}"},
        },
    }
    for section, settings in changes.items():
        config[section].update(settings)
    recipe = {
        "pipeline_name": "joins",
        "source": {"type": "hyperjoin", "config": config},
        "sink": {"type": "file", "config": {"filename": str(folder / OUTPUT)}},
    }
    folder.joinpath("recipe.yml").write_text(json.dumps(recipe))
    return Run(folder, _ingest(folder, temporary))


def _ingest(folder: Path, temporary: Path) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "HYPERJOIN_PASSWORD": PASSWORD,
        "DATAHUB_TELEMETRY_ENABLED": "false",
        "OMP_NUM_THREADS": "1",  # two runs share two cores
        "TMPDIR": str(temporary),
    }
    command: Sequence[str] = ("-m", "datahub", "ingest", "-c", "recipe.yml", "--no-progress")
    with folder.joinpath(LOG).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _command_lines() -> bytes:
    """Return the command lines of all processes, as `ps` shows them."""
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # just ended
            lines.append(entry.read_bytes())
    return b"\n".join(lines)
