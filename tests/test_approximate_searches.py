"""Test that a run counts the searches that compared each key column with a part of the lake."""

from pathlib import Path

import pytest

from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.discovery.run import run_discovery
from datahub_hyperjoin.report import HyperJoinReport

WORDS = ["apple", "bear", "cloud", "door", "eagle", "fog", "gas", "ham"]


def counts_of(lake: Path) -> dict[str, int]:
    progress = RunProgress()
    run_discovery([str(lake)], progress, sql=None)
    return dict(progress.counts)


def test_the_report_counts_approximate_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, word in enumerate(WORDS):
        rows = [f"{word}{row},{word[::-1]} {row * (number + 7)}" for row in range(30)]
        lines = [f"{word}_code,{word}_title", *rows]
        (tmp_path / f"{word}.csv").write_text("\n".join(lines), "utf-8")
    exact = counts_of(tmp_path)
    assert exact["approximate_searches"] == 0
    monkeypatch.setattr("datahub_hyperjoin.model.ranking.nearest.most_exact", lambda _: 15)
    approximate = counts_of(tmp_path)
    assert approximate["approximate_searches"] == 2
    assert approximate["key_columns"] == exact["key_columns"] == 16
    assert approximate["suggestions"] == exact["suggestions"]
    # DataHub's report has the counter, too.
    report = HyperJoinReport()
    report.count("approximate_searches", 2)
    assert report.approximate_searches == 2
