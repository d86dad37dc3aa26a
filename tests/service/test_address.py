"""Test which addresses are accepted for the service, and which are refused."""

import pytest

from datahub_hyperjoin.service.address import Address, origin_of, site_of
from datahub_hyperjoin.service.errors import ExposedServiceError, SharedSignInError


def test_this_machine_has_three_names() -> None:
    address = Address.of("127.0.0.1", 8766)
    assert address.origins == (
        "http://127.0.0.1:8766",
        "http://localhost:8766",
        "http://[::1]:8766",
    )
    assert address.names == ["127.0.0.1", "localhost", "[::1]"]
    assert not address.is_encrypted


def test_a_proxy_with_tls_may_be_in_front() -> None:
    address = Address.of("0.0.0.0", 8766, "https://joins.example/")  # noqa: S104 - behind a proxy
    assert address.origins == ("https://joins.example",)
    assert address.names == ["joins.example"]
    assert address.is_encrypted


def test_a_container_may_be_reached_through_a_port_of_this_machine() -> None:
    address = Address.of("0.0.0.0", 8766, "http://localhost:8000")  # noqa: S104 - in a container
    assert address.origins == ("http://localhost:8000",)


@pytest.mark.parametrize(("host", "url"), [
    ("0.0.0.0", ""),  # noqa: S104 - it is refused
    ("10.0.0.1", ""),
    ("joins.example", ""),
    ("10.0.0.1", "http://joins.example"),
    ("127.0.0.1", "http://joins.example"),
])  # fmt: skip
def test_tokens_never_cross_the_network_unencrypted(host: str, url: str) -> None:
    with pytest.raises(ExposedServiceError) as refused:
        Address.of(host, 8766, url)
    assert str(refused.value) == (
        f"people would send their tokens to `--host {host}` unencrypted. Put a proxy with TLS in "
        "front of the service and name its address, as in `--url https://joins.example`, or "
        "remove `--host`"
    )


@pytest.mark.parametrize("url", [
    "joins.example",
    "ftp://joins.example",
    "https://",
    "https://me:secret@joins.example",
    "https://joins.example/datahub",
    "https://joins.example?a=b",
    "https://joins.example:port",
    "https://joins.example 'unsafe-inline'",
    "https://joins.example; script-src *",
    "https://*.example",
    "https://[::1",
])  # fmt: skip
def test_an_option_that_is_no_site_is_refused(url: str) -> None:
    with pytest.raises(ExposedServiceError, match=r" is no address of a web site\. Write scheme, "):
        origin_of("--datahub-url", url)


@pytest.mark.parametrize(("url", "origin"), [
    ("http://LOCALHOST:9002/", "http://localhost:9002"),
    ("http://joins.example:80", "http://joins.example"),
    ("https://[::1]:9002", "https://[::1]:9002"),
])  # fmt: skip
def test_a_site_is_written_as_browsers_write_it(url: str, origin: str) -> None:
    assert origin_of("--url", url) == origin


@pytest.mark.parametrize(("url", "path"), [
    ("https://datahub.example/joins", "/joins"),
    ("https://datahub.example/datahub/joins/", "/datahub/joins"),
    ("https://datahub.example", ""),
])  # fmt: skip
def test_a_proxy_may_show_the_service_below_a_path(url: str, path: str) -> None:
    address = Address.of("127.0.0.1", 8766, url)
    assert (address.origins[0], address.path) == ("https://datahub.example", path)
    assert address.url == f"https://datahub.example{path}"
    assert address.beside("https://datahub.example:8443") == address.url


@pytest.mark.parametrize("path", ["/a b", "/a?b", "/a#b", "//a", "/a;b", "/a'b"])
def test_a_path_of_another_form_is_refused(path: str) -> None:
    with pytest.raises(ExposedServiceError, match=r" is no address of a web site\. "):
        site_of("--url", f"https://joins.example{path}")


def test_the_host_of_datahub_is_one_of_the_names_of_this_machine() -> None:
    address = Address.of("127.0.0.1", 8766)
    assert address.beside("http://localhost:9002") == "http://localhost:8766"
    assert address.beside("http://[::1]:9002") == "http://[::1]:8766"


@pytest.mark.parametrize("site", [
    "http://datahub.example", "https://localhost:9002", "https://joins.example.evil.example",
])  # fmt: skip
def test_a_site_with_another_scheme_or_host_does_not_share_its_cookies(site: str) -> None:
    with pytest.raises(SharedSignInError, match=f"^browsers send the cookies of {site} to no "):
        Address.of("127.0.0.1", 8766).beside(site)
