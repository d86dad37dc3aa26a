"""Keep the sessions of the people who have signed in.

Sessions are in memory only, so nobody's token is ever written to disk.
"""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from datahub.ingestion.graph.client import DataHubGraph

LIFETIME = 8 * 60 * 60
"""Seconds after which a person has to sign in again."""

_MOST = 1_000
_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalSession:
    """The session of one person."""

    person: str
    graph: DataHubGraph

    csrf: str
    """A secret that only the person's own page knows. Each request that changes something must
    contain this secret."""

    expires: float
    """Time at which the session ends, in seconds of the clock of `Sessions`."""

    shown: dict[str, str] = field(default_factory=dict)
    """The decisions that the person was last shown, by the URN of the join; empty for none."""


class Sessions:
    """The current sessions of all people."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = _MOST) -> None:
        self._clock, self._most = clock, most
        self._sessions: dict[str, PersonalSession] = {}
        self._lock = threading.Lock()

    def open(self, person: str, graph: DataHubGraph) -> str:
        """Start a session, and return its secret ID."""
        name = secrets.token_urlsafe(_BYTES)
        self.find_or_open(name, person, graph)
        return name

    def find_or_open(self, name: str, person: str, graph: DataHubGraph) -> PersonalSession:
        """Return the session with the given secret ID, or start it if it does not exist."""
        # If two requests start it at the same time, both get the session of the first. The client
        # of the second is then closed.
        with self._lock:
            self._drop_expired()
            if name in self._sessions:
                graph.close()
                return self._sessions[name]
            while len(self._sessions) >= self._most:
                self._drop(next(iter(self._sessions)))
            session = self._sessions[name] = PersonalSession(
                person=person,
                graph=graph,
                csrf=secrets.token_urlsafe(_BYTES),
                expires=self._clock() + LIFETIME,
            )
        return session

    def find(self, name: str) -> PersonalSession | None:
        """Return the session with the given secret ID; None if no such session is open."""
        with self._lock:
            self._drop_expired()
            return self._sessions.get(name)

    def close(self, name: str) -> None:
        """End a session, if it exists."""
        with self._lock:
            self._drop(name)

    def close_all(self) -> None:
        """End all sessions."""
        with self._lock:
            for name in [*self._sessions]:
                self._drop(name)

    def _drop_expired(self) -> None:
        # All sessions last equally long, so the oldest ends first.
        for name, session in [*self._sessions.items()]:
            if session.expires > self._clock():
                break
            self._drop(name)

    def _drop(self, name: str) -> None:
        session = self._sessions.pop(name, None)
        if session:
            session.graph.close()
