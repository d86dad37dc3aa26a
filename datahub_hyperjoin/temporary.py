"""Provide private temporary folders.

Later runs remove the folders of killed runs.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from datahub_hyperjoin.ending import tidy_end

_PREFIX = "hyperjoin-run-"
_LOCK = ".lock"
_FILES = "files"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Provide a private temporary folder, and remove it at the end of the `with` block.

    It is also removed if SIGTERM or SIGHUP ends the program. The first call in a process also
    removes the folders that killed runs of this user have left.
    """
    _sweep_once()
    with (
        tidy_end(),
        tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name,
    ):
        descriptor = _lock(Path(name))
        folder = Path(name, _FILES)  # the lock is not among the caller's files
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            os.close(descriptor)


def remove_abandoned_folders() -> None:
    """Remove temporary folders left behind by killed runs of this user."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue  # just made, just removed, or not of this user
        try:
            if os.fstat(descriptor).st_uid == os.getuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The lock goes last: a process of the dead run may still write, and what is left
                # then needs a lock, so that another run finds it.
                shutil.rmtree(folder / _FILES, ignore_errors=True)
                if not folder.joinpath(_FILES).exists():
                    shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # locked by a run that lives
        finally:
            os.close(descriptor)


_sweep_once = cache(remove_abandoned_folders)


def _lock(folder: Path) -> int:
    """Lock a temporary folder, and return the file descriptor that holds the lock.

    The system releases the lock however the process ends. A process number would not do: systems
    assign it again, and containers that share a folder for temporary files don't share numbers.
    """
    unlocked = folder / f"{_LOCK}.new"
    descriptor = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    # Renamed once it is locked, so that nobody finds the lock free before.
    unlocked.rename(folder / _LOCK)
    return descriptor
