"""Run a proxy that drops, delays, damages and repeats requests to a server."""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from typing_extensions import Self


class Fault(Enum):
    """The kinds of fault that a request can meet."""

    CUT_BEFORE = "connection cut before the request"
    CUT_AFTER = "connection cut after the request"
    REFUSED = "status 500, 502 or 503"
    SLOW = "slow answer"
    NULL = "`null` instead of an answer"
    HALF = "answer without every other entity"
    TORN = "first half of an answer's text"
    PAGE = "HTML page instead of an answer"
    TWICE = "request delivered twice"
    LOST = "write confirmed and lost"


_PAGE = b"<!doctype html><html><body><form action='/login'></form></body></html>"
PATIENCE = 0.6
"""Seconds after which a client gives up."""
_LONGEST = 0.8
_CHECKPOINT = b"urn:li:dataJob:"
"""Text in requests that record what a run wrote and hid. These requests get no fault.

Without the record, an entity that a run hid seems to be hidden by a person. DataHub keeps the
record in a job, and hides the job just before, or stores nothing.
"""
_HOP = {"host", "connection", "content-length", "accept-encoding", "transfer-encoding"}


@dataclass(frozen=True)
class Weather:
    """The faults of one run: their kinds, their rate and the requests that they affect."""

    faults: Collection[Fault] = ()
    rate: float = 0.0
    methods: str = "GET POST PATCH DELETE"
    part: str = ""
    """Text that the path of an affected request contains; empty for all requests."""
    seed: str = ""

    def __str__(self) -> str:
        names = ", ".join(fault.value for fault in self.faults)
        return f"{names}; {self.rate:.0%} of {self.methods} {self.part or '*'}"


FAIR = Weather()


@dataclass
class _Answer:
    status: int
    body: bytes
    kind: str = "application/json"


@dataclass
class BadNetwork:
    """A proxy that passes requests on to a server, with the faults that `weather` describes."""

    to: str
    weather: Weather = FAIR
    swallowed: bool = False
    """Whether a write was confirmed and not passed on."""

    def __post_init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.network = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def turn(self, weather: Weather) -> None:
        """Change the faults, and forget all earlier requests."""
        self.weather = weather
        self._seen.clear()
        self.swallowed = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def choose(self, method: str, path: str, sent: bytes) -> tuple[Fault | None, random.Random]:
        """Choose a random fault for a request, or none.

        The n-th request with the same method and path has the same fault in each run.
        """
        weather, kind = self.weather, f"{method} {urlsplit(path).path}"
        with self._lock:
            self._seen[kind] += 1
            draw = random.Random(f"{weather.seed} {kind} {self._seen[kind]}")  # noqa: S311 - no secret
            hit = draw.random() < weather.rate
            meant = method in weather.methods and weather.part in path and _CHECKPOINT not in sent
            if not (hit and meant):
                return None, draw
            fault = draw.choice(sorted(weather.faults, key=lambda fault: fault.name))
            if fault is Fault.LOST and not _writes(method, path):
                return None, draw
            swallows = fault in {Fault.LOST, Fault.NULL, Fault.PAGE}
            self.swallowed |= swallows and _writes(method, path)
        return fault, draw


def _writes(method: str, path: str) -> bool:
    """Return whether a request writes data and reads none.

    The answer to such a request contains little data.
    """
    reads = ("batchGet", "scroll", "graphql", "getTimeseries", "/config")
    return method in {"POST", "PATCH", "DELETE"} and not any(part in path for part in reads)


class _Http(ThreadingHTTPServer):
    network: BadNetwork
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - given
        """Suppress the traceback when a client closes the connection early."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # a whole answer in one packet

    def do_GET(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        assert isinstance(self.server, _Http)
        fault, draw = self.server.network.choose(self.command, self.path, sent)
        answer = self._strike(fault, draw, sent)
        if answer is None:
            self.close_connection = True
            return
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
        self.wfile.flush()

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the base class calls them so

    def _strike(self, fault: Fault | None, draw: random.Random, sent: bytes) -> _Answer | None:
        """Answer a request with a fault.

        None cuts the connection.
        """
        if fault is Fault.CUT_BEFORE:
            return None
        if fault is Fault.REFUSED:
            return _Answer(draw.choice([500, 502, 503]), b"out of order", "text/plain")
        if fault in _INSTEAD:
            return _INSTEAD[fault]
        if fault is Fault.SLOW:
            time.sleep(draw.uniform(0.05, _LONGEST))
        if fault is Fault.TWICE:
            self._pass_on(sent)
        answer = self._pass_on(sent)
        if fault in _DAMAGED:
            answer.body = _DAMAGED[fault](answer.body)
        return None if fault is Fault.CUT_AFTER else answer

    def _pass_on(self, sent: bytes) -> _Answer:
        assert isinstance(self.server, _Http)
        to = urlsplit(self.server.network.to)
        assert to.hostname
        connection = http.client.HTTPConnection(to.hostname, to.port, timeout=30)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        try:
            connection.request(self.command, self.path, sent, {**headers, "Connection": "close"})
            answer = connection.getresponse()
            return _Answer(answer.status, answer.read())
        finally:
            connection.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Suppress the log of requests."""


def _halve(body: bytes) -> bytes:
    """Omit every second entity from an answer, as a server may do."""
    try:
        answer = json.loads(body)
    except ValueError:
        return body
    if isinstance(answer, list):
        return json.dumps(answer[1::2]).encode()
    if isinstance(answer, dict) and isinstance(answer.get("entities"), list):
        return json.dumps({**answer, "entities": answer["entities"][1::2]}).encode()
    return body


_INSTEAD: Mapping[Fault | None, _Answer] = {
    Fault.NULL: _Answer(200, b"null"),
    Fault.PAGE: _Answer(200, _PAGE, "text/html"),
    Fault.LOST: _Answer(200, b'{"value": "success"}'),
}
_DAMAGED: Mapping[Fault | None, Callable[[bytes], bytes]] = {
    Fault.HALF: _halve,
    Fault.TORN: lambda body: body[: len(body) // 2],
}
