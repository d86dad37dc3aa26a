"""The result of one kind of attack."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """How often the package survived one kind of attack."""

    attack: str
    """The attack, in a few words."""

    tries: int
    """How often it was tried."""

    failures: tuple[str, ...] = ()
    """A description of each try that broke a promise, with what repeats it."""

    worst: str = ""
    """The worst case among the tries that kept all promises, such as the longest time."""
