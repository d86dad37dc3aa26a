"""Avoid needless runs of Python's garbage collector.

The collector visits every object to find reference cycles; profiles and imported modules have none.
"""

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection in a `with` block.

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
    """Exclude imported modules and all other existing objects from garbage collection.

    Spark collects garbage after every task, and most objects of a worker are from imports. Python
    also collects garbage when it ends, which takes a third of a second for these. Only the first
    call has an effect.
    """
    gc.freeze()
    # DuckDB counts its objects when Python ends, and would report those as leaked.
    if "duckdb" in sys.modules:
        atexit.register(gc.unfreeze)
