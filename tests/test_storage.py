"""Test that kept files are complete and private, and written by one run at a time."""

import os
import resource
import stat
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from datahub_hyperjoin.errors import DamagedFileError, FolderInUseError, NoChecksumError
from datahub_hyperjoin.storage import (
    checksum,
    locking,
    read_checked,
    replace_with_checksum,
    replacing,
    replacing_with_checksum,
)

SIZE = 1 << 20
WRITER = """
import sys
from pathlib import Path
from datahub_hyperjoin.storage import replacing_with_checksum

for _ in range(40):
    with replacing_with_checksum(Path(sys.argv[1])) as unfinished:
        unfinished.write_bytes(bytes([int(sys.argv[2])]) * (1 << 20))
"""
HOLDER = """
import sys
from pathlib import Path
from datahub_hyperjoin.storage import replacing, locking

folder = Path(sys.argv[1])
with locking({"profile.store": folder}), replacing(folder / "data") as unfinished:
    unfinished.write_bytes(b"half")
    print("held", flush=True)
    sys.stdin.read()
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_several_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "data"
    with ExitStack() as stack:
        writers = [stack.enter_context(start(WRITER, file, byte)) for byte in (1, 2, 3)]
        contents = set()
        while any(writer.poll() is None for writer in writers):
            if file.exists():
                content = bytes(read_checked(file))
                assert content == content[:1] * SIZE
                contents.add(content[0])
    assert contents <= {1, 2, 3}
    assert contents
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_folder_is_used_by_one_run_and_freed_by_its_death(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "kept"
    message = r"^`profile\.store` is '.*kept', and another run uses it now\. Start this run when"
    with start(HOLDER, folder) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(FolderInUseError, match=message), locking({"profile.store": folder}):
            pass
        holder.kill()
    assert len([*folder.iterdir()]) == 2
    folder.joinpath(".tmpA1b2C3").write_bytes(b"of safetensors")
    folder.joinpath("mine.csv").write_bytes(b"of the user")
    with locking({"profile.store": folder}):
        assert {path.name for path in folder.iterdir()} == {".lock", "mine.csv"}
    with locking({"profile.store": folder}):
        pass


def test_a_file_system_without_locks_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.joinpath(".lock").mkdir()
    with locking({"model.path": tmp_path}):
        assert "Cannot lock `model.path`" in caplog.text


def test_files_and_new_folders_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with replacing(tmp_path / "new" / "data") as unfinished:
            unfinished.touch()
        with locking({"profile.store": tmp_path / "used"}):
            pass
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"new": 0o700, "data": 0o600, "used": 0o700, ".lock": 0o600}


def interrupt(file: Path) -> None:
    with replacing(file) as unfinished:
        unfinished.write_bytes(b"half")
        raise KeyboardInterrupt


def test_an_interrupted_write_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        interrupt(file)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("data", b"old")]


def test_only_files_that_must_survive_a_power_failure_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    replace_with_checksum(tmp_path / "values", memoryview(b"values"))
    assert not synced
    with replacing_with_checksum(tmp_path / "profiles") as unfinished:
        unfinished.write_bytes(b"profiles")
    assert len(synced) == 1
    assert [bytes(read_checked(tmp_path / name)) for name in ("values", "profiles")] == [
        b"values",
        b"profiles",
    ]
    assert stat.S_IMODE(tmp_path.joinpath("values").stat().st_mode) == 0o600


def test_a_small_file_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "values"
    replace_with_checksum(file, memoryview(b"old"))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            replace_with_checksum(file, memoryview(b"new"))
    assert [*tmp_path.iterdir()] == [file]
    assert bytes(read_checked(file)) == b"old"
    replace_with_checksum(file, memoryview(b"new"))
    assert bytes(read_checked(file)) == b"new"


def test_every_changed_byte_of_a_file_with_a_checksum_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "data"
    with replacing_with_checksum(file) as unfinished:
        unfinished.write_bytes(b"some content")
        plain = checksum(unfinished)
    content = file.read_bytes()
    assert bytes(read_checked(file)) == b"some content"
    assert content.endswith(bytes.fromhex(plain))
    for position in range(len(content)):
        file.write_bytes(
            content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]
        )
        with pytest.raises((DamagedFileError, NoChecksumError), match=r"data' .*elete it$"):
            read_checked(file)
    for size in range(len(content)):
        file.write_bytes(content[:size])
        with pytest.raises((DamagedFileError, NoChecksumError), match=r"data' .*elete it$"):
            read_checked(file)


def test_a_file_without_a_checksum_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"of the user")
    message = r"data' was not written by this version of the package\. Move or delete it$"
    with pytest.raises(NoChecksumError, match=message), replacing_with_checksum(file):
        pass
    with pytest.raises(NoChecksumError, match=message):
        replace_with_checksum(file, memoryview(b"new"))
    assert file.read_bytes() == b"of the user"
    file.write_bytes(b"")
    with replacing_with_checksum(file) as unfinished:
        unfinished.write_bytes(b"new")
    assert bytes(read_checked(file)) == b"new"


def test_a_file_that_cannot_be_written_stays(tmp_path: Path) -> None:
    """The limit on the size of files stands for a full disk."""
    file = tmp_path / "joins.html"
    file.write_text("earlier")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, before[1]))
    try:
        with (
            pytest.raises(OSError, match="File too large") as raised,
            replacing(file, private=False) as unfinished,
        ):
            unfinished.write_bytes(b"x" * (1 << 16))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert raised.value.filename == str(file)
    assert file.read_text() == "earlier"
    assert [*tmp_path.iterdir()] == [file]


def test_a_public_file_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    file, link = tmp_path / "joins.json", tmp_path / "link"
    link.symlink_to(file)
    for mode in (None, 0o640):
        if mode:
            file.chmod(mode)
        with replacing(link, private=False) as unfinished:
            unfinished.write_text("new")
        umask = os.umask(0)
        os.umask(umask)
        assert stat.S_IMODE(file.stat().st_mode) == (mode or 0o666 & ~umask)
    assert (link.is_symlink(), file.read_text()) == (True, "new")


def test_a_device_is_written_to_as_it_is() -> None:
    with (
        pytest.raises(OSError, match="No space left") as raised,
        replacing(Path("/dev/full"), private=False) as device,
    ):
        device.write_text("x")
    assert raised.value.filename == "/dev/full"
    with replacing(Path("/dev/null")) as device:
        device.write_text("x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
