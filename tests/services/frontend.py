"""Define a double of DataHub's frontend, which passes requests of signed-in people to the server.

It does what the controllers `Application` and `AuthUtils` of datahub-frontend do: a session counts
if the signed cookie and the cookie `actor` name the same person; the token in the signed cookie
precedes an `Authorization` header; without either, the answer is 401 without a body.
"""

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_CONFIG = json.dumps({"status": "ok", "config": {"application": "datahub-frontend"}}).encode()
_PATHS = {"/api/v2/graphql": "/api/graphql"}
_GMS = "/api/gms"


@dataclass
class Frontend:
    """DataHub's frontend, with the people who have signed in."""

    gms: str
    """Address of DataHub's server."""

    people: Mapping[str, str]
    """The URN of each person, by the token of that person."""

    url: str = ""
    """Address of the frontend."""

    expired: set[str] = field(default_factory=set)
    """Tokens whose cookies are no longer valid."""

    cookies: list[str] = field(default_factory=list)
    """The header `Cookie` of each request to the server's own addresses, in order."""

    def cookie(self, token: str) -> str:
        """Return the cookies that a person's browser has after the sign-in."""
        return f"PLAY_SESSION=signed.{token}.{token[::-1]}; actor={self.people[token]}"

    def token(self, cookie: str) -> str:
        """Return the token in a valid signed cookie; empty for any other cookie."""
        sent = {name: it.value for name, it in SimpleCookie(cookie).items()}
        token, _, signature = sent.get("PLAY_SESSION", "").removeprefix("signed.").partition(".")
        named = self.people.get(token) if token not in self.expired else None
        valid = named and sent.get("actor") == named and signature == token[::-1]
        return token if valid else ""


@contextmanager
def serve_frontend(gms: str, people: Mapping[str, str]) -> Iterator[Frontend]:
    """Run a frontend in front of a metadata server, on a free port."""
    frontend = Frontend(gms, people)

    class Handler(BaseHTTPRequestHandler):
        protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path == "/config":
                return self._answer(200, _CONFIG)
            cookie = self.headers.get("Cookie") or ""
            frontend.cookies.append(cookie)
            token = frontend.token(cookie)
            sent = f"Bearer {token}" if token else self.headers.get("Authorization")
            return self._answer(*self._forward(body, sent) if sent else (401, b""))

        do_POST = do_GET  # noqa: N815 - the base class calls it so

        def _forward(self, body: bytes, authorization: str) -> tuple[int, bytes]:
            path = _PATHS.get(self.path, self.path.removeprefix(_GMS))
            server = http.client.HTTPConnection(urlsplit(frontend.gms).netloc)
            headers = {"Authorization": authorization, "Content-Type": "application/json"}
            try:
                server.request(self.command, path, body, headers)
                answer = server.getresponse()
                return answer.status, answer.read()
            finally:
                server.close()

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    frontend.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield frontend
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
