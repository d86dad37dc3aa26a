"""Serve ClickHouse's HTTP interface from `chdb`, its engine as a Python package.

`clickhouse_engine.py FOLDER` keeps its data in the folder, prints its port, and ends
when its standard input does. Each request has settings of its own, as on a server, and its answer
is compressed if the client accepts this and no setting forbids it, as by servers from 25.10 on.
"""

import gzip
import sys
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

_ONE_AT_A_TIME = Lock()
_NOT_SETTINGS = {"database", "default_format", "query_id", "query", "wait_end_of_query"}
_LEVEL = 3
"""The level at which servers compress by default."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    folder = ""

    def do_POST(self) -> None:
        asked = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        sent = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        user = b64decode(self.headers["Authorization"].removeprefix("Basic ")).partition(b":")[0]
        if user != b"default":
            self._respond(403, f"Code: 516. DB::Exception: {user.decode()}: unknown user".encode())
            return
        try:
            status, answer = 200, self._answer(f"{asked.get('query', '')} {sent}", asked)
        except RuntimeError as error:
            status, answer = 500, str(error).encode()
        self._respond(status, answer)

    def _respond(self, status: int, answer: bytes) -> None:
        self.send_response(status)
        is_accepted = "gzip" in self.headers["Accept-Encoding"]
        if is_accepted and "enable_http_compression=0" not in urlsplit(self.path).query:
            answer = gzip.compress(answer, _LEVEL)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _answer(self, statement: str, asked: dict[str, str]) -> bytes:
        # Of a user who may only read, no setting may be changed.
        settings = ["SET readonly = 1"] if "/limited" in self.path else []
        settings += [
            f"SET {name} = '{asked[name]}'"
            for name in sorted(asked.keys() - _NOT_SETTINGS, key=lambda name: name == "readonly")
        ]
        format_ = asked.get("default_format", "TabSeparated")
        with _ONE_AT_A_TIME, _connect(self.folder) as connection:
            for each in (f"USE {asked.get('database', 'default')}", *settings):
                connection.query(each)
            return bytes(connection.query(statement, format_).bytes())

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 (the name of the base)
        """Write nothing."""


def _connect(folder: str) -> Any:  # noqa: ANN401 (see below)
    # Not a requirement of developers, since it takes half a gigabyte.
    return import_module("chdb").connect(folder)


def main() -> None:
    """Serve until the standard input ends."""
    _Handler.folder = sys.argv[1]
    # With no connection left, the engine would stop, and forget tables in memory.
    with _connect(_Handler.folder):
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        Thread(target=server.serve_forever, daemon=True).start()
        sys.stdout.write(f"{server.server_port}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
