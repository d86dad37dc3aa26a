"""Estimate a run's memory and processor time from the numbers of columns, hashes and pairs.

`make bench-costs` measures runs and prints these estimates beside them; `docs/costs.md` has the
result. The weights are fitted to that command's lakes, and to larger lakes of `make bench-lake`.
Those of time hold for one machine; `speed` compares it with that of the run.
"""

from dataclasses import dataclass

from datahub_hyperjoin.budget.counts import LakeCounts
from datahub_hyperjoin.model.ranking.nearest import COMPARED_CELLS, most_exact

_MEBIBYTE = 1 << 20

_LIBRARIES = 80 * _MEBIBYTE
"""Bytes of the libraries and networks that every ranking loads."""
_OF_HASH = 30
"""Bytes of a hash while columns are compared; `benchmarks.bench_overlap --long` measures 28."""
_OF_PAIR = 45
"""Bytes of a pair of columns that share values."""
_OF_KEY = 32_000
"""Bytes of a key column with all its candidates and their features."""
_MOST_WIDE_KEYS = 24_000
"""Number of keys above which a key needs half of `_OF_KEY`: so many keys are usual in a lake of
32,768 columns, and the vectors of larger lakes are half as wide."""
_OF_WRITTEN_KEY = 29_000
"""Bytes of a key column with its suggestions and their evidence, while joins are written."""
_NETWORK = 250 * _MEBIBYTE
"""Bytes that HIN needs in training, even without columns."""
_OF_COLUMN_IN_NETWORK = 80_000
"""Bytes that HIN needs in training for each column, as `make bench-hin` measures."""

_SECONDS_OF_COMPARISON = 3.5e-7
"""Processor seconds to compare a pair of distinct sketches that share a value."""
_SECONDS_OF_PAIR = 1e-6
"""Processor seconds to rank a pair that is kept, and to decide which column refers to the other."""
_SECONDS_OF_KEY = 1.2e-3
"""Processor seconds to rank the candidates of a key column."""
_SECONDS_OF_SEARCH = 5e-9
"""Processor seconds to compare the cells of a key column with those of one column."""
_SECONDS_OF_COLUMN = 2.5e-4
"""Processor seconds to verify the pairs of a column."""
_SECONDS_OF_MEBIBYTE = 0.03
"""Processor seconds to read a mebibyte again, for verification."""


@dataclass(frozen=True, slots=True)
class EstimatedCosts:
    """The memory and the processor time that a run needs after profiling."""

    memory: int
    """Bytes of memory in this process, beyond those in use after profiling."""

    seconds: float
    """Processor seconds of all processes on the machine of the weights, not counting the network's
    training, SQL and the writing of joins."""


def estimate_costs(counts: LakeCounts) -> EstimatedCosts:
    """Estimate the memory and the processor time that a run needs after profiling.

    Memory and time never fall when a count grows.

    Examples:
        >>> costs = estimate_costs(LakeCounts(columns=10_000, keys=7_000, kept=13_000_000))
        >>> costs.memory >> 20
        851
    """
    # Hashes are freed before the pairs are ranked.
    comparing = _OF_HASH * counts.hashes
    # An estimate that falls when a lake grows would be hard to explain.
    wide_keys = max(min(counts.keys, _MOST_WIDE_KEYS), counts.keys / 2)
    ranking = _LIBRARIES + _OF_PAIR * counts.kept + round(_OF_KEY * wide_keys)
    if counts.network:
        ranking += _NETWORK + _OF_COLUMN_IN_NETWORK * counts.columns
    # In large lakes, the suggestions of all keys take more than what ranked them.
    writing = _LIBRARIES + _OF_WRITTEN_KEY * counts.keys
    seconds = (
        _SECONDS_OF_COMPARISON * counts.compared
        + _SECONDS_OF_PAIR * counts.kept
        + _SECONDS_OF_KEY * counts.keys
        # The approximate search of a larger lake takes about as long as that of so many columns.
        + _SECONDS_OF_SEARCH * counts.keys * min(counts.columns, most_exact(COMPARED_CELLS))
        + _SECONDS_OF_COLUMN * counts.columns
        + _SECONDS_OF_MEBIBYTE * counts.mebibytes
    )
    return EstimatedCosts(memory=max(comparing, ranking, writing), seconds=seconds)


def is_bound_by_hashes(counts: LakeCounts) -> bool:
    """Return whether the hashes of values need at least as much memory as the ranking."""
    return estimate_costs(counts).memory == _OF_HASH * counts.hashes
