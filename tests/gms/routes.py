"""Route requests by method and path."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gms.refusals import Refused


@dataclass(frozen=True)
class Call:
    """A request, split into path parameters, query parameters and body."""

    path: tuple[str, ...]
    query: dict[str, list[str]]
    body: Any

    def one(self, name: str, default: str = "") -> str:
        """Return a single query parameter."""
        return self.query.get(name, [default])[0]

    def flag(self, name: str) -> bool:
        """Return a Boolean query parameter."""
        return self.one(name).lower() == "true"


Answer = Callable[[Call], Any]


class Routes:
    """The routes of the server, with their handlers."""

    def __init__(self) -> None:
        self._routes: list[tuple[str, re.Pattern[str], Answer]] = []

    def add(self, method: str, pattern: str, answer: Answer) -> None:
        """Add a handler for requests whose method and whole path match."""
        self._routes.append((method, re.compile(pattern), answer))

    def find(self, method: str, path: str) -> tuple[Answer, tuple[str, ...]]:
        """Return the handler of a request, and the parameters in its path.

        Raises:
            Refused: No route matches.
        """
        for own, pattern, answer in self._routes:
            match = pattern.fullmatch(path)
            if match and own == method:
                return answer, match.groups()
        message = f"Not found: {method} {path}"
        raise Refused(404, message)
