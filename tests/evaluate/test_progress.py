"""Test the progress lines of an evaluation."""

import pytest

from datahub_hyperjoin.evaluate import run
from datahub_hyperjoin.evaluate.run import EvaluationProgress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(run, "perf_counter", lambda: now[0])
    return now


def test_every_line_says_where_it_belongs(clock: list[float]) -> None:
    lines: list[str] = []
    narration = EvaluationProgress(lines.append)
    with narration.stage("Profiling fk"):
        narration.warn("Table skipped", "The others go on", "a.csv: empty")
    narration.expect(3)
    narration.begin("fk, full, seed 0")
    narration.say("Epoch 1")
    clock[0] += 20
    narration.begin("fk, full, seed 1")
    clock[0] += 400
    narration.begin("fk, full, seed 2")
    assert lines == [
        "Profiling fk",
        "Table skipped (a.csv: empty). The others go on",
        "[1/3] fk, full, seed 0: starting",
        "[1/3] fk, full, seed 0: Epoch 1",
        "[2/3] fk, full, seed 1: starting; all runs finish in about 40 s",
        "[3/3] fk, full, seed 2: starting; all runs finish in about 4 min",
    ]


def test_counters_add_up() -> None:
    narration = EvaluationProgress(print)
    narration.count("models_trained", 1)
    narration.count("models_trained", 0)
    narration.count("models_trained", 2)
    assert narration.counts["models_trained"] == 3
