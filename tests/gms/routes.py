"""From method and path to what answers."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gms.refusals import Refused


@dataclass(frozen=True)
class Call:
    """A request: parameters of the path, of the query, and what was sent."""

    path: tuple[str, ...]
    query: dict[str, list[str]]
    body: Any

    def one(self, name: str, default: str = "") -> str:
        """A parameter of the query that is given once."""
        return self.query.get(name, [default])[0]

    def flag(self, name: str) -> bool:
        """A parameter that is true or false."""
        return self.one(name).lower() == "true"


Answer = Callable[[Call], Any]


class Routes:
    """All that the server answers to."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._routes: list[tuple[str, re.Pattern[str], Answer]] = []

    def add(self, method: str, pattern: str, answer: Answer) -> None:
        """Answer requests of a method whose whole path matches."""
        self._routes.append((method, re.compile(pattern), answer))

    def find(self, method: str, path: str) -> tuple[Answer, tuple[str, ...]]:
        """What answers, and the groups of the path.

        Raises:
            Refused: Nothing does.
        """
        for own, pattern, answer in self._routes:
            match = pattern.fullmatch(path)
            if match and own == method:
                return answer, match.groups()
        message = f"Not found: {method} {path}"
        raise Refused(404, message)
