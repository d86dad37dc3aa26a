"""Avoids useless work of Python's garbage collector.

The collector visits every object to find reference cycles; profiles and imported modules have none.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection while many objects are created that all stay.

    Otherwise the collector visits the growing number of objects again and again, which takes as
    long as creating them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@cache
def exempt_imports() -> None:
    """Exempt the modules that a worker has imported from collection, once per process.

    Spark collects garbage after every task, and most objects of a worker are from imports.
    """
    gc.freeze()
