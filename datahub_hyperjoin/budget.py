"""Estimate what a run needs after profiling, and stop one that needs too much memory.

`make bench-costs` measures runs and prints these estimates beside them; `docs/costs.md` has the
result. The weights are fitted to that command's lakes, and to larger lakes of `make bench-lake`.
Those of time hold for one machine, with which `relative_slowness` compares that of the run.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
import psutil

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.errors import NotEnoughMemoryError
from datahub_hyperjoin.model.config import ModelConfig, Scoring
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.nearest import COMPARED_CELLS, most_exact
from datahub_hyperjoin.model.signals.partners import ExpectedPairs, expect_pairs
from datahub_hyperjoin.model.signals.priors import CatalogPriors, find_keys
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.tables import TableProfile
from datahub_hyperjoin.wording import name_some

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

_HASH_BYTES = 8
_QUICK_SECONDS = 0.02
"""A time that is rounded to zero on any machine, unless it is 25 times as slow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LakeCounts:
    """Counts and sizes of a lake, from which the memory and the time of a run are estimated."""

    columns: int
    """Number of columns with values that can be compared."""
    keys: int
    hashes: int = 0
    """Number of hashes in the sketches of all columns."""
    compared: int = 0
    """Expected pairs of distinct sketches that share a value, in both orders."""
    kept: int = 0
    """Expected pairs of columns that share a value and are kept, in both orders."""
    mebibytes: float = 0.0
    """Size of the tables as stored, as far as it is known."""
    network: bool = False
    """Whether the run trains and uses the network HIN."""


def count_lake(
    profiles: Sequence[TableProfile], model: ModelConfig, facts: CatalogFacts
) -> LakeCounts:
    """Count the columns, key columns, hashes and expected pairs of a lake."""
    lake = Lake.from_tables(profiles)
    reads_values = model.features.values
    pairs = expect_pairs(lake) if reads_values else ExpectedPairs(0, 0)
    sketches = (len(column.sketch) for column in lake.profiles if reads_values)
    return LakeCounts(
        columns=len(lake),
        keys=len(find_keys(lake, model.keys, CatalogPriors.from_facts(lake, facts))),
        hashes=sum(sketches) // _HASH_BYTES,
        compared=pairs.compared,
        kept=pairs.kept,
        mebibytes=sum(each.table.size for each in profiles if not each.fault) / _MEBIBYTE,
        network=model.ranking.scoring is not Scoring.SIGNALS,
    )


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


# A container often has less memory than its machine, and the system ends a process that exceeds the
# limit of its control group without a word.

_GROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_LIMITS = {"memory.max": "memory.current", "memory.limit_in_bytes": "memory.usage_in_bytes"}
"""For both versions of Linux control groups: the file with the limit, and the one with the use."""
_CACHES = ("inactive_file", "total_inactive_file")
"""Counters of cached files, whose memory counts as used although the system frees it on demand."""


def memory_in_use() -> int:
    """Return the memory that this process uses now, in bytes."""
    return int(psutil.Process().memory_info().rss)


def usable_memory(groups: Path = _GROUPS, membership: Path = _MEMBERSHIP) -> int:
    """Return what this process uses, and what the machine or its control groups have left."""
    left = [int(psutil.virtual_memory().available)]
    left += [free for group in _own_groups(groups, membership) for free in _free_in(group)]
    return memory_in_use() + min(left)


def _own_groups(groups: Path, membership: Path) -> Iterator[Path]:
    """Yield the control groups of this process, and all groups that contain them."""
    try:
        lines = membership.read_text("utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root = groups / controllers
        own = root / path.lstrip("/")
        yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(root))


def _free_in(group: Path) -> Iterator[int]:
    """Yield how many more bytes a control group may use; nothing for a group without a limit."""
    for limit, usage in _LIMITS.items():
        try:
            most, used = ((group / name).read_text("ascii").strip() for name in (limit, usage))
        except OSError:
            continue
        if most != "max":
            yield max(int(most) - int(used) + _cached_in(group), 0)


def _cached_in(group: Path) -> int:
    try:
        lines = (group / "memory.stat").read_text("ascii").splitlines()
    except OSError:
        return 0
    counts = dict(line.split() for line in lines)
    return max(int(counts.get(name, 0)) for name in _CACHES)


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
    """Measure the processor time of some work, as a multiple of `REFERENCE_SECONDS`."""
    return min(_seconds(work) for _ in range(_TURNS)) / REFERENCE_SECONDS


def _seconds(work: Callable[[], object]) -> float:
    started = process_time()
    work()
    return process_time() - started


def check_budget(
    profiles: Sequence[TableProfile], model: ModelConfig, facts: CatalogFacts, progress: Progress
) -> None:
    """Report the memory and the time that a run needs, and stop one that needs too much memory.

    It takes about a second for 10,000 columns.
    """
    counts = count_lake(profiles, model, facts)
    costs = estimate_costs(counts)
    needed = -(-(memory_in_use() + costs.memory) // _MEBIBYTE)
    allowed = model.max_memory or usable_memory() // _MEBIBYTE
    progress.count("expected_pairs", counts.kept)
    progress.count("estimated_memory_mib", needed)
    progress.count("usable_memory_mib", allowed)
    # To measure the machine takes a twentieth of a second, much of the run of a tiny lake.
    is_quick = costs.seconds < _QUICK_SECONDS
    seconds = 0 if is_quick else round(costs.seconds * relative_slowness())
    progress.count("estimated_cpu_seconds", seconds)
    time = f"{seconds:,}" if seconds else "under 1"
    progress.say(
        f"Estimate for {counts.columns:,} columns and {counts.kept:,} pairs that share values: "
        f"{needed:,} MiB of memory, of {allowed:,} MiB, and {time} s of processor time "
        "to compare, rank and verify"
    )
    if needed > allowed:
        compared = (
            f"compares {counts.columns:,} columns, {counts.keys:,} of them key columns, and "
            f"expects {counts.kept:,} pairs that share values"
        )
        raise NotEnoughMemoryError.from_estimate(
            compared,
            needed=needed,
            allowed=allowed,
            limit="`model.max_memory` allows" if model.max_memory else "this process may use",
            remedies=[*_remedies(profiles, counts, needed)],
        )


def _remedies(profiles: Sequence[TableProfile], counts: LakeCounts, needed: int) -> Iterator[str]:
    """Yield ways to lower the memory that a run needs, with the recipe keys to change."""
    way_on = f": in Python, pass `model=ModelConfig(max_memory={needed})`"
    # The keys that select the tables; without a recipe, there are none.
    if keys := sorted({profile.table.chosen_by for profile in profiles} - {""}):
        way_on = f", with `model.max_memory: {needed}`"
        named = name_some([f"`{key}`" for key in keys])
        yield (
            f"Read fewer tables, with {named}, or with `catalog.domains` or `catalog.tags`: half "
            "of the tables have about a quarter of the pairs"
        )
    else:
        yield "Read fewer tables: half of them have about a quarter of the pairs"
    if is_bound_by_hashes(counts):
        yield "keep fewer hashes of values, with a lower `profile.sketch_size`"
    elif counts.kept:
        yield "compare names alone, with `model.features.values: false`"
    if counts.network:
        yield "rank without a network, with `model.ranking.scoring: signals`"
    yield f"go on anyway{way_on}"
