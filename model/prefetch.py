"""Makes the next things while the last one is used."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 2
"""Things made before they are asked for; they stand in memory."""


def prefetch(make: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Calls a function on each item, in order, in one thread of its own.

    As only that thread calls it, whatever it draws from a generator comes in the same order as
    without a thread, and when the last thing was given out nothing more is drawn.

    Args:
        make: The function.
        items: What it is called on.

    Yields:
        What it returns, in the order of `items`; what it raises is raised here.
    """
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(max_workers=1) as thread:
        try:
            for item in items:
                waiting.append(thread.submit(make, item))
                if len(waiting) > _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
