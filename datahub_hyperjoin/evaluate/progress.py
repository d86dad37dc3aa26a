"""Report the progress of an evaluation, line by line."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from typing_extensions import LiteralString

_MINUTE = 60


class EvaluationProgress:
    """Reports the progress of an evaluation, line by line.

    Each line starts with the name of the current run.

    Args:
        write: Shows a line to the user.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._prefix = ""
        self._begun, self._total, self._started = 0, 0, perf_counter()
        self.counts: defaultdict[str, float] = defaultdict(float)

    def expect(self, runs: int) -> None:
        """Set the expected number of runs, and start the timer.

        Args:
            runs: The product of the numbers of methods, seeds and lakes.
        """
        self._begun, self._total, self._started = 0, runs, perf_counter()

    def begin(self, run: str) -> None:
        """Report that a run starts, and estimate when all runs will be finished.

        Args:
            run: The lake, the method and the seed, as the user reads them.
        """
        elapsed = perf_counter() - self._started
        left = elapsed / self._begun * (self._total - self._begun) if self._begun else 0.0
        self._begun += 1
        self._prefix = f"[{self._begun}/{self._total}] {run}: "
        self.say(f"starting; all runs finish in about {_duration(left)}" if left else "starting")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Report the start of a stage; the `with` block contains the work.

        Args:
            name: The stage, as the user reads it.
        """
        self.say(name)
        yield

    def count(self, name: str, by: float) -> None:
        """Increase a named counter.

        Args:
            name: The counter.
            by: The increment.
        """
        self.counts[name] += by

    def say(self, line: str) -> None:
        """Show one line to the user."""
        self._write(f"{self._prefix}{line}")

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Show an error that does not stop the evaluation.

        Args:
            title: The kind of error.
            message: Its consequence.
            context: The table or method concerned, and the reason.
        """
        self.say(f"{title} ({context}). {message}")


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < _MINUTE else f"{round(whole / _MINUTE)} min"
