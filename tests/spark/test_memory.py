"""Test that a table which exceeds a worker's memory limit affects no other table."""

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from datahub_hyperjoin.spark import memory
from datahub_hyperjoin.spark.columns import TableStream
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.memory import limited_memory, memory_limit
from datahub_hyperjoin.spark.profiles import local_batch
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces the limit")


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the memory to 256 MiB more than this process uses."""
    [line] = [
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmData" in line
    ]
    limit = int(line.split()[1]) * 1024 + (1 << 28)
    monkeypatch.setattr(memory, "memory_limit", lambda: limit)


@pytest.mark.usefixtures("tight")
def test_what_exceeds_the_limit_raises_and_what_follows_does_not() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limited_memory():
        with pytest.raises(MemoryError):
            np.ones(1 << 27)
        with pytest.raises(MemoryError):
            pa.allocate_buffer(1 << 30)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert len(np.ones(1 << 27)) == 1 << 27


def test_a_lower_limit_of_the_system_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 40, before[1]))
    try:
        monkeypatch.setattr(memory, "memory_limit", lambda: 1 << 41)
        with limited_memory():
            assert resource.getrlimit(resource.RLIMIT_DATA)[0] == 1 << 40
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


@pytest.mark.usefixtures("tight")
def test_a_table_that_exceeds_the_limit_has_a_fault_and_the_next_one_has_none(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, small = make_table("large.csv", "id\n1\n"), make_table("small.csv", "id\n1\n")

    def read(table: Table, *given: Any, **others: Any) -> TableStream:  # noqa: ANN401 - passed on
        if table == large:
            np.ones(1 << 27)
        return read_table(table, *given, **others)

    monkeypatch.setattr(local_batch, "read_table", read)
    with limited_memory():
        found = [profile_table(each, ProfileConfig(), Databases()) for each in (large, small)]
    assert found[0].fault.startswith("cannot be read: its rows take more memory than a worker")
    assert (found[1].fault, found[1].rows) == ("", 1)


def test_every_worker_may_take_at_least_four_gibibytes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "max").write_text("max\n")
    monkeypatch.setattr(memory, "_CONTAINER_LIMIT", tmp_path / "max")
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "sysconf", lambda name: 4096 if "SIZE" in name else 1 << 24)
    assert memory_limit() == int((1 << 36) * 0.8) // 4
    (tmp_path / "max").write_text(f"{1 << 33}\n")
    assert memory_limit() == 1 << 32
