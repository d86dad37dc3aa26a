"""Failures and wrong answers that tests order."""

import re
import threading
from dataclasses import dataclass

from gms.refusals import Refused


class Instead(Exception):  # noqa: N818 - an answer, though a wrong one
    """A successful response that has nothing to do with the request, which is not carried out."""

    def __init__(self, body: str) -> None:
        """Store the response."""
        super().__init__(body)
        self.body = body


@dataclass
class _Fault:
    pattern: re.Pattern[str]
    times: int
    error: Exception | None
    """None if the answer is halved."""


class Faults:
    """The requests that fail next."""

    def __init__(self) -> None:
        """Start without failures."""
        self._lock = threading.Lock()
        self._due: list[_Fault] = []

    def fail(self, pattern: str, *, status: int, times: int, message: str) -> None:
        """Make the next requests fail whose method and path match."""
        self._order(pattern, times, Refused(status, message))

    def reply(self, pattern: str, body: str, *, times: int) -> None:
        """Answer the next requests whose method and path match with a body, and do nothing else."""
        self._order(pattern, times, Instead(body))

    def halve(self, pattern: str, *, times: int) -> None:
        """Leave half of the entities out of the next answers to requests that match."""
        self._order(pattern, times, None)

    def heal(self) -> None:
        """Answer all requests rightly from now on."""
        with self._lock:
            self._due.clear()

    def _order(self, pattern: str, times: int, error: Exception | None) -> None:
        with self._lock:
            self._due.append(_Fault(re.compile(pattern), times, error))

    def strike(self, request: str) -> bool:
        """Fail a request if it matches.

        Returns:
            Whether the answer is halved.

        Raises:
            Refused: It matches.
            Instead: It matches.
        """
        with self._lock:
            for fault in self._due:
                if fault.times and fault.pattern.search(request):
                    fault.times -= 1
                    if fault.error:
                        raise fault.error
                    return True
        return False
