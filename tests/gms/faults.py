"""Define the failures and wrong answers that tests can request."""

import re
import threading
from dataclasses import dataclass

from gms.refusals import Refused


class Instead(Exception):  # noqa: N818 - an answer, though a wrong one
    """Raised to answer a request with a fixed body instead of carrying it out."""

    def __init__(self, body: str) -> None:
        super().__init__(body)
        self.body = body


@dataclass
class _Fault:
    pattern: re.Pattern[str]
    times: int
    error: Exception | None
    """The error to raise; None to halve the answer instead."""


class Faults:
    """The failures and wrong answers that the next requests get."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due: list[_Fault] = []

    def fail(self, pattern: str, *, status: int, times: int, message: str) -> None:
        """Make the next requests with a matching method and path fail."""
        self._order(pattern, times, Refused(status, message))

    def reply(self, pattern: str, body: str, *, times: int) -> None:
        """Answer the next matching requests with a fixed body, without carrying them out."""
        self._order(pattern, times, Instead(body))

    def halve(self, pattern: str, *, times: int) -> None:
        """Omit half of the entities from the answers to the next matching requests."""
        self._order(pattern, times, None)

    def heal(self) -> None:
        """Remove all failures and wrong answers that have not occurred yet."""
        with self._lock:
            self._due.clear()

    def _order(self, pattern: str, times: int, error: Exception | None) -> None:
        with self._lock:
            self._due.append(_Fault(re.compile(pattern), times, error))

    def strike(self, request: str) -> bool:
        """Apply the first fault that matches a request, if any.

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
