"""Name views that take long to read, while they are read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from datahub_hyperjoin.locations import VIEW_SECONDS

_SOON = 1.0
"""Seconds after which the view that is being read is named."""


@contextmanager
def naming_slow_view(
    view: str, say: Callable[[str], None], *, end: Callable[[], None] | None = None
) -> Iterator[None]:
    """Name a view that takes long to read, while it is read in a `with` block.

    Args:
        end: Ends the reading at the time limit of a view, for databases that have none.
    """
    timers = [Timer(_SOON, say, [f"Reading the view {view}"])]
    timers += [Timer(VIEW_SECONDS, end)] if end else []
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
