"""Opens files that may be compressed."""

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
"""How what a file's name ends in says that it is to be opened."""


class Unpacked(io.RawIOBase):
    """A file's bytes, unpacked as its name says.

    Args:
        path: Where it is.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._packed = path.open("rb")
        opening = COMPRESSIONS.get(path.suffix.lower())
        self._bytes = cast("BinaryIO", opening(self._packed)) if opening else self._packed
        self._read = 0

    def readable(self) -> bool:
        """Tells io that this can be read.

        Returns:
            Always true.
        """
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Reads on.

        Args:
            size: How many bytes; without it, all.

        Returns:
            As many, or fewer at the end.
        """
        found = self._bytes.read(size)
        self._read += len(found)
        return found

    def size(self) -> float:
        """How many bytes there are of all.

        Returns:
            Their number; that of a packed file is estimated from those that have been read.
        """
        size = os.fstat(self._packed.fileno()).st_size
        return size if self._bytes is self._packed else size * self._read / self._packed.tell()

    def close(self) -> None:
        """Closes the file too."""
        self._bytes.close()
        self._packed.close()
        super().close()
