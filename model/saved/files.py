"""The files of a saved model.

`weights.safetensors` holds the weights, and `model.json` the sizes and fingerprints. During
training, `training.safetensors` holds everything that is needed to resume. `vectors.bin` is the
fastText model if it was trained on the lake. It contains words of the lake's values, so protect the
folder as you protect the lake. A pretrained fastText model stays in its place.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datahub_hyperjoin.storage import LOCK, checksum

WEIGHTS, DESCRIPTION, VECTORS = "weights.safetensors", "model.json", "vectors.bin"
JOURNAL = "training.safetensors"
FILES = frozenset({WEIGHTS, DESCRIPTION, VECTORS, JOURNAL, LOCK})
"""Every file that a saved model's folder may hold, besides what killed runs have left."""
FORMAT = 2  # version of the network and its features; increase it so that older weights are refused
_BLOCK = 1 << 16  # size in bytes of the blocks that are read to compute a file's digest
_BLOCKS = 64  # number of the blocks that are read to compute a file's digest


def holds_model(folder: Path) -> bool:
    """Return whether a folder contains a model."""
    return all(folder.joinpath(name).is_file() for name in (DESCRIPTION, WEIGHTS))


def digest(path: Path) -> str:
    """Compute a digest of a file from its size and some of its blocks."""
    # A file of up to 4 MiB is read completely.
    size = path.stat().st_size
    hashed = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        for block in range(_BLOCKS):
            file.seek(max(block * _BLOCK, block * (size - _BLOCK) // (_BLOCKS - 1)))
            hashed.update(file.read(_BLOCK))
    return hashed.hexdigest()[:16]


Description = Mapping[str, Any]
"""The content of `model.json`; empty if there is none or it cannot be used."""

_OWN = "checksum"
_FILES = "files"


def write_description(path: Path, description: Description, files: Mapping[str, Path]) -> None:
    """Write the description of a model, with a checksum of each of the model's other files."""
    checksums = {name: checksum(file) for name, file in files.items()}
    content = {**description, _FILES: checksums}
    path.write_text(json.dumps({**content, _OWN: _checksum_of(content)}, indent=1), "utf-8")


def describe_model(folder: Path) -> Description:
    """Read the description of a saved model."""
    try:
        content = json.loads(folder.joinpath(DESCRIPTION).read_bytes())
        return content if content.pop(_OWN) == _checksum_of(content) else {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def find_damage(folder: Path) -> str:
    """Return the name of the first damaged file of a saved model, if any."""
    if not folder.joinpath(DESCRIPTION).is_file():
        return ""
    description = describe_model(folder)
    if not description:
        return DESCRIPTION
    checksums: Mapping[str, str] = description[_FILES]
    files = {name: folder / name for name in checksums}
    damaged = (
        name
        for name, file in files.items()
        if not file.is_file() or checksum(file) != checksums[name]
    )
    return next(damaged, "")


def obstacle_to_saving(folder: Path) -> str:
    """Return why a model must not be saved in a folder; empty if it may be saved there."""
    if not folder.joinpath(DESCRIPTION).is_file():
        return ""
    description = describe_model(folder)
    if not description:
        return (
            f"its file {DESCRIPTION} is damaged or was not written by this version of the package "
            "(move or delete it to use the folder)"
        )
    saved = description["architecture"].get("format", 0)
    if saved > FORMAT:
        return f"it holds a model of a newer version of the package (format {saved}, here {FORMAT})"
    return ""


def _checksum_of(content: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
