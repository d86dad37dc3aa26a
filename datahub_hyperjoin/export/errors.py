"""Errors that occur while joins are exported."""

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError, OutputError


class NoSafeJoinError(CatalogError, LookupError):
    """The catalog has no join that is safe to export."""

    @classmethod
    def for_format(cls, kind: str, *, reasons: str) -> Self:
        because = f" Left out: {reasons}." if reasons else ""
        return cls(
            f"no safe join is known to export as {kind}.{because} List the joins with `hyperjoin "
            "joins --dataset`, and accept those that lead to a key"
        )


class ForeignFileError(OutputError, FileExistsError):
    """The output file contains something that an export did not write."""

    @classmethod
    def at(cls, path: str) -> Self:
        return cls(
            f"`--out` is {path!r}, which was not written by `hyperjoin export`, or was edited "
            "since. Move it, or name another file"
        )
