"""End commands in every way, fill what they write to, and let their clients be slow."""

import gzip
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path

import psutil

from faults.full_disk import small_disk
from faults.outcome import Attack, Outcome
from faults.whole_runs import CELL, write_lake
from gms import Gms

_HYPERJOIN = (sys.executable, "-m", "datahub_hyperjoin.cli")
_SCRIPT = (
    "import sys; from datahub_hyperjoin import find_joins; find_joins(sys.argv[1], progress=True)"
)
_STAGE = "Profiling tables"
_LONGEST = 60.0
_SECONDS_TO_END = 10.0
"""Seconds in which all processes of a command end, on a machine with other work."""
_ADDRESS_SPACES = (500_000, 1_000_000, 1_500_000, 2_000_000)
_MOST_LOG = 1 << 16
_MOST_MEMORY = 1 << 30
_TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105 - nobody's


@dataclass
class _Started:
    """A command with a folder of its own for temporary files, and its output."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def output(self) -> str:
        return self.folder.joinpath("output").read_text(errors="replace")

    def reach(self, text: str) -> None:
        """Wait until the output contains a text."""
        until = time.monotonic() + _LONGEST
        while text not in self.output and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)

    def members(self) -> list[int]:
        """Return all live processes of the command's session."""
        found = []
        for each in psutil.process_iter():
            with suppress(OSError, psutil.Error):  # just ended
                is_member = os.getsid(each.pid) == self.process.pid
                if is_member and each.status() != psutil.STATUS_ZOMBIE:
                    found.append(each.pid)
        return found

    def end(self) -> str:
        """Wait for all processes; return what is left of them after the time that they have."""
        until = time.monotonic() + _SECONDS_TO_END
        while time.monotonic() < until:
            if self.process.poll() is not None and not self.members():
                return ""
            time.sleep(0.05)
        return f"{len(self.members())} processes have not ended"

    def temporary(self) -> list[str]:
        """Return the files of this package among the temporary files."""
        return sorted(path.name for path in self.folder.joinpath("tmp").glob("hyperjoin-run-*"))


@contextmanager
def _started(command: Sequence[str], **variables: str) -> Iterator[_Started]:
    folder = Path(tempfile.mkdtemp(prefix="hyperjoin-ends-"))
    folder.joinpath("tmp").mkdir()
    environment = {
        "TMPDIR": str(folder / "tmp"),
        "DATAHUB_TELEMETRY_ENABLED": "false",
        "OMP_NUM_THREADS": "1",
    }
    with folder.joinpath("output").open("wb") as output:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment, **variables},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    started = _Started(process, folder)
    try:
        yield started
    finally:
        for member in started.members():
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        process.communicate()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _lake() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="hyperjoin-ends-") as folder:
        lake = Path(folder, "lake")
        write_lake(lake, 20)
        yield lake


def end_by_signals(_: int, longer: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    """Send signals to commands, and check that no process and no file of values is left."""
    failures, tries, slowest = list[str](), 0, 0.0
    with _lake() as lake, Gms() as gms:
        for (name, command, ready), number in product(
            _commands(lake), (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL) * (3 if longer else 1)
        ):
            tries += 1
            with _started(
                command,
                DATAHUB_GMS_URL=gms.url,
                DATAHUB_GMS_TOKEN="x",  # noqa: S106 - nobody's
                HYPERJOIN_MCP_TOKEN=_TOKEN,
            ) as run:
                run.reach(ready)
                began = time.monotonic()
                run.process.send_signal(number)
                fault = run.end() or _fault_after(run, number)
                slowest = max(slowest, time.monotonic() - began)
            failures += [f"{name}, {number.name}: {fault}"] if fault else []
    return Outcome(tries, tuple(failures), f"{slowest:.1f} s to end")


def _commands(lake: Path) -> Iterator[tuple[str, Sequence[str], str]]:
    """Yield the name of each command, the command, and the output in whose midst it is ended."""
    yield "find", (*_HYPERJOIN, "find", str(lake)), _STAGE
    yield "find_joins", (sys.executable, "-c", _SCRIPT, str(lake)), _STAGE
    recipe = lake.parent / "recipe.yml"
    sink = {"type": "file", "config": {"filename": "joins.json"}}
    source = {"type": "hyperjoin", "config": {"catalog": {"folder": str(lake)}}}
    recipe.write_text(json.dumps({"source": source, "sink": sink}))
    ingest = (sys.executable, "-m", "datahub", "ingest", "-c", str(recipe), "--no-progress")
    yield "ingest", ingest, _STAGE
    page = lake.parent / "joins.html"
    if not page.exists():
        find = (*_HYPERJOIN, "find", str(lake), "--page", str(page))
        subprocess.run(find, check=True, capture_output=True)
    yield "page --serve", (*_HYPERJOIN, "page", str(page), "--serve", "--port", "0"), "are at"
    yield "serve", (*_HYPERJOIN, "serve", "--port", str(_free_port())), "are at"
    yield "mcp", (*_HYPERJOIN, "mcp"), ""
    yield "mcp --http", (*_HYPERJOIN, "mcp", "--http", "--port", str(_free_port())), "find this"


def _fault_after(run: _Started, number: signal.Signals) -> str:
    """Describe what is wrong after a command has ended; empty if nothing is."""
    if run.process.returncode != -number:
        return f"exit status {run.process.returncode}: {run.output[-300:]}"
    if number is signal.SIGKILL:
        later = "from datahub_hyperjoin.storage import remove_abandoned_folders as r; r()"
        environment = {**os.environ, "TMPDIR": str(run.folder / "tmp")}
        subprocess.run((sys.executable, "-c", later), env=environment, check=True)
    elif "Traceback" in run.output:
        return f"a traceback: {run.output[-300:]}"
    return f"left behind: {run.temporary()}" if run.temporary() else ""


def fill_outputs(_: int, __: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    """Fill the disk of earlier outputs, and check that they stay and that a sentence is shown."""
    failures = list[str]()
    with _lake() as lake, tempfile.TemporaryDirectory(prefix="hyperjoin-ends-") as folder:
        earlier, disk = Path(folder, "earlier"), Path(folder, "disk")
        disk.mkdir()
        find = (*_HYPERJOIN, "find", str(lake), "--out")
        subprocess.run((*find, str(earlier)), check=True, capture_output=True)
        with small_disk(disk, [earlier], 1 << 13) as limit:
            out = disk / earlier.name
            with _started((*find, str(out))) as run:
                limit(run.process.pid)
                run.process.wait(_LONGEST)
                failures += [fault] if (fault := run.end()) else []
                last = run.output.strip().splitlines()[-1]
            for file in earlier.iterdir():
                if out.joinpath(file.name).read_bytes() != file.read_bytes():
                    failures.append(f"{file.name} has changed")
            if not last.startswith("Error: ") or "cannot be written" not in last:
                failures.append(f"no sentence: {last}")
    pipes = {"> /dev/full": 1, "--format sql > /dev/full": 1, "--format json | true": 141}
    with _lake() as lake:
        for output, status in pipes.items():
            done = subprocess.run(
                (
                    "bash",
                    "-o",
                    "pipefail",
                    "-c",
                    f'"$@" {output}',
                    "bash",
                    *_HYPERJOIN,
                    "find",
                    lake,
                ),
                capture_output=True,
                text=True,
                check=False,
                timeout=_LONGEST,
            )
            if done.returncode != status or "Traceback" in done.stderr:
                failures.append(f"{output}: status {done.returncode}, {done.stderr[-300:]}")
    return Outcome(1 + len(pipes), tuple(failures))


def limit_address_space(_: int, __: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    """Start with too small an address space, and check that an error comes within seconds."""
    failures, slowest = list[str](), 0.0
    for kibibytes in _ADDRESS_SPACES:
        began = time.monotonic()
        script = f'ulimit -v {kibibytes}; exec "$@"'
        with _started(("bash", "-c", script, "bash", *_HYPERJOIN, "find", ".")) as run:
            fault = run.end()
            if not fault and (
                run.process.returncode != 1 or "Error: `ulimit -v`" not in run.output
            ):
                fault = f"status {run.process.returncode}: {run.output[-300:]}"
        slowest = max(slowest, time.monotonic() - began)
        failures += [f"{kibibytes} KiB: {fault}"] if fault else []
    return Outcome(len(_ADDRESS_SPACES), tuple(failures), f"{slowest:.1f} s to end")


def send_halves(_: int, longer: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    """Send half of many requests to the services, and check that they answer others."""
    failures, slowest, tries = list[str](), 0.0, 0
    count = 1_000 if longer else 300
    with Gms() as gms:
        for name, files, start in product(("serve", "mcp"), (256, 1024), (_headers, _body)):
            tries += 1
            port = _free_port()
            options = ("mcp", "--http") if name == "mcp" else ("serve",)
            command = (*_HYPERJOIN, *options, "--port", str(port))
            with (
                _started(
                    ("bash", "-c", f'ulimit -n {files}; exec "$@"', "bash", *command),
                    DATAHUB_GMS_URL=gms.url,
                    DATAHUB_GMS_TOKEN="x",  # noqa: S106 - nobody's
                    HYPERJOIN_MCP_TOKEN=_TOKEN,
                ) as run,
                ExitStack() as opened,
            ):
                _wait_for(port)
                for _number in range(count):
                    connection = socket.create_connection(("127.0.0.1", port), timeout=_LONGEST)
                    opened.enter_context(connection).sendall(start(port))
                seconds = _seconds_to_answer(port)
                slowest = max(slowest, seconds)
                log = run.folder.joinpath("output").stat().st_size
            if seconds > _SECONDS_TO_END or log > _MOST_LOG:
                failures.append(f"{name}, {files} files: {seconds:.1f} s, {log:,} bytes of log")
    return Outcome(tries, tuple(failures), f"{slowest:.2f} s to answer")


def _headers(port: int) -> bytes:
    return f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode()


def _body(port: int) -> bytes:
    own = f"Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
    token = f"Authorization: Bearer {_TOKEN}\r\n"
    return f"POST /sign-in HTTP/1.1\r\n{own}{token}Content-Length: 1000\r\n\r\n{{".encode()


def _seconds_to_answer(port: int) -> float:
    """Return the seconds until a service answers a whole request."""
    began = time.monotonic()
    with (
        suppress(OSError),
        socket.create_connection(("127.0.0.1", port), timeout=_SECONDS_TO_END) as connection,
    ):
        connection.sendall(_headers(port) + b"\r\n")
        if connection.recv(16).startswith(b"HTTP/1.1 "):
            return time.monotonic() - began
    return _LONGEST


def answer_with_bombs(_: int, __: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    """Answer each request with 2 GiB that gzip makes 2 MiB, and check the memory of commands."""
    failures, most = list[str](), 0
    commands: Mapping[str, Sequence[str]] = {
        "joins": ("joins", "--dataset", "orders"),
        "export": ("export", "--format", "json"),
        "path": ("path", "orders", "customers"),
    }
    with _bombs() as url:
        for name, arguments in commands.items():
            command = (*_HYPERJOIN, *arguments)
            with _started(command, DATAHUB_GMS_URL=url, DATAHUB_GMS_TOKEN="x") as run:  # noqa: S106
                peak, until = 0, time.monotonic() + _LONGEST
                while run.process.poll() is None and time.monotonic() < until:
                    with suppress(psutil.Error):
                        peak = max(peak, psutil.Process(run.process.pid).memory_info().rss)
                    time.sleep(0.02)
                is_told = run.process.poll() in {1, 2} and "Traceback" not in run.output
                if peak > _MOST_MEMORY or not is_told:
                    failures.append(f"{name}: {peak >> 20} MiB, {run.output[-300:]}")
                most = max(most, peak)
    return Outcome(len(commands), tuple(failures), f"{most >> 20} MiB")


@contextmanager
def _bombs() -> Iterator[str]:
    packed = b"".join([gzip.compress(b" " * (1 << 20), 9)] * (1 << 11))

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(packed)))
            self.end_headers()
            with suppress(OSError):  # the client has gone
                self.wfile.write(packed)

        do_POST = do_GET  # noqa: N815 - the base class calls it so

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def lengthen_lines(_: int, longer: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    """Write a line of hundreds of megabytes into files, and check that a warning names it."""
    failures, most = list[str](), 0
    mebibytes = 1024 if longer else 300
    files: Mapping[str, tuple[bytes, bytes, str]] = {
        "row.csv": (b'id,name\n1,"', b'"\n2,b\n', "longer than"),
        "first.csv": (b"", b"\n", "its first line is too long"),
        "line.jsonl": (b'{"id": 1}\n{"id": "', b'"}\n', "longer than 64 MiB"),
        "value.json": (b'[{"id": "', b'"}]', "is longer than 67,108,864 characters"),
    }
    for name, (start, end, told) in files.items():
        with tempfile.TemporaryDirectory(prefix="hyperjoin-ends-") as folder:
            for other in ("a.csv", "b.csv"):
                rows = "".join(f"{CELL}{at}\n" for at in range(20))
                Path(folder, other).write_text(f"{other[0]}_id\n{rows}")
            with Path(folder, name).open("wb") as file:
                file.write(start)
                file.writelines(b"x" * (1 << 20) for _number in range(mebibytes))
                file.write(end)
            with _started((*_HYPERJOIN, "find", folder)) as run:
                peak = _peak_until_end(run)
                if told not in run.output or "Traceback" in run.output:
                    failures.append(f"{name}: {run.output[-300:]}")
            most = max(most, peak)
    return Outcome(len(files), tuple(failures), f"{most >> 20} MiB")


def _peak_until_end(run: _Started) -> int:
    """Return the most memory that one process of a command has taken."""
    peak = 0
    while run.process.poll() is None:
        for member in run.members():
            with suppress(psutil.Error):
                peak = max(peak, psutil.Process(member).memory_info().rss)
        time.sleep(0.1)
    return peak


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def _wait_for(port: int) -> None:
    until = time.monotonic() + _LONGEST
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)


ATTACKS: Mapping[str, Attack] = {
    "ends: a signal ends a command": end_by_signals,
    "ends: the output is full": fill_outputs,
    "ends: the address space is small": limit_address_space,
    "ends: half-sent requests": send_halves,
    "ends: answers that expand": answer_with_bombs,
    "ends: a line of hundreds of megabytes": lengthen_lines,
}
