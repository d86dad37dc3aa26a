"""Test that the benchmark of costs counts the work of all processes, and every stage once."""

import subprocess
import sys
from functools import partial

import pytest

from benchmarks.bench_costs import Cost, cpu_seconds, in_own_process, measure
from datahub_hyperjoin.discovery.progress import STAGES

BUSY = "import time\nwhile time.process_time() < 0.5: pass"


def test_ended_processes_count() -> None:
    before = cpu_seconds()
    subprocess.run([sys.executable, "-c", BUSY], check=True)
    assert 0.4 < cpu_seconds() - before < 5


@pytest.fixture(scope="module")
def cost() -> Cost:
    return in_own_process(partial(measure, 6))


def test_a_run_is_measured_by_stages(cost: Cost) -> None:
    assert cost.counts["columns"] == 42
    assert list(cost.seconds) == [stage for stage in STAGES if stage != "Running the SQL"]
    assert 0 < sum(cost.seconds.values()) <= cost.total
    assert cost.java == 0


def test_the_estimate_stands_beside_what_was_measured(cost: Cost) -> None:
    assert 0.5 < cost.estimate["memory, MiB"] / cost.memory < 2
    assert cost.estimated_part < sum(cost.seconds.values())
