"""Opens files that may be compressed."""

import bz2
import gzip
import lzma
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

COMPRESSIONS: Mapping[str, Callable[[Path], object]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda path: pa.input_stream(path, compression="zstd"),
}
"""How what a file's name ends in says that it is to be opened."""


def open_bytes(path: Path) -> BinaryIO:
    """A file's bytes, unpacked as its name says.

    Args:
        path: Where it is.

    Returns:
        What can be read from.
    """
    opening = COMPRESSIONS.get(path.suffix.lower())
    return cast("BinaryIO", opening(path)) if opening else path.open("rb")
