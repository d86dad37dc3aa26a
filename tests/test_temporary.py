"""Test that temporary folders are private, and that those of dead runs are deleted."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from datahub_hyperjoin.storage import remove_abandoned_folders, temporary_folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def open_to_all() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def temporaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_temporary_folder_is_private_and_removed(temporaries: Path) -> None:
    with temporary_folder() as folder:
        [made] = temporaries.iterdir()
        assert (folder.parent, list(folder.iterdir())) == (made, [])
        assert [mode(path) for path in (made, folder, made / ".lock")] == [0o700, 0o700, 0o600]
    assert list(temporaries.iterdir()) == []


def test_only_folders_of_dead_runs_are_swept(temporaries: Path) -> None:
    program = """
        import time
        from datahub_hyperjoin.storage import temporary_folder
        with temporary_folder() as folder:
            folder.joinpath("vectors.bin").write_bytes(b"words")
            print(folder, flush=True)
            time.sleep(60)
    """
    killed = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "TMPDIR": str(temporaries)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert killed.stdout
    left = Path(killed.stdout.readline().strip()).parent
    not_ours = temporaries / "hyperjoin-run-of-somebody"
    not_ours.mkdir()
    with temporary_folder() as living:
        remove_abandoned_folders()
        assert {*temporaries.iterdir()} == {left, living.parent, not_ours}
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        killed.stdout.close()
        assert left.joinpath("files", "vectors.bin").exists()
        remove_abandoned_folders()
        assert {*temporaries.iterdir()} == {living.parent, not_ours}


def test_a_folder_that_is_still_written_to_is_swept_later(
    temporaries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = temporaries / "hyperjoin-run-dead"
    left.joinpath("files", "spark").mkdir(parents=True)
    left.joinpath(".lock").touch()
    remove, writes = shutil.rmtree, iter([True, False])

    def remove_while_written_to(folder: Path, *, ignore_errors: bool) -> None:
        remove(folder, ignore_errors=ignore_errors)
        if next(writes, False):
            folder.mkdir()

    monkeypatch.setattr(shutil, "rmtree", remove_while_written_to)
    remove_abandoned_folders()
    assert {*left.iterdir()} == {left / "files", left / ".lock"}
    remove_abandoned_folders()
    assert list(temporaries.iterdir()) == []
