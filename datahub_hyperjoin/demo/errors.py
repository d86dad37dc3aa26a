"""Errors that occur while the demonstration lake is created."""

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError


class MissingExtraError(CatalogError, ImportError):
    """A package that a recipe option needs is not installed."""

    @classmethod
    def named(cls, *, extra: str, option: str, package: str) -> Self:
        """Report the missing package, and the extra that installs it."""
        return cls(
            f"`{option}` needs the package {package}. Install it with "
            f"`pip install 'datahub-hyperjoin[{extra}]'`"
        )
