"""Define the result of one kind of attack."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """The number of tries of one attack, and a description of each failure."""

    tries: int
    """Number of tries of the attack."""

    failures: tuple[str, ...] = ()
    """A description of each try that broke a promise, with the seed or input that repeats the try.
    """

    worst: str = ""
    """The worst case among the tries that kept all promises, such as the longest time."""


Attack = Callable[[int, bool], Outcome]
"""A function that runs one attack, given a random seed and whether to make extra tries."""
