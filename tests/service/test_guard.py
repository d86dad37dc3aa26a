"""Test that other web sites can neither use the service in a person's name nor frame its pages."""

import re
from collections.abc import Iterator

import pytest

from browser.browsers import ADA, ORIGIN, PEOPLE, Browser
from datahub_hyperjoin.graphql import find_join
from datahub_hyperjoin.service.app import MOST_BODY
from lakes.shop import Shop, open_shop

ELSEWHERE = "another web site sent this request. Use the page of the service itself"


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    with open_shop(PEOPLE) as opened:
        yield opened


@pytest.fixture
def join(shop: Shop, browser: Browser) -> str:
    urn = shop.suggest("orders.customer", "customers.id", 0.93)
    assert browser.sign_in(ADA) == 204
    browser.csrf = browser.data(name="served")["csrf"]
    return urn


@pytest.mark.parametrize("origin", [
    "http://evil.example",
    "http://127.0.0.1:8767",
    "https://127.0.0.1:8766",
    "http://localhost:9002",
    "null",
    None,
])  # fmt: skip
def test_a_decision_that_another_site_sends_is_refused(
    shop: Shop, browser: Browser, join: str, origin: str | None
) -> None:
    assert browser.decide(join, "accepted", Origin=origin) == (403, {"error": ELSEWHERE})
    assert find_join(shop.graph, join).verdict is None


@pytest.mark.parametrize("csrf", ["", "guess", None])
def test_a_decision_without_the_secret_of_the_page_is_refused(
    shop: Shop, browser: Browser, join: str, csrf: str | None
) -> None:
    assert browser.decide(join, "accepted", **{"X-CSRF-Token": csrf}) == (
        403,
        {"error": "the page is of another session. Load it again"},
    )
    assert find_join(shop.graph, join).verdict is None


def test_no_other_site_signs_a_person_in(browser: Browser) -> None:
    assert browser.sign_in(ADA, Origin="http://evil.example") == 403
    assert browser.client.get("/").status_code == 401


def test_no_other_site_signs_a_person_out(browser: Browser, join: str) -> None:
    headers = {"Origin": "http://evil.example", "X-CSRF-Token": browser.csrf}
    assert browser.client.post("/sign-out", headers=headers).status_code == 403
    assert browser.data(name="served")["urns"] == [join]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8766", "127.0.0.1.evil.example"])
def test_a_name_that_points_here_is_refused(browser: Browser, join: str, host: str) -> None:
    answer = browser.client.get("/", headers={"Host": host})
    assert (answer.status_code, answer.text) == (400, "Invalid host header")
    assert join not in answer.text


def test_scripts_cannot_read_the_cookie_and_other_sites_cannot_send_it(shop: Shop) -> None:
    browser = Browser(shop)
    answer = browser.client.post("/sign-in", json={"token": ADA}, headers={"Origin": ORIGIN})
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(
        r"hyperjoin=[\w-]{43}; HttpOnly; Max-Age=28800; Path=/; SameSite=strict", cookie
    )
    assert ADA not in cookie


def test_behind_tls_the_cookie_is_for_tls_and_this_host_alone(shop: Shop) -> None:
    browser = Browser(shop, url="https://joins.example")
    headers = {"Origin": "https://joins.example"}
    answer = browser.client.post("/sign-in", json={"token": ADA}, headers=headers)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-hyperjoin=")
    assert cookie.endswith("; Secure")
    assert browser.client.get("/").status_code == 200


@pytest.mark.parametrize("path", ["/", "/sign-in", "/health", "/nowhere"])
def test_every_answer_tells_browsers_what_it_may_do(browser: Browser, path: str) -> None:
    headers = browser.client.get(path).headers
    policy = headers.pop("content-security-policy")
    assert re.sub(r"nonce-[\w-]+", "nonce-N", policy) == (
        "default-src 'none'; script-src 'nonce-N'; style-src 'nonce-N'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors http://localhost:9002"
    )
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


@pytest.mark.usefixtures("join")
def test_every_script_and_style_has_the_nonce_of_its_answer(browser: Browser) -> None:
    seen = set()
    for _ in range(2):
        answer = browser.client.get("/")
        nonces = re.findall(r"nonce-([\w-]+)", answer.headers["content-security-policy"])
        tags = re.findall(r"<(?:script|style)(?! type=\"application/json\")([^>]*)>", answer.text)
        assert len(tags) == 3
        assert {*tags} == {f' nonce="{nonces[0]}"'}
        markup = re.sub("(?s)<script.*?</script>", "", answer.text)
        assert not re.search(r"<[^>]+ (?:on\w+|style)=", markup)
        seen.add(nonces[0])
    assert len(seen) == 2


def test_no_page_holds_a_token(browser: Browser, join: str) -> None:
    assert join in browser.client.get("/").text
    assert ADA not in browser.client.get("/").text


def test_a_body_that_is_too_long_is_not_read(browser: Browser) -> None:
    assert browser.sign_in("x" * MOST_BODY) == 403
    for body in ("no JSON", "[]", '{"token": 1}'):
        answer = browser.client.post("/sign-in", content=body, headers={"Origin": ORIGIN})
        assert answer.status_code == 403
