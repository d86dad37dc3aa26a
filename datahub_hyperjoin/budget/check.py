"""Report the cost of the stages after profiling, and stop a run that needs too much memory."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import process_time

import numpy as np
import psutil

from datahub_hyperjoin.budget.counts import LakeCounts, count_lake
from datahub_hyperjoin.budget.errors import NotEnoughMemoryError
from datahub_hyperjoin.budget.estimate import estimate_costs, is_bound_by_hashes
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.tables import TableProfile
from datahub_hyperjoin.wording import name_some

# A container often has less memory than its machine, and the system ends a process that exceeds the
# limit of its control group without a word.

_GROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_LIMITS = {
    "memory.max": "memory.current",
    "memory.limit_in_bytes": "memory.usage_in_bytes",
}
"""For both versions of Linux control groups: the file with the limit, and the one with the use."""
_CACHES = ("inactive_file", "total_inactive_file")
"""Counters of cached files, whose memory counts as used although the system frees it on demand."""


def memory_in_use() -> int:
    """Return the memory that this process uses now, in bytes."""
    return int(psutil.Process().memory_info().rss)


def usable_memory(groups: Path = _GROUPS, membership: Path = _MEMBERSHIP) -> int:
    """Return the total memory that this process may use, in bytes.

    It is what the process uses now, and what the machine and the process's control groups have
    left, whichever is less.

    Args:
        groups: The folder of control groups; other systems than Linux have none.
    """
    left = [int(psutil.virtual_memory().available)]
    left += [free for group in _own_groups(groups, membership) for free in _free_in(group)]
    return memory_in_use() + min(left)


def _own_groups(groups: Path, membership: Path) -> Iterator[Path]:
    """Yield the control groups that may limit the memory of this process.

    These are the groups of the process, and all groups that contain them.
    """
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


_MEBIBYTE = 1 << 20


def check_budget(
    profiles: Sequence[TableProfile], model: ModelConfig, facts: CatalogFacts, progress: Progress
) -> None:
    """Estimate and report the memory and the time that a run needs after profiling.

    It takes about a second for 10,000 columns.

    Args:
        profiles: The tables.
        model: How to rank, and the limit of memory.
        facts: What the catalog states about columns and pairs.
        progress: Receives the estimate.

    Raises:
        NotEnoughMemoryError: The run needs more memory than it may use.
    """
    counts = count_lake(profiles, model, facts)
    costs = estimate_costs(counts)
    needed = -(-(memory_in_use() + costs.memory) // _MEBIBYTE)
    allowed = model.max_memory or usable_memory() // _MEBIBYTE
    progress.count("expected_pairs", counts.kept)
    progress.count("estimated_memory_mib", needed)
    progress.count("usable_memory_mib", allowed)
    seconds = round(costs.seconds * relative_slowness())
    progress.count("estimated_cpu_seconds", seconds)
    time = f"{seconds:,}" if seconds else "under 1"
    progress.say(
        f"Estimate for {counts.columns:,} columns and {counts.kept:,} pairs that share values: "
        f"{needed:,} MiB of memory, of {allowed:,} MiB, and {time} s of processor time "
        "to compare, rank and verify"
    )
    if needed > allowed:
        raise NotEnoughMemoryError.from_estimate(
            counts,
            needed=needed,
            allowed=allowed,
            limit="`model.max_memory` allows" if model.max_memory else "this process may use",
            remedies=[*_remedies(profiles, counts), _way_on(profiles, needed)],
        )


def _keys_of_tables(profiles: Sequence[TableProfile]) -> list[str]:
    """Return the recipe keys that select the tables; empty if there is no recipe."""
    return sorted({profile.table.chosen_by for profile in profiles} - {""})


def _way_on(profiles: Sequence[TableProfile], needed: int) -> str:
    if _keys_of_tables(profiles):
        return f"go on anyway, with `model.max_memory: {needed}`"
    return f"go on anyway: in Python, pass `model=ModelConfig(max_memory={needed})`"


def _remedies(profiles: Sequence[TableProfile], counts: LakeCounts) -> Iterator[str]:
    """Yield ways to lower the memory that a run needs, with the recipe keys to change."""
    if keys := _keys_of_tables(profiles):
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
