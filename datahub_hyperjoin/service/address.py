"""The addresses at which browsers reach the service and DataHub."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from datahub_hyperjoin.hosts import host_names, is_own
from datahub_hyperjoin.service.errors import ExposedServiceError

_PORTS = {"http": 80, "https": 443}
_PORT = re.compile(r":\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The addresses at which browsers reach the service."""

    origins: Sequence[str]
    """Scheme, host and port of each, as browsers write them; the first is shown to people."""

    @classmethod
    def of(cls, host: str, port: int, url: str = "") -> "Address":
        """Determine the addresses of a service from its options.

        Args:
            host: Address to listen to.
            port: Port to listen to.
            url: Address of a proxy in front of the service; empty without one.

        Raises:
            ExposedServiceError: The URL is malformed, or tokens would cross the network
                unencrypted.
        """
        own = [f"http://{name}:{port}" for name in host_names(host)]
        address = cls(origins=(*([origin_of("--url", url)] if url else []), *own))
        is_private = is_own(urlsplit(url).hostname or "") if url else is_own(host)
        if not (is_private or address.is_encrypted):
            raise ExposedServiceError.without_tls(host)
        return address

    @property
    def names(self) -> list[str]:
        """The host names, without ports."""
        return [_PORT.sub("", urlsplit(origin).netloc) for origin in self.origins]

    @property
    def is_encrypted(self) -> bool:
        """Whether browsers reach the service over TLS."""
        return bool(self.origins) and self.origins[0].startswith("https:")


def origin_of(option: str, url: str) -> str:
    """Return the origin of a web site, in the form that browsers send.

    Args:
        option: The option that names the site, for the error message.
        url: Scheme, host and port of the site.

    Raises:
        ExposedServiceError: The URL has other parts, or none of these.

    >>> origin_of("--url", "https://Joins.example:443/")
    'https://joins.example'
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ExposedServiceError.malformed(option, url) from None
    rest = (parts.path.strip("/"), parts.query, parts.fragment, parts.username, parts.password)
    if parts.scheme not in _PORTS or not parts.hostname or any(rest) or set(url) & set(" ;,'\"*"):
        raise ExposedServiceError.malformed(option, url)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    suffix = "" if port in {None, _PORTS[parts.scheme]} else f":{port}"
    return f"{parts.scheme}://{host}{suffix}"
