"""Limit the memory of workers, and avoid needless runs of Python's garbage collector."""

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_LEAST = 1 << 32  # since seldom do all workers read large tables at once
_SHARE = 0.8
"""Share of the machine's memory that all workers may take together."""
_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


@contextmanager
def limited_memory() -> Iterator[None]:
    """Limit this process's memory within a `with` block.

    Whatever needs more raises a `MemoryError`, and that is the fault of one table. Without the
    limit, the system would end this process, or another. Only Linux enforces the limit; where
    there is none, nothing happens.
    """
    try:
        import resource  # noqa: PLC0415 (missing on Windows)

        before = resource.getrlimit(resource.RLIMIT_DATA)
        bounds = [bound for bound in before if bound != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min([memory_limit(), *bounds]), before[1]))
    # Some systems cannot limit memory. There, a table is read without a limit.
    except (ImportError, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        # The worker also runs the jobs of others, if the session is theirs.
        resource.setrlimit(resource.RLIMIT_DATA, before)


def memory_limit() -> int:
    """Return the maximum memory of one worker, in bytes."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no container, or one without a limit
        total = min(total, int(_CONTAINER_LIMIT.read_text()))
    return max(_LEAST, int(total * _SHARE) // (os.cpu_count() or 1))


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
