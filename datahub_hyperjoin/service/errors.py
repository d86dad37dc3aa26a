"""Errors of the web service in which people decide about joins.

HyperJoinError
├─ MissingServiceError    the packages for the service are not installed
├─ ExposedServiceError    others could listen to the service, or it has no name
├─ SharedSignInError      the service cannot share the sign-in of DataHub's pages
├─ NamelessPageError      the address of a page lacks the dataset that the page is about
└─ QueueFilterError       the address of the queue has a filter that it cannot have
"""

from collections.abc import Iterable, Sequence

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.wording import name_some


class MissingServiceError(HyperJoinError, ImportError):
    """The optional packages of the web service are not installed."""

    @classmethod
    def for_command(cls) -> Self:
        return cls(
            "`hyperjoin serve` needs the packages `starlette` and `uvicorn`. Run "
            "`pip install 'datahub-hyperjoin[serve]'`"
        )


class ExposedServiceError(HyperJoinError, ValueError):
    """An option of `hyperjoin serve` would expose people's tokens, or is not a valid address."""

    @classmethod
    def without_tls(cls, host: str) -> Self:
        return cls(
            f"people would send their tokens to `--host {host}` unencrypted. Put a proxy with TLS "
            "in front of the service and name its address, as in `--url https://joins.example`, "
            "or remove `--host`"
        )

    @classmethod
    def malformed(cls, option: str, url: str) -> Self:
        return cls(
            f"`{option} {url}` is no address of a web site. Write scheme, host and port only, as "
            "in `https://joins.example` or `http://localhost:9002`"
        )


class SharedSignInError(HyperJoinError, ValueError):
    """The service cannot recognise the people who have signed in to DataHub's pages."""

    @classmethod
    def not_beside(cls, datahub_url: str, own_urls: Sequence[str]) -> Self:
        if not datahub_url:
            return cls("`--frontend-url` needs `--datahub-url`, the address of DataHub's pages")
        return cls(
            f"browsers send the cookies of {datahub_url} to no other host, and not to "
            f"{name_some(own_urls)}. Give the service the scheme and host of DataHub's pages and "
            "another port or path, as in `--url https://datahub.example/joins`"
        )

    @classmethod
    def not_frontend(cls, url: str, reason: str) -> Self:
        return cls(
            f"`--frontend-url {url}` is not the address of DataHub's frontend: {reason}. Write the "
            "address at which this machine reaches it, as in `http://datahub-frontend-react:9002`"
        )


class NamelessPageError(HyperJoinError, LookupError):
    """The address of a page does not say what the page is about."""

    @classmethod
    def of_dataset(cls) -> Self:
        return cls("the address names no dataset. Add its URN, as in /dataset?urn=URN")


class QueueFilterError(HyperJoinError, ValueError):
    """A filter in the address of the queue has a value that it cannot have."""

    @classmethod
    def of_value(cls, name: str, value: str, known: Iterable[str]) -> Self:
        return cls(f"the filter {name!r} cannot be {value!r}. It can be {' or '.join(known)}")
