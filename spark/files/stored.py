"""Open files on this machine and in object stores (through Arrow), and decompress them."""

import bz2
import gzip
import io
import lzma
import sys
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
from pyarrow import fs
from typing_extensions import Buffer, assert_never

from datahub_hyperjoin.locations import File, ObjectStore

_BUFFER = 1 << 22
"""Number of bytes that one request reads from a text file. Requests cost time and money, and most
files are smaller."""

DELTA_LOG = "_delta_log"
"""Name of the folder that makes its parent a Delta table."""
ICEBERG_METADATA = "metadata/*.metadata.json"
"""Files that make a folder an Iceberg table."""

_ATTEMPTS = 3
_SECONDS_TO_CONNECT = 10


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in an object store, with the attributes and methods of `Path` that readers use."""

    uri: str
    """URI of the file, not percent-encoded."""

    store: ObjectStore

    @property
    def name(self) -> str:
        """The last component of the file's path."""
        return PurePosixPath(self.uri).name

    @property
    def stem(self) -> str:
        """The file's name without the last extension."""
        return PurePosixPath(self.uri).stem

    @property
    def suffix(self) -> str:
        """The last extension of the file's name."""
        return PurePosixPath(self.uri).suffix

    def with_name(self, name: str) -> "StoredFile":
        """Return the file with the given name in the same folder."""
        return replace(self, uri=f"{self.uri.rpartition('/')[0]}/{name}")


DataPath = Path | StoredFile


def local_path(uri: str) -> Path:
    """Convert a path or a `file:` URI to a `Path`.

    >>> str(local_path("file:///lake/sales%202024.csv")), str(local_path("lake/sales.csv"))
    ('/lake/sales 2024.csv', 'lake/sales.csv')
    """
    return Path(unquote(urlsplit(uri).path) if uri.startswith("file:") else uri)


def path_of(file: File) -> DataPath:
    """Return a file's local path, or a `StoredFile` for a file in an object store."""
    return StoredFile(file.uri, file.store) if file.store else local_path(file.uri)


def open_in_order(path: DataPath) -> BinaryIO:
    """Open a file whose bytes are read from the first to the last."""
    file = open_at_random(path)
    if isinstance(file, Path):
        return file.open("rb")
    return io.BufferedReader(cast("io.RawIOBase", file), _BUFFER)


def open_at_random(path: DataPath) -> Path | pa.NativeFile:
    """Return a file for random access by Arrow's Parquet and ORC readers."""
    match path:
        case Path():
            return path
        case StoredFile():
            file_system, key = reach_store(path.uri, path.store)
            return file_system.open_input_file(key)
        case _:
            assert_never(path)


def bytes_of(path: DataPath) -> int:
    """Return the size of a file in bytes."""
    file = open_at_random(path)
    if isinstance(file, Path):
        return file.stat().st_size
    with file:
        return int(file.size())


def entity_tag(file: StoredFile) -> str:
    """Request a file's entity tag, which S3 mostly computes from the content; empty without one."""
    file_system, key = reach_store(file.uri, file.store)
    with file_system.open_input_file(key) as opened:
        return (opened.metadata() or {}).get("ETag", b"").decode()


def sizes_in_store(folder: str, parts: Sequence[str], store: ObjectStore) -> list[int]:
    """Request the sizes of many files of an object store in parallel."""
    file_system, root = reach_store(folder, store)
    infos = file_system.get_file_info([f"{root}/{part}" for part in parts])
    return [info.size or 0 for info in infos]


def reach_store(uri: str, store: ObjectStore) -> tuple[fs.FileSystem, str]:
    """Return the file system of a store, shared by the process, and the path of a file in it."""
    scheme, _, rest = uri.partition("://")
    host, _, key = rest.partition("/")
    file_system, root = _file_system(scheme, host, store)
    return file_system, f"{root}/{key}".strip("/")


@lru_cache(maxsize=64)
def _file_system(scheme: str, host: str, store: ObjectStore) -> tuple[fs.FileSystem, str]:
    """Return the file system that holds a bucket, and the bucket's path in it."""
    # Credentials are those that Arrow finds: environment variables, the files of the store's own
    # tools, or the identity of the machine.
    if scheme != "s3":
        file_system, root = fs.FileSystem.from_uri(f"{scheme}://{quote(host, safe='@.:')}")
        return file_system, root
    endpoint = urlsplit(store.endpoint)
    # Amazon answers requests to another region with an error. Other stores know no regions.
    region = store.region or (None if store.endpoint else fs.resolve_s3_region(host))
    return fs.S3FileSystem(
        endpoint_override=endpoint.netloc or None,
        scheme=endpoint.scheme or "https",
        region=region,
        connect_timeout=_SECONDS_TO_CONNECT,
        # Arrow's own default repeats requests for minutes before it gives up.
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    ), host


_MOST_AT_ONCE = 1 << 13


class _SmallReads:
    """A file object that returns at most 8 KiB per read.

    From Python 3.12 on, `gzip` asks for 128 KiB at once. The position in the file would then say
    little about how much of it has been decompressed.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, _MOST_AT_ONCE))


COMPRESSIONS: Mapping[str, Callable[[BinaryIO], object]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=cast("BinaryIO", _SmallReads(file))),
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda file: pa.input_stream(file, compression="zstd"),
    ".lz4": lambda file: pa.input_stream(file, compression="lz4"),
    ".br": lambda file: pa.input_stream(file, compression="brotli"),
}


_SIGNATURES = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\0": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"\x04\x22\x4d\x18": ".lz4",
}
"""The first bytes of compressed files. Those of Brotli are not marked, so that the name counts."""
_UNMARKED = ".br"


def _compression(path: DataPath, file: BinaryIO) -> str:
    """Return the usual ending of files that are compressed in the same way; empty if this is not.

    Programs write compressed files without the ending, and browsers decompress files and keep it.
    """
    first = cast("io.BufferedReader", file).peek(max(map(len, _SIGNATURES)))
    by_content = (name for mark, name in _SIGNATURES.items() if first.startswith(mark))
    return next(by_content, _UNMARKED if path.suffix.lower() == _UNMARKED else "")


class BlockStream(io.RawIOBase, ABC):
    """A stream of bytes that are made ready block by block."""

    _ready: bytes
    """What is ready and has not been read."""

    @abstractmethod
    def _make_ready(self) -> None:
        """Add the next bytes to what is ready, if nothing is."""

    def readable(self) -> bool:
        """Return True, because the stream can be read."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Write the next bytes into a buffer."""
        self._make_ready()
        view = memoryview(buffer)
        size = min(len(view), len(self._ready))
        view[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


class DecompressedFile(io.RawIOBase):
    """A stream of a file's bytes, decompressed if the file is compressed."""

    def __init__(self, path: DataPath) -> None:
        super().__init__()
        self._path = path
        self._file = open_in_order(path)
        self.compression = _compression(path, self._file)
        decompress = COMPRESSIONS.get(self.compression)
        self._content = cast("BinaryIO", decompress(self._file)) if decompress else self._file
        self._progress: list[tuple[int, ...]] = [(0, 0)]

    def readable(self) -> bool:
        """Return True, because the stream can be read."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes of the decompressed content."""
        content = self._content.read(size)
        if content:
            self._progress.append((self._progress[-1][0] + len(content), self._file.tell()))
        return content

    def size(self, parsed: int = sys.maxsize) -> float:
        """Return the decompressed size in bytes, an estimate for a compressed file."""
        # The estimate applies the compression ratio of the first `parsed` bytes to the size on
        # disk. A reader with a thread that reads ahead passes them, so that it is reproducible.
        size = self._stored_bytes
        if self._content is self._file:
            return size
        part = min(bisect_left(self._progress, (parsed,)), len(self._progress) - 1)
        read, compressed = self._progress[part]
        return size * read / compressed

    @cached_property
    def _stored_bytes(self) -> int:
        return bytes_of(self._path)

    def close(self) -> None:
        """Close the stream and the file."""
        self._content.close()
        self._file.close()
        super().close()
