"""Run a server with the interface of S3, and count what is read from it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

import pytest
from loky import get_reusable_executor
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from pyarrow import fs
from werkzeug.serving import WSGIRequestHandler, make_server

from datahub_hyperjoin.locations import ObjectStore

BUCKET = "lake"
SECRET = "hush-hush-this-is-no-real-key"  # noqa: S105 (it opens nothing)
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIDREADER",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_EC2_METADATA_DISABLED": "true",
}
_ERROR = "<Error><Code>{}</Code><Message>{}</Message></Error>"
_REFUSALS = {
    "/locked": ("403 Forbidden", _ERROR.format("AccessDenied", "Access Denied")),
    "/far": ("301 Moved Permanently", _ERROR.format("PermanentRedirect", "use another endpoint")),
}
"""The answers of Amazon for a bucket that a user may not read, and for one in another region."""

_Start = Callable[[str, list[tuple[str, str]]], Any]


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002 (as inherited)
        """Log nothing."""


@dataclass
class S3Server:
    """A running server, and what was read from it."""

    url: str = ""
    bytes_read: int = 0
    paths_read: list[str] = field(default_factory=list)
    files: fs.FileSystem | None = None

    @property
    def store(self) -> ObjectStore:
        return ObjectStore(endpoint=self.url)

    def upload(self, folder: Path, prefix: str = "shop") -> str:
        """Copy a local folder into the bucket, and return its URI there."""
        assert self.files
        for path in filter(Path.is_file, folder.rglob("*")):
            key = f"{BUCKET}/{prefix}/{path.relative_to(folder).as_posix()}"
            with self.files.open_output_stream(key, compression=None) as out:
                out.write(path.read_bytes())
        return f"s3://{BUCKET}/{prefix}"

    def forget(self) -> None:
        """Reset the record of what was read."""
        self.bytes_read, self.paths_read = 0, []

    def wrap(self, app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
        """Wrap an application to record what it returns, and to refuse access to some buckets."""

        def answer(environment: dict[str, Any], start: _Start) -> Iterable[bytes]:
            path = environment["PATH_INFO"]
            for begin, (status, body) in _REFUSALS.items():
                if path.startswith(begin):
                    start(status, [("Content-Type", "application/xml")])
                    return [body.encode()]

            def counting(status: str, headers: list[tuple[str, str]], *rest: object) -> object:
                if environment["REQUEST_METHOD"] == "GET" and path.strip("/") != BUCKET:
                    self.paths_read.append(path)
                    self.bytes_read += int(dict(headers).get("Content-Length", 0))
                return start(status, headers, *rest)

            return app(environment, counting)

        return answer


@contextmanager
def running_s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """Run a server with an empty bucket, whose credentials are in the environment."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    # Processes that run already have another environment.
    get_reusable_executor().shutdown(wait=True)
    found = S3Server()
    app = found.wrap(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", found.url)
    # All servers of a process share what they hold.
    urlopen(Request(f"{found.url}/moto-api/reset", method="POST")).close()  # noqa: S310
    found.files = files = fs.S3FileSystem(
        endpoint_override=found.url.partition("://")[2], scheme="http", allow_bucket_creation=True
    )
    files.create_dir(BUCKET)
    yield found
    get_reusable_executor().shutdown(wait=True)
    server.shutdown()
    server.server_close()
    thread.join()


def refuse_warning(title: str, message: str, context: str) -> None:
    """Fail the test that causes a warning."""
    pytest.fail(f"{title}: {message}: {context}")
