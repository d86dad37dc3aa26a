"""Simulate disks with little free space."""

import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_PAGE = 4096
_LOG_SIZE = 1 << 17
"""Smallest limit on file sizes in bytes, so that the process can still write its log."""

Limit = Callable[[int], None]
"""A function that limits the size of the files that the process with a given ID may write. It does
nothing if the disk itself is small."""


@contextmanager
def small_disk(folder: Path, content: Sequence[Path], space: int) -> Iterator[Limit]:
    """Copy folders to a small disk with a given number of free bytes.

    The disk is memory that is mounted at `folder`. Where that is forbidden, it is a limit on the
    size of every file instead.
    """
    files = [path for one in content for path in one.rglob("*") if path.is_file()]
    size = sum(-(-file.stat().st_size // _PAGE) * _PAGE for file in files) + space + _PAGE
    mount = ("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    try:
        for one in content:
            shutil.copytree(one, folder / one.name)
        yield (lambda _: None) if mounted else (lambda process: _limit(process, space))
    finally:
        if mounted:
            subprocess.run(("umount", "-l", str(folder)), check=True)


def _limit(process: int, space: int) -> None:
    size = max(space, _LOG_SIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, size))
