"""Serve a web application with limits on what one client may take from the others.

A request that arrives slowly, or not at all, keeps a connection open and each connection takes a
file descriptor. Where none is left, the event loop logs thousands of lines a second.
"""

import asyncio
import logging
import logging.config
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

import uvicorn
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import LOGGING_CONFIG
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MOST_CONNECTIONS = 512
"""Maximum number of connections. The oldest without a whole request makes room for a new one."""
_SPARE_FILES = 128
"""File descriptors that remain for everything but connections."""
_BACKLOG = 64
"""Number of connections that are accepted at once, before any of them can be closed."""
_REQUEST_SECONDS = 15.0
"""Seconds in which a request arrives, with its body."""
_ANSWER_SECONDS = 120.0
"""Seconds in which a client takes the answer."""
_MOST_HEADERS = 32 * 1024
"""Maximum size of the headers of a request, in bytes."""
_MOST_LINES = 60
"""Maximum number of lines in the log in a minute."""
_LINES_OF_TRACEBACK = 10
"""Number of lines as which a traceback counts."""
_NOT_STARTED = 3
"""The exit status if the server did not start, as uvicorn has it."""
_MOST_LETTERS = 2_000
"""Maximum length of a message in the log, in characters."""


def serve_within_limits(app: ASGIApp, *, host: str, port: int) -> None:
    """Serve a web application until the process is stopped."""

    async def app_for_those_who_wait(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(ClientDisconnect):  # an error of the client, not of the application
            await app(scope, receive, send)

    few_lines = FewLines()
    for handler in logging.root.handlers:
        handler.addFilter(few_lines)
    config = uvicorn.Config(
        app_for_those_who_wait,
        host=host,
        port=port,
        log_level="warning",
        log_config=_log_config(few_lines),
        server_header=False,
        http=_LimitedProtocol,
        ws="none",
        backlog=_BACKLOG,
        h11_max_incomplete_event_size=_MOST_HEADERS,
    )
    server = _Server(config)
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(_NOT_STARTED)


def most_connections() -> int:
    """Return the number of connections for which this process has file descriptors."""
    with suppress(ImportError):  # missing on Windows
        import resource  # noqa: PLC0415

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files != resource.RLIM_INFINITY:
            return max(1, min(MOST_CONNECTIONS, files - _SPARE_FILES - _BACKLOG))
    return MOST_CONNECTIONS


class _Server(uvicorn.Server):
    """A server that SIGHUP ends as SIGTERM does, not by an interrupt amid its event loop."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        with super().capture_signals():
            number = getattr(signal, "SIGHUP", signal.SIGTERM)  # missing on Windows
            before = signal.getsignal(number)
            is_main = threading.current_thread() is threading.main_thread()
            if not is_main or before is signal.SIG_IGN:
                yield
                return
            signal.signal(number, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(number, before)


class _LimitedProtocol(H11Protocol):
    """A connection that is closed if its client is too slow, or if others need the room."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.waits_since = time.monotonic()
        self._make_room()
        self._timer = self.loop.call_later(_REQUEST_SECONDS, self._check)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self.waits_since = time.monotonic()
        super().on_response_complete()

    @property
    def is_incomplete(self) -> bool:
        """Whether a part of a request, or of the next one, is missing."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return cycle is None or cycle.response_complete or cycle.more_body

    def _make_room(self) -> None:
        others = [each for each in self.connections if isinstance(each, _LimitedProtocol)]
        if len(others) > most_connections():
            oldest = min(others, key=lambda each: (not each.is_incomplete, each.waits_since))
            self.connections.discard(oldest)  # it is closed later, when others have come
            oldest.transport.abort()

    def _check(self) -> None:
        """Close the connection if its client has had time enough; otherwise look again later."""
        allowed = _REQUEST_SECONDS if self.is_incomplete else _ANSWER_SECONDS
        stuck = self.is_incomplete or self.flow.write_paused
        left = self.waits_since + allowed - time.monotonic()
        if stuck and left <= 0:
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(max(left, 1.0), self._check)


class FewLines(logging.Filter):
    """A filter that lets a number of lines a minute pass, and says how many it has left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._minute, self._lines, self._left_out = clock(), 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a record, and shorten its message."""
        if self._clock() - self._minute >= 60:  # noqa: PLR2004 (a minute)
            self._minute, self._lines = self._clock(), 0
        self._lines += _LINES_OF_TRACEBACK if record.exc_info else 1
        if self._lines > _MOST_LINES:
            self._left_out += 1
            return False
        message = record.getMessage()[:_MOST_LETTERS]
        if self._left_out:
            message += f" ({self._left_out:,} lines before this one were left out)"
            self._left_out = 0
        record.msg, record.args = message, None
        return True


def _log_config(few_lines: FewLines) -> dict[str, Any]:
    config = deepcopy(LOGGING_CONFIG)
    config["filters"] = {"few": {"()": lambda: few_lines}}
    for handler in config["handlers"].values():
        handler["filters"] = ["few"]
    if not logging.root.handlers:
        config["root"] = {"handlers": ["default"], "level": "WARNING"}
    return config
