"""Open files, and decompress those that are compressed."""

import bz2
import gzip
import io
import lzma
import sys
from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import BinaryIO, cast

import pyarrow as pa

from datahub_hyperjoin.spark.files.stored import DataPath, bytes_of, open_in_order

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
"""Functions that open a compressed file, by the suffix of its name."""


class DecompressedFile(io.RawIOBase):
    """A stream of a file's bytes, decompressed if the file is compressed."""

    def __init__(self, path: DataPath) -> None:
        super().__init__()
        self._path = path
        self._file = open_in_order(path)
        decompress = COMPRESSIONS.get(path.suffix.lower())
        self._content = cast("BinaryIO", decompress(self._file)) if decompress else self._file
        self._progress: list[tuple[int, ...]] = [(0, 0)]

    def readable(self) -> bool:
        """Return True, because the stream can be read."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes of the decompressed content.

        Args:
            size: Number of bytes; all that are left if negative.

        Returns:
            The bytes; fewer than `size` at the end of the file.
        """
        content = self._content.read(size)
        if content:
            self._progress.append((self._progress[-1][0] + len(content), self._file.tell()))
        return content

    def size(self, parsed: int = sys.maxsize) -> float:
        """Return the decompressed size in bytes, which is only an estimate for a compressed file.

        The estimate applies the compression ratio of the first part to the size on disk.

        Args:
            parsed: Decompressed bytes of the first part; everything read so far if fewer. A reader
                with a thread that reads ahead passes it, so that the estimate is reproducible.
        """
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
