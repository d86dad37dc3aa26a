"""Find the host names under which clients may reach a server.

A server that refuses all other names is safe from web pages whose name somebody made to point to it
(DNS rebinding), because browsers send that name as the host.
"""

from collections.abc import Sequence
from ipaddress import ip_address

_OWN_NAMES = ("127.0.0.1", "localhost", "[::1]")
_IPV6 = 6


def host_names(host: str) -> Sequence[str]:
    """Return the host names that clients may use for an address.

    >>> host_names("127.0.0.1"), host_names("0.0.0.0"), host_names("joins.example")
    (('127.0.0.1', 'localhost', '[::1]'), (), ('joins.example',))
    """
    if is_loopback(host):
        return _OWN_NAMES
    try:
        address = ip_address(host)
    except ValueError:
        return (host,)
    if address.is_unspecified:
        return ()
    return (f"[{host}]" if address.version == _IPV6 else host,)


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("10.0.0.1")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
