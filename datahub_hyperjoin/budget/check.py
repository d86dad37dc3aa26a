"""Report the cost of the stages after profiling, and stop a run that needs too much memory."""

from collections.abc import Iterator, Sequence

from datahub_hyperjoin.budget.counts import LakeCounts, count_lake
from datahub_hyperjoin.budget.errors import NotEnoughMemoryError
from datahub_hyperjoin.budget.estimate import estimate_costs, is_bound_by_hashes
from datahub_hyperjoin.budget.memory_limit import memory_in_use, usable_memory
from datahub_hyperjoin.budget.speed import relative_slowness
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.tables import TableProfile
from datahub_hyperjoin.wording import name_some

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
