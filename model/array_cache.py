"""A disk cache for arrays that are slow to compute and the same in every run.

They follow from public lists and constants, not from anyone's data.
"""

import os
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from datahub_hyperjoin.storage import replacing

_FOLDER = "datahub-hyperjoin"


def cached_arrays(
    name: str, build: Callable[[], Mapping[str, np.ndarray]], *, packages: tuple[str, ...]
) -> Mapping[str, np.ndarray]:
    """Load arrays from the user's cache folder, or compute them and store them there."""
    versions = [f"{package} {version(package)}" for package in packages]
    key = sha256(repr([sys.version_info[:2], *versions]).encode()).hexdigest()[:16]
    home = os.environ.get("XDG_CACHE_HOME")
    caches = Path(home) if home else Path.home() / ".cache"
    file = caches / _FOLDER / f"{name}-{key}.safetensors"
    try:
        return load_file(file)
    except (OSError, SafetensorError):  # missing, or damaged
        arrays = build()
    try:
        with replacing(file) as unfinished:
            save_file(dict(arrays), unfinished)
    except OSError:
        pass  # the next run computes them, too
    return arrays
