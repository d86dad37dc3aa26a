"""Test that the programs that we are compared with do the job, and that all their time counts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bench_peers import two_tables
from benchmarks.peers import PEERS

TESTS = Path(__file__).parents[2]
OUTLIVED = """
import sys
from benchmarks.bench_peers import adopt_orphans, cpu_seconds
adopt_orphans()
work = "import time\\nwhile time.process_time() < 1: pass"
start = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {work!r}])"
print(cpu_seconds([sys.executable, "-c", start]))
"""


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_finds_the_reference(name: str, tmp_path: Path) -> None:
    two_tables(tmp_path)
    found = [*PEERS[name](tmp_path)]
    column, key = tmp_path / "orders.csv", tmp_path / "customers.csv"
    assert (f"{column}.customer_id", f"{key}.id", 1.0) in found
    assert all(share >= 0.8 for *_, share in found)


def test_the_time_of_a_process_that_outlives_its_program_counts() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", OUTLIVED],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert float(ended.stdout) >= 1
