"""Write files that later runs read, and lock folders against other runs.

A file is written in a temporary folder beside it and renamed when it is complete. A killed run
leaves its temporary folder behind, which blocks nobody; the next run that has the folder for itself
deletes it. A file with a checksum at its end is read as it was written, or not at all.
"""

import fcntl
import hashlib
import mmap
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from datahub_hyperjoin.ending import tidy_end
from datahub_hyperjoin.errors import (
    DamagedFileError,
    FolderInUseError,
    NoChecksumError,
    UnwritablePathError,
)
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

LOCK = ".lock"
"""Name of the file that a run locks while it uses a folder."""
_UNFINISHED = ".unfinished-"
# Safetensors names its own temporary files in the second way.
_LEFTOVER = re.compile(rf"{re.escape(_UNFINISHED)}\w+|\.tmp\w{{6}}")
_MARK = b"hyperjoin-sha256"
_TRAILER_SIZE = len(_MARK) + hashlib.sha256().digest_size
_BLOCK = 1 << 20
_PAGE = re.compile(rb"<!doctype html>.*<title>Suggested joins</title>", re.DOTALL)
_HEAD = 2048
"""Number of bytes to read from the start of a page of joins, enough to find the page's title."""


def is_leftover(name: str) -> bool:
    """Return whether a file or folder of this name is left from an unfinished write.

    >>> is_leftover(".unfinished-k3_x0q9z"), is_leftover(".tmpA1b2C3"), is_leftover("model.json")
    (True, True, False)
    """
    return _LEFTOVER.fullmatch(name) is not None


def obstacle_to_page(page: Path) -> str:
    """Return why a page of joins must not replace a file; empty if it may."""
    # A mistyped path would otherwise destroy the file that has it.
    if not page.is_file():
        return ""
    with page.open("rb") as file:
        head = file.read(_HEAD)
    return "" if not head or _PAGE.match(head) else "it holds something else than a page of joins"


def refuse_foreign_page(name: str, page: Path) -> None:
    """Refuse the path of a page of joins that would replace another file."""
    if obstacle := obstacle_to_page(page):
        raise UnwritablePathError.because(name, str(page), reason=obstacle)


@contextmanager
def replacing(path: Path, *, private: bool = True) -> Iterator[Path]:
    """Let a `with` block write a new file, then replace the old file with it in one step."""
    # Unless it is `private`, it has the permissions of the old file, or of any new file. Readers
    # see either the old content or the new, also if several processes write at once. If writing
    # fails, for example because the disk is full, the old file stays. A link stays a link, and a
    # device or pipe is written to as it is.
    given, path = path, path.resolve()
    old = path.stat().st_mode if path.exists() else None
    if old is not None and not stat.S_ISREG(old):
        with _naming(given, path):
            yield path
        return
    mode = 0o600 if private else old
    # A folder, not a file: some libraries write temporary files of their own beside the target.
    with _naming(given, path.parent):
        path.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=_UNFINISHED) as folder:
            unfinished = Path(folder, path.name)
            yield unfinished
            if mode is not None:
                unfinished.chmod(stat.S_IMODE(mode))
            with unfinished.open("rb+") as file:
                os.fsync(file.fileno())
            unfinished.replace(path)


@contextmanager
def _naming(file: Path, place: Path) -> Iterator[None]:
    """Let errors without a file, or about one that is written at a place, name this file."""
    try:
        yield
    except OSError as error:
        if error.filename is None or Path(error.filename).is_relative_to(place):
            error.filename = str(file)
        raise


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """For a `with` block, keep all others who call this from changing files in a folder."""
    # The folder itself is locked, so that no file of a lock is left in a person's folder.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # Files are replaced as a whole, so a file system without locks is no reason to stop.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def locking(folders: Mapping[str, Path | None]) -> Iterator[None]:
    """For a `with` block, lock folders against other runs, and delete leftovers of killed runs."""
    keys = {folder.resolve(): key for key, folder in folders.items() if folder}
    with ExitStack() as stack:
        for folder, key in keys.items():
            stack.enter_context(_locked(key, folder))
        yield


@contextmanager
def _locked(key: str, folder: Path) -> Iterator[None]:
    # Most runs of `hyperjoin find` keep no folder.
    from filelock import FileLock, Timeout  # noqa: PLC0415

    lock = FileLock(folder / LOCK, timeout=0, mode=0o600, thread_local=False)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire()
        _sweep(folder)
    except Timeout:
        raise FolderInUseError.named(key, str(folder)) from None
    except (OSError, NotImplementedError) as error:
        # Files are replaced as a whole, so a file system without locks is no reason to stop.
        logger.warning("Cannot lock `%s` %s; start no other run on it: %s", key, folder, error)
    try:
        yield
    finally:
        lock.release()


def _sweep(folder: Path) -> None:
    for entry in folder.iterdir():
        if not is_leftover(entry.name):
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def checksum(path: Path) -> str:
    """Return the SHA-256 checksum of a file, in hexadecimal."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            hashed.update(block)
    return hashed.hexdigest()


@contextmanager
def replacing_with_checksum(path: Path) -> Iterator[Path]:
    """Let a `with` block write a new file, then add a checksum and replace the old file."""
    _refuse_foreign(path)
    with replacing(path) as unfinished:
        yield unfinished
        digest = bytes.fromhex(checksum(unfinished))
        with unfinished.open("ab") as file:
            file.write(_MARK + digest)


def replace_with_checksum(path: Path, content: memoryview) -> None:
    """Write a small file with a checksum, and replace the old file with it in one step."""
    # This does not wait for the disk and makes no folder, each of which takes longer than to write
    # the file. A power failure may damage it, which the checksum shows.
    _refuse_foreign(path)
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent, prefix=_UNFINISHED)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.write(_MARK + hashlib.sha256(content).digest())
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def _refuse_foreign(path: Path) -> None:
    if path.exists() and path.stat().st_size and not _has_checksum(path):
        raise NoChecksumError.at(str(path))


def _has_checksum(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _TRAILER_SIZE, 0))
        return file.read(len(_MARK)) == _MARK


def read_checked(path: Path) -> memoryview:
    """Verify the checksum at the end of a file, and return the content before it."""
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise DamagedFileError.at(str(path))
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    end = max(len(content) - _TRAILER_SIZE, 0)
    digest = end + len(_MARK)
    if content[end:digest] != _MARK:
        raise NoChecksumError.at(str(path))
    if hashlib.sha256(content[:end]).digest() != content[digest:]:
        raise DamagedFileError.at(str(path))
    return content[:end]


_RUN_PREFIX = "hyperjoin-run-"
_FILES = "files"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Provide a private temporary folder, and remove it at the end of the `with` block."""
    # It is also removed if SIGTERM or SIGHUP ends the program. The first call in a process also
    # removes the folders that killed runs of this user have left.
    _sweep_once()
    with (
        tidy_end(),
        tempfile.TemporaryDirectory(prefix=_RUN_PREFIX, ignore_cleanup_errors=True) as name,
    ):
        descriptor = _locked_file(Path(name))
        folder = Path(name, _FILES)  # the lock is not among the caller's files
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            os.close(descriptor)


def remove_abandoned_folders() -> None:
    """Remove temporary folders left behind by killed runs of this user."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_RUN_PREFIX}*"):
        try:
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
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


def _locked_file(folder: Path) -> int:
    """Lock a temporary folder, and return the file descriptor that holds the lock."""
    # The system releases the lock however the process ends. A process number would not do: systems
    # assign it again, and containers that share a folder for temporary files don't share numbers.
    unlocked = folder / f"{LOCK}.new"
    descriptor = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    # Renamed once it is locked, so that nobody finds the lock free before.
    unlocked.rename(folder / LOCK)
    return descriptor
