"""Test that slow clients and many connections take nothing from other clients."""

import logging
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from browser.previews import free_port
from datahub_hyperjoin.http_limits import FewLines, most_connections

SERVER = """
import sys
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from datahub_hyperjoin import http_limits

async def echo(request):
    return PlainTextResponse(await request.body())

http_limits._REQUEST_SECONDS = float(sys.argv[2])
routes = [Route("/health", lambda _: PlainTextResponse("ok")), Route("/", echo, methods=["POST"])]
http_limits.serve_within_limits(Starlette(routes=routes), host="127.0.0.1", port=int(sys.argv[1]))
"""
HEADERS = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
BODY = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"


@contextmanager
def serving(log: Path, *, files: int = 1024, seconds: float = 60) -> Iterator[int]:
    """Run a server with a number of file descriptors; yield its port."""
    port = free_port()
    command = [sys.executable, "-c", SERVER, str(port), str(seconds)]
    with log.open("wb") as output:
        server = subprocess.Popen(
            ["bash", "-c", f'ulimit -n {files}; exec "$@"', "bash", *command],
            stdout=output,
            stderr=output,
        )
    try:
        while not answers(port):
            assert server.poll() is None, log.read_text()
        yield port
    finally:
        server.kill()
        server.wait()


def answers(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/health", timeout=5).text == "ok"
    except httpx2.TransportError:
        time.sleep(0.05)
        return False


def send(port: int, start: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(start)
    return connection


@pytest.mark.parametrize("start", [HEADERS, BODY, b""])
def test_many_half_sent_requests_block_no_other(tmp_path: Path, start: bytes) -> None:
    log = tmp_path / "log"
    with serving(log, files=256) as port, ExitStack() as opened:
        for _ in range(300):
            opened.enter_context(send(port, start))
        for _ in range(3):
            assert answers(port)
    assert log.stat().st_size < 1 << 14


@pytest.mark.parametrize("start", [HEADERS, BODY, b""])
def test_a_request_that_does_not_arrive_is_cut_off(tmp_path: Path, start: bytes) -> None:
    with serving(tmp_path / "log", seconds=0.5) as port, send(port, start) as slow:
        began = time.monotonic()
        assert slow.recv(1) == b""
        assert time.monotonic() - began < 10
        assert answers(port)


def test_a_request_that_arrives_in_time_is_answered(tmp_path: Path) -> None:
    with serving(tmp_path / "log", seconds=10) as port, send(port, BODY) as slow:
        time.sleep(0.3)
        slow.sendall(b"x" * 999)
        assert b"200 OK" in slow.recv(1 << 16)


def test_long_headers_are_refused(tmp_path: Path) -> None:
    with serving(tmp_path / "log") as port, send(port, HEADERS + b"X: " + b"x" * 70_000) as long:
        assert b"400 Bad Request" in long.recv(1 << 16)


def test_rubbish_fills_no_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serving(log) as port:
        for _ in range(300):
            with send(port, b"rubbish\r\n\r\n") as connection:
                connection.recv(1 << 16)
        assert answers(port)
    assert len(log.read_text().splitlines()) <= 61


def test_a_minute_has_a_number_of_lines() -> None:
    now = [0.0]
    few = FewLines(lambda: now[0])

    def line(text: str, *arguments: object) -> tuple[bool, str]:
        record = logging.LogRecord("a", logging.WARNING, "", 0, text, arguments, None)
        return few.filter(record), record.getMessage()

    assert [line("%s", at)[0] for at in range(100)] == [True] * 60 + [False] * 40
    now[0] = 61.0
    assert line("%s", "x" * 9_000) == (
        True,
        f"{'x' * 2_000} (40 lines before this one were left out)",
    )
    assert line("100 %") == (True, "100 %")


def test_connections_leave_file_descriptors_for_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def limit(files: int) -> Callable[[object], tuple[int, int]]:
        return lambda _: (files, 0)

    for files, most in {64: 1, 256: 64, 1024: 512}.items():
        monkeypatch.setattr("resource.getrlimit", limit(files))
        assert most_connections() == most
