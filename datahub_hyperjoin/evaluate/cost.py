"""What a method costs: seconds, and the most memory this process held meanwhile."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

_RESET, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
_FORGET_PEAK = "5"
_KILO, _MEGA = 2**10, 2**20


@dataclass
class Cost:
    """Filled when what it measures has ended."""

    seconds: float = 0.0
    """Wall-clock time."""

    megabytes: float = 0.0
    """Greatest resident memory of this process, what it held before included (MiB)."""


@contextmanager
def measured() -> Iterator[Cost]:
    """Measures what happens inside a `with` block.

    Where the system cannot forget an earlier peak (anywhere but on Linux), memory is the greatest
    since the process began.

    Yields:
        The cost, complete after the block.
    """
    cost = Cost()
    _forget_peak()
    started = perf_counter()
    try:
        yield cost
    finally:
        cost.seconds = perf_counter() - started
        cost.megabytes = peak_memory() / _MEGA


def _forget_peak() -> None:
    try:
        _RESET.write_text(_FORGET_PEAK, "ascii")
    except OSError:
        return


def peak_memory() -> float:
    """The greatest resident memory of this process so far, or since it was last forgotten.

    Returns:
        Bytes.
    """
    try:
        lines = _STATUS.read_text("ascii").splitlines()
        [peak] = [line for line in lines if line.startswith("VmHWM:")]
        return float(peak.split()[1]) * _KILO
    except OSError:
        greatest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return float(greatest) * (1 if sys.platform == "darwin" else _KILO)
