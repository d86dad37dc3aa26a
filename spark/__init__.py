"""List tables, profile their columns with Spark, and verify joins."""

import os
from contextlib import suppress

from datahub_hyperjoin.errors import AddressSpaceError

_LEAST = 2 << 30
"""Bytes that the libraries of a run reserve; they use a fraction of them."""
_FOR_CORE = 48 << 20
"""Bytes that the libraries reserve for the threads of each core."""
_MOST_CORES = 64
"""Number of cores for which OpenBLAS starts threads."""


def require_address_space() -> None:
    """Refuse to go on if this process may reserve less memory than its libraries need."""
    # Where OpenBLAS cannot reserve its buffers, it tries again without end, and no signal handler
    # runs. So this comes before the import of NumPy and SciPy.
    with suppress(ImportError):  # missing on Windows, which has no such limit
        import resource  # noqa: PLC0415

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        least = _LEAST + _FOR_CORE * min(os.cpu_count() or 1, _MOST_CORES)
        if resource.RLIM_INFINITY != limit < least:
            raise AddressSpaceError.below(least >> 10, limit=limit >> 10)


require_address_space()
