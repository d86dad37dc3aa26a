"""The parts of the HTML page that only a web service adds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPage:
    """The parts of the page that a web service adds for the person who signed in."""

    nonce: str
    """The secret that marks the page's own scripts and styles, for the Content-Security-Policy."""

    csrf: str
    """The secret that the page repeats with each change."""

    person: str
    """Name of the person who signed in."""

    urns: tuple[str, ...]
    """URN of each join, in the order of the page's joins."""

    verdicts: tuple[str, ...]
    """Decision about each join, `accepted` or `rejected`; empty if nobody has decided."""

    focus: int = -1
    """Index of the table that the page is about; -1 if it is about all."""

    signs_out: bool = True
    """Whether the page has a button to sign out; without one, the person signs out of DataHub."""
