"""The interface through which a run reports progress, counts and warnings."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from typing_extensions import LiteralString

Warn = Callable[[LiteralString, LiteralString, str], None]
"""Reports a problem that does not stop the run: its kind, its effect and the fix, and where it
occurred."""


def warn_nobody(title: LiteralString, message: LiteralString, context: str) -> None:
    """Discard a warning, for callers that report the problem in another way."""


Count = Callable[[str, float], None]
"""Adds to a counter of the run."""


def count_nothing(name: str, by: float) -> None:
    """Discard a count, for callers that keep no counters."""


class Progress(Protocol):
    """The interface of an object that receives progress, counts and warnings."""

    def stage(self, name: str) -> AbstractContextManager[object]:
        """Return a context manager for a named stage of the run."""
        ...

    def count(self, name: str, by: float) -> None:
        """Add an amount to a counter of the run."""
        ...

    def say(self, line: str) -> None:
        """Show one line of progress."""
        ...

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Report a problem that does not stop the run."""
        ...
