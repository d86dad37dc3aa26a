"""Measure the run time of a method and the peak memory of this process."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

_CLEAR_REFS, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
_RESET_PEAK = "5"
_KILO, _MEGA = 2**10, 2**20


@dataclass
class Cost:
    """The run time and peak memory of a `with` block, filled in when the block ends."""

    seconds: float = 0.0
    """Wall-clock time."""

    megabytes: float = 0.0
    """Peak resident memory of this process in MiB, including memory allocated before the block."""


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure the run time and the peak memory of a `with` block.

    Only Linux can reset the peak of a process. On other systems the peak is the one since the
    process started.
    """
    cost = Cost()
    _reset_peak()
    started = perf_counter()
    try:
        yield cost
    finally:
        cost.seconds = perf_counter() - started
        cost.megabytes = peak_memory() / _MEGA


def _reset_peak() -> None:
    try:
        _CLEAR_REFS.write_text(_RESET_PEAK, "ascii")
    except OSError:
        return


def peak_memory() -> float:
    """Return this process's peak memory since the last reset, in bytes."""
    try:
        lines = _STATUS.read_text("ascii").splitlines()
        [peak] = [line for line in lines if line.startswith("VmHWM:")]
        return float(peak.split()[1]) * _KILO
    except OSError:
        peak_units = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # macOS counts bytes, all other systems kibibytes.
        return float(peak_units) * (1 if sys.platform == "darwin" else _KILO)
