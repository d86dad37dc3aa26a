"""Names, format and digests of a saved model's files.

`weights.safetensors` holds the weights, and `model.json` the sizes and fingerprints. During
training, `training.safetensors` holds everything that is needed to resume. `vectors.bin` is the
fastText model if it was trained on the lake. It contains words of the lake's values, so protect the
folder as you protect the lake. A pretrained fastText model stays in its place.
"""

import hashlib
from pathlib import Path

from datahub_hyperjoin.storage import LOCK

WEIGHTS, DESCRIPTION, VECTORS = "weights.safetensors", "model.json", "vectors.bin"
JOURNAL = "training.safetensors"
FILES = frozenset({WEIGHTS, DESCRIPTION, VECTORS, JOURNAL, LOCK})
"""Every file that a saved model's folder may hold, besides what killed runs have left."""
FORMAT = 2
"""Version of the network and its features; increase it so that older weights are refused."""
_BLOCK = 1 << 16
"""Size in bytes of the blocks that are read to compute a file's digest."""
_BLOCKS = 64
"""Number of the blocks that are read to compute a file's digest."""


def holds_model(folder: Path) -> bool:
    """Return whether a folder contains a model."""
    return all(folder.joinpath(name).is_file() for name in (DESCRIPTION, WEIGHTS))


def digest(path: Path) -> str:
    """Compute a digest of a file from its size and some of its blocks.

    It reads the size and 64 blocks of 64 KiB.

    Args:
        path: The file. One of up to 4 MiB is read completely.
    """
    size = path.stat().st_size
    hashed = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        for block in range(_BLOCKS):
            file.seek(max(block * _BLOCK, block * (size - _BLOCK) // (_BLOCKS - 1)))
            hashed.update(file.read(_BLOCK))
    return hashed.hexdigest()[:16]
