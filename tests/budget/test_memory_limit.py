from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from datahub_hyperjoin.budget.check import memory_in_use, usable_memory

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
