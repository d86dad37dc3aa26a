"""Errors that occur while metadata is written to DataHub."""

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError


class RefusedError(CatalogError, RuntimeError):
    """DataHub's server refuses to define a property or tag, or the result of a watched join."""

    @classmethod
    def definition(cls, urn: str, *, reason: str) -> Self:
        return cls(
            f"DataHub's server refuses to define {urn}: {reason.rstrip('.')}. Grant the owner of "
            "the sink's token the privilege to manage structured properties and tags, or set "
            "`emit.properties` or `emit.relationships` to `false`"
        )

    @classmethod
    def result(cls, *, reason: str) -> Self:
        return cls(
            f"DataHub's server refuses the results of watched joins: {reason.rstrip('.')}. Grant "
            "the owner of the sink's token the privilege to edit assertions, and run again"
        )
