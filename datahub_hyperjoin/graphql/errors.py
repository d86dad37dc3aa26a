"""What can be wrong with a question to the catalog, or with its answer.

CatalogError
├─ NoServerError         no server is named, or it does not let us in
├─ UnansweredError       the server gives no answer
├─ DeniedError           the server understands, and does not do it
├─ UnknownNameError      a name means nothing, or several things
└─ NoPathError           two tables are not connected
"""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError

_LISTED = 5


class NoServerError(CatalogError, OSError):
    """There is no server to ask."""

    @classmethod
    def because(cls, reason: str) -> Self:
        """What DataHub's client makes of the settings."""
        return cls(
            f"DataHub cannot be reached: {reason.rstrip('.')}. Run `datahub init`, or set "
            "DATAHUB_GMS_URL, and DATAHUB_GMS_TOKEN where the server asks for one"
        )

    @classmethod
    def without_settings(cls) -> Self:
        """Nothing says where the server is."""
        return cls.because("neither ~/.datahubenv nor DATAHUB_GMS_URL names a server")

    @classmethod
    def malformed(cls) -> Self:
        """What says where the server is makes no sense; it may hold a token, so it is not shown."""
        return cls.because("the settings in ~/.datahubenv make no sense")


class UnansweredError(CatalogError, OSError):
    """The server gives no answer that can be used."""

    @classmethod
    def to(cls, question: str, *, reason: str) -> Self:
        """What was asked, and what came instead."""
        return cls(
            f"DataHub does not answer {question}: {reason.rstrip('.')}. Try again, and see the "
            "server's log if that does not help"
        )


class DeniedError(CatalogError, PermissionError):
    """The server understands what it is asked, and does not do it."""

    @classmethod
    def to(cls, question: str, *, reason: str) -> Self:
        """What was asked, and the server's words."""
        return cls(
            f"DataHub refuses {question}: {reason.rstrip('.')}. See that the urns exist, and that "
            "the token's owner may view joins, and to decide about them edit their tags and "
            "descriptions and delete them"
        )


def _list(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(map(repr, names[:_LISTED])) + (f" and {more} more" if more > 0 else "")


class UnknownNameError(CatalogError, LookupError):
    """A name means nothing in the catalog, or more than one thing."""

    @classmethod
    def nothing(cls, kind: str, name: str, *, near: Sequence[str]) -> Self:
        """What was looked for, and names that are like it."""
        hint = f"Did you mean {_list(near)}?" if near else "Give its urn, as DataHub's pages show"
        return cls(f"the catalog knows no {kind} {name!r}. {hint}")

    @classmethod
    def several(cls, kind: str, name: str, *, urns: Sequence[str]) -> Self:
        """What was looked for, and what it may be."""
        return cls(f"{len(urns)} {kind}s are called {name!r}: {_list(urns)}. Give one of the urns")


class NoPathError(CatalogError, LookupError):
    """No chain of joins leads from one table to another."""

    @classmethod
    def between(cls, start: str, end: str, *, most: int | None) -> Self:
        """Both tables, and how many joins were allowed."""
        limit = f" of at most {most} joins" if most else ""
        more = "allow more with `--max-hops`, or " if most else ""
        return cls(
            f"no path{limit} leads from {start!r} to {end!r}; {more}see with `hyperjoin joins "
            "--dataset` what each of them joins with, and accept what is right"
        )
