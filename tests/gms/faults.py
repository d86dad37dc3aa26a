"""Failures on demand."""

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
    """What goes wrong next."""

    def __init__(self) -> None:
        """Nothing does."""
        self._lock = threading.Lock()
        self._due: list[_Fault] = []

    def fail(self, pattern: str, *, status: int, times: int, message: str) -> None:
        """Let the next requests fail whose method and path match."""
        with self._lock:
            self._due.append(_Fault(re.compile(pattern), status, times, message))

    def strike(self, request: str) -> None:
        """Fail a request, if it is due.

        Raises:
            Refused: It is.
        """
        with self._lock:
            for fault in self._due:
                if fault.times and fault.pattern.search(request):
                    fault.times -= 1
                    raise Refused(fault.status, fault.message)
