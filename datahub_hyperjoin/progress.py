"""How a run tells whoever watches it how far it is."""

from contextlib import AbstractContextManager
from typing import Protocol

from typing_extensions import LiteralString


class Progress(Protocol):
    """What a run tells whoever watches it."""

    def stage(self, name: str) -> AbstractContextManager[object]:
        """Times what happens inside.

        Args:
            name: The stage, as a person would call it.
        """
        ...

    def count(self, name: str, by: float) -> None:
        """Adds to a counter.

        Args:
            name: The counter.
            by: How many more.
        """
        ...

    def say(self, line: str) -> None:
        """Shows one line of progress.

        Args:
            line: What happened.
        """
        ...

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Names a fault that the run goes on without.

        Args:
            title: The kind of fault.
            message: What it means.
            context: Which table, and why.
        """
        ...
