"""Test that a run estimates its cost, and stops if it needs more memory than is allowed."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from datahub.ingestion.run.pipeline import Pipeline

from datahub_hyperjoin import budget as speed
from datahub_hyperjoin.budget import (
    LakeCounts,
    check_budget,
    count_lake,
    estimate_costs,
    is_bound_by_hashes,
    memory_in_use,
    usable_memory,
)
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.errors import NotEnoughMemoryError
from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig, RankingConfig, Scoring
from datahub_hyperjoin.report import HyperJoinReport
from lakes.handmade import profile_lake

CODES = [f"c{number}" for number in range(12)]
TABLES = profile_lake({name: {"carrier": CODES} for name in ("flights", "airlines")})
TINY = ModelConfig(max_memory=1)


class Listener(RunProgress):
    """A progress reporter that stores its lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def message_of(model: ModelConfig) -> str:
    with pytest.raises(NotEnoughMemoryError, match="this run needs an estimated") as caught:
        check_budget(TABLES, model, CatalogFacts(), Listener())
    return str(caught.value)


def test_the_estimate_is_one_line_and_four_counts() -> None:
    progress = Listener()
    check_budget(TABLES, ModelConfig(), CatalogFacts(), progress)
    [line] = progress.lines
    assert re.fullmatch(
        r"Estimate for 2 columns and 2 pairs that share values: [\d,]+ MiB of memory, of [\d,]+ "
        r"MiB, and under 1 s of processor time to compare, rank and verify",
        line,
    )
    counts = progress.counts
    assert counts["expected_pairs"] == 2
    assert 100 < counts["estimated_memory_mib"] < counts["usable_memory_mib"]


def test_a_slower_machine_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of a lake as small as this one, the time is not worth a measurement of the machine.
    monkeypatch.setattr("datahub_hyperjoin.budget._SECONDS_OF_KEY", 1.0)

    def estimated(slowness: float) -> int:
        monkeypatch.setattr("datahub_hyperjoin.budget.relative_slowness", lambda: slowness)
        progress = Listener()
        check_budget(TABLES, ModelConfig(), CatalogFacts(), progress)
        seconds = progress.counts["estimated_cpu_seconds"]
        assert f" and {seconds:,} s of processor time" in progress.lines[0]
        return seconds

    assert estimated(2e6) == pytest.approx(2 * estimated(1e6), abs=1)
    assert estimated(1e6) > 0


def test_the_error_has_the_numbers_and_the_keys() -> None:
    assert re.fullmatch(
        r"this run needs an estimated [\d,]+ MiB of memory, and `model\.max_memory` allows 1 MiB: "
        r"it compares 2 columns, 2 of them key columns, and expects 2 pairs that share values\. "
        r"Read fewer tables, with `catalog\.tables`, or with `catalog\.domains` or "
        r"`catalog\.tags`: half of the tables have about a quarter of the pairs; or compare names "
        r"alone, with `model\.features\.values: false`; or go on anyway, with "
        r"`model\.max_memory: \d+`",
        message_of(TINY),
    )


def test_without_a_key_the_machine_sets_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datahub_hyperjoin.budget.usable_memory", lambda: 3 << 20)
    assert "this process may use 3 MiB" in message_of(ModelConfig())


def test_the_error_names_the_keys_that_help_this_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "sketch_size" not in message_of(TINY)
    assert "scoring" not in message_of(TINY)
    blend = replace(TINY, ranking=RankingConfig(scoring=Scoring.BLEND))
    assert "`model.ranking.scoring: signals`" in message_of(blend)
    monkeypatch.setattr("datahub_hyperjoin.budget._OF_HASH", 1 << 30)
    assert "`profile.sketch_size`" in message_of(TINY)


def test_without_a_recipe_no_key_of_tables_is_named() -> None:
    tables = [replace(each, table=replace(each.table, chosen_by="")) for each in TABLES]
    with pytest.raises(NotEnoughMemoryError, match="Read fewer tables: half") as caught:
        check_budget(tables, TINY, CatalogFacts(), Listener())
    assert "catalog." not in str(caught.value)
    needed = _needed(caught.value)
    assert f"in Python, pass `model=ModelConfig(max_memory={needed})`" in str(caught.value)


def _needed(error: NotEnoughMemoryError) -> int:
    found = re.search(r"needs an estimated ([\d,]+) MiB", str(error))
    assert found
    return int(found[1].replace(",", ""))


def test_a_higher_limit_lets_the_run_go_on() -> None:
    with pytest.raises(NotEnoughMemoryError) as caught:
        check_budget(TABLES, TINY, CatalogFacts(), Listener())
    # The process itself may grow a little between the two estimates.
    enough = ModelConfig(max_memory=_needed(caught.value) + 64)
    check_budget(TABLES, enough, CatalogFacts(), Listener())


def run(folder: Path, **model: int) -> tuple[HyperJoinReport, Path]:
    """Run the source on two tables, and return its report and its output."""
    lake, out = folder / "lake", folder / "out.json"
    lake.mkdir()
    for name in ("flights", "airlines"):
        (lake / f"{name}.csv").write_text("\n".join(["carrier", *CODES]))
    source = {"type": "hyperjoin", "config": {"catalog": {"folder": str(lake)}, "model": model}}
    sink = {"type": "file", "config": {"filename": str(out)}}
    pipeline = Pipeline.create({"source": source, "sink": sink})
    pipeline.run()
    report = pipeline.source.get_report()
    assert isinstance(report, HyperJoinReport)
    return report, out


def test_the_source_stops_before_it_compares_values(tmp_path: Path) -> None:
    report, out = run(tmp_path, max_memory=1)
    [failure] = report.failures
    assert failure.title == "Run stopped"
    assert "`model.max_memory` allows 1 MiB" in str(failure.context)
    assert report.tables_profiled == 2
    assert report.estimated_memory_mib > report.usable_memory_mib == 1
    assert report.joins == 0
    stages = map(str, report.ingestion_stage_durations)
    assert not any("hypergraph" in stage for stage in stages)
    assert json.loads(out.read_text() or "[]") == []


def test_the_source_goes_on_with_a_higher_limit(tmp_path: Path) -> None:
    report, _ = run(tmp_path, max_memory=1 << 20)
    assert not report.failures
    assert report.joins == 1
    assert report.usable_memory_mib == 1 << 20


COUNTED = profile_lake(
    {
        "flights": {"carrier": CODES, "price": ["1.5", "2.5"] * 6},
        "airlines": {"carrier": [*CODES, "new"]},
    }
)


def test_columns_keys_hashes_and_pairs_are_counted() -> None:
    counts = count_lake(COUNTED, ModelConfig(), CatalogFacts())
    assert (counts.columns, counts.keys, counts.hashes) == (3, 2, 27)
    assert (counts.compared, counts.kept) == (2, 2)
    assert not counts.network


def test_tables_that_cannot_be_read_do_not_count() -> None:
    size = 1 << 20
    tables = [replace(each, table=replace(each.table, size=size)) for each in COUNTED]
    assert count_lake(tables, ModelConfig(), CatalogFacts()).mebibytes == 2
    faulty = [replace(tables[0], fault="it is damaged"), tables[1]]
    counts = count_lake(faulty, ModelConfig(), CatalogFacts())
    assert (counts.columns, counts.mebibytes) == (1, 1)


def test_values_that_are_not_read_make_no_pairs() -> None:
    by_names = ModelConfig(features=FeatureConfig(values=False))
    counts = count_lake(COUNTED, by_names, CatalogFacts())
    assert (counts.columns, counts.hashes, counts.compared, counts.kept) == (3, 0, 0, 0)


def test_a_network_is_counted() -> None:
    blend = ModelConfig(ranking=RankingConfig(scoring=Scoring.BLEND))
    assert count_lake(COUNTED, blend, CatalogFacts()).network


def test_a_lake_without_tables_has_nothing() -> None:
    counts = count_lake([], ModelConfig(), CatalogFacts())
    assert (counts.columns, counts.keys, counts.kept) == (0, 0, 0)


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


MIB = 1 << 20


def write(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")


def left(groups: Path, membership: Path) -> float:
    """Return how many more MiB of memory this process may use."""
    return (usable_memory(groups, membership) - memory_in_use()) / MIB


@pytest.fixture
def membership(tmp_path: Path) -> Path:
    file = tmp_path / "membership"
    file.write_text("9:name=systemd:/\n4:memory:/pod/one\n1:cpu:/\n0::/pod/one\n")
    return file


def test_the_machine_limits_a_process_without_control_groups(tmp_path: Path) -> None:
    available = psutil.virtual_memory().available / MIB
    missing = tmp_path / "missing"
    assert left(missing, missing) == pytest.approx(available, rel=0.5)


def test_the_control_group_limits_a_container(tmp_path: Path, membership: Path) -> None:
    files = {"memory.max": str(30 * MIB), "memory.current": str(20 * MIB)}
    write(tmp_path / "pod" / "one", files)
    assert left(tmp_path, membership) == pytest.approx(10, abs=8)


def test_the_first_version_of_control_groups_has_other_files(
    tmp_path: Path, membership: Path
) -> None:
    files = {
        "memory.limit_in_bytes": str(300 * MIB),
        "memory.usage_in_bytes": str(200 * MIB),
        "memory.stat": f"cache 7\ntotal_inactive_file {50 * MIB}",
    }
    write(tmp_path / "memory" / "pod" / "one", files)
    assert left(tmp_path, membership) == pytest.approx(150, abs=8)


def test_the_group_around_it_may_be_smaller(tmp_path: Path, membership: Path) -> None:
    write(tmp_path / "pod" / "one", {"memory.max": "max", "memory.current": "1"})
    write(tmp_path / "pod", {"memory.max": str(40 * MIB), "memory.current": str(60 * MIB)})
    assert left(tmp_path, membership) == pytest.approx(0, abs=8)


def test_the_least_disturbed_turn_tells_the_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = 2 * speed.REFERENCE_SECONDS
    clock = iter([at for turn in (9.0, usual, 2 * usual, 3.0, 7.0) for at in (0.0, turn)])
    monkeypatch.setattr(speed, "process_time", lambda: next(clock))
    assert speed.relative_slowness() == pytest.approx(2)
    assert next(clock, None) is None


def test_more_work_takes_longer() -> None:
    def work() -> None:
        for _ in range(4):
            speed.typical_work()

    assert speed.relative_slowness(work) > 2 * speed.relative_slowness() > 0
