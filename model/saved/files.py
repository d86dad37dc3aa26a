"""The files of a saved model's folder, each written whole or not at all.

`weights.safetensors` holds the weights, `model.json` the sizes and fingerprints, and
`training.safetensors`, while a network is trained, all that going on after a kill needs.
`vectors.bin` is the fastText model if it was trained on the lake: it contains words of the lake's
values, so the folder deserves the care that the lake does. A pretrained one stays where it is.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WEIGHTS, DESCRIPTION, VECTORS = "weights.safetensors", "model.json", "vectors.bin"
JOURNAL = "training.safetensors"
_PART = ".part"
_NAMES = (WEIGHTS, DESCRIPTION, VECTORS, JOURNAL)
FILES = frozenset({*_NAMES, *(name + _PART for name in _NAMES)})
"""Everything that a saved model's folder may hold, what a kill leaves half written included."""
_BLOCK, _BLOCKS = 1 << 16, 64


def part_of(path: Path) -> Path:
    """Where a file stands while it is written.

    Args:
        path: The file.

    Returns:
        Its neighbour.
    """
    return path.with_name(path.name + _PART)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Puts a file in place once it is written to its end.

    Args:
        path: The file; whoever reads it sees the old one or the new one.

    Yields:
        Where to write.
    """
    part = part_of(path)
    yield part
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(path)


def digest(path: Path) -> str:
    """Tells files apart without reading gigabytes: their length and 64 blocks of 64 KiB.

    Args:
        path: A file.

    Returns:
        16 hexadecimal digits; a file of up to 4 MiB counts whole.
    """
    size = path.stat().st_size
    found = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        for block in range(_BLOCKS):
            file.seek(max(block * _BLOCK, block * (size - _BLOCK) // (_BLOCKS - 1)))
            found.update(file.read(_BLOCK))
    return found.hexdigest()[:16]
