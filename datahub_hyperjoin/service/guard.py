"""Prevent other web sites from using the service on behalf of a signed-in user.

A browser sends a person's cookie with every request, whichever site asked for it. So the cookie is
for pages of the same site alone, each change has to come from the service's own page and to repeat
a secret of that page, and only DataHub may show the pages in a frame.
"""

import hmac
import json
import secrets
from collections.abc import Collection, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from datahub_hyperjoin.service.sessions import PersonalSession

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


def content_security_policy(nonce: str, frames: str) -> str:
    """Return the Content-Security-Policy header of a response.

    Args:
        frames: The origin that may show the answer in a frame, or `'none'`.

    >>> content_security_policy("n", "http://localhost:9002").split("; ")[-1]
    'frame-ancestors http://localhost:9002'
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'nonce-{nonce}'",
            f"style-src 'nonce-{nonce}'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            f"frame-ancestors {frames}",
        ]
    )


class SecureHeaders:
    """The middleware that adds security headers to every HTTP response.

    Args:
        frames: The origin that may show the pages in a frame; empty for none.
    """

    def __init__(self, app: ASGIApp, *, frames: str) -> None:
        self._app, self._frames = app, frames or "'none'"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and add security headers to the response."""
        nonce = secrets.token_urlsafe(16)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers["Content-Security-Policy"] = content_security_policy(nonce, self._frames)
            await send(message)

        if scope["type"] == "http":
            scope.setdefault("state", {})["nonce"] = nonce
            await self._app(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send)


def comes_from_own_page(headers: Headers, origins: Collection[str]) -> bool:
    """Return whether one of the service's own pages sent a request."""
    return headers.get("origin") in origins


def repeats_secret(headers: Headers, session: PersonalSession) -> bool:
    """Return whether a request contains the secret of its session."""
    return hmac.compare_digest(headers.get(CSRF_HEADER, "").encode(), session.csrf.encode())


async def read_texts(request: Request) -> Mapping[str, str]:
    """Read a JSON object with text values from the body of a request.

    Returns:
        Texts by their names; empty for a body that is too long or has another form.
    """
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
