"""What Python's search for garbage need not look at.

It goes through all objects there are, and finds next to nothing: arrays hold no cycles.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def without_collecting() -> Iterator[None]:
    """Makes many objects that all stay: looking for garbage among them takes as long again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@cache
def spare_imports() -> None:
    """Leaves out what a worker has imported, once; Spark has it searched after every task."""
    gc.freeze()
