"""Run a local server that speaks OpenAI's protocol and can simulate failures."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """An HTTP response."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    pause: float = 0.0
    """Seconds between two bytes of the body; 0 sends it at once."""


Behaviour = Callable[[Request], Answer | None]
"""Returns the answer to a request; None closes the connection without an answer."""


def columns(request: Request) -> dict[int, str]:
    """Return the key columns in a request, by their number."""
    tables = json.loads(request["messages"][1]["content"])["tables"]
    return {key["number"]: key["column"] for table in tables for key in table["key_columns"]}


def completion(text: object, *, usage: object = None, finish: str = "stop") -> Answer:
    """Make a chat completion with the given text."""
    message = {"role": "assistant", "content": text}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    return Answer(json.dumps(body | ({"usage": usage} if usage else {})).encode())


def naming(**names: str) -> Behaviour:
    """Answer with given names for the columns.

    All other columns get the prefix `alt_`.
    """

    def behave(request: Request) -> Answer:
        listed = [
            {"number": number, "name": names.get(column, f"alt_{column}")}
            for number, column in columns(request).items()
        ]
        usage = {"prompt_tokens": 300, "completion_tokens": 10 * len(listed), "total_tokens": 0}
        return completion(json.dumps({"names": listed}), usage=usage)

    return behave


def choosing(*, none: bool = False) -> Behaviour:
    """Choose for each column the first key in the list, or none of the keys."""
    usage = {"prompt_tokens": 300, "completion_tokens": 8, "total_tokens": 0}
    return saying(json.dumps({"key": 0 if none else 1}), usage=usage)


def saying(text: object, *, usage: object = None, finish: str = "stop") -> Behaviour:
    """Answer each request with the same text."""
    return lambda _: completion(text, usage=usage, finish=finish)


def refusing(status: int, message: str = "no", **headers: str) -> Behaviour:
    """Answer each request with an HTTP error."""
    body = json.dumps({"error": {"message": message, "type": "e", "param": None, "code": None}})
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = Answer(body.encode(), status, {"Content-Type": "application/json", **named})
    return lambda _: answer


def hanging_up(_: Request) -> None:
    """Close the connection without an answer."""


class Endpoint:
    """An endpoint on a free local port, which runs in its own threads."""

    def __init__(self) -> None:
        self.script: list[Behaviour] = []
        """How to answer the next requests: one behaviour for each request."""
        self.usual: Behaviour = naming()
        """Behaviour of all requests after those that `script` covers."""
        self.requests: list[Request] = []
        self.heads: list[dict[str, str]] = []
        self.together = 0
        """Maximum number of requests that were under way at the same time."""
        self.released = threading.Event()
        """Event that ends all delays of answers when the endpoint closes."""
        self._under_way = 0
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.endpoint = self

    @property
    def url(self) -> str:
        """Value for the recipe key `base_url`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def asked(self) -> list[str]:
        """The columns of all requests, in order."""
        return [column for request in self.requests for column in columns(request).values()]

    def holding(self, seconds: float, behaviour: Behaviour) -> Behaviour:
        """Return a behaviour that waits for some seconds, and then answers as `behaviour` does."""

        def behave(request: Request) -> Answer | None:
            self.released.wait(seconds)
            return behaviour(request)

        return behave

    def answer(self, request: Request, head: dict[str, str]) -> Answer | None:
        """Record a request, and answer it as the script says.

        After the last behaviour of the script, the usual behaviour answers.
        """
        with self._lock:
            self.requests.append(request)
            self.heads.append(head)
            self._under_way += 1
            self.together = max(self.together, self._under_way)
            behaviour = self.script.pop(0) if self.script else self.usual
        try:
            return behaviour(request)
        finally:
            with self._lock:
                self._under_way -= 1

    @contextmanager
    def open(self) -> Iterator["Endpoint"]:
        """Serve requests until the `with` block ends."""
        thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self.released.set()
            self._http.shutdown()
            self._http.server_close()
            thread.join()


class _Http(ThreadingHTTPServer):
    endpoint: Endpoint
    daemon_threads = False
    request_queue_size = 64


class _Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        assert isinstance(self.server, _Http)
        assert self.path == "/v1/chat/completions"
        endpoint = self.server.endpoint
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        head = {key.lower(): value for key, value in self.headers.items()}
        answer = endpoint.answer(request, head)
        if answer is None:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(answer.status)
        for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self._send(answer, endpoint.released)
        except OSError:
            self.close_connection = True  # the client did not wait

    def _send(self, answer: Answer, released: threading.Event) -> None:
        size = 1 if answer.pause else max(len(answer.body), 1)
        for start in range(0, len(answer.body), size):
            self.wfile.write(answer.body[start : start + size])
            self.wfile.flush()
            if answer.pause and released.wait(answer.pause):
                return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Suppress the log, because `requests` already records everything."""
