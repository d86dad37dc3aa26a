"""Write the files of a saved model, each completely or not at all.

`weights.safetensors` holds the weights, and `model.json` the sizes and fingerprints. During
training, `training.safetensors` holds everything that is needed to resume. `vectors.bin` is the
fastText model if it was trained on the lake. It contains words of the lake's values, so protect the
folder as you protect the lake. A pretrained fastText model stays in its place.
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
"""Every file that a saved model's folder may hold, including incomplete files of a killed run."""
_BLOCK = 1 << 16
_BLOCKS = 64
"""Size in bytes, and number, of the blocks of a file that a digest reads."""


def part_of(path: Path) -> Path:
    """Return the temporary path that a file has until it is completely written."""
    return path.with_name(path.name + _PART)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Replace a file atomically once its new content is complete.

    Args:
        path: The file. Readers see either the old content or the new.

    Yields:
        The path to write to.
    """
    part = part_of(path)
    yield part
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(path)


def digest(path: Path) -> str:
    """Compute a digest of a file quickly, from its size and 64 blocks of 64 KiB.

    Args:
        path: The file. One of up to 4 MiB is read completely.

    Returns:
        16 hexadecimal digits.
    """
    size = path.stat().st_size
    hashed = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        for block in range(_BLOCKS):
            file.seek(max(block * _BLOCK, block * (size - _BLOCK) // (_BLOCKS - 1)))
            hashed.update(file.read(_BLOCK))
    return hashed.hexdigest()[:16]
