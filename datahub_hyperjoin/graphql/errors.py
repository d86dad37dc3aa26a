"""Errors raised by GraphQL requests and name look-ups.

CatalogError
├─ NoServerError         no server is configured or reachable
├─ UnansweredError       the server cannot be reached or fails
├─ DeniedError           the server refuses a request
├─ UnknownNameError      a name matches nothing, or more than one thing
└─ AmbiguousColumnError  a name matches several columns
"""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError
from datahub_hyperjoin.wording import name_some


class NoServerError(CatalogError, OSError):
    """No DataHub server is configured, or the configured server cannot be reached."""

    @classmethod
    def because(cls, reason: str) -> Self:
        return cls(
            f"DataHub cannot be reached: {reason.rstrip('.')}. Run `datahub init`, or set "
            "DATAHUB_GMS_URL and, if the server requires a token, DATAHUB_GMS_TOKEN"
        )

    @classmethod
    def without_settings(cls) -> Self:
        return cls.because("neither ~/.datahubenv nor DATAHUB_GMS_URL names a server")

    @classmethod
    def with_odd_token(cls) -> Self:
        return cls.because("the token has characters that no token of DataHub has")

    @classmethod
    def malformed(cls) -> Self:
        # The message omits their text, which may contain a token.
        return cls.because("the settings in ~/.datahubenv cannot be parsed")


class UnansweredError(CatalogError, OSError):
    """DataHub's server does not answer a request."""

    @classmethod
    def to(cls, request: str, *, reason: str) -> Self:
        return cls(
            f"DataHub does not answer {request}: {reason.rstrip('.')}. Try again; if the error "
            "persists, check the server's log"
        )


class DeniedError(CatalogError, PermissionError):
    """DataHub's server refuses a request."""

    @classmethod
    def to(cls, request: str, *, reason: str) -> Self:
        return cls(
            f"DataHub refuses {request}: {reason.rstrip('.')}. Check that the URNs exist, and that "
            "the owner of the token may view joins and, to accept or reject them, edit their tags "
            "and descriptions and delete them"
        )


THE_CATALOG = "the catalog"
"""Where joins are from, in words, if DataHub holds them."""


class UnknownNameError(CatalogError, LookupError):
    """A name matches no join, dataset or column, or more than one."""

    @classmethod
    def nothing(
        cls, kind: str, name: str, *, near: Sequence[str], where: str = THE_CATALOG
    ) -> Self:
        similar = name_some([*map(repr, near)])
        other = (
            "Use the URN that its page in DataHub shows"
            if where == THE_CATALOG
            else "`hyperjoin joins` lists what it has"
        )
        hint = f"Did you mean {similar}?" if near else other
        return cls(f"{where} has no {kind} {name!r}. {hint}")

    @classmethod
    def several(cls, kind: str, name: str, *, urns: Sequence[str]) -> Self:
        matches = name_some([*map(repr, urns)])
        return cls(f"{len(urns)} {kind}s have the name {name!r}: {matches}. Use a URN")

    @classmethod
    def datasets(cls, name: str, *, urns: Sequence[str], names: Sequence[str]) -> Self:
        """Offer the full names of the candidates, or their URNs if platforms share a name."""
        choices = names if len({*names}) == len(names) else urns
        matches = name_some([*map(repr, choices)])
        use = "one of these names" if choices is names else "a URN"
        return cls(f"{len(urns)} datasets have the name {name!r}: {matches}. Use {use}")

    @classmethod
    def column(cls, name: str, table: str, *, near: Sequence[str]) -> Self:
        hint = (
            f"Did you mean {name_some([*map(repr, near)])}?"
            if near
            else "DataHub knows none of its columns"
        )
        return cls(f"the dataset {table!r} has no column {name!r}. {hint}")


class AmbiguousColumnError(CatalogError, LookupError):
    """A name matches several columns of a dataset."""

    @classmethod
    def among(cls, name: str, dataset: str, columns: Sequence[str]) -> Self:
        choices = name_some([*map(repr, columns)])
        return cls(
            f"{len(columns)} columns of {dataset!r} have the name {name!r}: {choices}. Use the "
            "whole name of one"
        )
