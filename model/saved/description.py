"""Write and read `model.json`, the description of a saved model."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datahub_hyperjoin.model.saved.files import DESCRIPTION, FORMAT
from datahub_hyperjoin.storage import checksum

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
    """Read the description of a saved model.

    Returns:
        The description; empty if there is none, it is damaged or something else wrote it.
    """
    try:
        content = json.loads(folder.joinpath(DESCRIPTION).read_bytes())
        return content if content.pop(_OWN) == _checksum_of(content) else {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def find_damage(folder: Path) -> str:
    """Return the name of the first damaged file of a saved model, if any.

    Returns:
        The name of the file; empty if all files are as they were saved, or there is no model.
    """
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
    """Return why a model must not be saved in a folder; empty if it may be saved there.

    Returns:
        The reason, with what to do; empty if there is none.
    """
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
