"""How an evaluation tells whoever waits for it how far it is."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from typing_extensions import LiteralString

_MINUTE = 60


class Narration:
    """A run's progress, with the part of the evaluation it belongs to before every line.

    Args:
        write: Shows a line.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._place = ""
        self._begun, self._total, self._started = 0, 0, perf_counter()
        self.counts: defaultdict[str, float] = defaultdict(float)

    def expect(self, runs: int) -> None:
        """Says how many runs there will be, from now on.

        Args:
            runs: Methods times seeds times lakes.
        """
        self._begun, self._total, self._started = 0, runs, perf_counter()

    def begin(self, place: str) -> None:
        """Begins a run.

        Args:
            place: The lake, the method and the seed, as a person would call them.
        """
        elapsed = perf_counter() - self._started
        left = elapsed / self._begun * (self._total - self._begun) if self._begun else 0.0
        self._begun += 1
        self._place = f"[{self._begun}/{self._total}] {place}: "
        self.say(f"{_duration(left)} left for all, as runs went so far" if left else "begins")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Names what happens inside.

        Args:
            name: The stage, as a person would call it.
        """
        self.say(name)
        yield

    def count(self, name: str, by: float) -> None:
        """Adds to a counter.

        Args:
            name: The counter.
            by: How many more.
        """
        self.counts[name] += by

    def say(self, line: str) -> None:
        """Shows one line.

        Args:
            line: What happened.
        """
        self._write(f"{self._place}{line}")

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Names a fault that the evaluation goes on without.

        Args:
            title: The kind of fault.
            message: What it means.
            context: Which table or method, and why.
        """
        self.say(f"{title} ({context}). {message}")


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < _MINUTE else f"{round(whole / _MINUTE)} min"
