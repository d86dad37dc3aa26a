"""Write an export to a file, without overwriting people's changes.

The first line holds a checksum of the other lines. The file is replaced only if that checksum is
right, so nobody has edited it. The same joins give the same file, which suits a version control
system.
"""

import hashlib
from pathlib import Path

from datahub_hyperjoin.errors import UnwritablePathError
from datahub_hyperjoin.export.errors import ForeignFileError
from datahub_hyperjoin.export.formats import Exported, ExportFormat
from datahub_hyperjoin.storage import replacing

_OPTION = "--out"
_MODE = 0o644


def precede_with_checksum(exported: Exported, export_format: ExportFormat) -> str:
    """Return the text of an export, preceded by a line with the text's checksum.

    Args:
        exported: The export.
        export_format: Its format.
    """
    return f"{_first_line(exported.text, export_format)}\n{exported.text}"


def _first_line(text: str, export_format: ExportFormat) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    command = f"hyperjoin export --format {export_format.value}"
    return f"{export_format.comment} Written by `{command}`, checksum {digest}"


def write_export(path: Path, text: str, export_format: ExportFormat) -> None:
    """Write an export to a file.

    Args:
        path: The file; missing folders are created.
        text: The text that `precede_with_checksum` returns.
        export_format: Its format.

    Raises:
        ForeignFileError: The file exists, and is not as an export in this format wrote it.
        UnwritablePathError: The file cannot be written.
    """
    if path.exists() and not _is_own(path, export_format):
        raise ForeignFileError.at(str(path))
    try:
        with replacing(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8", newline="\n")
        path.chmod(_MODE)  # others read it, as they read a file in a version control system
    except OSError as error:
        reason = f"writing fails: {error.strerror}"
        raise UnwritablePathError.because(_OPTION, str(path), reason=reason) from error


def _is_own(path: Path, export_format: ExportFormat) -> bool:
    try:
        first, _, text = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return False
    return first == _first_line(text, export_format)
