from dataclasses import replace

import pytest

from datahub_hyperjoin.budget.counts import LakeCounts
from datahub_hyperjoin.budget.estimate import estimate_costs, is_bound_by_hashes

MIB = 1 << 20
LAKE = LakeCounts(
    columns=10_000,
    keys=7_000,
    hashes=4_000_000,
    compared=14_000_000,
    kept=13_000_000,
    mebibytes=60.0,
)
HASHES = replace(LAKE, hashes=100_000_000)


@pytest.mark.parametrize("count", ["columns", "keys", "hashes", "compared", "kept", "mebibytes"])
@pytest.mark.parametrize("lake", [LAKE, HASHES, replace(LAKE, network=True)])
def test_no_estimate_falls_when_a_count_grows(lake: LakeCounts, count: str) -> None:
    costs = [
        estimate_costs(replace(lake, **{count: factor * getattr(lake, count)}))
        for factor in (1, 2, 10, 100)
    ]
    memory, seconds = [each.memory for each in costs], [each.seconds for each in costs]
    assert memory == sorted(memory)
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("count", ["keys", "kept"])
def test_pairs_and_keys_take_memory_and_time(count: str) -> None:
    less = estimate_costs(LAKE)
    more = estimate_costs(replace(LAKE, **{count: 2 * getattr(LAKE, count)}))
    assert more.memory > less.memory
    assert more.seconds > less.seconds


def test_a_network_takes_memory() -> None:
    assert estimate_costs(replace(LAKE, network=True)).memory > estimate_costs(LAKE).memory


def test_the_search_of_a_large_lake_is_not_quadratic() -> None:
    def seconds(columns: int) -> float:
        return estimate_costs(LakeCounts(columns=columns, keys=columns)).seconds

    assert seconds(64_000) > 1.2 * 64 * seconds(1_000) > 0
    assert seconds(200_000) < 1.01 * 2 * seconds(100_000)


def test_hashes_bind_only_if_they_take_more_than_the_pairs() -> None:
    assert is_bound_by_hashes(HASHES)
    assert not is_bound_by_hashes(LAKE)


@pytest.mark.parametrize(
    ("counts", "memory", "seconds"),
    [
        (
            LakeCounts(columns=1_001, keys=715, compared=103_317, kept=127_741, mebibytes=5),
            86,
            1.1,
        ),
        (
            LakeCounts(
                columns=10_003, keys=7_145, compared=6_148_707, kept=9_116_211, mebibytes=58
            ),
            647,
            26,
        ),
        (
            LakeCounts(
                columns=25_004, keys=17_860, compared=17_361_450, kept=6_354_044, mebibytes=147
            ),
            820,
            53,
        ),
    ],
)
def test_the_estimate_is_close_to_measured_runs(
    counts: LakeCounts, memory: float, seconds: float
) -> None:
    costs = estimate_costs(counts)
    assert costs.memory / MIB / memory == pytest.approx(1, abs=0.25)
    assert 0.5 < costs.seconds / seconds < 2


@pytest.mark.parametrize(
    ("counts", "added"),
    [
        # Runs of `make bench-lake`, without what was in use after profiling.
        (LakeCounts(columns=34_812, keys=26_792, kept=4_806_368), 1_849 - 979),
        (LakeCounts(columns=138_997, keys=106_980, kept=6_606_701), 4_831 - 2_083),
        (LakeCounts(columns=346_812, keys=267_001, kept=15_179_799), 9_433 - 4_191),
    ],
)
def test_large_lakes_need_no_more_than_half_as_much_again(counts: LakeCounts, added: int) -> None:
    assert 0.9 < estimate_costs(counts).memory / MIB / added < 1.5
