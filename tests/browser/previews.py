"""Run the web service, and a page that shows the service in a frame as DataHub does."""

import html
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import uvicorn
from starlette.applications import Starlette


def free_port() -> int:
    """Return a local port on which no program listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def preview_tab(
    port: int, address: Callable[[], str], cookies: Sequence[str] = ()
) -> Iterator[None]:
    """Serve a page that shows another page in a frame, as DataHub's Preview tab does.

    Args:
        port: Port to listen to.
        address: Returns the address of the page in the frame.
        cookies: The cookies of somebody who has signed in to DataHub.
    """

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            frame = f'<iframe src="{html.escape(address())}" width="1200" height="900"></iframe>'
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            for cookie in cookies:
                self.send_header("Set-Cookie", f"{cookie}; Path=/; SameSite=Lax")
            self.end_headers()
            self.wfile.write(f"<!doctype html><title>DataHub</title>{frame}".encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            """Write no log."""

    server = HTTPServer(("127.0.0.1", port), Page)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving(service: Starlette, port: int) -> Iterator[None]:
    """Run the web service on a port until the `with` block ends."""
    server = uvicorn.Server(uvicorn.Config(service, port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
