"""Measure how fast this machine computes, so that an estimate of time fits it."""

from collections.abc import Callable
from time import process_time

import numpy as np

REFERENCE_SECONDS = 0.0083
"""Processor seconds of `typical_work` on the machine to which the weights of the estimate are
fitted."""
_TURNS = 5
"""How often the work is repeated; the fastest turn is the one that others disturb least."""


def typical_work() -> None:
    """Do what most of a run's time goes to: loops of Python, sorting, and products of vectors."""
    counts: dict[int, int] = {}
    for number in range(50_000):
        counts[number % 997] = counts.get(number % 997, 0) + number
    numbers = np.arange(1 << 16) * 40_503 % 40_009
    np.unique(numbers, return_inverse=True)
    vectors = numbers.reshape(-1, 64).astype(np.float32)
    np.matmul(vectors, vectors.T)


def relative_slowness(work: Callable[[], object] = typical_work) -> float:
    """Measure the processor time of some work, as a multiple of `REFERENCE_SECONDS`.

    By default, it takes less than a tenth of a second.

    Returns:
        Less than 1 on a machine that is faster than that of the estimate's weights.
    """
    return min(_seconds(work) for _ in range(_TURNS)) / REFERENCE_SECONDS


def _seconds(work: Callable[[], object]) -> float:
    started = process_time()
    work()
    return process_time() - started
