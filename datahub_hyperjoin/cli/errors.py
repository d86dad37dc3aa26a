"""The error of a file of joins."""

from pathlib import Path

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError


class JoinsFileError(HyperJoinError, ValueError):
    """A file that `--in` names holds no joins that can be read."""

    @classmethod
    def other_content(cls, path: Path) -> Self:
        return cls(
            f"{str(path)!r} holds no joins. Name the joins.json that `hyperjoin find --out` or a "
            "run with a file sink wrote with this version, or a folder, whose tables are read"
        )

    @classmethod
    def damaged(cls, path: Path) -> Self:
        return cls(f"{str(path)!r} is damaged or cut off. Let a run write it again")

    @classmethod
    def without_joins(cls, path: Path) -> Self:
        return cls(
            f"{str(path)!r} has no join: the run that wrote it found none, or was told to write "
            "none. Name another file, or a folder, whose tables are read"
        )

    @classmethod
    def unread(cls, path: Path, reason: str) -> Self:
        return cls(f"{str(path)!r} cannot be read: {reason}. Correct the path or its permissions")
