"""Test the measured run time and peak memory of a `with` block."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from datahub_hyperjoin.evaluate import run as cost
from datahub_hyperjoin.evaluate.run import measured


def test_seconds_are_those_inside() -> None:
    with measured() as found:
        time.sleep(0.05)
    assert 0.05 <= found.seconds < 1


THREE_BLOCKS = """
import numpy as np
from datahub_hyperjoin.evaluate.run import measured
with measured() as before:
    pass
with measured() as large:
    np.ones(50_000_000)
with measured() as after:
    pass
print(before.megabytes, large.megabytes, after.megabytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets a peak")
def test_memory_that_was_given_back_counts_and_is_then_forgotten() -> None:
    # A process of its own, since other threads of this one may hold memory of earlier tests.
    command = [sys.executable, "-c", THREE_BLOCKS]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    before, large, after = map(float, done.stdout.split())
    assert large - before > 300
    assert after < large - 300


def test_a_failure_inside_is_measured_too() -> None:
    with pytest.raises(ZeroDivisionError), measured() as found:
        _ = 1 / 0
    assert found.megabytes > 10


def test_elsewhere_it_is_the_greatest_since_the_process_began(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with measured() as here:
        pass
    for name in ("_CLEAR_REFS", "_STATUS"):
        monkeypatch.setattr(cost, name, tmp_path / "none" / "such")
    with measured() as there:
        pass
    assert there.megabytes >= 0.9 * here.megabytes
