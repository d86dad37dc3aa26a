"""The web application that shows joins and stores people's decisions.

A browser sends a person's cookie with every request, whichever site asked for it. So the cookie is
for pages of the same site alone, each change has to come from the service's own page and to repeat
a secret of that page, and only DataHub may show the pages in a frame.
"""

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from threading import Lock

from datahub.ingestion.graph.client import DataHubGraph
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from datahub_hyperjoin.client_errors import is_sendable
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.graphql import accept, reject, undo
from datahub_hyperjoin.graphql.decide import last_decision
from datahub_hyperjoin.graphql.errors import (
    AmbiguousColumnError,
    DeniedError,
    NoServerError,
    UnknownNameError,
)
from datahub_hyperjoin.graphql.find import find_decidable, find_path_end
from datahub_hyperjoin.graphql.pairs import is_pair
from datahub_hyperjoin.graphql.read import catalog_reader, signed_in_user
from datahub_hyperjoin.joins import Join, Verdict
from datahub_hyperjoin.joins.describe import (
    comparison_in_words,
    decision_in_words,
    describe_grain,
    join_in_brief,
    rows_in_words,
)
from datahub_hyperjoin.joins.errors import NoPathError
from datahub_hyperjoin.joins.paths import Step, walk
from datahub_hyperjoin.service.address import Address
from datahub_hyperjoin.service.errors import NamelessPageError, QueueFilterError
from datahub_hyperjoin.service.pages import render_error, render_joins, render_sign_in
from datahub_hyperjoin.service.queue import assign, render_queue
from datahub_hyperjoin.service.sessions import LIFETIME, PersonalSession, Sessions
from datahub_hyperjoin.service.suggest import Measure, look_at_columns
from datahub_hyperjoin.wording import minute_of

CSRF_HEADER = "X-CSRF-Token"
"""The header in which a page repeats the secret of its session."""

MOST_BODY = 16 * 1024
"""Maximum size of a request, in bytes; one with a token takes about 1,000 bytes."""

_HEADERS = {
    # A page shows what a person may see, so no cache may keep it for others.
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Without a referrer, browsers would leave the origin out of requests, which is checked.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {frames}"
)


class SecureHeaders:
    """The middleware that adds security headers to every HTTP response."""

    def __init__(self, app: ASGIApp, *, frames: str) -> None:
        self._app, self._frames = app, frames or "'none'"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and add security headers to the response."""
        nonce = secrets.token_urlsafe(16)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                policy = _POLICY.format(nonce=nonce, frames=self._frames)
                headers["Content-Security-Policy"] = policy
            await send(message)

        if scope["type"] == "http":
            scope.setdefault("state", {})["nonce"] = nonce
            await self._app(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send)


async def read_texts(request: Request) -> Mapping[str, str]:
    """Read a JSON object with text values from the body of a request."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY:
            return {}
    try:
        values = json.loads(body)
    except ValueError:
        return {}
    texts = values.items() if isinstance(values, dict) else ()
    return {name: value for name, value in texts if isinstance(value, str)}


# DataHub's frontend keeps a person's token in a signed cookie, and passes requests with this cookie
# on to DataHub's server in the name of that person. So the service only returns the cookie to the
# frontend, in requests of its own. It cannot forge a cookie, and neither reads, logs nor stores
# one.

_NAMES = {"PLAY_SESSION", "actor"}
"""Names of the two cookies that DataHub's frontend needs: the signed session, and its user."""


def datahub_cookies(headers: Headers) -> str:
    """Return the cookies with which DataHub's frontend recognises a person.

    >>> datahub_cookies(Headers({"cookie": "PLAY_SESSION=a.b.c; theme=dark; actor=ada"}))
    'PLAY_SESSION=a.b.c; actor=ada'
    """
    sent = (part.strip() for header in headers.getlist("cookie") for part in header.split(";"))
    cookies = [cookie for cookie in sent if cookie.partition("=")[0] in _NAMES]
    names = {cookie.partition("=")[0] for cookie in cookies}
    return "; ".join(cookies) if names == _NAMES else ""


class SharedSessions:
    """The sessions of the people who have signed in to DataHub."""

    def __init__(self, connect: Callable[[str], DataHubGraph], sessions: Sessions) -> None:
        self._connect, self._sessions = connect, sessions

    def find(self, headers: Headers) -> PersonalSession | None:
        """Recognise a person by a request's DataHub cookies, and return the person's session."""
        # DataHub is asked each time, so a session ends here when it ends there.
        cookies = datahub_cookies(headers)
        if not cookies:
            return None
        # A new sign-in has other cookies, so it gets a session of its own.
        name = hashlib.sha256(cookies.encode()).hexdigest()
        session = self._sessions.find(name)
        graph = session.graph if session else self._connect(cookies)
        try:
            person = signed_in_user(graph)
        except HyperJoinError as error:
            if session is None:
                graph.close()
            if not isinstance(error, DeniedError):
                raise
            self._sessions.close(name)
            return None
        return session or self._sessions.find_or_open(name, person, graph)


def _describe_path(graph: DataHubGraph, start: str, end: str) -> dict[str, object]:
    """Describe the best path of joins between two datasets, ignoring many-to-many paths."""
    first, last = (find_path_end(graph, name) for name in (start, end))
    path = walk(catalog_reader(graph), first, last)
    return {
        "grain": describe_grain(path.joins),
        "steps": [*map(_describe, path.steps)],
        "rivals": path.rivals_in_words,
        "direct": [*map(join_in_brief, path.direct)],
    }


def _describe(step: Step) -> dict[str, object]:
    """Describe one join of a path, and the other references that would give other rows."""
    left, right = step.join.tables
    rows = rows_in_words(step.join, f" of {left}", f" of {right}")
    facts = (rows, comparison_in_words(step.join), decision_in_words(step.join))
    return {
        "join": step.join.arrows,
        "facts": [*filter(None, facts)],
        "choices": [other.arrows for other in step.alternatives],
    }


Connect = Callable[[str], DataHubGraph]
"""Creates a client of DataHub's server from a person's token, or from DataHub's own cookies."""

_RELATIONSHIP = "urn:li:erModelRelationship:"
_FOREIGN = "another web site sent this request. Use the page of the service itself"
_NOT_ACCEPTED = "DataHub does not accept this token. Create a new one in its settings"
_ENDED = "your session has ended. Sign in"
_UNDONE = "undone"
_DECIDE = {Verdict.ACCEPTED.value: accept, Verdict.REJECTED.value: reject}


def create_service(
    connect: Connect,
    address: Address,
    *,
    frames: str = "",
    shared_with: str = "",
    measure: Measure | None = None,
) -> Starlette:
    """Create the web application that shows joins and stores decisions.

    `/` shows all joins, `/dataset?urn=URN` those of a dataset, and `/queue` those to decide about.
    The application reads and decides for each person with this person's rights alone: with a token
    of DataHub that the person enters, or, if it shares the sessions of DataHub's pages, with the
    cookies of those pages.
    """
    return _Service(connect, address, shared_with, measure).create_app(frames)


class _Service:
    def __init__(
        self, connect: Connect, address: Address, shared_with: str, measure: Measure | None
    ) -> None:
        self._connect, self._address, self._measure = connect, address, measure
        self._sessions, self._datahub = Sessions(), shared_with
        self._shared = SharedSessions(connect, self._sessions) if shared_with else None
        self._deciding, self._decisions = Lock(), dict[str, tuple[str, int]]()
        self._measuring = Lock()
        # A browser takes a cookie with this prefix only from the host itself and over TLS.
        self._cookie = f"{'__Host-' if address.is_encrypted else ''}hyperjoin"

    def create_app(self, frames: str) -> Starlette:
        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            yield
            self._sessions.close_all()

        own_sign_in = [
            Route("/sign-in", self._sign_in, methods=["POST"]),
            Route("/sign-out", self._sign_out, methods=["POST"]),
        ]
        return Starlette(
            routes=[
                Route("/", self._show),
                Route("/dataset", self._show),
                Route("/queue", self._show),
                Route("/path", self._find_path),
                Route("/decide", self._decide, methods=["POST"]),
                Route("/assign", self._assign, methods=["POST"]),
                Route("/suggest", self._suggest, methods=["POST"]),
                *([] if self._shared else own_sign_in),
                Route("/health", lambda _: PlainTextResponse("ok")),
            ],
            middleware=[
                Middleware(SecureHeaders, frames=frames),
                Middleware(
                    TrustedHostMiddleware, allowed_hosts=self._address.names, www_redirect=False
                ),
            ],
            exception_handlers={_RefusedError: _fail, HyperJoinError: _fail},
            lifespan=lifespan,
        )

    def _session(self, request: Request) -> PersonalSession | None:
        if self._shared:
            return self._shared.find(request.headers)
        return self._sessions.find(request.cookies.get(self._cookie, ""))

    def _show(self, request: Request) -> Response:
        """Show the queue, the joins of one dataset or of all datasets, or the sign-in page."""
        nonce = request.state.nonce
        try:
            session = self._session(request)
            if session is None:
                page = render_sign_in(nonce=nonce, datahub=self._datahub)
                return HTMLResponse(page, status_code=401)
            return HTMLResponse(self._render(session, request))
        except HyperJoinError as error:
            return HTMLResponse(render_error(str(error), nonce=nonce), status_code=_status(error))

    def _render(self, session: PersonalSession, request: Request) -> str:
        asked, nonce, signs_out = request.query_params, request.state.nonce, not self._shared
        match request.url.path:
            case "/queue":
                return render_queue(session, asked, nonce=nonce, signs_out=signs_out)
            case "/dataset" if not asked.get("urn"):
                raise NamelessPageError.of_dataset()
            case _:
                dataset = asked.get("urn", "")
                return render_joins(session, nonce=nonce, dataset=dataset, signs_out=signs_out)

    def _find_path(self, request: Request) -> Response:
        """Describe the best path of joins between two datasets, as JSON for the page."""
        start, end = (request.query_params.get(name, "") for name in ("start", "end"))
        session = self._session(request)
        if session is None:
            raise _RefusedError(401, _ENDED)
        if not start or not end:
            raise _RefusedError(400, "name two datasets")
        return JSONResponse(_describe_path(session.graph, start, end))

    async def _sign_in(self, request: Request) -> Response:
        self._check_origin(request)
        token = (await read_texts(request)).get("token", "").strip()
        self._sessions.close(request.cookies.get(self._cookie, ""))
        return await run_in_threadpool(self._open, token)

    def _open(self, token: str) -> Response:
        """Start a session for the owner of a token."""
        if not is_sendable(token):
            raise _RefusedError(401, _NOT_ACCEPTED)
        try:
            graph = self._connect(token)
            with ExitStack() as failing:
                failing.callback(graph.close)
                person = signed_in_user(graph)
                failing.pop_all()
        except DeniedError as error:
            raise _RefusedError(403, _NOT_ACCEPTED) from error
        response = Response(status_code=204)
        response.set_cookie(
            self._cookie,
            self._sessions.open(person, graph),
            max_age=LIFETIME,
            secure=self._address.is_encrypted,
            httponly=True,
            samesite="strict",
        )
        return response

    def _sign_out(self, request: Request) -> Response:
        self._check(request)
        self._sessions.close(request.cookies[self._cookie])
        response = Response(status_code=204)
        response.delete_cookie(self._cookie, secure=self._address.is_encrypted, httponly=True)
        return response

    async def _decide(self, request: Request) -> Response:
        session = await run_in_threadpool(self._check, request)
        asked = await read_texts(request)
        decision, join = asked.get("decision", ""), asked.get("join", "")
        known = join.startswith(_RELATIONSHIP) or is_pair(join)
        if decision not in {*_DECIDE, _UNDONE} or not known:
            raise _RefusedError(400, "the request names no join or decision")
        return await run_in_threadpool(self._store, session, asked)

    async def _assign(self, request: Request) -> Response:
        """Assign a join to a person, or take it away."""
        session = await run_in_threadpool(self._check, request)
        asked = await read_texts(request)
        join, assignee = asked.get("join", ""), asked.get("assignee", "").strip()
        if not (join.startswith(_RELATIONSHIP) and assignee):
            raise _RefusedError(400, "the request names no join or person")
        release = asked.get("change") == "released"
        owners = await run_in_threadpool(assign, session, join, assignee, release=release)
        return JSONResponse({"owners": owners})

    async def _suggest(self, request: Request) -> Response:
        """Describe two columns that a person thinks to join."""
        session = await run_in_threadpool(self._check, request)
        asked = await read_texts(request)
        one, other = (asked.get(end, "").strip() for end in ("one", "other"))
        if not (one and other):
            raise _RefusedError(400, "name two columns")
        return JSONResponse(await run_in_threadpool(self._look_at, session, one, other))

    def _look_at(self, session: PersonalSession, one: str, other: str) -> dict[str, object]:
        return look_at_columns(session.graph, one, other, self._measure and self._count)

    def _count(self, join: Join) -> Join | None:
        with self._measuring:  # one after another, as each reads whole tables
            return self._measure(join) if self._measure else None

    def _store(self, session: PersonalSession, asked: Mapping[str, str]) -> Response:
        """Store a decision, unless another one was made since the person's page was loaded."""
        decision, join = asked["decision"], asked["join"]
        wanted = "" if decision == _UNDONE else decision
        with self._deciding:
            verdict = find_decidable(session.graph, join).verdict
            current = verdict.value if verdict else ""
            if current != asked.get("seen", session.shown.get(join, "")):
                session.shown[join] = current
                return self._tell_first(session, join, current, wanted)
            was = _carry_out(session.graph, asked)
            self._decisions[join] = session.person, time.time_ns() // 1_000_000
            session.shown[join] = wanted
        return JSONResponse({"decision": decision, **was})

    def _tell_first(
        self, session: PersonalSession, join: str, current: str, wanted: str
    ) -> Response:
        """Say what somebody else decided since the page was loaded, who and when."""
        who, when = last_decision(session.graph, join)
        if not who:
            who, when = self._decisions.get(join, ("", 0))
        did = f"{current} this join" if current else "undid the decision about this join"
        told = " on ".join(filter(None, [did, minute_of(when)]))
        name = who.rpartition(":")[2]
        first = f"{name or 'somebody'} {told}, since this page was loaded"
        answer = {"by": name, "when": when, "decision": current or _UNDONE}
        if current == wanted:
            return JSONResponse({**answer, "note": first})
        advice = "Your decision was not stored. Decide again if it should replace that"
        return JSONResponse({**answer, "error": f"{first}. {advice}"}, status_code=409)

    def _check_origin(self, request: Request) -> None:
        """Refuse a request that none of the service's own pages sent."""
        if request.headers.get("origin") not in self._address.origins:
            raise _RefusedError(403, _FOREIGN)

    def _check(self, request: Request) -> PersonalSession:
        """Return a request's session, or refuse a request that may be forged."""
        self._check_origin(request)
        session = self._session(request)
        if session is None:
            raise _RefusedError(401, _ENDED)
        secret = request.headers.get(CSRF_HEADER, "").encode()
        if not hmac.compare_digest(secret, session.csrf.encode()):
            raise _RefusedError(403, "the page is of another session. Load it again")
        return session


class _RefusedError(HTTPException):
    """A request that the service does not answer."""


def _carry_out(graph: DataHubGraph, asked: Mapping[str, str]) -> Mapping[str, object]:
    """Store a decision, and return what it undid, if it is to undo."""
    decision, join = asked["decision"], asked["join"]
    if decision == _UNDONE:
        return {"was": undo(graph, join)}
    _DECIDE[decision](graph, join, why=asked.get("why", "").strip())
    return {}


def _fail(_: Request, error: Exception) -> Response:
    match error:
        case _RefusedError():
            told: dict[str, object] = {"error": error.detail}
        case NoPathError():
            told = {"error": error.reason, "direct": error.direct}
        case _:
            told = {"error": str(error)}
    return JSONResponse(told, status_code=_status(error))


def _status(error: Exception) -> int:
    match error:
        case _RefusedError():
            return error.status_code
        case DeniedError() | NoServerError():
            return 403
        case QueueFilterError():
            return 400
        case NamelessPageError() | UnknownNameError() | AmbiguousColumnError() | NoPathError():
            return 404
        case _:
            return 502
