"""Recognise the people who have signed in to DataHub's own pages.

DataHub's frontend keeps a person's token in a signed cookie, and passes requests with this cookie
on to DataHub's server in the name of that person. So the service only returns the cookie to the
frontend, in requests of its own. It cannot forge a cookie, and neither reads, logs nor stores one.
"""

import hashlib
from collections.abc import Callable, Iterator

from datahub.ingestion.graph.client import DataHubGraph
from starlette.datastructures import Headers

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.graphql.datasets import signed_in_user
from datahub_hyperjoin.graphql.errors import DeniedError
from datahub_hyperjoin.service.sessions import PersonalSession, Sessions

_NAMES = {"PLAY_SESSION", "actor"}
"""Names of the two cookies that DataHub's frontend needs: the signed session, and its user."""


def datahub_cookies(headers: Headers) -> str:
    """Return the cookies with which DataHub's frontend recognises a person.

    Returns:
        A header `Cookie` as the browser wrote it, without all other cookies; empty if nobody has
        signed in to DataHub.

    >>> datahub_cookies(Headers({"cookie": "PLAY_SESSION=a.b.c; theme=dark; actor=ada"}))
    'PLAY_SESSION=a.b.c; actor=ada'
    """
    cookies = [*_cookies(headers)]
    names = {cookie.partition("=")[0] for cookie in cookies}
    return "; ".join(cookies) if names == _NAMES else ""


def _cookies(headers: Headers) -> Iterator[str]:
    for header in headers.getlist("cookie"):
        for cookie in header.split(";"):
            if cookie.strip().partition("=")[0] in _NAMES:
                yield cookie.strip()


class SharedSessions:
    """The sessions of the people who have signed in to DataHub."""

    def __init__(self, connect: Callable[[str], DataHubGraph], sessions: Sessions) -> None:
        self._connect, self._sessions = connect, sessions

    def find(self, headers: Headers) -> PersonalSession | None:
        """Recognise a person by a request's DataHub cookies, and return the person's session.

        DataHub is asked each time, so a session ends here when it ends there.

        Returns:
            None if nobody has signed in, or if DataHub no longer accepts the cookies.
        """
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
