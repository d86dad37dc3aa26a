"""A local page of joins, which writes each decision to the file of decisions immediately.

A run wrote the page as a file. A web server shows it only to the person who starts it, on their
machine. Other machines cannot reach it. Other users of the machine, and web sites that the browser
shows, get no answer, because they do not know its token.
"""

import hmac
import json
import re
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property, partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, socket
from typing import Any
from urllib.parse import parse_qs, urlsplit

from jinja2.utils import htmlsafe_json_dumps

from datahub_hyperjoin.decision_file import (
    WrittenDecision,
    editing_decision_file,
    read_decision_file,
    time_of_decision,
)
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.hosts import host_names
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.page.errors import NoPageError, PortInUseError, StaleDecisionError

_DECIDED = re.compile(r'(?<=<script type="application/json" id="decided">).*?(?=</script>)')
_NO_REQUESTS = "default-src 'none';"
"""The start of the Content-Security-Policy of a page that is a file: it allows no requests."""

_Sides = frozenset[frozenset[tuple[str, str]]]
"""The column pairs of a join, in no order; tables have the names that the page shows."""


@dataclass(frozen=True)
class LocalPage:
    """A page of joins, and the file of the decisions that people make on it."""

    text: str
    decided: Mapping[str, Any]
    file: Path

    by: str = ""
    """Name of the person who decides, to be written to the file; empty to write no name."""

    _shown: list[dict[_Sides, str]] = field(default_factory=list)
    """The decisions that the page showed last; empty before it is shown."""

    @classmethod
    def read(cls, path: Path, file: Path | None = None, *, by: str = "") -> "LocalPage":
        """Read a page of joins, and determine the file that holds its decisions."""
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise NoPageError.unread(str(path), error.strerror or "") from error
        except UnicodeDecodeError:
            text = ""
        found = _DECIDED.search(text)
        if not found or _NO_REQUESTS not in text:
            raise NoPageError.without_joins(str(path))
        decided = json.loads(found[0])
        return cls(text, decided, file or Path(decided["file"]), by)

    def render(self, token: str) -> str:
        """Return the page with the decisions that the file holds now."""
        filed = read_decision_file(self.file)
        self._shown[:] = [self._verdicts(filed)]
        rows = [
            (*given, *(self._names.get(name, name) for name in (given[0], given[2])))
            for given in (astuple(each)[:-1] for each in filed)  # all but the place
        ]
        own = {"file": self.file.name, "rows": rows, "token": token, "by": self.by}
        decided = {**self.decided, **own}
        text = _DECIDED.sub(lambda _: str(htmlsafe_json_dumps(decided)), self.text, count=1)
        return text.replace(_NO_REQUESTS, f"{_NO_REQUESTS} connect-src 'self';", 1)

    def decide(self, decision: WrittenDecision, seen: str | None = None) -> None:
        """Write a decision to the file, in place of all others about the same join."""
        with editing_decision_file(self.file) as decisions:
            self._refuse_stale(decision, decisions, decision.verdict.value, seen)
            same = self._about_the_join_of(decision, decisions)
            if same and all(each.verdict is decision.verdict for each in same):
                return  # who decided, and why, stays
            start = decisions.index(same[0]) if same else len(decisions)
            decisions[:] = [each for each in decisions if each not in same]
            decisions.insert(start, replace(decision, by=self.by, when=time_of_decision()))

    def undo(self, decision: WrittenDecision, seen: str | None = None) -> Sequence[WrittenDecision]:
        """Remove all decisions about a join from the file.

        Args:
            decision: A decision about the join, with the page's names of tables.
            seen: The decision that the page showed, empty for none; None for what it showed last.

        Returns:
            The decisions that were removed.

        Raises:
            FaultyDecisionsError: The file cannot be read.
            StaleDecisionError: Another decision was made since the page was loaded.
            UnwritablePathError: The file cannot be written.
        """
        with editing_decision_file(self.file) as decisions:
            self._refuse_stale(decision, decisions, "", seen)
            undone = self._about_the_join_of(decision, decisions)
            decisions[:] = [each for each in decisions if each not in undone]
        return undone

    def _about_the_join_of(
        self, decision: WrittenDecision, decisions: Sequence[WrittenDecision]
    ) -> Sequence[WrittenDecision]:
        sides = self._sides(decision)
        return [each for each in decisions if self._sides(each) == sides]

    def _refuse_stale(
        self,
        decision: WrittenDecision,
        filed: Sequence[WrittenDecision],
        wanted: str,
        seen: str | None,
    ) -> None:
        """Refuse a decision if another one was made since the page was loaded."""
        sides = self._sides(decision)
        current = self._verdicts(filed).get(sides, "")
        shown = self._shown[-1] if self._shown else {sides: current}
        if seen is None:
            seen = shown.get(sides, "")
        is_stale = current not in {seen, wanted}
        shown[sides] = current if is_stale else wanted
        if is_stale:
            same = self._about_the_join_of(decision, filed)
            by = next((each.by for each in same if each.verdict.value == current), "")
            raise StaleDecisionError.about(str(decision), current, by)

    def _verdicts(self, filed: Sequence[WrittenDecision]) -> dict[_Sides, str]:
        """Return the decision of a file about each join."""
        # Of contradictory lines, the rejection counts, which is last in alphabetical order.
        ordered = sorted(filed, key=lambda each: each.verdict.value)
        return {self._sides(each): each.verdict.value for each in ordered}

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """A mapping from table names in the run's file of decisions to table names on the page."""
        rows = self.decided["rows"]
        return {row[at]: row[at // 2 + 8] for row in rows for at in (0, 2)}

    def _sides(self, decision: WrittenDecision) -> _Sides:
        tables = decision.left_table, decision.right_table
        left, right = (self._names.get(name, name) for name in tables)
        pairs = zip(decision.left_columns, decision.right_columns, strict=True)
        return frozenset(frozenset({(left, own), (right, other)}) for own, other in pairs)


_HOST = "127.0.0.1"
_MOST_BODY = 64 * 1024
"""Maximum size of a request, in bytes; one with a decision takes a few hundred bytes."""

_MOST_CONNECTIONS = 64
"""Maximum number of requests at once."""
_SECONDS = 30.0
"""Seconds after which a request that has no answer yet is cut off."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_CLOSED = "open the address that `hyperjoin page --serve` has printed"


class LocalServer(ThreadingHTTPServer):
    """A web server that shows one page of joins, on this machine only."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, page: LocalPage, port: int) -> None:
        self.page = page
        self._open: dict[socket, float] = {}
        self.token = secrets.token_urlsafe(32)
        try:
            super().__init__((_HOST, port), partial(_Answer, owner=self))
        except OSError as error:
            raise PortInUseError.numbered(port, error.strerror or "") from error

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 (given)
        """Answer a request in a thread; the oldest unanswered request makes room if necessary."""
        self._open[request] = time.monotonic()
        if len(self._open) > _MOST_CONNECTIONS:
            self._cut(next(iter(self._open)))
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 (given)
        """Close an answered connection."""
        self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Cut off the requests that have taken too long; called every half second."""
        latest = time.monotonic() - _SECONDS
        for request in [each for each, began in [*self._open.items()] if began < latest]:
            self._cut(request)

    def _cut(self, request: socket) -> None:
        self._open.pop(request, None)
        with suppress(OSError):  # already closed
            request.shutdown(SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 (given)
        """Write no traceback for a browser that has gone."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        return f"http://{_HOST}:{self.server_port}/?token={self.token}"

    def knows(self, token: str) -> bool:
        """Return whether a request has the token of this server."""
        return hmac.compare_digest(token.encode(), self.token.encode())


class _Answer(BaseHTTPRequestHandler):
    timeout = _SECONDS
    """Seconds that a browser may take for each part of its request."""

    def __init__(self, *connection: Any, owner: LocalServer) -> None:  # noqa: ANN401
        self._owner = owner
        super().__init__(*connection)  # it answers the request

    def do_GET(self) -> None:
        """Answer with the page."""
        asked = urlsplit(self.path)
        token = parse_qs(asked.query).get("token", [""])[0]
        if asked.path == "/favicon.ico":
            self._answer(HTTPStatus.NO_CONTENT)
        elif not self._is_own_host or not self._owner.knows(token):
            self._answer(HTTPStatus.FORBIDDEN, _CLOSED)
        elif asked.path != "/":
            self._answer(HTTPStatus.NOT_FOUND, "there is only one page")
        else:
            self._try(lambda: self._owner.page.render(self._owner.token), "text/html")

    def do_POST(self) -> None:
        """Store the decision that the page sent, or undo it."""
        length = self.headers.get("Content-Length", "")
        if not self._is_own_host or not self._owner.knows(self.headers.get("X-Token", "")):
            self._answer(HTTPStatus.FORBIDDEN, _CLOSED)
        elif not length.isdecimal() or int(length) > _MOST_BODY:
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "this is no decision")
        elif self.path != "/decide" or not (read := _read_decision(self.rfile.read(int(length)))):
            self._answer(HTTPStatus.BAD_REQUEST, "this is no decision")
        else:
            self._try(partial(self._store, *read), "text/plain")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (so named above)
        """Log nothing, since requests contain the token."""

    @property
    def _is_own_host(self) -> bool:
        """Whether the `Host` header names this server, not a foreign domain that points to it."""
        own = {f"{name}:{self._owner.server_port}" for name in host_names(_HOST)}
        return self.headers.get("Host", "") in own

    def _store(self, decision: WrittenDecision, is_undone: bool, seen: str | None) -> str:  # noqa: FBT001 - as `_read_decision`
        """Store or undo a decision, and return the decisions that were undone, in words."""
        if is_undone:
            return "; ".join(each.words for each in self._owner.page.undo(decision, seen))
        self._owner.page.decide(decision, seen)
        return ""

    def _try(self, act: Callable[[], str], kind: str) -> None:
        try:
            self._answer(HTTPStatus.OK, act(), kind)
        except StaleDecisionError as error:
            told = {"error": str(error), "decision": error.decision, "by": error.by}
            self._answer(HTTPStatus.CONFLICT, json.dumps(told), "application/json")
        except HyperJoinError as error:
            self._answer(HTTPStatus.CONFLICT, str(error))

    def _answer(self, status: HTTPStatus, text: str = "", kind: str = "text/plain") -> None:
        body = text.encode(errors="replace")  # names may hold halves of characters
        self.send_response_only(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _read_decision(body: bytes) -> tuple[WrittenDecision, bool, str | None] | None:
    """Return the decision in `body`, whether to undo it, and the decision that the page showed."""
    # Return None if `body` is malformed.
    try:
        sent: Mapping[str, Any] = json.loads(body)
        left, right = ([*map(str, sent[name])] for name in ("left_columns", "right_columns"))
        decision, seen = sent["decision"], sent.get("seen")
        written = WrittenDecision(
            left_table=str(sent["left_table"]),
            left_columns=tuple(left),
            right_table=str(sent["right_table"]),
            right_columns=tuple(right),
            verdict=Verdict(decision or Verdict.REJECTED),
        )
    except (ValueError, TypeError, LookupError):
        return None
    is_whole = left and len(left) == len(right)
    return (written, not decision, None if seen is None else str(seen)) if is_whole else None
