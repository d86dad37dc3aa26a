"""Errors of the web service in which people decide about joins.

HyperJoinError
├─ MissingServiceError    the packages for the service are not installed
└─ ExposedServiceError    others could listen to the service, or it has no name
"""

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError


class MissingServiceError(HyperJoinError, ImportError):
    """The optional packages of the web service are not installed."""

    @classmethod
    def for_command(cls) -> Self:
        """Report how to install the packages for the service."""
        return cls(
            "`hyperjoin serve` needs the packages `starlette` and `uvicorn`. Run "
            "`pip install 'datahub-hyperjoin[serve]'`"
        )


class ExposedServiceError(HyperJoinError, ValueError):
    """The options would expose people's tokens, or contain a malformed address."""

    @classmethod
    def without_tls(cls, host: str) -> Self:
        """Report that people's tokens would cross the network unencrypted."""
        return cls(
            f"people would send their tokens to `--host {host}` unencrypted. Put a proxy with TLS "
            "in front of the service and name its address, as in `--url https://joins.example`, "
            "or remove `--host`"
        )

    @classmethod
    def malformed(cls, option: str, url: str) -> Self:
        """Report an option whose value is not the address of a web site."""
        return cls(
            f"`{option} {url}` is no address of a web site. Write scheme, host and port only, as "
            "in `https://joins.example` or `http://localhost:9002`"
        )
