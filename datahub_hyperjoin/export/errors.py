"""Errors of the export of joins.

CatalogError
└─ NoSafeJoinError       the catalog has no join that may be exported
OutputError
└─ ForeignFileError      the output file exists and holds something else
"""

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError, OutputError


class NoSafeJoinError(CatalogError, LookupError):
    """The catalog has no join that may be exported."""

    @classmethod
    def known(cls, kind: str, *, reasons: str) -> Self:
        """Report that no join is left for a format, and why joins were left out."""
        because = f" Left out: {reasons}." if reasons else ""
        return cls(
            f"no safe join is known to export as {kind}.{because} List the joins with `hyperjoin "
            "joins --dataset`, and accept those that lead to a key"
        )


class ForeignFileError(OutputError, FileExistsError):
    """The output file exists, and is not as an export wrote it."""

    @classmethod
    def at(cls, path: str) -> Self:
        """Report a file that would be lost."""
        return cls(
            f"`--out` is {path!r}, which was not written by `hyperjoin export`, or was edited "
            "since. Move it, or name another file"
        )
