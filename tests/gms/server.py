"""Run an HTTP server that keeps a log of its requests and responses."""

import json
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gms.faults import Faults, Instead
from gms.refusals import Refused
from gms.routes import Call, Routes
from gms.store import ACTING, ACTOR


@dataclass(frozen=True)
class Request:
    """A request, with the status of its response."""

    method: str
    path: str
    """The path of the URL, with the query string."""
    status: int
    token: str = ""
    """The token that the request was sent with."""


class Server:
    """A server on a free local port, which runs in its own threads."""

    def __init__(
        self,
        routes: Routes,
        faults: Faults,
        note: Callable[[Request], None],
        people: Mapping[str, str],
    ) -> None:
        """Bind to a free port."""
        self._http = _Http(("127.0.0.1", 0), _Handler, bind_and_activate=True)
        self._http.routes, self._http.faults, self._http.note = routes, faults, note
        self._http.people = people
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the server, and close all connections."""
        self._http.shutdown()
        self._http.hang_up()
        self._http.server_close()
        self._thread.join()


class _Http(ThreadingHTTPServer):
    routes: Routes
    faults: Faults
    note: Callable[[Request], None]
    people: Mapping[str, str]
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - passed on
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(*arguments, **named)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - given
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - as the base class has it
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Close all connections, so that their threads end."""
        with self._lock:
            for connection in self._open:
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # a whole answer in one packet

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the base class calls them so

    @property
    def _http(self) -> _Http:
        assert isinstance(self.server, _Http)
        return self.server

    @property
    def _token(self) -> str:
        return (self.headers.get("Authorization") or "").removeprefix("Bearer ")

    def _serve(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            status, answer = self._answer(sent)
            body = json.dumps(answer).encode()
        except Instead as instead:
            status, body = 200, instead.body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self._http.note(Request(self.command, self.path, status, self._token))
        self.wfile.write(body)
        self.wfile.flush()

    def _answer(self, sent: bytes) -> tuple[int, Any]:
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        action = f"?action={query['action'][0]}" if "action" in query else ""
        try:
            self._identify(url.path)
            is_halved = self._http.faults.strike(f"{self.command} {self.path}")
            answer, path = self._http.routes.find(self.command, url.path + action)
            whole = answer(Call(path, query, json.loads(sent) if sent else None))
            return 200, _halve(whole) if is_halved else whole
        except Refused as refusal:
            return _refuse(refusal, openapi=url.path.startswith("/openapi"))

    def _identify(self, path: str) -> None:
        """Set the acting person by the token of a request.

        Raises:
            Refused: The server knows its people, and none of them has this token.
        """
        people = self._http.people
        if people and path not in _OPEN and self._token not in people:
            message = "Unauthorized to perform this action."
            raise Refused(401, message)
        ACTING.set(people.get(self._token, ACTOR))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Suppress the log, because the list of requests contains everything."""


def _halve(answer: Any) -> Any:  # noqa: ANN401 - JSON
    """Omit every second entity from an answer, as an overloaded server may do."""
    if isinstance(answer, list):
        return answer[1::2]
    return {**answer, "entities": answer["entities"][1::2]}


_UNPROCESSABLE = 422
_OPEN = ("/config", "/health")
"""Paths that need no token."""


def _refuse(refusal: Refused, *, openapi: bool) -> tuple[int, Any]:
    if not openapi:
        kind = "com.linkedin.restli.server.RestLiServiceException"
        answer = {"exceptionClass": kind, "message": refusal.message, "status": refusal.status}
        return refusal.status, answer
    if refusal.status == _UNPROCESSABLE:
        return 400, {"error": "Validation Error", "message": refusal.message}
    return refusal.status, {"error": refusal.message}
