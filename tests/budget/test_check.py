"""Test that a run estimates its cost, and stops if it needs more memory than is allowed."""

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
from datahub.ingestion.run.pipeline import Pipeline

from datahub_hyperjoin.budget import check_budget
from datahub_hyperjoin.budget.errors import NotEnoughMemoryError
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.model.config import ModelConfig, RankingConfig, Scoring
from datahub_hyperjoin.report import HyperJoinReport
from handmade import profile_lake

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
    def estimated(slowness: float) -> int:
        monkeypatch.setattr("datahub_hyperjoin.budget.check.relative_slowness", lambda: slowness)
        progress = Listener()
        check_budget(TABLES, ModelConfig(), CatalogFacts(), progress)
        seconds = progress.counts["estimated_cpu_seconds"]
        assert f" and {seconds:,} s of processor time" in progress.lines[0]
        return seconds

    assert estimated(2e6) == pytest.approx(2 * estimated(1e6), abs=1)


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
    monkeypatch.setattr("datahub_hyperjoin.budget.check.usable_memory", lambda: 3 << 20)
    assert "this process may use 3 MiB" in message_of(ModelConfig())


def test_the_error_names_the_keys_that_help_this_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "sketch_size" not in message_of(TINY)
    assert "scoring" not in message_of(TINY)
    blend = replace(TINY, ranking=RankingConfig(scoring=Scoring.BLEND))
    assert "`model.ranking.scoring: signals`" in message_of(blend)
    monkeypatch.setattr("datahub_hyperjoin.budget.estimate._OF_HASH", 1 << 30)
    assert "`profile.sketch_size`" in message_of(TINY)


def test_without_a_recipe_no_key_of_tables_is_named() -> None:
    tables = [replace(each, table=replace(each.table, chosen_by="")) for each in TABLES]
    with pytest.raises(NotEnoughMemoryError, match="Read fewer tables: half") as caught:
        check_budget(tables, TINY, CatalogFacts(), Listener())
    assert "catalog." not in str(caught.value)
    needed = caught.value.needed
    assert f"in Python, pass `model=ModelConfig(max_memory={needed})`" in str(caught.value)


def test_a_higher_limit_lets_the_run_go_on() -> None:
    with pytest.raises(NotEnoughMemoryError) as caught:
        check_budget(TABLES, TINY, CatalogFacts(), Listener())
    # The process itself may grow a little between the two estimates.
    enough = ModelConfig(max_memory=caught.value.needed + 64)
    check_budget(TABLES, enough, CatalogFacts(), Listener())


def test_the_error_keeps_its_numbers_between_processes() -> None:
    error = NotEnoughMemoryError("too much", needed=9, allowed=1)
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - its own bytes
    assert (str(copy), copy.needed, copy.allowed) == ("too much", 9, 1)


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
