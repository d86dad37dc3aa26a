"""The addresses at which browsers reach the service and DataHub."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from datahub_hyperjoin.hosts import host_names, is_loopback
from datahub_hyperjoin.service.errors import ExposedServiceError, SharedSignInError

_PORTS = {"http": 80, "https": 443}
_PORT = re.compile(r":\d+$")
_PATH = re.compile(r"(?:/[\w.~-]+)*/?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The addresses at which browsers reach the service."""

    origins: Sequence[str]
    """Scheme, host and port of each address, as browsers write them; people are shown the first."""

    path: str = ""
    """The path below which a proxy shows the service, as in `/joins`; empty for the root."""

    @classmethod
    def of(cls, host: str, port: int, url: str = "") -> "Address":
        """Determine the addresses of a service from its options."""
        own = [f"http://{name}:{port}" for name in host_names(host)]
        origin, path = site_of("--url", url) if url else ("", "")
        address = cls(origins=(*([origin] if url else []), *own), path=path)
        is_private = is_loopback(urlsplit(url).hostname or "") if url else is_loopback(host)
        if not (is_private or address.is_encrypted):
            raise ExposedServiceError.without_tls(host)
        return address

    @property
    def url(self) -> str:
        """The service's address to show to people: its first origin, with its path."""
        return f"{self.origins[0]}{self.path}"

    def beside(self, site: str) -> str:
        """Return the service's address with the same scheme and host as another web site."""
        # Browsers send the site's cookies to this address, too.
        there = urlsplit(site)
        for origin in self.origins:
            own = urlsplit(origin)
            if (own.scheme, own.hostname) == (there.scheme, there.hostname):
                return f"{origin}{self.path}"
        raise SharedSignInError.not_beside(site, self.origins)

    @property
    def names(self) -> list[str]:
        """The host names of the service's addresses, without ports."""
        return [_PORT.sub("", urlsplit(origin).netloc) for origin in self.origins]

    @property
    def is_encrypted(self) -> bool:
        """Whether browsers reach the service over TLS."""
        return bool(self.origins) and self.origins[0].startswith("https:")


def origin_of(option: str, url: str) -> str:
    """Return the origin of the web site at `url`, in the form that browsers send."""
    origin, path = site_of(option, url)
    if path:
        raise ExposedServiceError.malformed(option, url)
    return origin


def site_of(option: str, url: str) -> tuple[str, str]:
    """Split the URL of a web site into its origin and its path."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ExposedServiceError.malformed(option, url) from None
    rest = (parts.query, parts.fragment, parts.username, parts.password)
    is_site = parts.scheme in _PORTS and parts.hostname and _PATH.fullmatch(parts.path)
    if not is_site or any(rest) or set(url) & set(" ;,'\"*"):
        raise ExposedServiceError.malformed(option, url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    suffix = "" if port in {None, _PORTS[parts.scheme]} else f":{port}"
    return f"{parts.scheme}://{host}{suffix}", parts.path.rstrip("/")
