"""Failures that tests order."""

import re
import threading
from dataclasses import dataclass

from gms.refusals import Refused


@dataclass
class _Fault:
    pattern: re.Pattern[str]
    status: int
    times: int
    message: str


class Faults:
    """The requests that fail next."""

    def __init__(self) -> None:
        """Start without failures."""
        self._lock = threading.Lock()
        self._due: list[_Fault] = []

    def fail(self, pattern: str, *, status: int, times: int, message: str) -> None:
        """Make the next requests fail whose method and path match."""
        with self._lock:
            self._due.append(_Fault(re.compile(pattern), status, times, message))

    def strike(self, request: str) -> None:
        """Fail a request if it matches.

        Raises:
            Refused: It matches.
        """
        with self._lock:
            for fault in self._due:
                if fault.times and fault.pattern.search(request):
                    fault.times -= 1
                    raise Refused(fault.status, fault.message)
