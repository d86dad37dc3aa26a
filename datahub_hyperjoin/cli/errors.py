"""The errors of a file of joins and of a condition."""

from collections.abc import Iterable
from pathlib import Path

import click
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


class ConditionError(click.BadParameter):
    """A condition that chooses joins cannot be understood."""

    @classmethod
    def malformed(cls, text: str) -> Self:
        """Return the error for a text that compares nothing."""
        return cls(f"{text!r} is no comparison such as role=reference")

    @classmethod
    def uncomparable(cls, field: str) -> Self:
        """Return the error for a field that has no order."""
        return cls(f"only joinability is greater or less; write {field}=")

    @classmethod
    def of_value(cls, value: str, known: Iterable[str]) -> Self:
        """Return the error for a value that is not among those that are known."""
        return cls(f"{value!r} is not {' or '.join(known)}")
