"""Open files that may be compressed."""

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

COMPRESSIONS: Mapping[str, Callable[[BinaryIO], object]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda file: pa.input_stream(file, compression="zstd"),
    ".lz4": lambda file: pa.input_stream(file, compression="lz4"),
    ".br": lambda file: pa.input_stream(file, compression="brotli"),
}
"""Functions that open a compressed file, by the suffix of its name."""


class DecompressedFile(io.RawIOBase):
    """The bytes of a file, decompressed according to the suffix of its name.

    Args:
        path: Path of the file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb")
        decompress = COMPRESSIONS.get(path.suffix.lower())
        self._content = cast("BinaryIO", decompress(self._file)) if decompress else self._file
        self._bytes_read = 0

    def readable(self) -> bool:
        """Return True, because the stream can be read."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes.

        Args:
            size: Number of bytes; all that are left if negative.

        Returns:
            The bytes; fewer than `size` at the end of the file.
        """
        content = self._content.read(size)
        self._bytes_read += len(content)
        return content

    def size(self) -> float:
        """Return the number of decompressed bytes of the whole file.

        For a compressed file it is an estimate: the ratio of the part read so far is applied to
        the size on disk.
        """
        size = os.fstat(self._file.fileno()).st_size
        return size if self._content is self._file else size * self._bytes_read / self._file.tell()

    def close(self) -> None:
        """Close the stream and the file."""
        self._content.close()
        self._file.close()
        super().close()
